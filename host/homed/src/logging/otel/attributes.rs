//! What a span tells the collector.

use homeagent_settings::Secrets;
use homeagent_types::{Conversation, Peer};
use opentelemetry::trace::{SpanKind, Status};
use opentelemetry::{KeyValue, Value};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

/// The field that says who a turn is with; only the kind of it leaves.
const CONVERSATION: &str = "conversation";

/// Counts, which a span records without a sign and which therefore come as text.
const USAGE: &str = "gen_ai.usage.";

/// What a model call came to that went well.
const ANSWERED: &str = "answered";

/// The attribute that a field of a span becomes. A field that does not stand here does not leave, so that one which is
/// added to a span for the log stays in the log.
fn attribute(span: &str, field: &str) -> Option<&'static str> {
    Some(match (span, field) {
        (_, "run") => "homeagent.run",
        ("turn", CONVERSATION) => "homeagent.conversation.kind",
        ("turn", "role") => "homeagent.role",
        ("turn", "channel") => "homeagent.channel",
        ("stage", "name") => "homeagent.stage",
        ("tool", "name") => "gen_ai.tool.name",
        ("stage" | "tool" | "call", "plugin") => "homeagent.plugin",
        ("call", "export") => "homeagent.export",
        ("model_call", "source") => "homeagent.source",
        ("model_call", "adapter") => "homeagent.adapter",
        ("model_call", "model") => "gen_ai.request.model",
        ("model_call", "input_tokens") => "gen_ai.usage.input_tokens",
        ("model_call", "output_tokens") => "gen_ai.usage.output_tokens",
        ("model_call", "outcome") => "homeagent.outcome",
        _ => return None,
    })
}

/// The span as the collector may see it: with the attributes it may have, and no known secret in any of them.
pub(super) fn outward(mut span: SpanData, secrets: &Secrets) -> SpanData {
    if span.name == "model_call" {
        span.span_kind = SpanKind::Client;
    }
    let mut attributes = Vec::with_capacity(span.attributes.len());
    for KeyValue { key, value, .. } in std::mem::take(&mut span.attributes) {
        let Some(name) = attribute(&span.name, key.as_str()) else { continue };
        let value = match value {
            Value::String(text) if key.as_str() == CONVERSATION => kind_of(text.as_str()).into(),
            Value::String(text) if name.starts_with(USAGE) => text.as_str().parse::<i64>().unwrap_or_default().into(),
            Value::String(text) => secrets.redact(text.as_str()).into_owned().into(),
            Value::Bool(_) | Value::I64(_) | Value::F64(_) => value,
            // Lists come from nowhere among the fields.
            _ => continue,
        };
        if name == "homeagent.outcome" && value.as_str() != ANSWERED {
            span.status = Status::error(value.as_str().into_owned());
        }
        attributes.push(KeyValue::new(name, value));
    }
    span.attributes = attributes;
    // Neither is made today; both could hold a line of the log.
    span.events = SpanEvents::default();
    span.links = SpanLinks::default();
    span
}

/// The kind of the other side, without its id.
fn kind_of(conversation: &str) -> &'static str {
    match Conversation::parse(conversation).map(|conversation| conversation.peer) {
        Some(Peer::Person(_)) => "person",
        Some(Peer::Group(_)) => "group",
        Some(Peer::Other(_)) | None => "other",
    }
}
