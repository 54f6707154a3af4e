//! All that the channel knows, and what comes of each thing that happens.

use std::collections::{BTreeMap, VecDeque};

use homeagent_sdk::Connection;
use homeagent_sdk::sockets::ConnectionId;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::account::Accounts;
use crate::desk::{Asked, Desk, Purpose, Silence};
use crate::draft::{Drafts, LOOKUP_TIME};
use crate::effect::{Effect, warning};
use crate::event::{self, Answer, Event, Meta};
use crate::failure::Failure;
use crate::field;
use crate::group::Backgrounds;
use crate::kept::Kept;
use crate::outbox::{Outbox, Step};
use crate::rate::Rates;
use crate::ring::Ring;
use crate::settings::Settings;
use crate::show::{Missing, Streams};
use crate::waiting::Ledger;

/// The largest frame that is sent, in bytes: the host takes no larger one.
const LARGEST_FRAME: usize = 1 << 20;

/// All that the channel knows.
#[derive(Debug)]
pub(crate) struct Qq {
    pub(crate) accounts: Accounts,
    pub(crate) desk: Desk,
    pub(crate) outbox: Outbox,
    pub(crate) drafts: Drafts,
    pub(crate) streams: Streams,
    pub(crate) known: Known,
    /// Inputs that the agent has not taken yet.
    pub(crate) kept: Kept,
    /// Messages that waited when the instance before this one ended.
    pub(crate) left: Vec<Value>,
    /// Messages that wait no more and that the agent has not taken yet, as they came.
    pub(crate) passing: VecDeque<(String, Value)>,
    /// What of the messages that wait is on the disk.
    pub(crate) written: Ledger,
}

/// What one instance hands on to the next.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Known {
    pub(crate) backgrounds: Backgrounds,
    /// Messages that came, so that one that comes twice is heard once.
    pub(crate) seen: Ring,
    /// Messages of ours, so that a reply to one is known for one.
    pub(crate) sent: Ring,
    /// What people are called, by group and account.
    pub(crate) names: Ring<String>,
    /// Over which account a conversation was last heard, and by which group a session came about.
    pub(crate) peers: Ring<Contact>,
    pub(crate) rates: Rates,
    /// Which connection belongs to which account.
    pub(crate) connections: BTreeMap<ConnectionId, String>,
    /// The addresses of clients that were asked for a connection.
    #[serde(default)]
    pub(crate) forward: Vec<String>,
}

/// How a conversation is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Contact {
    pub(crate) account: String,
    pub(crate) group: Option<String>,
}

impl Default for Known {
    fn default() -> Self {
        Self {
            backgrounds: Backgrounds::default(),
            seen: Ring::new(4_000),
            sent: Ring::new(2_000),
            names: Ring::new(5_000),
            peers: Ring::new(2_000),
            rates: Rates::default(),
            connections: BTreeMap::new(),
            forward: Vec::new(),
        }
    }
}

impl Qq {
    /// A channel that knows nothing. `prefix` sets its requests apart from those of other instances.
    pub(crate) fn new(prefix: String) -> Self {
        Self {
            accounts: Accounts::default(),
            desk: Desk::new(prefix),
            outbox: Outbox::default(),
            drafts: Drafts::default(),
            streams: Streams::default(),
            known: Known::default(),
            kept: Kept::default(),
            left: Vec::new(),
            passing: VecDeque::new(),
            written: Ledger::default(),
        }
    }

    /// A connection is there.
    pub(crate) fn open(&mut self, connection: &Connection, settings: &Settings, now: u64) -> Vec<Effect> {
        let known = self.known.connections.remove(&connection.id).filter(|_| connection.resumed);
        let mut effects = self.accounts.open(connection, known, now);
        effects.extend(self.ask_who(connection.id, now));
        if let Some(account) = self.accounts.of(connection.id) {
            let of_it = |frame: &mut Value| event::self_id(frame).as_ref() == Some(&account);
            let frames: Vec<Value> = self.left.extract_if(.., of_it).collect();
            for frame in frames {
                if let Event::Message(message) = event::read(&frame, Some(&account)) {
                    effects.extend(self.begin(&frame, *message, settings, now));
                }
            }
        }
        effects
    }

    /// Asks a client that does not say whose it is.
    fn ask_who(&mut self, connection: ConnectionId, now: u64) -> Option<Effect> {
        if !self.accounts.is_nameless(connection) {
            return None;
        }
        let request = ("get_login_info", &json!({}));
        let question = self.desk.ask(connection, request, Purpose::Login(connection), now, LOOKUP_TIME);
        Some(Effect::Ask { question, ticket: None })
    }

    /// A frame has come.
    pub(crate) fn frame(&mut self, from: ConnectionId, text: &str, settings: &Settings, now: u64) -> Vec<Effect> {
        if !self.accounts.counts(from) {
            return Vec::new();
        }
        let frame = match event::parse(text) {
            Ok(frame) => frame,
            Err(reason) if self.accounts.complain(from) => {
                let what = "a QQ client sent a frame that can't be read";
                return vec![warning(format!("{what}: {reason}; further ones of this connection are not reported"))];
            }
            Err(_) => return Vec::new(),
        };
        let mut effects = self.accounts.hear(from, event::self_id(&frame).as_deref(), now);
        effects.extend(match event::read(&frame, self.accounts.of(from).as_deref()) {
            Event::Message(message) => self.message(&frame, *message, settings, now),
            Event::Notice(notice) => self.notice(&notice, settings, now),
            Event::Meta(meta @ Meta::Heartbeat { .. }) => self.accounts.told(from, &meta),
            Event::Meta(Meta::Connected { .. }) | Event::Ignored => Vec::new(),
            Event::Answer(answer) => self.answer(from, answer, settings, now),
        });
        effects.extend(self.sweep(settings, now));
        effects
    }

    /// A connection is gone.
    pub(crate) fn close(&mut self, from: ConnectionId, reason: &str, settings: &Settings, now: u64) -> Vec<Effect> {
        let is_to_be_made_again = self.accounts.is_to_be_made_again(from);
        let mut effects = self.accounts.close(from, reason, now);
        // Also where another connection of the account had taken the place of one that we made, and is gone now.
        if is_to_be_made_again || self.accounts.is_any_cut_off() {
            effects.extend(self.connect(settings, true));
        }
        for asked in self.desk.lost(from) {
            let failure = asked.failure(Silence::Lost);
            effects.extend(self.resolve(asked, Err(failure), settings, now));
        }
        effects
    }

    /// Gives up what took too long, and connections that have fallen silent.
    pub(crate) fn sweep(&mut self, settings: &Settings, now: u64) -> Vec<Effect> {
        let mut effects = self.accounts.look_for_dead(now);
        for asked in self.desk.expired(now) {
            let failure = asked.failure(Silence::TimedOut);
            effects.extend(self.resolve(asked, Err(failure), settings, now));
        }
        self.drafts.give_up(now);
        effects.extend(self.finish_ready(settings));
        effects
    }

    fn answer(&mut self, from: ConnectionId, answer: Answer, settings: &Settings, now: u64) -> Vec<Effect> {
        let asked = answer.echo.as_ref().and_then(|echo| self.desk.answered(from, echo));
        let Some(asked) = asked else {
            return match answer.outcome {
                // Without an echo nobody knows which request it was; it will be given up at its deadline.
                Err(refusal) if answer.echo.is_none() => {
                    let failure = Failure::Refused { action: "a request".to_owned(), refusal };
                    vec![warning(format!("a QQ client refused something: {}", failure.message()))]
                }
                _ => Vec::new(),
            };
        };
        let action = asked.action().to_owned();
        let outcome = answer.outcome.map_err(|refusal| Failure::Refused { action, refusal });
        self.resolve(asked, outcome, settings, now)
    }

    /// There is no answer to a request, and there will be none.
    pub(crate) fn unanswered(
        &mut self,
        from: ConnectionId,
        echo: &str,
        silence: Silence,
        settings: &Settings,
        now: u64,
    ) -> Vec<Effect> {
        let Some(asked) = self.desk.answered(from, echo) else { return Vec::new() };
        let failure = asked.failure(silence);
        self.resolve(asked, Err(failure), settings, now)
    }

    /// What a request came to goes to whoever asked.
    fn resolve(&mut self, asked: Asked, outcome: Result<Value, Failure>, settings: &Settings, now: u64) -> Vec<Effect> {
        match asked.purpose {
            Purpose::Lookup { draft, lookup } => self.looked_up(draft, &lookup, outcome.ok().as_ref(), settings, now),
            Purpose::Login(connection) => {
                let account = outcome.ok().and_then(|data| field::party(&data["user_id"]));
                match account.filter(|_| self.accounts.is_nameless(connection)) {
                    Some(account) => self.accounts.hear(connection, Some(&account), now),
                    None => Vec::new(),
                }
            }
            Purpose::Lane(lane) => {
                let step = self.outbox.answered(&lane, outcome);
                let mut effects = self.done(step);
                effects.extend(self.run(&lane, settings, now));
                effects
            }
        }
    }

    /// Does what a lane has to do now.
    pub(crate) fn run(&mut self, lane: &str, settings: &Settings, now: u64) -> Vec<Effect> {
        let mut effects = Vec::new();
        loop {
            match self.outbox.step(lane, now) {
                Step::Rest => return effects,
                Step::Ask { ticket, account, call, time } => {
                    let Some(connection) = self.accounts.requests(&account) else {
                        let words = format!("the QQ account {account} is not connected; nothing was sent");
                        let step = self.outbox.answered(lane, Err(Failure::NotConnected { words }));
                        effects.extend(self.done(step));
                        continue;
                    };
                    let request = (call.action.as_str(), &call.params);
                    let (purpose, time) = (Purpose::Lane(lane.to_owned()), time.min(settings.answer_timeout));
                    let question = self.desk.ask(connection, request, purpose, now, time);
                    if question.text.len() <= LARGEST_FRAME {
                        effects.push(Effect::Ask { question, ticket: Some(ticket) });
                        continue;
                    }
                    let size = question.text.len();
                    let words = format!("{size} bytes are too many for one message to QQ; nothing was sent");
                    let silence = Silence::NotSent(words);
                    effects.extend(self.unanswered(connection, &question.echo, silence, settings, now));
                }
                step => effects.extend(self.done(step)),
            }
        }
    }

    fn done(&mut self, step: Step) -> Vec<Effect> {
        let Step::Done { ticket, account, outcome } = step else { return Vec::new() };
        let ids = |outcome: &Value| -> Vec<String> {
            outcome["message_ids"].as_array().into_iter().flatten().filter_map(field::id).collect()
        };
        let ids = outcome.as_ref().ok().map(ids);
        for id in ids.iter().flatten() {
            self.known.sent.keep(&format!("{account}:{id}"), ());
        }
        // Some clients give no ids.
        let missing = self.streams.settle(ticket, ids.map(|ids| ids.len().max(1)));
        let ended = missing.zip(outcome.as_ref().err()).and_then(|(missing, failure)| self.break_off(missing, failure));
        [Effect::Settle { ticket, outcome }].into_iter().chain(ended).collect()
    }

    /// A paragraph of an answer was not sent: what was to follow it is not sent without it, as it is with all that is
    /// sent in parts. Where the answer's last words were among that, the answer has failed.
    fn break_off(&mut self, missing: Missing, failure: &Failure) -> Option<Effect> {
        let paragraphs: usize = missing.open.into_iter().filter_map(|open| self.outbox.withdraw(open)).sum();
        let ticket = missing.last?;
        let words = self.outbox.withdraw(ticket)?;
        let outcome = Err(failure.clone().within(missing.sent, paragraphs + words));
        Some(Effect::Settle { ticket, outcome })
    }
}
