//! OpenAI's responses: items in, items out, and an event for everything that happens to one.

use serde_json::{Value, json};

use super::completions::words;
use super::{Event, Format, Refused, bearer, listed, object_schema, required, right_path, tool_name};
use crate::asked::{Asked, Turn};
use crate::said::{End, Said, USAGE};
use crate::wire::Request;

pub(super) fn read(format: Format, request: &Request, key: &str, body: &Value) -> Result<Asked, Refused> {
    right_path(request, &format!("{}/responses", format.base()))?;
    bearer(request, key)?;
    required(body, "model")?;
    let mut asked = Asked::of(&turns(listed(body, "input")?)?)?;
    if body.get("tools").is_some() {
        let one = |tool: &Value| {
            object_schema(&tool["parameters"])?;
            tool_name(tool)
        };
        asked.tools = listed(body, "tools")?.iter().map(one).collect::<Result<_, _>>()?;
    }
    asked.stream = body["stream"] == true;
    asked.thinks = body.get("reasoning").is_some();
    Ok(asked)
}

/// The items; calls one after another are of one message.
fn turns(items: &[Value]) -> Result<Vec<Turn>, String> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut thought = false;
    for item in items {
        let thought_before = std::mem::take(&mut thought);
        match item["type"].as_str().unwrap_or("message") {
            "message" => {
                let text = words(&item["content"])?;
                match item["role"].as_str() {
                    Some("developer" | "system") => turns.push(Turn::System),
                    Some("user") if text.is_empty() => return Err("a user's message is empty".to_owned()),
                    Some("user") => turns.push(Turn::User(text)),
                    Some("assistant") => turns.push(Turn::Model(Vec::new())),
                    role => return Err(format!("there is no role {role:?}")),
                }
            }
            "function_call" => {
                tool_name(item)?;
                let id = required(item, "call_id")?.to_owned();
                let arguments = required(item, "arguments")?;
                if !serde_json::from_str::<Value>(arguments).is_ok_and(|arguments| arguments.is_object()) {
                    return Err(format!("the arguments of a call must be an object's JSON: {arguments:?}"));
                }
                match turns.last_mut() {
                    Some(Turn::Model(calls)) => calls.push(id),
                    _ => turns.push(Turn::Model(vec![id])),
                }
            }
            "function_call_output" => {
                turns.push(Turn::Result(required(item, "call_id")?.to_owned(), words(&item["output"])?));
            }
            "reasoning" => {
                required(item, "encrypted_content")?;
                thought = true;
            }
            kind => return Err(format!("there is no item of the type {kind:?}")),
        }
        if thought_before && !matches!(turns.last(), Some(Turn::Model(_))) {
            return Err("an item of type `reasoning` was provided without its required following item".to_owned());
        }
    }
    Ok(turns)
}

/// An item of an answer: itself at its beginning and at its end, and the events in between.
struct Item {
    begun: Value,
    done: Value,
    pieces: Vec<Event>,
}

fn items(said: &Said) -> Vec<Item> {
    let mut items = Vec::new();
    if !said.thoughts.is_empty() {
        let at = items.len();
        let summary = json!([{"type": "summary_text", "text": said.thoughts.concat()}]);
        let pieces = said.thoughts.iter().map(|thought| {
            event(
                "response.reasoning_summary_text.delta",
                json!({"output_index": at, "summary_index": 0, "delta": thought}),
            )
        });
        items.push(Item {
            begun: json!({"id": "rs_1", "type": "reasoning", "summary": []}),
            pieces: pieces.collect(),
            done: json!({"id": "rs_1", "type": "reasoning", "summary": summary, "encrypted_content": "gAAA"}),
        });
    }
    if !said.text.is_empty() {
        let at = items.len();
        let refuses = said.end == End::Refusal;
        let (kind, field) = if refuses { ("refusal", "refusal") } else { ("output_text", "text") };
        let name = if refuses { "response.refusal.delta" } else { "response.output_text.delta" };
        let pieces = said.text.iter().map(|text| {
            event(name, json!({"item_id": "msg_1", "output_index": at, "content_index": 0, "delta": text})).text()
        });
        items.push(Item {
            begun: json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress", "content": []}),
            pieces: pieces.collect(),
            done: json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
                         "content": [{"type": kind, field: said.text.concat()}]}),
        });
    }
    for call in &said.calls {
        let at = items.len();
        let item = |arguments: &str| {
            json!({"id": format!("fc_{at}"), "type": "function_call", "call_id": call.id, "name": call.name,
                   "arguments": arguments})
        };
        let half = call.arguments.len() / 2;
        let pieces = [&call.arguments[..half], &call.arguments[half..]]
            .map(|piece| event("response.function_call_arguments.delta", json!({"output_index": at, "delta": piece})));
        items.push(Item { begun: item(""), pieces: pieces.into(), done: item(&call.arguments) });
    }
    items
}

fn event(name: &'static str, mut data: Value) -> Event {
    data["type"] = name.into();
    Event::plain(&data).named(name)
}

pub(super) fn events(said: &Said) -> Vec<Event> {
    let empty = json!({"id": "resp_1", "object": "response", "status": "in_progress", "output": [], "usage": null});
    let mut events = vec![event("response.created", json!({"response": empty})).again()];
    for (at, item) in items(said).into_iter().enumerate() {
        events.push(event("response.output_item.added", json!({"output_index": at, "item": item.begun})).again());
        events.extend(item.pieces);
        events.push(event("response.output_item.done", json!({"output_index": at, "item": item.done})).again());
    }
    let name = if said.end == End::Filter { "response.incomplete" } else { "response.completed" };
    events.push(event(name, json!({"response": whole(said)})).again());
    events
}

pub(super) fn whole(said: &Said) -> Value {
    let output: Vec<Value> = items(said).into_iter().map(|item| item.done).collect();
    let (status, details) = match said.end {
        End::Filter => ("incomplete", json!({"reason": "content_filter"})),
        End::Done | End::Refusal => ("completed", Value::Null),
    };
    let usage = json!({"input_tokens": USAGE.0, "output_tokens": USAGE.1, "total_tokens": USAGE.0 + USAGE.1});
    json!({"id": "resp_1", "object": "response", "model": "m", "status": status, "error": null,
           "incomplete_details": details, "output": output, "usage": usage})
}

pub(super) fn error_event() -> Event {
    let error = json!({"code": "server_error", "message": "The model is currently overloaded."});
    event("response.failed", json!({"response": {"id": "resp_1", "status": "failed", "error": error, "output": []}}))
}
