//! Ollama's own protocol.

use serde_json::{Value, json};

use super::completions::{tools, words};
use super::{Event, Format, Refused, Trouble, listed, required, right_path, tool_name};
use crate::asked::{Asked, Turn};
use crate::said::{End, Said, USAGE};
use crate::wire::Request;

pub(super) fn read(_: Format, request: &Request, _: &str, body: &Value) -> Result<Asked, Refused> {
    right_path(request, "/api/chat")?;
    required(body, "model")?;
    let mut asked = Asked::of(&turns(listed(body, "messages")?)?)?;
    asked.tools = tools(body)?;
    asked.stream = body["stream"] != false;
    asked.thinks = body.get("think").is_some_and(|think| *think != false);
    Ok(asked)
}

fn turns(messages: &[Value]) -> Result<Vec<Turn>, String> {
    messages.iter().map(turn).collect()
}

fn turn(message: &Value) -> Result<Turn, String> {
    let content = &message["content"];
    if !content.is_string() && !content.is_null() {
        return Err(format!("json: cannot unmarshal {content} into Go struct field .content of type string"));
    }
    let text = words(content)?;
    match message["role"].as_str() {
        Some("system") => Ok(Turn::System),
        Some("user") => Ok(Turn::User(text)),
        Some("tool") => {
            let call = message["tool_call_id"].as_str().map_or_else(|| required(message, "tool_name"), Ok)?;
            Ok(Turn::Result(call.to_owned(), text))
        }
        Some("assistant") => {
            let calls = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
            let one = |call: &Value| {
                let function = &call["function"];
                if !function["arguments"].is_object() {
                    return Err("json: cannot unmarshal string into api.ToolCallFunctionArguments".to_owned());
                }
                call["id"].as_str().map_or_else(|| tool_name(function), |id| Ok(id.to_owned()))
            };
            calls.iter().map(one).collect::<Result<_, _>>().map(Turn::Model)
        }
        role => Err(format!("invalid role: {role:?}")),
    }
}

fn line(message: &Value) -> Event {
    Event::plain(&json!({"model": "m", "created_at": "2026-11-30T08:00:00Z", "message": message, "done": false}))
}

/// The calls as the server reads them; where it can't, it says so.
fn calls(said: &Said) -> Result<Vec<Value>, String> {
    let one = |(index, call): (usize, &crate::said::Call)| {
        let arguments: Value = serde_json::from_str(&call.arguments).map_err(|_| {
            format!("error parsing tool call: raw='{}', err=unexpected end of JSON input", call.arguments)
        })?;
        Ok(json!({"function": {"index": index, "name": call.name, "arguments": arguments}}))
    };
    said.calls.iter().enumerate().map(one).collect()
}

pub(super) fn events(said: &Said) -> Vec<Event> {
    let piece = |field: &str, text: &str| {
        let mut message = json!({"role": "assistant", "content": ""});
        message[field] = text.into();
        line(&message)
    };
    let mut events: Vec<Event> = said.thoughts.iter().map(|thought| piece("thinking", thought)).collect();
    if said.end != End::Filter {
        events.extend(said.text.iter().map(|text| piece("content", text).text()));
    }
    match calls(said) {
        Err(error) => events.push(Event::plain(&json!({"error": error}))),
        Ok(calls) => {
            events.extend(
                calls.into_iter().map(|call| line(&json!({"role": "assistant", "content": "", "tool_calls": [call]}))),
            );
            events.push(Event::plain(&done("")).again());
        }
    }
    events
}

fn done(text: &str) -> Value {
    json!({"model": "m", "created_at": "2026-11-30T08:00:00Z", "message": {"role": "assistant", "content": text},
           "done": true, "done_reason": "stop", "prompt_eval_count": USAGE.0, "eval_count": USAGE.1})
}

pub(super) fn whole(said: &Said) -> Value {
    match calls(said) {
        Err(error) => json!({"error": error}),
        Ok(calls) => {
            let mut whole = done(&said.text.concat());
            if !calls.is_empty() {
                whole["message"]["tool_calls"] = calls.into();
            }
            if !said.thoughts.is_empty() {
                whole["message"]["thinking"] = said.thoughts.concat().into();
            }
            whole
        }
    }
}

pub(super) fn error(trouble: &Trouble) -> (u16, Value) {
    let (status, message) = match trouble {
        Trouble::Key(_) => (401, "unauthorized".to_owned()),
        Trouble::Money => (402, "you have reached your usage limit, add credits to continue".to_owned()),
        Trouble::KeyMayNot => (403, "this API key may not use this model".to_owned()),
        Trouble::Region => (403, "forbidden".to_owned()),
        Trouble::RateLimited(_) => (429, "too many concurrent requests".to_owned()),
        Trouble::Broken => (500, "llama runner process has terminated: exit status 2".to_owned()),
        Trouble::Overloaded => (503, "server busy, please try again. maximum pending requests exceeded".to_owned()),
        Trouble::NoModel => (404, "model 'm' not found".to_owned()),
        Trouble::TooLong => (400, "the input length exceeds the context length".to_owned()),
        // The server has no filter; a proxy before it may have one.
        Trouble::Filtered => (400, "blocked by the content filter".to_owned()),
        Trouble::Request(why) => (400, why.clone()),
    };
    (status, json!({"error": message}))
}
