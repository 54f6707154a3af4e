//! A OneBot v11 client as NapCat, Lagrange, LLOneBot and go-cqhttp are one, for tests: it speaks the real protocol over
//! real sockets. The QQ behind it is played: people and groups are what a test says they are, and what is sent to them is
//! kept for the test to look at.
//!
//! A client keeps what it could not write to an open socket. When a connection breaks it connects anew, and writes again
//! what may have been lost with the old one, under the same ids.

mod actions;
mod cq;
mod platform;
mod wire;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use platform::{Behaviour, Person, Sent};

use platform::State;

/// How messages are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As lists of segments.
    Array,
    /// As CQ strings.
    String,
}

/// What goes over a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Everything.
    Universal,
    /// Events alone.
    Event,
    /// Requests and their answers alone.
    Api,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Role::Universal => "Universal",
            Role::Event => "Event",
            Role::Api => "API",
        }
    }

    fn has_events(self) -> bool {
        self != Role::Api
    }
}

/// How a client is set up.
#[derive(Clone, Debug)]
pub struct Options {
    /// The account that is logged in.
    pub account: u64,
    /// How messages are written.
    pub form: Form,
    /// A connection for each; a pair is `Event` and `Api`.
    pub roles: Vec<Role>,
    /// How often the client says that it is there; never, where there is none.
    pub heartbeat: Option<Duration>,
    /// What is shown to the other side, or asked of it where the client is the server.
    pub token: Option<String>,
    /// The pause before a connection is made anew.
    pub pause: Duration,
}

impl Options {
    /// The usual client of an account: one connection, lists, a heartbeat each second.
    #[must_use]
    pub fn new(account: u64) -> Self {
        Self {
            account,
            form: Form::Array,
            roles: vec![Role::Universal],
            heartbeat: Some(Duration::from_secs(1)),
            token: None,
            pause: Duration::from_millis(20),
        }
    }
}

/// A client. Dropping it ends its connections.
#[derive(Debug)]
pub struct Client {
    shared: Arc<Shared>,
    tasks: Vec<JoinHandle<()>>,
    /// Where it listens, where it is the server.
    address: Option<String>,
}

impl Drop for Client {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// What the client's tasks share with its owner.
#[derive(Debug)]
pub(crate) struct Shared {
    options: Options,
    state: Mutex<State>,
    /// Counts whatever happens.
    changed: watch::Sender<u64>,
    /// Counts how often all connections were to be broken off.
    broken: watch::Sender<u64>,
}

impl Shared {
    fn new(options: Options) -> Arc<Self> {
        let state = Mutex::new(State::new(options.account, options.form));
        Arc::new(Self { options, state, changed: watch::Sender::new(0), broken: watch::Sender::new(0) })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something to the state and tells whoever waits for a change.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let done = change(&mut self.lock());
        self.changed.send_modify(|count| *count += 1);
        done
    }
}

impl Client {
    /// A client that connects to `ws://...` and keeps doing so: a reverse WebSocket.
    #[must_use]
    pub fn reverse(url: &str, options: Options) -> Self {
        let shared = Shared::new(options);
        let roles = shared.options.roles.clone();
        let keep = |role: Role| tokio::spawn(wire::keep(Arc::clone(&shared), url.to_owned(), role));
        let tasks = roles.into_iter().map(keep).collect();
        Self { shared, tasks, address: None }
    }

    /// A client that is the server: a forward WebSocket, at a port of this machine.
    ///
    /// # Panics
    /// When there is no port.
    pub async fn forward(options: Options) -> Self {
        let shared = Shared::new(options);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = format!("ws://{}", listener.local_addr().expect("it has an address"));
        let tasks = vec![tokio::spawn(wire::serve(Arc::clone(&shared), listener))];
        Self { shared, tasks, address: Some(address) }
    }

    /// Where a client listens that is the server.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    pub fn address(&self) -> &str {
        self.address.as_deref().expect("it is a server")
    }

    /// Somebody in a group, or, with the group 0, somebody whom the account knows.
    pub fn knows(&self, group: u64, person: Person) {
        self.shared.change(|state| drop(state.people.insert((group, person.user), person)));
    }

    /// Somebody says something in private; the message's id.
    pub fn private(&self, user: u64, message: &[Value]) -> i64 {
        self.shared.change(|state| state.says(user, None, message))
    }

    /// Somebody says something in a group; the message's id.
    pub fn group(&self, group: u64, user: u64, message: &[Value]) -> i64 {
        self.shared.change(|state| state.says(user, Some(group), message))
    }

    /// Something else happens: a notice or a request, without what every event has.
    pub fn happens(&self, event: Value) {
        self.shared.change(|state| state.happens(event));
    }

    /// A merged forward that can be opened by its id, with these nodes.
    pub fn holds_forward(&self, id: &str, nodes: Vec<Value>) {
        self.shared.change(|state| drop(state.forwards.insert(id.to_owned(), nodes)));
    }

    /// A file of the client's that `get_record` and `get_image` know: what they answer.
    pub fn holds_file(&self, name: &str, answer: Value) {
        self.shared.change(|state| drop(state.files.insert(name.to_owned(), answer)));
    }

    /// From now on the client does this where the action is asked for.
    pub fn behaves(&self, action: &str, behaviour: Behaviour) {
        self.shared.change(|state| drop(state.behaviour.insert(action.to_owned(), behaviour)));
    }

    /// From now on the client says no more that it is there, or does again.
    pub fn beats(&self, beats: bool) {
        self.shared.change(|state| state.beats = beats);
    }

    /// Whether the account is logged in to QQ, as heartbeats say it.
    pub fn is_online(&self, online: bool) {
        self.shared.change(|state| state.online = online);
    }

    /// Breaks all connections off, as a network does.
    pub fn break_off(&self) {
        self.shared.broken.send_modify(|count| *count += 1);
    }

    /// How many connections stand now.
    #[must_use]
    pub fn open(&self) -> usize {
        self.shared.lock().open
    }

    /// How many connections were made in all, and how often making one failed or was refused.
    #[must_use]
    pub fn made(&self) -> (u64, u64) {
        let state = self.shared.lock();
        (state.made, state.refused)
    }

    /// Why connections were closed by the other side, in order.
    #[must_use]
    pub fn closed(&self) -> Vec<String> {
        self.shared.lock().closed.clone()
    }

    /// Everything that was sent so far, in order.
    #[must_use]
    pub fn sent(&self) -> Vec<Sent> {
        self.shared.lock().sent.clone()
    }

    /// How often an action was asked for.
    #[must_use]
    pub fn asked(&self, action: &str) -> usize {
        self.shared.lock().asked.iter().filter(|(asked, _)| asked == action).count()
    }

    /// The parameters with which an action was asked for, in order.
    #[must_use]
    pub fn parameters(&self, action: &str) -> Vec<Value> {
        let state = self.shared.lock();
        state.asked.iter().filter(|(asked, _)| asked == action).map(|(_, parameters)| parameters.clone()).collect()
    }

    /// Waits until something is so.
    pub async fn until(&self, is_so: impl Fn(&Self) -> bool) {
        let mut changed = self.shared.changed.subscribe();
        // The sender lives as long as `self`.
        while !is_so(self) && changed.changed().await.is_ok() {}
    }
}

/// A segment of text.
#[must_use]
pub fn text(text: &str) -> Value {
    json!({ "type": "text", "data": { "text": text } })
}

/// A segment that mentions somebody.
#[must_use]
pub fn at(user: u64) -> Value {
    json!({ "type": "at", "data": { "qq": user.to_string() } })
}

/// A segment that replies to a message.
#[must_use]
pub fn reply(id: i64) -> Value {
    json!({ "type": "reply", "data": { "id": id.to_string() } })
}
