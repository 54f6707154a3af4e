//! To guests.

use homeagent_types as host;
use homeagent_types::stage::{Stage, StageContext, StageData};

use crate::bindings::stage::exports::homeagent::plugin::stage_handler;
use crate::bindings::{channel, types};

impl From<host::CallError> for types::Error {
    fn from(error: host::CallError) -> Self {
        match error {
            host::CallError::Denied(denial) => types::Error::Denied(types::Denial {
                capability: denial.capability,
                attempt: denial.attempt,
                remedy: denial.remedy,
            }),
            host::CallError::Invalid(text) => types::Error::Invalid(text),
            host::CallError::NotFound(text) => types::Error::NotFound(text),
            host::CallError::NotLive => types::Error::NotLive,
            host::CallError::Busy => types::Error::Busy,
            host::CallError::Timeout => types::Error::Timeout,
            host::CallError::Retryable => types::Error::Retryable,
            host::CallError::NotStored(text)
            | host::CallError::Conflict(text)
            | host::CallError::Unreachable(text)
            | host::CallError::Other(text) => types::Error::Other(text),
        }
    }
}

impl From<host::Role> for types::Role {
    fn from(role: host::Role) -> Self {
        match role {
            host::Role::Owner => types::Role::Owner,
            host::Role::Member => types::Role::Member,
            host::Role::Guest => types::Role::Guest,
            host::Role::Plugin => types::Role::Plugin,
        }
    }
}

impl From<host::Principal> for types::Principal {
    fn from(principal: host::Principal) -> Self {
        types::Principal {
            namespace: principal.namespace,
            user: principal.user,
            role: principal.role.into(),
            display_name: principal.display_name,
        }
    }
}

impl From<host::Conversation> for types::Conversation {
    fn from(conversation: host::Conversation) -> Self {
        types::Conversation {
            channel: conversation.channel,
            peer: match conversation.peer {
                host::Peer::Person(id) => types::Peer::Person(id),
                host::Peer::Group(id) => types::Peer::Group(id),
                host::Peer::Other(id) => types::Peer::Other(id),
            },
        }
    }
}

impl From<host::Audience> for types::Audience {
    fn from(audience: host::Audience) -> Self {
        match audience {
            host::Audience::Person(id) => types::Audience::Person(id),
            host::Audience::Group(id) => types::Audience::Group(id),
            host::Audience::Agent => types::Audience::Agent,
            host::Audience::Other(id) => types::Audience::Other(id),
        }
    }
}

impl From<host::Cause> for types::Cause {
    fn from(cause: host::Cause) -> Self {
        types::Cause {
            run: cause.run,
            conversation: cause.conversation.map(Into::into),
            principal: cause.principal.into(),
            audience: cause.audience.into(),
            deadline_ms: cause.deadline_ms,
            chain: cause.chain,
            meta: cause.meta,
        }
    }
}

impl From<host::Media> for types::Media {
    fn from(media: host::Media) -> Self {
        types::Media {
            mime: media.mime,
            name: media.name,
            source: match media.source {
                host::MediaSource::Inline(bytes) => types::MediaSource::Inline(bytes),
                host::MediaSource::Url(url) => types::MediaSource::Url(url),
                host::MediaSource::Stored(address) => types::MediaSource::Stored(address),
            },
            meta: media.meta,
        }
    }
}

impl From<host::ToolCall> for types::ToolCall {
    fn from(call: host::ToolCall) -> Self {
        types::ToolCall { id: call.id, name: call.name, arguments: call.arguments }
    }
}

impl From<host::ToolOutput> for types::ToolOutput {
    fn from(output: host::ToolOutput) -> Self {
        types::ToolOutput {
            value: output.value,
            media: output.media.into_iter().map(Into::into).collect(),
            failed: output.failed,
            meta: output.meta,
        }
    }
}

impl From<host::Input> for types::Input {
    fn from(input: host::Input) -> Self {
        types::Input {
            id: input.id,
            source: input.source,
            conversation: input.conversation.into(),
            audience: input.audience.into(),
            principal: input.principal.into(),
            kind: input.kind,
            payload: match input.payload {
                host::Payload::Text(text) => types::Payload::Text(text),
                host::Payload::Structured(json) => types::Payload::Structured(json),
            },
            media: input.media.into_iter().map(Into::into).collect(),
            reply_route: input.reply_route,
            received_at: input.received_at,
            meta: input.meta,
        }
    }
}

/// What a stage handler sees.
pub(crate) fn stage_context(context: StageContext) -> stage_handler::StageContext {
    stage_handler::StageContext {
        stage: match context.stage {
            Stage::OnInput => types::Stage::OnInput,
            Stage::PreAction => types::Stage::PreAction,
            Stage::PostAction => types::Stage::PostAction,
            Stage::BeforeToolcall => types::Stage::BeforeToolcall,
            Stage::AfterToolcall => types::Stage::AfterToolcall,
            Stage::BeforeOutput => types::Stage::BeforeOutput,
            Stage::AfterOutput => types::Stage::AfterOutput,
        },
        data: match context.data {
            StageData::Input(input) => stage_handler::StageData::Input(input.into()),
            StageData::Ready(input) => stage_handler::StageData::Ready(input.into()),
            StageData::Answer(answer) => stage_handler::StageData::Answer(stage_handler::ModelAnswer {
                text: answer.text,
                reasoning: answer.reasoning,
                calls: answer.calls.into_iter().map(Into::into).collect(),
                round: answer.round,
            }),
            StageData::Call(call) => stage_handler::StageData::Call(call.into()),
            StageData::Outcome { call, outcome } => stage_handler::StageData::Outcome(stage_handler::ToolOutcome {
                call: call.into(),
                outcome: outcome.map(Into::into).map_err(Into::into),
            }),
            StageData::Output { text, conversation } => {
                stage_handler::StageData::Output(stage_handler::OutputText { text, conversation: conversation.into() })
            }
        },
        turn_data: context.turn_data,
        cause: context.cause.into(),
        meta: Vec::new(),
    }
}

impl From<host::Output> for channel::exports::homeagent::plugin::channel::Output {
    fn from(output: host::Output) -> Self {
        use channel::exports::homeagent::plugin::channel::OutputKind;
        Self {
            id: output.id,
            run: output.run,
            conversation: output.conversation.into(),
            reply_route: output.reply_route,
            kind: match output.kind {
                host::OutputKind::Reply => OutputKind::Reply,
                host::OutputKind::Message => OutputKind::Message,
                host::OutputKind::Notice(code) => OutputKind::Notice(code),
                host::OutputKind::Other(kind) => OutputKind::Other(kind),
            },
            text: output.text,
            media: output.media.into_iter().map(Into::into).collect(),
            structured: output.structured,
            meta: output.meta,
        }
    }
}

impl From<host::OutputDelta> for channel::exports::homeagent::plugin::channel::Delta {
    fn from(delta: host::OutputDelta) -> Self {
        use channel::exports::homeagent::plugin::channel::DeltaContent;
        Self {
            run: delta.run,
            conversation: delta.conversation.into(),
            reply_route: delta.reply_route,
            content: match delta.content {
                host::Shown::Text(text) => DeltaContent::Text(text),
                host::Shown::Reasoning(text) => DeltaContent::Reasoning(text),
                host::Shown::ToolStarted(name) => DeltaContent::ToolStarted(name),
                host::Shown::ToolEnded(name) => DeltaContent::ToolEnded(name),
                host::Shown::Void => DeltaContent::Void,
            },
        }
    }
}
