//! Anthropic's messages.

use serde_json::{Value, json};

use super::completions::words;
use super::{Event, Format, Refused, Trouble, listed, object_schema, required, right_key, right_path, tool_name};
use crate::asked::{Asked, Turn};
use crate::said::{End, Said, USAGE};
use crate::wire::Request;

pub(super) fn read(format: Format, request: &Request, key: &str, body: &Value) -> Result<Asked, Refused> {
    right_path(request, &format!("{}/messages", format.base()))?;
    right_key(request.header("x-api-key"), key)?;
    if request.header("anthropic-version").is_none() {
        return Err("anthropic-version: header is required".to_owned().into());
    }
    required(body, "model")?;
    if body["max_tokens"].as_u64().is_none_or(|most| most == 0) {
        return Err("max_tokens: Field required".to_owned().into());
    }
    let thinks = matches!(body["thinking"]["type"].as_str(), Some("enabled" | "adaptive"));
    if thinks && body.get("temperature").is_some_and(|temperature| *temperature != 1.0) {
        return Err("`temperature` may only be set to 1 when thinking is enabled".to_owned().into());
    }
    let mut turns = Vec::new();
    for message in listed(body, "messages")? {
        read_message(message, &mut turns)?;
    }
    if !matches!(turns.first(), Some(Turn::User(_))) {
        return Err("messages: first message must use the \"user\" role".to_owned().into());
    }
    let mut asked = Asked::of(&turns)?;
    if body.get("tools").is_some() {
        let one = |tool: &Value| {
            object_schema(&tool["input_schema"])?;
            tool_name(tool)
        };
        asked.tools = listed(body, "tools")?.iter().map(one).collect::<Result<_, _>>()?;
    }
    asked.stream = body["stream"] == true;
    asked.thinks = thinks;
    Ok(asked)
}

fn read_message(message: &Value, turns: &mut Vec<Turn>) -> Result<(), String> {
    let whole = [json!({"type": "text", "text": message["content"]})];
    let blocks = match &message["content"] {
        Value::String(_) => whole.as_slice(),
        Value::Array(blocks) if !blocks.is_empty() => blocks,
        _ => return Err("messages: content must not be empty".to_owned()),
    };
    let text = |block: &Value| match block["text"].as_str() {
        Some(text) if !text.trim().is_empty() => Ok(text.to_owned()),
        _ => Err("messages: text content blocks must contain non-whitespace text".to_owned()),
    };
    let mut calls = Vec::new();
    let mut said = String::new();
    for block in blocks {
        match (message["role"].as_str(), block["type"].as_str()) {
            (Some("user"), Some("tool_result")) => {
                if !said.is_empty() {
                    return Err("tool_result blocks must come first in the content".to_owned());
                }
                turns.push(Turn::Result(required(block, "tool_use_id")?.to_owned(), words(&block["content"])?));
            }
            (Some("user"), Some("image" | "document")) => said.push_str("[media]"),
            (Some("user"), Some("text")) => {
                let text = text(block)?;
                said.push_str(&text);
                turns.push(Turn::User(text));
            }
            (Some("assistant"), Some("text")) => said.push_str(&text(block)?),
            (Some("assistant"), Some("thinking")) => {
                required(block, "signature")?;
            }
            (Some("assistant"), Some("redacted_thinking")) => {}
            (Some("assistant"), Some("tool_use")) => {
                tool_name(block)?;
                if !block["input"].is_object() {
                    return Err("tool_use.input: Input should be a valid dictionary".to_owned());
                }
                let id = required(block, "id")?;
                if !id.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')) {
                    return Err(format!("tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$': {id}"));
                }
                calls.push(id.to_owned());
            }
            (role, kind) => return Err(format!("messages: {kind:?} in a message of {role:?}")),
        }
    }
    if message["role"] == "assistant" {
        turns.push(Turn::Model(calls));
    }
    Ok(())
}

/// The blocks of an answer: how each begins, its pieces, and the whole.
fn blocks(said: &Said) -> Vec<(Value, Vec<Event>, Value)> {
    let mut blocks = Vec::new();
    let piece = |at: usize, delta: Value| {
        event("content_block_delta", &json!({"type": "content_block_delta", "index": at, "delta": delta}))
    };
    if !said.thoughts.is_empty() {
        let thoughts = said.thoughts.iter().map(|text| piece(0, json!({"type": "thinking_delta", "thinking": text})));
        let signature = piece(0, json!({"type": "signature_delta", "signature": "c2lnbmVk"}));
        blocks.push((
            json!({"type": "thinking", "thinking": "", "signature": ""}),
            thoughts.chain([signature]).collect(),
            json!({"type": "thinking", "thinking": said.thoughts.concat(), "signature": "c2lnbmVk"}),
        ));
    }
    if !said.text.is_empty() {
        let at = blocks.len();
        let text = said.text.iter().map(|text| piece(at, json!({"type": "text_delta", "text": text})).text());
        blocks.push((
            json!({"type": "text", "text": ""}),
            text.collect(),
            json!({"type": "text", "text": said.text.concat()}),
        ));
    }
    for call in &said.calls {
        let at = blocks.len();
        let half = call.arguments.len() / 2;
        let pieces = [&call.arguments[..half], &call.arguments[half..]]
            .map(|json| piece(at, json!({"type": "input_json_delta", "partial_json": json})));
        let block = |input: Value| json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input});
        let input = serde_json::from_str(&call.arguments).unwrap_or_else(|_| call.arguments.as_str().into());
        blocks.push((block(json!({})), pieces.into(), block(input)));
    }
    blocks
}

fn event(name: &'static str, data: &Value) -> Event {
    Event::plain(data).named(name)
}

pub(super) fn events(said: &Said) -> Vec<Event> {
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "m",
                         "usage": {"input_tokens": USAGE.0, "output_tokens": 1}});
    let mut events = vec![event("message_start", &json!({"type": "message_start", "message": message})).again()];
    for (at, (begun, pieces, _)) in blocks(said).into_iter().enumerate() {
        let start = json!({"type": "content_block_start", "index": at, "content_block": begun});
        events.push(event("content_block_start", &start));
        events.push(event("ping", &json!({"type": "ping"})).again());
        events.extend(pieces);
        events.push(event("content_block_stop", &json!({"type": "content_block_stop", "index": at})).again());
    }
    let delta = json!({"stop_reason": reason(said), "stop_sequence": null});
    let end = json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": USAGE.1}});
    events.push(event("message_delta", &end).again());
    events.push(event("message_stop", &json!({"type": "message_stop"})).again());
    events
}

pub(super) fn whole(said: &Said) -> Value {
    let content: Vec<Value> = blocks(said).into_iter().map(|(_, _, whole)| whole).collect();
    json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
           "stop_reason": reason(said), "usage": {"input_tokens": USAGE.0, "output_tokens": USAGE.1}})
}

fn reason(said: &Said) -> &'static str {
    match said.end {
        // The vendor knows one word for both.
        End::Refusal | End::Filter => "refusal",
        End::Done if said.calls.is_empty() => "end_turn",
        End::Done => "tool_use",
    }
}

pub(super) fn error(trouble: &Trouble) -> (u16, Value) {
    let (status, kind, message) = match trouble {
        Trouble::Key(_) => (401, "authentication_error", "invalid x-api-key".to_owned()),
        Trouble::Money => (
            400,
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.".to_owned(),
        ),
        Trouble::KeyMayNot => {
            (403, "permission_error", "Your API key does not have permission to use the specified resource.".to_owned())
        }
        Trouble::Region => (403, "forbidden", "Request not allowed".to_owned()),
        Trouble::RateLimited(_) => (
            429,
            "rate_limit_error",
            "This request would exceed your organization's rate limit of 50,000 input tokens per minute.".to_owned(),
        ),
        Trouble::Broken => (500, "api_error", "Internal server error".to_owned()),
        Trouble::Overloaded => (529, "overloaded_error", "Overloaded".to_owned()),
        Trouble::NoModel => (404, "not_found_error", "model: m".to_owned()),
        Trouble::TooLong => {
            (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum".to_owned())
        }
        Trouble::Filtered => (400, "invalid_request_error", "Output blocked by content filtering policy".to_owned()),
        Trouble::Request(why) => (400, "invalid_request_error", why.clone()),
    };
    (status, json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}))
}
