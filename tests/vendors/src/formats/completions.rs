//! Chat completions.

use serde_json::{Value, json};

use super::{Event, Format, Refused, Trouble, bearer, listed, object_schema, required, right_path, tool_name};
use crate::asked::{Asked, Turn};
use crate::said::{End, Said, USAGE};
use crate::wire::Request;

pub(super) fn read(format: Format, request: &Request, key: &str, body: &Value) -> Result<Asked, Refused> {
    right_path(request, &format!("{}/chat/completions", format.base()))?;
    bearer(request, key)?;
    required(body, "model")?;
    let thinks = format != Format::OpenAi && body["thinking"]["type"] != "disabled";
    let turns = turns(listed(body, "messages")?, format == Format::DeepSeek && thinks)?;
    let mut asked = Asked::of(&turns)?;
    asked.tools = tools(body)?;
    asked.stream = body["stream"] == true;
    asked.thinks = thinks;
    if format == Format::OpenAi && body.get("thinking").is_some() {
        return Err("Unrecognized request argument supplied: thinking".to_owned().into());
    }
    Ok(asked)
}

/// The messages, as those formats have them that follow this one. `thoughts`: the calls must come with theirs.
pub(super) fn turns(messages: &[Value], thoughts: bool) -> Result<Vec<Turn>, String> {
    messages.iter().map(|message| turn(message, thoughts)).collect()
}

fn turn(message: &Value, thoughts: bool) -> Result<Turn, String> {
    let content = &message["content"];
    let text = words(content)?;
    match message["role"].as_str() {
        Some("system" | "developer") => Ok(Turn::System),
        Some("user") if text.is_empty() => Err("the content of a user's message is empty".to_owned()),
        Some("user") => Ok(Turn::User(text)),
        Some("tool") => Ok(Turn::Result(required(message, "tool_call_id")?.to_owned(), text)),
        Some("assistant") => {
            let calls = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
            if calls.is_empty() && (text.is_empty() || message.get("tool_calls").is_some()) {
                return Err("a message of the model's has neither content nor calls".to_owned());
            }
            if thoughts && !calls.is_empty() && message["reasoning_content"].as_str().is_none_or(str::is_empty) {
                return Err("The `reasoning_content` in the thinking mode must be passed back to the API.".to_owned());
            }
            calls.iter().map(call).collect::<Result<_, _>>().map(Turn::Model)
        }
        role => Err(format!("there is no role {role:?}")),
    }
}

fn call(call: &Value) -> Result<String, String> {
    tool_name(&call["function"])?;
    let arguments = call["function"]["arguments"].as_str().ok_or("the arguments of a call must be a text")?;
    match serde_json::from_str(arguments) {
        Ok(Value::Object(_)) => Ok(required(call, "id")?.to_owned()),
        _ => Err(format!("the arguments of a call must be an object's JSON: {arguments:?}")),
    }
}

/// The words of a content, which is a text or a list of parts.
pub(super) fn words(content: &Value) -> Result<String, String> {
    match content {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        Value::Array(parts) => Ok(parts.iter().filter_map(|part| part["text"].as_str()).collect()),
        other => Err(format!("a content can't be {other}")),
    }
}

/// The names of the tools in `body`.
pub(super) fn tools(body: &Value) -> Result<Vec<String>, String> {
    if body.get("tools").is_none() {
        return Ok(Vec::new());
    }
    let one = |tool: &Value| {
        let function = &tool["function"];
        object_schema(&function["parameters"])?;
        tool_name(function)
    };
    listed(body, "tools")?.iter().map(one).collect()
}

pub(super) fn events(format: Format, said: &Said) -> Vec<Event> {
    let chunk = |delta: Value, reason: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        Event::plain(
            &json!({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}),
        )
    };
    let go_on = |delta: Value| chunk(delta, Value::Null);
    let mut events = vec![go_on(json!({"role": "assistant", "content": ""})).again()];
    events.extend(said.thoughts.iter().map(|thought| go_on(json!({"reasoning_content": thought}))));
    let field = if said.end == End::Refusal && format == Format::OpenAi { "refusal" } else { "content" };
    events.extend(said.text.iter().map(|text| go_on(json!({ field: text })).text()));
    for (index, call) in said.calls.iter().enumerate() {
        let piece = |function: Value, id: Option<&str>| {
            let mut call = json!({"index": index, "type": "function", "function": function});
            if let Some(id) = id {
                call["id"] = id.into();
            }
            go_on(json!({"tool_calls": [call]}))
        };
        events.push(piece(json!({"name": call.name, "arguments": ""}), Some(&call.id)).again());
        let half = call.arguments.len() / 2;
        events.push(piece(json!({"arguments": call.arguments[..half]}), None));
        events.push(piece(json!({"arguments": call.arguments[half..]}), None));
    }
    events.push(chunk(json!({}), reason(format, said).into()).again());
    events.push(Event::plain(&json!({"id": "c1", "choices": [], "usage": usage()})).again());
    events.push(Event { name: "", data: "[DONE]".to_owned(), again: true, text: false });
    events
}

pub(super) fn whole(format: Format, said: &Said) -> Value {
    let calls: Vec<Value> = said
        .calls
        .iter()
        .map(|call| json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}))
        .collect();
    let mut message = json!({"role": "assistant", "content": said.text.concat()});
    if !said.thoughts.is_empty() {
        message["reasoning_content"] = said.thoughts.concat().into();
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    let choice = json!({"index": 0, "message": message, "finish_reason": reason(format, said)});
    json!({"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage()})
}

pub(super) fn reason(format: Format, said: &Said) -> &'static str {
    match said.end {
        End::Filter if format == Format::Zhipu => "sensitive",
        End::Filter => "content_filter",
        End::Done if !said.calls.is_empty() => "tool_calls",
        End::Done | End::Refusal => "stop",
    }
}

fn usage() -> Value {
    json!({"prompt_tokens": USAGE.0, "completion_tokens": USAGE.1, "total_tokens": USAGE.0 + USAGE.1})
}

/// The errors of OpenAI.
pub(super) fn openai_error(trouble: &Trouble) -> (u16, Value) {
    let (status, message, kind, code) = match trouble {
        Trouble::Key(key) => {
            let message = format!("Incorrect API key provided: {key}. You can find your API key in your account.");
            (401, message, "invalid_request_error", "invalid_api_key")
        }
        Trouble::Money => (
            429,
            "You exceeded your current quota, please check your plan and billing details.".to_owned(),
            "insufficient_quota",
            "insufficient_quota",
        ),
        Trouble::KeyMayNot => (
            403,
            "You have insufficient permissions for this operation. Missing scopes: model.request.".to_owned(),
            "invalid_request_error",
            "missing_scope",
        ),
        Trouble::Region => (
            403,
            "Country, region, or territory not supported".to_owned(),
            "request_forbidden",
            "unsupported_country_region_territory",
        ),
        Trouble::RateLimited(_) => (
            429,
            "Rate limit reached for requests per min (RPM): Limit 3, Used 3, Requested 1.".to_owned(),
            "requests",
            "rate_limit_exceeded",
        ),
        Trouble::Broken => {
            (500, "The server had an error while processing your request.".to_owned(), "server_error", "server_error")
        }
        Trouble::Overloaded => (
            503,
            "The engine is currently overloaded, please try again later.".to_owned(),
            "service_unavailable",
            "overloaded",
        ),
        Trouble::NoModel => (
            404,
            "The model `m` does not exist or you do not have access to it.".to_owned(),
            "invalid_request_error",
            "model_not_found",
        ),
        Trouble::TooLong => (
            400,
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 140000 tokens."
                .to_owned(),
            "invalid_request_error",
            "context_length_exceeded",
        ),
        Trouble::Filtered => (
            400,
            "The response was filtered due to the prompt triggering the content management policy.".to_owned(),
            "invalid_request_error",
            "content_filter",
        ),
        Trouble::Request(why) => (400, why.clone(), "invalid_request_error", "invalid_value"),
    };
    (status, json!({"error": {"message": message, "type": kind, "param": null, "code": code}}))
}

/// The errors of DeepSeek, where they are others.
pub(super) fn deepseek_error(trouble: &Trouble) -> (u16, Value) {
    let (status, message, kind, code) = match trouble {
        Trouble::Key(key) => {
            let message = format!("Authentication Fails, Your api key: {key} is invalid");
            (401, message, "authentication_error", "invalid_request_error")
        }
        Trouble::Money => (402, "Insufficient Balance".to_owned(), "unknown_error", "invalid_request_error"),
        Trouble::Overloaded => {
            (503, "Service is too busy. Please retry later.".to_owned(), "service_unavailable_error", "")
        }
        Trouble::Filtered => (400, "Content Exists Risk".to_owned(), "invalid_request_error", "invalid_request_error"),
        other => return openai_error(other),
    };
    (status, json!({"error": {"message": message, "type": kind, "param": null, "code": code}}))
}

/// The errors of Zhipu, which have numbers.
pub(super) fn zhipu_error(trouble: &Trouble) -> (u16, Value) {
    let (status, code, message) = match trouble {
        Trouble::Key(_) => (401, "1000", "身份验证失败。".to_owned()),
        Trouble::Money => (429, "1113", "您的账户已欠费，请充值后重试。".to_owned()),
        Trouble::KeyMayNot => (403, "1220", "您无权访问该 API，权限不足。".to_owned()),
        Trouble::Region => (403, "1121", "当前地区暂不提供服务。".to_owned()),
        Trouble::RateLimited(_) => (429, "1302", "您当前使用该API的并发数过高，请降低并发。".to_owned()),
        Trouble::Broken => (500, "500", "内部错误".to_owned()),
        Trouble::Overloaded => (429, "1305", "当前API请求过多，服务过载，请稍后重试。".to_owned()),
        Trouble::NoModel => (400, "1211", "模型不存在，请检查模型代码。".to_owned()),
        Trouble::TooLong => (400, "1261", "Prompt 超长".to_owned()),
        Trouble::Filtered => (
            400,
            "1301",
            "系统检测到输入或生成内容可能包含不安全或敏感内容，请您避免输入易产生敏感内容的提示语。".to_owned(),
        ),
        Trouble::Request(why) => (400, "1210", format!("API 调用参数有误: {why}")),
    };
    (status, json!({"error": {"code": code, "message": message}}))
}
