//! How many connections one kind of client may hold, and which of them gives way to the next.
//!
//! Whoever connects gets a place. Where all are taken, the connection that has had no request under way for the longest
//! is closed for it; one whose request is under way is never cut. So ten thousand connections that say nothing keep
//! nobody out, and cost no more than the places there are.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::{Response, StatusCode};
use homeagent_settings::Settings;
use hyper::body::{Frame, SizeHint};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::Problem;
use crate::meters;

/// The connections of one kind of client: over TCP, of the daemon's own user, of other users. None of them can take the
/// places of another.
pub(crate) struct Connections {
    settings: Settings,
    state: Mutex<State>,
    /// Told when a place is given back. The accepting task alone waits for it.
    freed: Notify,
}

#[derive(Default)]
struct State {
    /// Places that are taken.
    taken: usize,
    /// Counts up, so that who has been idle for the longest comes first in `idle`.
    clock: u64,
    /// Connections without a request under way, each with what closes it.
    idle: BTreeMap<u64, CancellationToken>,
    /// Streams and chats that are open, by their kind.
    streams: [usize; StreamKind::ALL.len()],
}

/// What stays open for as long as its client likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamKind {
    /// What happens, followed.
    Events,
    /// A turn whose pieces are sent as they come.
    Turn,
    /// A chat connection.
    Chat,
    /// A connection at a path of a plugin's.
    Plugin,
}

impl StreamKind {
    pub(crate) const ALL: [Self; 4] = [Self::Events, Self::Turn, Self::Chat, Self::Plugin];

    /// The name in metrics.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Turn => "turn",
            Self::Chat => "chat",
            Self::Plugin => "plugin",
        }
    }
}

/// The connections of all kinds of client.
#[derive(Clone)]
pub(crate) struct AllConnections {
    /// Over TCP.
    pub(crate) network: Arc<Connections>,
    /// Of the daemon's own user, over the unix socket.
    pub(crate) owner: Arc<Connections>,
    /// Of other users, over the unix socket.
    pub(crate) others: Arc<Connections>,
}

impl AllConnections {
    pub(crate) fn new(settings: &Settings) -> Self {
        let connections = || Connections::new(settings.clone());
        Self { network: connections(), owner: connections(), others: connections() }
    }

    /// Each kind with its name in metrics.
    pub(crate) fn named(&self) -> [(&'static str, &Connections); 3] {
        [("network", &*self.network), ("owner", &*self.owner), ("others", &*self.others)]
    }
}

impl Connections {
    fn new(settings: Settings) -> Arc<Self> {
        Arc::new(Self { settings, state: Mutex::default(), freed: Notify::new() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number that a setting says, as it is now.
    fn limit(&self, key: &str) -> usize {
        self.settings.integer(key).ok().and_then(|limit| usize::try_from(limit).ok()).unwrap_or(1)
    }

    /// A place, if one is free. If none is, the connection that has been idle for the longest is told to close.
    pub(crate) fn try_place(self: &Arc<Self>) -> Option<Place> {
        let most = self.limit("core.gateway.connections");
        let mut state = self.state();
        if state.taken >= most {
            if let Some((_, close)) = state.idle.pop_first() {
                close.cancel();
            }
            return None;
        }
        state.taken += 1;
        let close = CancellationToken::new();
        let since = state.idle_from_now(close.clone());
        let (idle, served) = (Mutex::new(Some(since)), AtomicBool::new(false));
        Some(Place { connections: Arc::clone(self), close, idle, served })
    }

    /// A place, as soon as there is one.
    pub(crate) async fn place(self: &Arc<Self>) -> Place {
        loop {
            if let Some(place) = self.try_place() {
                return place;
            }
            self.freed.notified().await;
        }
    }

    /// Counts a stream or a chat, which stays open for as long as its client likes.
    ///
    /// # Errors
    ///
    /// As many as may be are open.
    pub(crate) fn stream(self: &Arc<Self>, kind: StreamKind) -> Result<OpenStream, Problem> {
        let most = self.limit("core.gateway.streams");
        let mut state = self.state();
        if state.streams.iter().sum::<usize>() >= most {
            meters::refused(meters::STREAMS);
            let detail = format!(
                "{most} streams, chats and connections of plugins are open already, which is as many as may be"
            );
            return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail)
                .hint("close one, or raise the setting core.gateway.streams"));
        }
        state.streams[kind as usize] += 1;
        Ok(OpenStream { connections: Arc::clone(self), kind })
    }

    /// How many connections are open.
    pub(crate) fn open(&self) -> usize {
        self.state().taken
    }

    /// How many streams of this kind are open.
    pub(crate) fn open_streams(&self, kind: StreamKind) -> usize {
        self.state().streams[kind as usize]
    }
}

impl State {
    fn idle_from_now(&mut self, close: CancellationToken) -> u64 {
        self.clock += 1;
        self.idle.insert(self.clock, close);
        self.clock
    }
}

/// A stream or a chat that is open; counted until it is dropped.
pub(crate) struct OpenStream {
    connections: Arc<Connections>,
    kind: StreamKind,
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.connections.state().streams[self.kind as usize] -= 1;
    }
}

/// The place of one connection, given back when it is dropped.
pub(crate) struct Place {
    connections: Arc<Connections>,
    close: CancellationToken,
    /// Its key among those that are idle; none while a request is under way.
    idle: Mutex<Option<u64>>,
    served: AtomicBool,
}

impl Place {
    /// Resolves when the connection has to make room.
    pub(crate) async fn has_to_go(&self) {
        self.close.cancelled().await;
    }

    /// A request begins. Nothing if the connection was told to close just before: nothing was done with the request,
    /// and its client finds the connection closed as any that was idle for too long.
    pub(crate) fn begin(self: &Arc<Self>) -> Option<Work> {
        let since = self.idle().take()?;
        self.connections.state().idle.remove(&since)?;
        self.served.store(true, Ordering::Relaxed);
        Some(Work { place: Arc::clone(self), upgraded: false })
    }

    /// It has had a request.
    pub(crate) fn has_served(&self) -> bool {
        self.served.load(Ordering::Relaxed)
    }

    fn idle(&self) -> MutexGuard<'_, Option<u64>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let since = self.idle().take();
        {
            let mut state = self.connections.state();
            state.taken -= 1;
            if let Some(since) = since {
                state.idle.remove(&since);
            }
        }
        self.connections.freed.notify_one();
    }
}

/// A request under way: until its answer has been written, or its connection became another protocol's.
pub(crate) struct Work {
    place: Arc<Place>,
    /// The connection hands its stream over in a moment, and its place is given back then; it must not count as idle
    /// before.
    upgraded: bool,
}

impl Work {
    /// Holds on until the answer's body has been read to its end.
    pub(crate) fn until_written(mut self, response: Response<Body>) -> Response<Body> {
        self.upgraded = response.status() == StatusCode::SWITCHING_PROTOCOLS;
        response.map(|body| Body::new(Answer { body, _work: self }))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if !self.upgraded {
            let since = self.place.connections.state().idle_from_now(self.place.close.clone());
            *self.place.idle() = Some(since);
        }
    }
}

/// The body of an answer with what is held until its end.
struct Answer {
    body: Body,
    _work: Work,
}

impl hyper::body::Body for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
