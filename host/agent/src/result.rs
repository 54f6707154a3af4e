//! What a turn comes to, and what those who wait for it are told meanwhile.

use homeagent_types::Shown;
use homeagent_types::model::Usage;
use serde::Serialize;
use utoipa::ToSchema;

use crate::questions::Question;

/// Why a turn gave no proper answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct TurnError {
    /// A short name: `model-failed`, `overgrown`, `refused`, `stopped`, `timeout`, `shutting-down`, `not-delivered`,
    /// `journal`, `internal`.
    pub code: String,
    /// A sentence for people.
    pub text: String,
}

/// What a turn came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct TurnResult {
    /// The session it belongs to.
    pub session: String,
    /// The turn; empty for an input that no turn took.
    pub run: String,
    /// The text that was sent, or the part of it that was shown.
    pub reply: String,
    /// Why it ended: `stop`, `length`, `content-filter`, `refusal`, `empty`, `rounds`, `tokens`, `identical-calls`,
    /// `identical-errors`, `responded`, `command`, `refused`, `stopped`, `failed`, `timeout`, `shutting-down`.
    pub finish: String,
    /// How often it went back to the model after tool calls.
    pub tool_rounds: u32,
    /// The source that answered last.
    pub source: Option<String>,
    /// The model that answered last.
    pub model: Option<String>,
    /// What all model calls of the turn cost together.
    pub usage: Usage,
    /// Why there is no proper answer.
    pub error: Option<TurnError>,
}

/// What happens in a turn that somebody waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "event", content = "data")]
pub enum TurnEvent {
    /// The turn began.
    Started {
        /// Its id.
        run: String,
    },
    /// A piece of the answer; provisional.
    Delta(Shown),
    /// The owner is asked whether a tool may run, and the turn waits.
    Question(Question),
    /// It ended; nothing comes after this.
    Finished(TurnResult),
}
