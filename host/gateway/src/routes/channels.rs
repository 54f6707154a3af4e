//! Trying channels without anybody on the other side.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::Value;

use super::plugins::to_the_end;
use crate::Problem;
use crate::core::Shared;
use crate::document::CallFailures;
use crate::extract::{Asked, Document, Named};
use crate::trial::{self, CaseOutcome};

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct From {
    /// The absolute path of a folder on the daemon's machine that holds the channel's package, in the place of the one that
    /// the daemon has.
    #[param(value_type = Option<String>)]
    folder: Option<PathBuf>,
}

/// Plays recorded frames to a channel and tells the inputs that it makes of them.
///
/// Each case has an instance of its own, which nobody else talks to: nothing reaches the agent or the journal.
#[utoipa::path(
    post,
    path = "/channels/{name}/try",
    operation_id = "tryChannel",
    tag = "channels",
    params(("name" = String, Path, description = "The plugin that is the channel", example = "qq"), From),
    request_body(
        content = Value,
        description = "A frame, a list of frames, a case (an object with `frame`), or a list of cases"
    ),
    responses(
        (status = OK, body = Vec<CaseOutcome>, description = "What came of each case, in order"),
        CallFailures,
    )
)]
pub(crate) async fn try_recording(
    State(core): State<Shared>,
    Named(name): Named<String>,
    Asked(From { folder }): Asked<From>,
    Document(document): Document<Value>,
) -> Result<Json<Vec<CaseOutcome>>, Problem> {
    if folder.as_ref().is_some_and(|folder| !folder.is_absolute()) {
        return Err(Problem::invalid("the folder has to be an absolute path"));
    }
    let mut cases = trial::read(document).map_err(Problem::invalid)?;
    let recordings = cases.iter_mut().map(|case| std::mem::take(&mut case.recording)).collect();
    let plugins = Arc::clone(&core.live()?.plugins);
    let tried = async move { plugins.try_channel(&name, folder.as_deref(), recordings).await };
    let outcomes = to_the_end("trial", tried).await?;
    Ok(Json(cases.into_iter().zip(outcomes).map(|(case, outcome)| case.outcome(outcome)).collect()))
}
