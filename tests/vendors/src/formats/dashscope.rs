//! DashScope's own protocol.

use serde_json::{Value, json};

use super::completions::{reason, tools, turns};
use super::{Event, Format, Refused, Trouble, bearer, listed, required, right_path};
use crate::asked::Asked;
use crate::said::{Said, USAGE};
use crate::wire::Request;

pub(super) fn read(format: Format, request: &Request, key: &str, body: &Value) -> Result<Asked, Refused> {
    let seeing = request.path.contains("/multimodal-generation/");
    let kind = if seeing { "multimodal-generation" } else { "text-generation" };
    right_path(request, &format!("{}/services/aigc/{kind}/generation", format.base()))?;
    bearer(request, key)?;
    required(body, "model")?;
    let parameters = &body["parameters"];
    let stream =
        request.header("x-dashscope-sse") == Some("enable") || request.header("accept") == Some("text/event-stream");
    if stream && parameters["incremental_output"] != true {
        return Err("each piece would repeat those before it".to_owned().into());
    }
    if parameters["result_format"] != "message" {
        return Err("the tools param should be used with result_format message".to_owned().into());
    }
    let messages = listed(&body["input"], "messages")?;
    if seeing && messages.iter().any(|message| message["content"].is_string()) {
        return Err("Input should be a valid list: input.messages.content".to_owned().into());
    }
    let mut asked = Asked::of(&turns(messages, false)?)?;
    asked.tools = tools(parameters)?;
    asked.stream = stream;
    asked.thinks = parameters["enable_thinking"] == true;
    Ok(asked)
}

fn chunk(message: &Value, reason: &str) -> Value {
    let usage = json!({"input_tokens": USAGE.0, "output_tokens": USAGE.1, "total_tokens": USAGE.0 + USAGE.1});
    json!({"output": {"choices": [{"message": message, "finish_reason": reason}]}, "usage": usage, "request_id": "r"})
}

pub(super) fn events(said: &Said) -> Vec<Event> {
    let go_on = |message: Value| Event::plain(&chunk(&message, "null"));
    let mut events = Vec::new();
    for thought in &said.thoughts {
        events.push(go_on(json!({"role": "assistant", "content": "", "reasoning_content": thought})));
    }
    for text in &said.text {
        events.push(go_on(json!({"role": "assistant", "content": text})).text());
    }
    for (index, call) in said.calls.iter().enumerate() {
        let half = call.arguments.len() / 2;
        let (first, second) = call.arguments.split_at(half);
        for (id, name, arguments) in [(call.id.as_str(), call.name.as_str(), first), ("", "", second)] {
            let function = json!({"name": name, "arguments": arguments});
            let call = json!({"index": index, "id": id, "type": "function", "function": function});
            events.push(go_on(json!({"role": "assistant", "content": "", "tool_calls": [call]})));
        }
    }
    let end = chunk(&json!({"role": "assistant", "content": ""}), reason(Format::DashScope, said));
    events.push(Event::plain(&end).again());
    events
}

pub(super) fn whole(said: &Said) -> Value {
    let mut message = json!({"role": "assistant", "content": said.text.concat()});
    if !said.thoughts.is_empty() {
        message["reasoning_content"] = said.thoughts.concat().into();
    }
    if !said.calls.is_empty() {
        let one = |call: &crate::said::Call| json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}});
        message["tool_calls"] = said.calls.iter().map(one).collect();
    }
    chunk(&message, reason(Format::DashScope, said))
}

pub(super) fn error(trouble: &Trouble) -> (u16, Value) {
    let (status, code, message) = match trouble {
        Trouble::Key(_) => (401, "InvalidApiKey", "Invalid API-key provided.".to_owned()),
        Trouble::Money => {
            (400, "Arrearage", "Access denied, please make sure your account is in good standing.".to_owned())
        }
        Trouble::KeyMayNot => {
            (403, "Model.AccessDenied", "Model access denied: your API-key may not use it.".to_owned())
        }
        Trouble::Region => (403, "RegionNotSupported", "This service is not offered in your region.".to_owned()),
        Trouble::RateLimited(_) => {
            (429, "Throttling.RateQuota", "Requests rate limit exceeded, please try again later.".to_owned())
        }
        Trouble::Broken => (500, "InternalError", "An internal error has occured, please try again later.".to_owned()),
        Trouble::Overloaded => (503, "ModelServingError", "Too many requests. The model is overloaded.".to_owned()),
        Trouble::NoModel => (400, "InvalidParameter", "Model not exist.".to_owned()),
        Trouble::TooLong => (400, "InvalidParameter", "Range of input length should be [1, 129024]".to_owned()),
        Trouble::Filtered => (400, "DataInspectionFailed", "Input data may contain inappropriate content.".to_owned()),
        Trouble::Request(why) => (400, "InvalidParameter", why.clone()),
    };
    (status, json!({"code": code, "message": message, "request_id": "r"}))
}
