//! Writing requests.
//!
//! Models of text and those that see have different addresses. A tool can be forced by its name alone, and only while the
//! model does not think.
//!
//! Options: `endpoint` (`text`, `multimodal`; known for the vendor's models), `thinking_budget` (tokens), `parameters` (a JSON
//! object of further parameters), `path` (in place of both addresses), `body` (a JSON object whose fields go into every
//! request).

use homeagent_adapters::{Options, completions, content};
use homeagent_sdk::adapter::{HttpRequest, ModelRequest, ToolChoice};
use serde_json::{Map, Value, json};

use crate::messages::{self, Senses};

/// The HTTP request for a model request.
///
/// # Errors
///
/// An option of the source or the schema of a tool can't be used.
pub fn build(request: &ModelRequest) -> Result<HttpRequest, String> {
    let options = Options::of(request);
    let senses = match options.one_of("endpoint", &["text", "multimodal"])? {
        Some("text") => Senses::Text,
        Some(_) => Senses::Everything,
        None => Senses::of(&request.model),
    };
    let mut messages = messages::write(&request.messages, senses);
    let mut parameters = Map::new();
    parameters.insert("result_format".to_owned(), "message".into());
    if request.stream {
        parameters.insert("incremental_output".to_owned(), true.into());
    }
    let mut thinking = request.thinking;
    if !request.tools.is_empty() {
        parameters.insert("tools".to_owned(), completions::tools(&request.tools)?.into());
        parameters.insert("parallel_tool_calls".to_owned(), true.into());
        match &request.tool_choice {
            ToolChoice::Auto => {}
            ToolChoice::None => {
                parameters.insert("tool_choice".to_owned(), "none".into());
            }
            ToolChoice::Required => {
                let must = content::must_call(&request.tool_choice).unwrap_or_default();
                let must: Value = if senses == Senses::Text { must.into() } else { json!([{"text": must}]) };
                messages.push(json!({"role": "system", "content": must}));
            }
            ToolChoice::Named(_) => {
                thinking = Some(false);
                let choice = completions::tool_choice(&request.tool_choice);
                parameters.extend(choice.map(|choice| ("tool_choice".to_owned(), choice)));
            }
        }
    }
    if let Some(thinking) = thinking {
        parameters.insert("enable_thinking".to_owned(), thinking.into());
    }
    if let Some(budget) = options.count("thinking_budget")?.filter(|_| thinking != Some(false)) {
        parameters.insert("thinking_budget".to_owned(), budget.into());
    }
    if let Some(temperature) = request.temperature {
        // The vendor's scale is open at both of its ends.
        parameters.insert("temperature".to_owned(), temperature.clamp(0.01, 1.99).into());
    }
    if let Some(most) = request.max_tokens {
        parameters.insert("max_tokens".to_owned(), most.into());
    }
    parameters.extend(options.object("parameters")?);

    let mut body = Map::new();
    body.insert("model".to_owned(), request.model.as_str().into());
    body.insert("input".to_owned(), json!({"messages": messages}));
    body.insert("parameters".to_owned(), parameters.into());
    body.extend(options.body()?);
    let path = match senses {
        Senses::Text => "/services/aigc/text-generation/generation",
        Senses::Pictures | Senses::Everything => "/services/aigc/multimodal-generation/generation",
    };
    let mut post = content::post(&options.path(path)?, body, request);
    if request.stream {
        post.headers.push(("x-dashscope-sse".to_owned(), "enable".to_owned()));
    }
    Ok(post)
}
