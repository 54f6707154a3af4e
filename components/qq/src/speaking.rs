//! What comes of the agent's words and of tool calls.

use homeagent_sdk::{Arguments, Cause, Delta, Error, Output, OutputKind, Peer};
use serde_json::Value;

use crate::actions::{self, Asked};
use crate::effect::Effect;
use crate::event::Place;
use crate::outbound::{self, Route, Target};
use crate::settings::Settings;
use crate::state::Qq;

/// Something that was begun: what is to be done now, and the ticket under which its outcome is told.
#[derive(Debug, PartialEq)]
pub(crate) struct Begun {
    pub(crate) ticket: u64,
    pub(crate) effects: Vec<Effect>,
}

impl Qq {
    /// Begins to send a message; nothing, where there is nothing to send.
    pub(crate) fn deliver(
        &mut self,
        output: &Output,
        settings: &Settings,
        now: u64,
        time: u64,
    ) -> Result<Option<Begun>, Error> {
        let mut target = self.target(output)?;
        self.check_connected(&target.route.account, now)?;
        let run = output.run.as_deref().filter(|_| output.kind == OutputKind::Reply);
        let (text, is_whole) = run.map_or((output.text.as_str(), true), |run| self.streams.rest(run, &output.text));
        if !is_whole {
            target.route.message = None;
        }
        let calls = outbound::calls(output, text, &target, settings)?;
        // What was shown of an answer is sent when the client has confirmed it: with nothing to add, that is waited for.
        let behind = run.filter(|run| !is_whole && self.streams.is_open(run));
        let lane = target.lane();
        let ticket = if calls.is_empty() && behind.is_none() {
            None
        } else {
            Some(self.outbox.post(&lane, &target.route.account, calls, now.saturating_add(time))?)
        };
        match (behind, ticket) {
            (Some(run), Some(ticket)) => self.streams.end(run, ticket),
            _ => run.into_iter().for_each(|run| self.streams.forget(run)),
        }
        let Some(ticket) = ticket else { return Ok(None) };
        Ok(Some(Begun { ticket, effects: self.run(&lane, settings, now) }))
    }

    /// Sends the paragraphs that are finished of answers that are being written.
    pub(crate) fn show(&mut self, deltas: &[Delta], settings: &Settings, now: u64) -> Vec<Effect> {
        let mut effects = Vec::new();
        for delta in deltas.iter().filter(|_| settings.stream) {
            let Some((text, is_first)) = self.streams.add(&delta.run, &delta.content) else { continue };
            let output = Output {
                id: String::new(),
                run: None,
                conversation: delta.conversation.clone(),
                reply_route: delta.reply_route.clone(),
                kind: OutputKind::Message,
                text,
                media: Vec::new(),
                structured: None,
                meta: if is_first { Vec::new() } else { vec![("reply_to".to_owned(), String::new())] },
            };
            match self.post_paragraphs(&delta.run, &output, settings, now) {
                Ok(lane) => effects.extend(lane.into_iter().flat_map(|lane| self.run(&lane, settings, now))),
                // They were not shown, so the final text brings them, and what has been posted before them.
                Err(_) => {
                    let missing = self.streams.give_up(&delta.run);
                    missing.into_iter().flat_map(|missing| missing.open).for_each(|open| {
                        self.outbox.withdraw(open);
                    });
                }
            }
        }
        effects
    }

    /// Puts paragraphs of an answer that is being written into their lane, which is what comes out.
    fn post_paragraphs(
        &mut self,
        run: &str,
        output: &Output,
        settings: &Settings,
        now: u64,
    ) -> Result<Option<String>, Error> {
        let target = self.target(output)?;
        self.check_connected(&target.route.account, now)?;
        let calls = outbound::calls(output, &output.text, &target, settings)?;
        if calls.is_empty() {
            return Ok(None);
        }
        let (lane, deadline) = (target.lane(), now.saturating_add(settings.answer_timeout));
        let ticket = self.outbox.post(&lane, &target.route.account, calls, deadline)?;
        self.streams.posted(run, ticket);
        Ok(Some(lane))
    }

    /// Begins to do what a tool call asks for.
    pub(crate) fn call(
        &mut self,
        name: &str,
        arguments: &Arguments,
        cause: &Cause,
        settings: &Settings,
        now: u64,
    ) -> Result<(Asked, Begun), Error> {
        let asked = actions::read(name, arguments)?;
        let account = match &asked.account {
            Some(account) => account.clone(),
            None => self.account_for(asked.about.as_deref(), cause)?,
        };
        self.check_connected(&account, now)?;
        let lane = format!("tool/{}", self.outbox.ticket());
        let time = cause.deadline_ms.min(settings.answer_timeout);
        let ticket = self.outbox.post(&lane, &account, vec![asked.call.clone()], now.saturating_add(time))?;
        let effects = self.run(&lane, settings, now);
        Ok((asked, Begun { ticket, effects }))
    }

    /// How all accounts are.
    pub(crate) fn accounts(&self, now: u64) -> Value {
        self.accounts.list(now)
    }

    /// Where an output goes: the way back that its input gave, else how the conversation was last reached.
    fn target(&self, output: &Output) -> Result<Target, Error> {
        let place = place(&output.conversation.peer)?;
        let given = output.reply_route.as_deref().and_then(|route| serde_json::from_str::<Route>(route).ok());
        let chosen = output.meta.iter().find(|(key, _)| key == "account").map(|(_, account)| account.trim().to_owned());
        let contact = self.known.peers.get(&place.name());
        let mut route = match (given, contact) {
            (Some(route), _) => route,
            (None, Some(contact)) if self.accounts.requests(&contact.account).is_some() => {
                Route { account: contact.account.clone(), group: contact.group.clone(), message: None }
            }
            (None, _) => {
                let account = chosen.clone().map_or_else(|| self.only_account(), Ok)?;
                Route { account, group: None, message: None }
            }
        };
        if let Some(chosen) = chosen.filter(|chosen| *chosen != route.account) {
            // The message and the group were seen by another account.
            route = Route { account: chosen, group: None, message: None };
        }
        Ok(Target { place, route })
    }

    /// The account that is to do something: the one by which what it is about was last heard, else the only one.
    fn account_for(&self, about: Option<&str>, cause: &Cause) -> Result<String, Error> {
        let here = cause.conversation.as_ref().filter(|conversation| conversation.channel == "qq");
        let here = here.and_then(|conversation| place(&conversation.peer).ok()).map(|place| place.name());
        let known = about.into_iter().chain(here.as_deref()).find_map(|name| self.known.peers.get(name));
        known.map_or_else(|| self.only_account(), |contact| Ok(contact.account.clone()))
    }

    fn only_account(&self) -> Result<String, Error> {
        match self.accounts.connected().as_slice() {
            [account] => Ok((*account).to_owned()),
            [] => Err(Error::not_found(
                "no QQ account is connected: the OneBot client (NapCat, Lagrange, LLOneBot, go-cqhttp) has to connect \
                 by a reverse WebSocket to /onebot/v11/ws; nothing was done",
            )),
            several => Err(Error::invalid(format!(
                "several QQ accounts are connected; say by `account` which of them: {}",
                several.join(", ")
            ))),
        }
    }

    fn check_connected(&self, account: &str, now: u64) -> Result<(), Error> {
        if self.accounts.requests(account).is_some() {
            return Ok(());
        }
        if self.accounts.is_expected(account, now) {
            return Err(Error::Retryable);
        }
        Err(Error::not_found(format!("the QQ account {account} is not connected; nothing was sent")))
    }
}

fn place(peer: &Peer) -> Result<Place, Error> {
    match peer {
        Peer::Person(user) => Ok(Place::Private(user.clone())),
        Peer::Group(group) => Ok(Place::Group(group.clone())),
        Peer::Other(other) => Err(Error::invalid(format!("QQ has people and groups, no {other:?}"))),
    }
}
