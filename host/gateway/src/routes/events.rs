//! What happens, as a stream: the journal from any place on, and changes of the daemon that no journal has.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::response::sse::Event;
use futures::Stream;
use futures::stream;
use homeagent_journal::{EventFilter, EventKind, Journal, Seq, Tail};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

use super::{chat, runs};
use crate::Problem;
use crate::connections::{Connections, StreamKind};
use crate::core::Shared;
use crate::document::{DiskFailures, Invalid};
use crate::extract::{Asked, within};
use crate::ports::Change;

/// The header by which a client says the last event it has seen.
const LAST_EVENT_ID: &str = "last-event-id";

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    /// Begins after this place in the journal; 0 is its beginning. `Last-Event-ID` goes before it.
    #[param(value_type = Option<i64>, minimum = 0)]
    after: Option<Seq>,
    /// Only what happened in this conversation.
    conversation: Option<String>,
    /// Only what happened in this run.
    run: Option<String>,
    /// Kinds of the journal's events, with commas between.
    kind: Option<String>,
    /// Hidden events too.
    #[serde(default)]
    hidden: bool,
}

/// Follows what happens.
///
/// Nobody falls out of it: the next events are read from the journal when the client has taken the ones
/// before, so a slow client costs no memory and misses nothing. Changes that are in no journal are kept for a while
/// only; a client that is too slow for them is told how many it missed.
#[utoipa::path(
    get,
    path = "/events",
    operation_id = "followEvents",
    tag = "runs",
    params(
        Wanted,
        ("Last-Event-ID" = Option<i64>, Header, minimum = 0, description = "The last event the client has seen"),
    ),
    responses(
        (status = OK, body = String, content_type = "text/event-stream", description = "Events of the journal with their ids, and `agent`, `plugin`, `source`, `cost`, `setting`, `missed` and `failed`"),
        Invalid,
        DiskFailures,
    )
)]
pub(crate) async fn follow(
    State(core): State<Shared>,
    Extension(connections): Extension<Arc<Connections>>,
    headers: HeaderMap,
    Asked(wanted): Asked<Wanted>,
) -> Result<Response, Problem> {
    let tip = core.parts.journal.tip();
    let last = *tip.borrow();
    let asked = wanted.after.map(|after| within("after", after, 0, None)).transpose()?;
    let after: Option<Seq> = last_event_id(&headers)?.or(asked);
    // A place that is not there yet belongs to another journal.
    let place = after.map_or(last, |after| after.min(last));
    let follower = Follower {
        journal: core.parts.journal.clone(),
        filter: filter(wanted)?,
        tip,
        place,
        read: Vec::new().into_iter(),
        changes: core.parts.keeper.changes(),
        settings: core.parts.settings.subscribe(),
        stopping: core.stopping.clone(),
        failed: false,
    };
    Ok(chat::stream(events(follower), connections.stream(StreamKind::Events)?))
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<Seq>, Problem> {
    let Some(given) = headers.get(LAST_EVENT_ID) else { return Ok(None) };
    let place = given.to_str().ok().and_then(|text| text.trim().parse().ok());
    place.filter(|&place| place >= 0).map(Some).ok_or_else(|| {
        Problem::invalid("Last-Event-ID is not the id of an event here, which is a whole number from 0 on")
            .hint("leave the header out to begin with what happens next, or ask with ?after=0 for everything")
    })
}

fn filter(wanted: Wanted) -> Result<EventFilter, Problem> {
    let names = wanted.kind.as_deref().unwrap_or_default().split(',').map(str::trim).filter(|name| !name.is_empty());
    let kinds = names.map(|name| EventKind::from_name(name).ok_or_else(|| unknown_kind(name)));
    Ok(EventFilter {
        conversation: wanted.conversation,
        run: wanted.run,
        kinds: kinds.collect::<Result<_, _>>()?,
        hidden: wanted.hidden,
    })
}

fn unknown_kind(name: &str) -> Problem {
    let all = EventKind::ALL.map(EventKind::as_str).join(", ");
    Problem::invalid(format!("there is no kind of event \"{name}\"")).hint(format!("there are: {all}"))
}

/// Somebody who follows what happens.
struct Follower {
    journal: Journal,
    filter: EventFilter,
    tip: watch::Receiver<Seq>,
    /// Up to where the journal has been read.
    place: Seq,
    /// What was read and not yet handed on.
    read: std::vec::IntoIter<homeagent_journal::Event>,
    changes: broadcast::Receiver<Change>,
    /// Keys of settings that change.
    settings: broadcast::Receiver<Arc<str>>,
    stopping: CancellationToken,
    /// The journal could not be read.
    failed: bool,
}

fn events(follower: Follower) -> impl Stream<Item = Result<Event, Infallible>> {
    stream::unfold(follower, async |mut follower| {
        let event = follower.next().await?;
        Some((Ok(event), follower))
    })
}

impl Follower {
    /// The next event; `None` when the gateway stops, or after the word that the journal can't be read.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if self.failed {
                return None;
            }
            if let Some(event) = self.read.next() {
                return Some(chat::event(event.kind.as_str(), &event).id(event.seq.to_string()));
            }
            if self.place < *self.tip.borrow_and_update() {
                let Tail { events, reached } = match self.journal.events_after(self.place, self.filter.clone()).await {
                    Ok(tail) => tail,
                    Err(error) => {
                        tracing::warn!(%error, "a stream of events ends");
                        self.failed = true;
                        return Some(chat::event("failed", &runs::problem(error)));
                    }
                };
                // A tip that shows nothing new behind it is passed, so that it is not looked at again.
                self.place = if reached > self.place { reached } else { *self.tip.borrow() };
                self.read = events.into_iter();
                continue;
            }
            tokio::select! {
                () = self.stopping.cancelled() => return None,
                moved = self.tip.changed() => {
                    // The journal has been closed: the daemon ends.
                    moved.ok()?;
                }
                change = self.changes.recv() => return told(change, |change| shown(&change)),
                key = self.settings.recv() => {
                    return told(key, |key| chat::event("setting", &json!({ "key": &*key })));
                }
            }
        }
    }
}

/// A change as an event; how many were missed where the client is too slow for them.
fn told<T>(change: Result<T, RecvError>, shown: impl FnOnce(T) -> Event) -> Option<Event> {
    match change {
        Ok(change) => Some(shown(change)),
        Err(RecvError::Lagged(missed)) => Some(chat::event("missed", &json!({ "changes": missed }))),
        Err(RecvError::Closed) => None,
    }
}

fn shown(change: &Change) -> Event {
    match change {
        Change::Agent(state) => chat::event("agent", &json!({ "state": state })),
        Change::Plugin(status) => chat::event("plugin", status),
        Change::Source(state) => chat::event("source", state),
        Change::Cost(notice) => chat::event("cost", notice),
        Change::Missed(missed) => chat::event("missed", &json!({ "changes": missed })),
    }
}
