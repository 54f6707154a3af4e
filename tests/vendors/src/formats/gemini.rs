//! Gemini's `generateContent`.

use serde_json::{Value, json};

use super::{Event, Format, Refused, Trouble, listed, object_schema, right_key, right_path, tool_name};
use crate::asked::{Asked, Turn};
use crate::said::{End, Said, USAGE};
use crate::wire::Request;

pub(super) fn read(format: Format, request: &Request, key: &str, body: &Value) -> Result<Asked, Refused> {
    let stream = request.path.ends_with(":streamGenerateContent");
    let method = if stream { "streamGenerateContent" } else { "generateContent" };
    right_path(request, &format!("{}/models/{}:{method}", format.base(), format.model()))?;
    right_key(request.header("x-goog-api-key").or_else(|| request.parameter("key")), key)?;
    if stream && request.parameter("alt") != Some("sse") {
        return Err("without alt=sse this would be a list".to_owned().into());
    }
    let contents = listed(body, "contents")?;
    let mut turns = Vec::new();
    for (place, content) in contents.iter().enumerate() {
        read_content(content, place, &mut turns)?;
        let same = place > 0 && contents[place - 1]["role"] == content["role"];
        if same {
            return Err("Please ensure that multiturn requests alternate between user and model.".to_owned().into());
        }
    }
    if contents[0]["role"] != "user" {
        return Err("Please ensure that multiturn requests begin with a user's content.".to_owned().into());
    }
    let mut asked = Asked::of(&turns)?;
    if let Some(tools) = body["tools"].as_array() {
        for tool in tools {
            for declaration in listed(tool, "functionDeclarations")? {
                let schema = ["parameters", "parametersJsonSchema"].iter().find_map(|field| declaration.get(field));
                if let Some(schema) = schema {
                    object_schema(schema)?;
                }
                asked.tools.push(tool_name(declaration)?);
            }
        }
    }
    asked.stream = stream;
    asked.thinks = body["generationConfig"]["thinkingConfig"]["includeThoughts"] == true;
    Ok(asked)
}

fn read_content(content: &Value, place: usize, turns: &mut Vec<Turn>) -> Result<(), String> {
    let model = match content["role"].as_str() {
        Some("user") => false,
        Some("model") => true,
        role => return Err(format!("Please use a valid role: user, model. It is {role:?}")),
    };
    let mut calls = Vec::new();
    for part in listed(content, "parts")? {
        if let Some(call) = part.get("functionCall").filter(|_| model) {
            if !call["args"].is_object() {
                return Err("function_call.args must be a struct".to_owned());
            }
            if calls.is_empty() && part["thoughtSignature"].as_str().is_none_or(str::is_empty) {
                return Err(format!("Function call is missing a thought_signature in content {place}"));
            }
            calls.push(call["id"].as_str().map_or_else(|| tool_name(call), |id| Ok(id.to_owned()))?);
        } else if let Some(result) = part.get("functionResponse").filter(|_| !model) {
            if !result["response"].is_object() {
                return Err("function_response.response must be a struct".to_owned());
            }
            let id = result["id"].as_str().map_or_else(|| tool_name(result), |id| Ok(id.to_owned()))?;
            let response = &result["response"];
            let text = response["result"].as_str().or(response["error"].as_str()).unwrap_or_default();
            turns.push(Turn::Result(id, text.to_owned()));
        } else if let Some(text) = part["text"].as_str() {
            if text.is_empty() && part.get("thoughtSignature").is_none() {
                return Err("contents.parts must not be empty.".to_owned());
            }
            if !model {
                turns.push(Turn::User(text.to_owned()));
            }
        } else if part.get("inlineData").is_none() && part.get("fileData").is_none() {
            return Err(format!("required oneof field 'data' must have one initialized field: {part}"));
        }
    }
    if model {
        turns.push(Turn::Model(calls));
    }
    Ok(())
}

fn chunk(parts: &[Value], reason: Option<&str>) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    if let Some(reason) = reason {
        candidate["finishReason"] = reason.into();
    }
    let usage =
        json!({"promptTokenCount": USAGE.0, "candidatesTokenCount": USAGE.1, "totalTokenCount": USAGE.0 + USAGE.1});
    json!({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m", "responseId": "r"})
}

/// The parts of calls. Of calls side by side the first alone is signed; a broken one is none.
fn calls(said: &Said) -> Option<Vec<Value>> {
    let mut parts = Vec::new();
    for (place, call) in said.calls.iter().enumerate() {
        let arguments: Value = serde_json::from_str(&call.arguments).ok()?;
        let mut part = json!({"functionCall": {"name": call.name, "args": arguments}});
        if place == 0 {
            part["thoughtSignature"] = "c2lnbmVk".into();
        }
        parts.push(part);
    }
    Some(parts)
}

pub(super) fn events(said: &Said) -> Vec<Event> {
    let one = |part: Value| Event::plain(&chunk(&[part], None));
    let mut events: Vec<Event> =
        said.thoughts.iter().map(|thought| one(json!({"text": thought, "thought": true}))).collect();
    if said.end != End::Refusal {
        events.extend(said.text.iter().map(|text| one(json!({"text": text})).text()));
    }
    let reason = match (said.end, calls(said)) {
        (End::Refusal, _) => "PROHIBITED_CONTENT",
        (End::Filter, _) => "SAFETY",
        (End::Done, None) => "MALFORMED_FUNCTION_CALL",
        (End::Done, Some(parts)) => {
            if !parts.is_empty() {
                events.push(Event::plain(&chunk(&parts, None)));
            }
            "STOP"
        }
    };
    events.push(Event::plain(&chunk(&[json!({"text": ""})], Some(reason))).again());
    events
}

pub(super) fn whole(said: &Said) -> Value {
    let mut parts: Vec<Value> = said.thoughts.iter().map(|thought| json!({"text": thought, "thought": true})).collect();
    if !said.text.is_empty() && said.end != End::Refusal {
        parts.push(json!({"text": said.text.concat()}));
    }
    let calls = calls(said);
    let reason = match (said.end, &calls) {
        (End::Refusal, _) => "PROHIBITED_CONTENT",
        (End::Filter, _) => "SAFETY",
        (End::Done, None) => "MALFORMED_FUNCTION_CALL",
        (End::Done, Some(_)) => "STOP",
    };
    parts.extend(calls.unwrap_or_default());
    chunk(&parts, Some(reason))
}

pub(super) fn error(trouble: &Trouble) -> (u16, Value) {
    let (code, status, message) = match trouble {
        Trouble::Key(_) => (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.".to_owned()),
        Trouble::Money => (
            429,
            "RESOURCE_EXHAUSTED",
            "Your prepayment credits are depleted. Please go to AI Studio to manage your project and billing."
                .to_owned(),
        ),
        Trouble::KeyMayNot => {
            (403, "PERMISSION_DENIED", "Your API key was reported as leaked. Please use another API key.".to_owned())
        }
        Trouble::Region => (400, "FAILED_PRECONDITION", "User location is not supported for the API use.".to_owned()),
        Trouble::RateLimited(_) => {
            (429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota).".to_owned())
        }
        Trouble::Broken => (500, "INTERNAL", "An internal error has occurred.".to_owned()),
        Trouble::Overloaded => (503, "UNAVAILABLE", "The model is overloaded. Please try again later.".to_owned()),
        Trouble::NoModel => (404, "NOT_FOUND", "models/m is not found for API version v1beta.".to_owned()),
        Trouble::TooLong => (
            400,
            "INVALID_ARGUMENT",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).".to_owned(),
        ),
        // A prompt that is blocked is an answer without candidates.
        Trouble::Filtered => {
            let usage = json!({"promptTokenCount": USAGE.0, "totalTokenCount": USAGE.0});
            return (200, json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": usage}));
        }
        Trouble::Request(why) => (400, "INVALID_ARGUMENT", why.clone()),
    };
    (code, json!({"error": {"code": code, "message": message, "status": status}}))
}
