//! The tools, as the owner sees and calls them.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use homeagent_agent::ToolListing;
use homeagent_types::{Cause, Conversation, Media, MediaSource, Role, ToolOutput};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::chat::owner;
use super::plugins::to_the_end;
use crate::Problem;
use crate::core::Shared;
use crate::document::{AgentStopped, CallFailures};
use crate::extract::{MaybeDocument, Named};

/// Lists the tools the owner has, sorted by name.
#[utoipa::path(
    get,
    path = "/tools",
    operation_id = "listTools",
    tag = "tools",
    responses(
        (status = OK, body = Vec<ToolListing>, description = "The tools"),
        AgentStopped,
    )
)]
pub(crate) async fn list(State(core): State<Shared>) -> Result<Json<Vec<ToolListing>>, Problem> {
    Ok(Json(core.live()?.turns.tools(Role::Owner)))
}

/// What a tool returned.
#[derive(Serialize, ToSchema)]
#[schema(as = ToolOutput)]
pub(crate) struct Output {
    /// As the tool wrote it, every digit kept; as a text where it is no JSON.
    #[schema(value_type = serde_json::Value)]
    value: Box<RawValue>,
    /// What the model would read.
    text: String,
    failed: bool,
    media: Vec<Medium>,
}

/// What came with a tool's result.
#[derive(Serialize, ToSchema)]
struct Medium {
    mime: String,
    name: Option<String>,
    /// An address, or where the host keeps it.
    url: Option<String>,
    /// The number of bytes, where they came along.
    bytes: Option<usize>,
}

/// Calls a tool with the owner's rights.
///
/// The body is the arguments, passed on as it is; an empty one is `{}`.
#[utoipa::path(
    post,
    path = "/tools/{name}",
    operation_id = "callTool",
    tag = "tools",
    params(("name" = String, Path, description = "The tool", example = "add")),
    request_body(content = Option<Object>, description = "The arguments"),
    responses(
        (status = OK, body = Output, description = "What it returned, also where it says that it did not succeed"),
        CallFailures,
    )
)]
pub(crate) async fn call(
    State(core): State<Shared>,
    Named(name): Named<String>,
    // Only looked at: parsing and writing it again would lose digits.
    MaybeDocument(args): MaybeDocument<Box<RawValue>>,
) -> Result<Json<Output>, Problem> {
    let args = args.map_or_else(|| "{}".to_owned(), |args| args.get().to_owned());
    if !args.starts_with('{') {
        return Err(Problem::invalid("the arguments have to be a JSON object, such as {\"name\": \"value\"}"));
    }
    let cause = owners_cause();
    let turns = Arc::clone(&core.live()?.turns);
    let output = to_the_end("call", async move { turns.call_tool(&name, args, cause).await }).await?;
    Ok(Json(Output::from(output)))
}

/// What the owner's calls over the API come from.
pub(super) fn owners_cause() -> Cause {
    let conversation = Conversation::person("api", "owner");
    Cause {
        run: None,
        audience: conversation.audience(),
        conversation: Some(conversation),
        principal: owner("api", "owner".to_owned()),
        // As long as the tool may take.
        deadline_ms: 0,
        chain: Vec::new(),
        meta: Vec::new(),
    }
}

impl From<ToolOutput> for Output {
    fn from(output: ToolOutput) -> Self {
        let text = output.for_model();
        let value =
            RawValue::from_string(output.value).or_else(|_| serde_json::value::to_raw_value(&text)).unwrap_or_default();
        Self { value, text, failed: output.failed, media: output.media.into_iter().map(Medium::from).collect() }
    }
}

impl From<Media> for Medium {
    fn from(media: Media) -> Self {
        let (url, bytes) = match media.source {
            MediaSource::Inline(bytes) => (None, Some(bytes.len())),
            MediaSource::Url(url) => (Some(url), None),
            MediaSource::Stored(address) => (Some(format!("media:{address}")), None),
        };
        Self { mime: media.mime, name: media.name, url, bytes }
    }
}
