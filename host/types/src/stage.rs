//! The seven stages of a turn, and what handlers may do there.

use serde::{Deserialize, Serialize};

use crate::{CallError, Cause, Conversation, Input, Meta, ToolCall, ToolOutput};

/// A point of a turn at which handlers run, in the order of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// A message arrived, nothing is done yet.
    OnInput,
    /// The context is ready, the model not yet called.
    PreAction,
    /// The model answered.
    PostAction,
    /// One tool is about to run.
    BeforeToolcall,
    /// It ran.
    AfterToolcall,
    /// The final text is ready.
    BeforeOutput,
    /// It was sent.
    AfterOutput,
}

impl Stage {
    /// All seven, in the order of a turn.
    pub const ALL: [Stage; 7] = [
        Stage::OnInput,
        Stage::PreAction,
        Stage::PostAction,
        Stage::BeforeToolcall,
        Stage::AfterToolcall,
        Stage::BeforeOutput,
        Stage::AfterOutput,
    ];

    /// The name in documents, logs and the journal.
    pub fn as_str(self) -> &'static str {
        match self {
            Stage::OnInput => "on_input",
            Stage::PreAction => "pre_action",
            Stage::PostAction => "post_action",
            Stage::BeforeToolcall => "before_toolcall",
            Stage::AfterToolcall => "after_toolcall",
            Stage::BeforeOutput => "before_output",
            Stage::AfterOutput => "after_output",
        }
    }
}

/// What a handler does with what it sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HandlerMode {
    /// Looks only; runs in parallel with the other observers and the adders.
    Observe,
    /// Adds system messages and data; runs in parallel.
    Add,
    /// Changes; runs after the handler before it, on what that left.
    Rewrite,
}

/// What happens when a handler fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailurePolicy {
    /// As if the handler had not been there.
    Open,
    /// As if the handler had refused.
    Closed,
}

/// On whose tools a handler works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Calls of its plugin's own tools.
    OwnTools,
    /// Everything; needs the grant `stages`.
    Global,
}

/// A handler of one stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageRegistration {
    /// The stage.
    pub stage: Stage,
    /// What it does there.
    pub mode: HandlerMode,
    /// On whose tools.
    pub scope: Scope,
    /// Lower runs earlier; ties by plugin name.
    pub priority: i32,
    /// See [`StageRegistration::policy`].
    pub on_failure: Option<FailurePolicy>,
    /// How long it may take, in milliseconds.
    pub timeout_ms: Option<u32>,
    /// Additions by name.
    pub meta: Meta,
}

impl StageRegistration {
    /// What happens when it fails: as declared, else closed for rewriters of the last three guarded stages, else open.
    pub fn policy(&self) -> FailurePolicy {
        let guarded = matches!(self.stage, Stage::BeforeToolcall | Stage::AfterToolcall | Stage::BeforeOutput);
        self.on_failure.unwrap_or(if guarded && self.mode == HandlerMode::Rewrite {
            FailurePolicy::Closed
        } else {
            FailurePolicy::Open
        })
    }
}

/// The model's answer of one round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelAnswer {
    /// The text.
    pub text: String,
    /// What it thought, where the vendor tells.
    pub reasoning: String,
    /// The calls it made.
    pub calls: Vec<ToolCall>,
    /// Counted from 1 in each turn.
    pub round: u32,
}

/// What a stage is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageData {
    /// `on_input`.
    Input(Input),
    /// `pre_action`.
    Ready(Input),
    /// `post_action`.
    Answer(ModelAnswer),
    /// `before_toolcall`.
    Call(ToolCall),
    /// `after_toolcall`.
    Outcome {
        /// The call that ran.
        call: ToolCall,
        /// Its output, or why there is none.
        outcome: Result<ToolOutput, CallError>,
    },
    /// `before_output` and `after_output`.
    Output {
        /// The text that is to go out, or went.
        text: String,
        /// Where to.
        conversation: Conversation,
    },
}

/// What a handler sees: a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageContext {
    /// The stage.
    pub stage: Stage,
    /// What it is about.
    pub data: StageData,
    /// What handlers put into this turn, by `plugin/key`; values are JSON texts.
    pub turn_data: Vec<(String, String)>,
    /// What the turn comes from.
    pub cause: Cause,
}

/// One change that a handler asks for. Which stage takes which stands in `docs/stages.md` and [`Patch::fits`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Patch {
    /// Replaces the text of the stage.
    SetText(String),
    /// Adds a system message for this turn.
    AddSystem(String),
    /// New arguments (JSON text) for the call of this id.
    SetArgs {
        /// The call's id.
        call: String,
        /// A JSON text.
        arguments: String,
    },
    /// Another result.
    SetResult(ToolOutput),
    /// Takes a call out of the answer, by id.
    DropCall(String),
    /// Another tool in the place of a call's.
    Redirect {
        /// The call's id.
        call: String,
        /// The other tool.
        tool: String,
        /// A JSON text.
        arguments: String,
    },
    /// Ends what the stage is about, with a reason.
    Refuse(String),
    /// Answers in the model's place and goes straight to `after_output`.
    Respond(String),
    /// A value (JSON text) kept for the rest of the turn.
    PutData {
        /// The key, without the plugin's name before it.
        key: String,
        /// A JSON text.
        value: String,
    },
    /// A patch this version does not know.
    Other(String),
}

impl Patch {
    /// The name in documents and logs.
    pub fn name(&self) -> &'static str {
        match self {
            Patch::SetText(_) => "set-text",
            Patch::AddSystem(_) => "add-system",
            Patch::SetArgs { .. } => "set-args",
            Patch::SetResult(_) => "set-result",
            Patch::DropCall(_) => "drop-call",
            Patch::Redirect { .. } => "redirect",
            Patch::Refuse(_) => "refuse",
            Patch::Respond(_) => "respond",
            Patch::PutData { .. } => "put-data",
            Patch::Other(_) => "other",
        }
    }

    /// Whether a handler that is registered so may ask for it.
    pub fn fits(&self, registration: &StageRegistration) -> bool {
        use Stage::{AfterOutput, AfterToolcall, BeforeOutput, BeforeToolcall, OnInput, PostAction, PreAction};
        let StageRegistration { stage, mode, scope, .. } = *registration;
        let stage_takes = match self {
            Patch::SetText(_) => matches!(stage, OnInput | PostAction | BeforeOutput),
            Patch::AddSystem(_) => !matches!(stage, BeforeOutput | AfterOutput),
            Patch::SetArgs { .. } | Patch::Redirect { .. } => matches!(stage, PostAction | BeforeToolcall),
            Patch::SetResult(_) => stage == AfterToolcall,
            Patch::DropCall(_) => stage == PostAction,
            Patch::Refuse(_) => {
                matches!(stage, OnInput | PreAction | PostAction | BeforeToolcall | AfterToolcall | BeforeOutput)
            }
            Patch::Respond(_) => stage != AfterOutput,
            Patch::PutData { .. } => stage != AfterOutput,
            Patch::Other(_) => false,
        };
        let mode_takes = match mode {
            HandlerMode::Observe => false,
            HandlerMode::Add => matches!(self, Patch::AddSystem(_) | Patch::PutData { .. }),
            HandlerMode::Rewrite => true,
        };
        // Needs no grant, so it has a say in its own calls alone: not in what the model reads as the host's word, not in
        // the answer, not in what other tools do.
        let scope_takes = match scope {
            Scope::OwnTools => {
                matches!(self, Patch::SetArgs { .. } | Patch::SetResult(_) | Patch::Refuse(_) | Patch::PutData { .. })
            }
            Scope::Global => true,
        };
        stage_takes && mode_takes && scope_takes
    }
}
