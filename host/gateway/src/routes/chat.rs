//! Turns: saying something, and stopping what runs.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use futures::{Stream, StreamExt as _};
use homeagent_agent::{Ask, Asked, TurnEvent, TurnResult};
use homeagent_types::{Conversation, Principal, Role, Shown};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::media::{self, Attachment};
use super::runs;
use crate::Problem;
use crate::connections::{Connections, OpenStream, StreamKind};
use crate::core::Shared;
use crate::document::{AgentStopped, CallFailures, Conflict, Invalid, NotFound};
use crate::extract::{Document, MaybeDocument, Named};

const LONGEST_NAME: usize = 64;

/// How often a stream says that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Something to say to the agent.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Saying {
    text: String,
    /// 1 to 64 characters without spaces; `owner` if none is given.
    #[serde(default)]
    conversation: Option<String>,
    /// What goes along.
    #[serde(default)]
    media: Vec<Attachment>,
}

/// Says something and waits for what comes of it.
///
/// With `Accept: text/event-stream` the answer is a stream of `started`, `delta`, `question` and `finished` or `failed`. A client
/// that goes away does not end the turn.
#[utoipa::path(
    post,
    path = "/chat",
    operation_id = "chat",
    tag = "chat",
    request_body(content = Saying),
    responses(
        (status = OK, description = "The turn's result, also where the turn failed", content(
            (TurnResult = "application/json"),
            (String = "text/event-stream"),
        )),
        CallFailures,
    )
)]
pub(crate) async fn chat(
    State(core): State<Shared>,
    Extension(connections): Extension<Arc<Connections>>,
    headers: HeaderMap,
    Document(saying): Document<Saying>,
) -> Result<Response, Problem> {
    if saying.text.trim().is_empty() && saying.media.is_empty() {
        return Err(Problem::invalid("the text is empty"));
    }
    let user = conversation_name(saying.conversation)?;
    let conversation = Conversation::person("api", &user);
    let media = media::attached(&core, saying.media).await?;
    let ask = Ask { media, ..Ask::text(saying.text, conversation, owner("api", user)) };
    // Before the question is taken: nobody could be told of it.
    let open = wants_stream(&headers).then(|| connections.stream(StreamKind::Turn)).transpose()?;
    // A task of its own: either the question is taken, or it is not.
    let turns = Arc::clone(&core.live()?.turns);
    let asked = tokio::spawn(async move { turns.ask(ask).await });
    let asked = asked.await.map_err(|_| broke_off())??;
    if let Some(open) = open {
        return Ok(stream(events(asked), open));
    }
    Ok(Json(result(asked).await?).into_response())
}

async fn result(mut asked: Asked) -> Result<TurnResult, Problem> {
    while let Some(event) = asked.events.recv().await {
        if let TurnEvent::Finished(result) = event {
            return Ok(result);
        }
    }
    Err(broke_off())
}

fn broke_off() -> Problem {
    Problem::internal("the turn ended without a result; the log says more")
}

fn events(asked: Asked) -> impl Stream<Item = Result<Event, Infallible>> {
    futures::stream::unfold(Some(asked), async |asked| {
        let mut asked = asked?;
        let (event, more) = match asked.events.recv().await {
            Some(TurnEvent::Finished(result)) => (event("finished", &result), None),
            Some(TurnEvent::Started { run }) => (event("started", &json!({ "run": run })), Some(asked)),
            Some(TurnEvent::Delta(shown)) => (delta(shown), Some(asked)),
            Some(TurnEvent::Question(question)) => (event("question", &question), Some(asked)),
            None => (event("failed", &broke_off()), None),
        };
        Some((Ok(event), more))
    })
}

fn delta(shown: Shown) -> Event {
    let (kind, text) = match shown {
        Shown::Text(text) => ("text", text),
        Shown::Reasoning(text) => ("reasoning", text),
        Shown::ToolStarted(name) => ("tool-started", name),
        Shown::ToolEnded(name) => ("tool-ended", name),
        Shown::Void => ("void", String::new()),
    };
    event("delta", &json!({ "kind": kind, "text": text }))
}

/// A stream of events, with a comment now and then, so that proxies do not close one in which nothing happens. It is
/// counted as open for as long as the client has it.
pub(super) fn stream(
    events: impl Stream<Item = Result<Event, Infallible>> + Send + 'static,
    open: OpenStream,
) -> Response {
    let events = events.inspect(move |_| {
        let _held = &open;
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
}

pub(super) fn event(name: &str, data: &impl Serialize) -> Event {
    // The data are texts and numbers, which are always JSON.
    let data = serde_json::to_string(data).unwrap_or_default();
    Event::default().event(name).data(data)
}

fn wants_stream(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted
        .flat_map(|value| value.split(','))
        .any(|kind| kind.split(';').next().unwrap_or_default().trim() == "text/event-stream")
}

/// Whoever passed the guard is the owner, under the name of the conversation.
pub(super) fn owner(namespace: &str, user: String) -> Principal {
    Principal { namespace: namespace.to_owned(), user, role: Role::Owner, display_name: None, attested: true }
}

/// The name of a conversation, `owner` if none is given.
pub(super) fn conversation_name(given: Option<String>) -> Result<String, Problem> {
    let name = given.unwrap_or_else(|| "owner".to_owned());
    let fits = !name.is_empty()
        && name.chars().count() <= LONGEST_NAME
        && !name.chars().any(|c| c.is_control() || c.is_whitespace());
    if fits {
        return Ok(name);
    }
    Err(Problem::invalid(format!("a conversation's name has 1 to {LONGEST_NAME} characters and no spaces")))
}

/// The runs that were ended.
#[derive(Serialize, ToSchema)]
pub(crate) struct Stopped {
    stopped: Vec<String>,
}

/// Ends a run.
#[utoipa::path(
    post,
    path = "/runs/{id}/cancel",
    operation_id = "cancelRun",
    tag = "chat",
    params(("id" = String, Path, description = "The run")),
    responses(
        (status = OK, body = Stopped, description = "It was ended"),
        NotFound,
        Conflict,
        AgentStopped,
    )
)]
pub(crate) async fn cancel(State(core): State<Shared>, Named(id): Named<String>) -> Result<Json<Stopped>, Problem> {
    let stopped = core.live()?.turns.stop_run(Some(&id));
    if stopped.is_empty() {
        return Err(not_running(&core, &id).await);
    }
    Ok(Json(Stopped { stopped }))
}

async fn not_running(core: &Shared, id: &str) -> Problem {
    match core.parts.journal.run(id).await {
        Ok(Some(run)) => {
            Problem::new(StatusCode::CONFLICT, format!("the run {id} has ended already: {}", run.status.as_str()))
        }
        Ok(None) => runs::unknown(id),
        Err(error) => runs::problem(error),
    }
}

/// What to end.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stopping {
    /// A run; without one, all that run.
    #[serde(default)]
    run: Option<String>,
}

/// Ends the given run, or all that run.
#[utoipa::path(
    post,
    path = "/stop",
    operation_id = "stopRuns",
    tag = "chat",
    request_body(content = Option<Stopping>),
    responses(
        (status = OK, body = Stopped, description = "Those that were ended"),
        NotFound,
        Conflict,
        Invalid,
        AgentStopped,
    )
)]
pub(crate) async fn stop(
    State(core): State<Shared>,
    MaybeDocument(stopping): MaybeDocument<Stopping>,
) -> Result<Json<Stopped>, Problem> {
    if let Some(run) = stopping.and_then(|stopping| stopping.run) {
        // A turn that is just beginning has an empty id.
        if run.is_empty() {
            return Err(Problem::invalid("the run's id is empty"));
        }
        return cancel(State(core), Named(run)).await;
    }
    Ok(Json(Stopped { stopped: core.live()?.turns.stop_run(None) }))
}
