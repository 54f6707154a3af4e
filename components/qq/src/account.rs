//! Accounts, and the connections over which their clients talk.

use std::collections::BTreeMap;

use homeagent_sdk::Connection;
use homeagent_sdk::sockets::ConnectionId;
use serde_json::{Value, json};

use crate::effect::{Effect, info, warning};
use crate::event::Meta;
use crate::field;
use crate::forward;

/// A client that says nothing about it is expected to be heard this often, in milliseconds.
const USUAL_INTERVAL: u64 = 30_000;

/// A client is taken for dead when it was not heard for so many intervals.
const MISSED: u64 = 3;

/// An account that was connected so recently is expected back at once, in milliseconds.
const EXPECTED_BACK: u64 = 60_000;

/// Accounts that are known at a time.
const MOST: usize = 64;

/// All accounts and connections. They are told again to each instance, so only what was learnt has to be saved.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    accounts: BTreeMap<String, Account>,
    links: BTreeMap<ConnectionId, Link>,
}

/// One account of ours.
#[derive(Debug)]
struct Account {
    /// The connection over which events come.
    events: Option<ConnectionId>,
    /// The connection over which it is asked.
    requests: Option<ConnectionId>,
    /// The client says that it is on line.
    online: bool,
    /// When it was last heard, in milliseconds.
    heard: u64,
    /// How often it says that it is there, in milliseconds.
    interval: u64,
    /// When its last connection went, in milliseconds.
    gone: Option<u64>,
    /// Since when it is suspected of being dead, in milliseconds.
    suspect: Option<u64>,
}

/// Which tools the agent is offered: each costs room in every turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    /// None: no account has been seen.
    Nothing,
    /// The one that tells how the accounts are.
    Accounts,
    /// All of them: an account is connected.
    All,
}

/// One connection.
#[derive(Debug)]
struct Link {
    account: Option<String>,
    events: bool,
    requests: bool,
    /// Another one has taken its place; what still comes over it counts no more.
    replaced: bool,
    /// An earlier instance said that it was there.
    resumed: bool,
    /// Its client says now and then that it is there; of one that never did, silence says nothing.
    beats: bool,
    /// It has been said that frames of it could not be read.
    complained: bool,
    /// Where it leads, where we made it.
    address: Option<String>,
    /// It was closed because nothing was heard of it.
    dead: bool,
    /// Calls that are taking in frames of it. What comes after those waits for them, and is not heard meanwhile.
    busy: u32,
}

impl Account {
    fn holds(&self, connection: ConnectionId) -> bool {
        self.events == Some(connection) || self.requests == Some(connection)
    }

    fn let_go(&mut self, connection: ConnectionId) {
        self.events = self.events.filter(|id| *id != connection);
        self.requests = self.requests.filter(|id| *id != connection);
    }
}

impl Accounts {
    /// A connection is there. `known`: the account it was found to belong to before.
    pub(crate) fn open(&mut self, connection: &Connection, known: Option<String>, now: u64) -> Vec<Effect> {
        let role = connection.meta("x-client-role").unwrap_or("Universal").to_ascii_lowercase();
        let named = connection.meta("x-self-id").and_then(|id| field::party(&Value::from(id)));
        let link = Link {
            account: None,
            resumed: connection.resumed,
            events: role != "api",
            requests: role != "event",
            replaced: false,
            beats: false,
            complained: false,
            address: forward::of(connection).map(str::to_owned),
            dead: false,
            busy: 0,
        };
        self.links.insert(connection.id, link);
        named.or(known).map_or_else(Vec::new, |account| self.attach(connection.id, &account, now))
    }

    /// A frame of a connection, which says that it is of `account`.
    pub(crate) fn hear(&mut self, connection: ConnectionId, account: Option<&str>, now: u64) -> Vec<Effect> {
        let Some(link) = self.links.get(&connection) else { return Vec::new() };
        let account = account.map(str::to_owned).or_else(|| link.account.clone());
        let Some(name) = account else { return Vec::new() };
        // Several accounts may talk over one connection.
        let holds = |account: &Account| account.holds(connection);
        let is_known = self.accounts.get(&name).is_some_and(holds);
        let effects = if is_known { Vec::new() } else { self.attach(connection, &name, now) };
        if let Some(account) = self.accounts.get_mut(&name) {
            account.heard = now;
        }
        effects
    }

    /// A call takes in frames of a connection.
    pub(crate) fn begin(&mut self, connection: ConnectionId) {
        if let Some(link) = self.links.get_mut(&connection) {
            link.busy += 1;
        }
    }

    /// It has taken them in. Only from now on does silence say anything: it may have taken long, and more may wait.
    pub(crate) fn end(&mut self, connection: ConnectionId, now: u64) {
        let Some(link) = self.links.get_mut(&connection) else { return };
        link.busy = link.busy.saturating_sub(1);
        for account in self.accounts.values_mut().filter(|account| account.holds(connection)) {
            account.heard = now;
        }
    }

    /// Makes a connection an account's; one that did the same for it before is closed.
    fn attach(&mut self, connection: ConnectionId, name: &str, now: u64) -> Vec<Effect> {
        let Some(link) = self.links.get_mut(&connection) else { return Vec::new() };
        if self.accounts.len() >= MOST && !self.accounts.contains_key(name) {
            let is_first = !std::mem::replace(&mut link.complained, true);
            let words = format!("the QQ account {name} is not served: {MOST} are the most");
            return if is_first { vec![warning(words)] } else { Vec::new() };
        }
        link.account = Some(name.to_owned());
        let (events, requests, is_resumed) = (link.events, link.requests, link.resumed);
        let (interval, gone) = (USUAL_INTERVAL, None);
        let blank = Account { events: None, requests: None, online: true, heard: now, interval, gone, suspect: None };
        let account = self.accounts.entry(name.to_owned()).or_insert(blank);
        account.heard = now;
        account.online = true;
        let before = [account.events.filter(|_| events), account.requests.filter(|_| requests)];
        let mut effects = Vec::new();
        for old in before.into_iter().flatten().filter(|old| *old != connection) {
            // It loses all that it did, also what the one that comes does not do.
            account.let_go(old);
            if let Some(link) = self.links.get_mut(&old).filter(|link| !link.replaced) {
                link.replaced = true;
                effects
                    .push(warning(format!("the QQ account {name} has connected anew; its older connection is closed")));
                let reason = "another connection of this account has taken its place".to_owned();
                effects.push(Effect::Close { connection: old, reason });
            }
        }
        if events {
            account.events = Some(connection);
        }
        if requests {
            account.requests = Some(connection);
        }
        if !is_resumed {
            effects.push(info(format!("the QQ account {name} is connected")));
            effects.push(state(name, "connected", None));
        }
        effects
    }

    /// A connection is gone.
    pub(crate) fn close(&mut self, connection: ConnectionId, reason: &str, now: u64) -> Vec<Effect> {
        self.links.remove(&connection);
        let mut effects = Vec::new();
        for (name, account) in &mut self.accounts {
            // One that was replaced or taken for dead holds nothing any more.
            if !account.holds(connection) {
                continue;
            }
            account.let_go(connection);
            account.gone = Some(now);
            effects.push(warning(format!("the QQ account {name} is no longer connected: {reason}")));
            effects.push(state(name, "disconnected", Some(reason)));
        }
        effects
    }

    /// What a client tells of itself.
    pub(crate) fn told(&mut self, connection: ConnectionId, meta: &Meta) -> Vec<Effect> {
        let Meta::Heartbeat { self_id, online, interval } = meta else { return Vec::new() };
        let Some(link) = self.links.get_mut(&connection) else { return Vec::new() };
        link.beats |= interval.is_some();
        let Some(name) = self_id.clone().or_else(|| link.account.clone()) else { return Vec::new() };
        let Some(account) = self.accounts.get_mut(&name) else { return Vec::new() };
        if let Some(interval) = interval {
            account.interval = (*interval).clamp(1_000, 600_000);
        }
        if std::mem::replace(&mut account.online, *online) == *online {
            return Vec::new();
        }
        if *online {
            return vec![info(format!("the QQ account {name} is on line again")), state(&name, "online", None)];
        }
        let words = "its client is connected, but not logged in to QQ";
        vec![warning(format!("the QQ account {name} is off line: {words}")), state(&name, "offline", Some(words))]
    }

    /// Closes connections whose other side has fallen silent, so that it connects anew.
    pub(crate) fn look_for_dead(&mut self, now: u64) -> Vec<Effect> {
        let mut effects = Vec::new();
        for (name, account) in &mut self.accounts {
            let silence = now.saturating_sub(account.heard);
            let Some(connection) = account.events.or(account.requests) else { continue };
            let link = self.links.get_mut(&connection).filter(|link| link.beats && !link.replaced && link.busy == 0);
            let Some(link) = link else {
                account.suspect = None;
                continue;
            };
            if silence <= account.interval * MISSED {
                account.suspect = None;
                continue;
            }
            // Perhaps nobody was listening: the machine slept, or was busy elsewhere. What waits is heard soon.
            let since = *account.suspect.get_or_insert(now);
            if now.saturating_sub(since) >= account.interval {
                link.replaced = true;
                link.dead = true;
                account.gone = Some(now);
                let words = format!("nothing was heard of it for {} s", silence / 1_000);
                effects.push(warning(format!(
                    "the QQ account {name} is taken for dead: {words}; its connection is closed"
                )));
                effects.push(state(name, "dead", Some(&words)));
                effects.push(Effect::Close { connection, reason: words });
                account.let_go(connection);
            }
        }
        effects
    }

    /// Whether frames of this connection count.
    pub(crate) fn counts(&self, connection: ConnectionId) -> bool {
        self.links.get(&connection).is_some_and(|link| !link.replaced)
    }

    /// The account of a connection.
    pub(crate) fn of(&self, connection: ConnectionId) -> Option<String> {
        self.links.get(&connection)?.account.clone()
    }

    /// Whether it is not known whose a connection is, and it can be asked.
    pub(crate) fn is_nameless(&self, connection: ConnectionId) -> bool {
        self.links.get(&connection).is_some_and(|link| link.account.is_none() && link.requests && !link.replaced)
    }

    /// Whether a connection that ends is to be made again: one that we made, unless another one has taken its place. The
    /// host makes those again that others ended, and none that was closed here.
    pub(crate) fn is_to_be_made_again(&self, connection: ConnectionId) -> bool {
        let link = self.links.get(&connection);
        link.is_some_and(|link| link.address.is_some() && (link.dead || !link.replaced))
    }

    /// Whether an account has no connection any more.
    pub(crate) fn is_any_cut_off(&self) -> bool {
        self.accounts.values().any(|account| account.events.is_none() && account.requests.is_none())
    }

    /// What tools make sense.
    pub(crate) fn offer(&self) -> Offer {
        match (self.accounts.is_empty(), self.connected().is_empty()) {
            (true, _) => Offer::Nothing,
            (false, true) => Offer::Accounts,
            (false, false) => Offer::All,
        }
    }

    /// Whether an account is ours.
    pub(crate) fn is_ours(&self, account: &str) -> bool {
        self.accounts.contains_key(account)
    }

    /// Whether this is the first complaint about a connection's frames.
    pub(crate) fn complain(&mut self, connection: ConnectionId) -> bool {
        self.links.get_mut(&connection).is_some_and(|link| !std::mem::replace(&mut link.complained, true))
    }

    /// The connection over which an account is asked.
    pub(crate) fn requests(&self, account: &str) -> Option<ConnectionId> {
        self.accounts.get(account)?.requests
    }

    /// Whether an account will probably be back in a moment.
    pub(crate) fn is_expected(&self, account: &str, now: u64) -> bool {
        let away = self.accounts.get(account).filter(|account| account.requests.is_none());
        away.and_then(|account| account.gone).is_some_and(|gone| now.saturating_sub(gone) < EXPECTED_BACK)
    }

    /// The accounts that can be asked.
    pub(crate) fn connected(&self) -> Vec<&str> {
        let reachable = self.accounts.iter().filter(|(_, account)| account.requests.is_some());
        reachable.map(|(name, _)| name.as_str()).collect()
    }

    /// All accounts that have been seen, and how they are.
    pub(crate) fn list(&self, now: u64) -> Value {
        let one = |(name, account): (&String, &Account)| {
            let state = match (account.requests.or(account.events), account.online) {
                (None, _) => "disconnected",
                (Some(_), false) => "connected, but not logged in to QQ",
                (Some(_), true) => "connected",
            };
            json!({ "account": name, "state": state, "heard_seconds_ago": now.saturating_sub(account.heard) / 1_000 })
        };
        self.accounts.iter().map(one).collect()
    }

    /// Which connection belongs to which account, where that was learnt.
    pub(crate) fn learnt(&self) -> BTreeMap<ConnectionId, String> {
        self.links.iter().filter_map(|(id, link)| Some((*id, link.account.clone()?))).collect()
    }
}

fn state(account: &str, state: &str, reason: Option<&str>) -> Effect {
    Effect::Publish { topic: "account", payload: json!({ "account": account, "state": state, "reason": reason }) }
}
