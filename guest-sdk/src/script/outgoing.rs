//! What a script is handed, as JSON.

use serde_json::{Map, Value, json};

use crate::{
    Audience, Cause, Conversation, Delta, DeltaContent, Error, Event, Firing, Input, Media, MediaSource, Meta, Output,
    OutputKind, Payload, Peer, Principal, Role, Stage, StageContext, StageData, ToolCall, ToolOutput,
};

pub(super) fn cause(cause: &Cause) -> Value {
    json!({
        "run": cause.run,
        "conversation": cause.conversation.as_ref().map(conversation),
        "principal": principal(&cause.principal),
        "audience": audience(&cause.audience),
        "deadline_ms": cause.deadline_ms,
        "chain": cause.chain,
        "meta": meta(&cause.meta),
    })
}

/// `{ kind, message }`, from which a language makes the error that its script catches.
pub fn error(error: &Error) -> Value {
    let kind = match error {
        Error::Denied(_) => "denied",
        Error::Invalid(_) => "invalid",
        Error::NotFound(_) => "not-found",
        Error::NotLive => "not-live",
        Error::Busy => "busy",
        Error::Timeout => "timeout",
        Error::Retryable => "retryable",
        Error::Other(_) => "other",
    };
    json!({ "kind": kind, "message": error.message() })
}

pub(super) fn stage_context(context: &StageContext, cause: &Value) -> Value {
    let turn_data = context.turn_data.iter().map(|(key, value)| (key.clone(), parsed(value)));
    let mut fields = json!({
        "stage": stage(context.stage),
        "turn_data": turn_data.collect::<Map<_, _>>(),
        "cause": cause,
        "meta": meta(&context.meta),
    });
    let (key, value) = match &context.data {
        StageData::Input(it) | StageData::Ready(it) => ("input", input(it)),
        StageData::Answer(answer) => {
            let calls: Vec<_> = answer.calls.iter().map(tool_call).collect();
            let (text, reasoning) = (&answer.text, &answer.reasoning);
            ("answer", json!({ "text": text, "reasoning": reasoning, "calls": calls, "round": answer.round }))
        }
        StageData::Call(call) => ("call", tool_call(call)),
        StageData::Outcome(outcome) => {
            let call = tool_call(&outcome.call);
            let told = match &outcome.outcome {
                Ok(output) => json!({ "call": call, "output": tool_output(output) }),
                Err(failure) => json!({ "call": call, "error": error(failure) }),
            };
            ("outcome", told)
        }
        StageData::Output(it) => ("output", json!({ "text": it.text, "conversation": conversation(&it.conversation) })),
        StageData::Other(it) => ("other", parsed(it)),
    };
    fields[key] = value;
    fields
}

pub(super) fn firing(timer: &Firing, cause: &Value) -> Value {
    json!({
        "id": timer.id,
        "name": timer.name,
        "due": timer.due,
        "payload": parsed(&timer.payload),
        "missed": timer.missed,
        "cause": cause,
        "meta": meta(&timer.meta),
    })
}

pub(super) fn event(event: &Event, cause: &Value) -> Value {
    json!({
        "topic": event.topic,
        "payload": parsed(&event.payload),
        "source": event.source,
        "at": event.at,
        "cause": cause,
        "meta": meta(&event.meta),
    })
}

pub(super) fn output(output: &Output) -> Value {
    let (kind, code) = match &output.kind {
        OutputKind::Reply => ("reply", None),
        OutputKind::Message => ("message", None),
        OutputKind::Notice(code) => ("notice", Some(code)),
        OutputKind::Other(name) => ("other", Some(name)),
    };
    json!({
        "id": output.id,
        "run": output.run,
        "conversation": conversation(&output.conversation),
        "reply_route": output.reply_route,
        "kind": kind,
        "code": code,
        "text": output.text,
        "media": media(&output.media),
        "structured": output.structured.as_deref().map(parsed),
        "meta": meta(&output.meta),
    })
}

pub(super) fn delta(delta: &Delta) -> Value {
    let (key, value) = match &delta.content {
        DeltaContent::Text(text) => ("text", json!(text)),
        DeltaContent::Reasoning(text) => ("reasoning", json!(text)),
        DeltaContent::ToolStarted(name) => ("tool_started", json!(name)),
        DeltaContent::ToolEnded(name) => ("tool_ended", json!(name)),
        DeltaContent::Void => ("void", json!(true)),
        DeltaContent::Other(what) => ("other", json!(what)),
    };
    let mut fields = json!({
        "run": delta.run,
        "conversation": conversation(&delta.conversation),
        "reply_route": delta.reply_route,
    });
    fields[key] = value;
    fields
}

pub(super) fn tool_output(output: &ToolOutput) -> Value {
    json!({
        "value": parsed(&output.value),
        "media": media(&output.media),
        "failed": output.failed,
        "meta": meta(&output.meta),
    })
}

fn input(input: &Input) -> Value {
    let mut fields = json!({
        "id": input.id,
        "source": input.source,
        "conversation": conversation(&input.conversation),
        "audience": audience(&input.audience),
        "principal": principal(&input.principal),
        "kind": input.kind,
        "media": media(&input.media),
        "reply_route": input.reply_route,
        "received_at": input.received_at,
        "meta": meta(&input.meta),
    });
    let (key, value) = match &input.payload {
        Payload::Text(text) => ("text", json!(text)),
        Payload::Structured(value) => ("structured", parsed(value)),
    };
    fields[key] = value;
    fields
}

/// The arguments as they are, and as the text they were written as: that need not be JSON.
fn tool_call(call: &ToolCall) -> Value {
    let arguments = serde_json::from_str::<Value>(&call.arguments).ok();
    json!({ "id": call.id, "name": call.name, "arguments": arguments, "written": call.arguments })
}

fn conversation(conversation: &Conversation) -> Value {
    let peer = match &conversation.peer {
        Peer::Person(id) => json!({ "person": id }),
        Peer::Group(id) => json!({ "group": id }),
        Peer::Other(what) => json!({ "other": what }),
    };
    json!({ "channel": conversation.channel, "peer": peer })
}

fn principal(principal: &Principal) -> Value {
    let role = match principal.role {
        Role::Owner => "owner",
        Role::Member => "member",
        Role::Guest => "guest",
        Role::Plugin => "plugin",
    };
    json!({
        "namespace": principal.namespace,
        "user": principal.user,
        "role": role,
        "display_name": principal.display_name,
    })
}

fn audience(audience: &Audience) -> Value {
    match audience {
        Audience::Person(who) => json!({ "person": who }),
        Audience::Group(group) => json!({ "group": group }),
        Audience::Agent => json!({ "agent": true }),
        Audience::Other(what) => json!({ "other": what }),
    }
}

/// Bytes stay with the host: a script learns how many there are.
fn media(media: &[Media]) -> Vec<Value> {
    let one = |medium: &Media| {
        let (key, value) = match &medium.source {
            MediaSource::Inline(bytes) => ("bytes", json!(bytes.len())),
            MediaSource::Url(url) => ("url", json!(url)),
            MediaSource::Stored(address) => ("stored", json!(address)),
        };
        let mut fields = json!({ "mime": medium.mime, "name": medium.name, "meta": meta(&medium.meta) });
        fields[key] = value;
        fields
    };
    media.iter().map(one).collect()
}

fn meta(meta: &Meta) -> Map<String, Value> {
    meta.iter().map(|(key, value)| (key.clone(), json!(value))).collect()
}

fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::OnInput => "on-input",
        Stage::PreAction => "pre-action",
        Stage::PostAction => "post-action",
        Stage::BeforeToolcall => "before-toolcall",
        Stage::AfterToolcall => "after-toolcall",
        Stage::BeforeOutput => "before-output",
        Stage::AfterOutput => "after-output",
    }
}

/// JSON of the contract, which is valid where the host made it; a text that is not is handed on as a text.
fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|_| Value::from(json))
}
