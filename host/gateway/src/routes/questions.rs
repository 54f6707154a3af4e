//! What waits for the owner's word: tools that may not run without it.

use axum::Json;
use axum::extract::State;
use homeagent_agent::Question;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::chat::owner;
use crate::Problem;
use crate::core::Shared;
use crate::document::{AgentStopped, Invalid, NotFound};
use crate::extract::{Document, Named};

/// Lists the questions that wait, the oldest first.
#[utoipa::path(
    get,
    path = "/questions",
    operation_id = "listQuestions",
    tag = "rights",
    responses(
        (status = OK, body = Vec<Question>, description = "The questions"),
        AgentStopped,
    )
)]
pub(crate) async fn list(State(core): State<Shared>) -> Result<Json<Vec<Question>>, Problem> {
    Ok(Json(core.live()?.turns.questions()))
}

/// What the owner says.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Word {
    /// Whether the tool may run.
    allow: bool,
}

/// A question that is answered.
#[derive(Serialize, ToSchema)]
pub(crate) struct Answered {
    /// The question's number.
    id: u64,
    /// The tool it was about.
    tool: String,
    /// Whether it runs.
    allow: bool,
}

/// Answers a question.
#[utoipa::path(
    post,
    path = "/questions/{id}",
    operation_id = "answerQuestion",
    tag = "rights",
    params(("id" = u64, Path, description = "The question's number", example = 1)),
    request_body(content = Word),
    responses(
        (status = OK, body = Answered, description = "It was taken"),
        NotFound,
        Invalid,
        AgentStopped,
    )
)]
pub(crate) async fn answer(
    State(core): State<Shared>,
    Named(id): Named<u64>,
    Document(Word { allow }): Document<Word>,
) -> Result<Json<Answered>, Problem> {
    let by = owner("api", "owner".to_owned());
    let answered = core.live()?.turns.answer(id, allow, &by);
    let question = answered.ok_or_else(|| {
        Problem::not_found(format!("no question {id} waits")).hint("`waiter questions` lists those that do")
    })?;
    Ok(Json(Answered { id, tool: question.tool, allow }))
}
