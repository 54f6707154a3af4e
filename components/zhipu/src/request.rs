//! Writing requests.
//!
//! The vendor knows no choice of tools, so which may be called is said by which are offered, and that one has to be, in
//! words. Its temperatures end at 1.
//!
//! Options: `effort` (`low`, `high`, `max`), `images` and `video` (`on`, `off`; known for the models whose names have a `v`
//! for it), `send_reasoning` (`on`, `off`), `path` (in place of `/chat/completions`), `body` (a JSON object whose fields go into every
//! request, such as `{"clear_thinking": false}`).

use homeagent_adapters::completions::{self, Style, Thoughts};
use homeagent_adapters::{Options, content};
use homeagent_sdk::adapter::{HttpRequest, ModelRequest};
use serde_json::{Map, json};

/// The HTTP request for a model request.
///
/// # Errors
///
/// An option of the source or the schema of a tool can't be used.
pub fn build(request: &ModelRequest) -> Result<HttpRequest, String> {
    let options = Options::of(request);
    let model = request.model.rsplit('/').next().unwrap_or_default().to_lowercase();
    let thoughts = options.switch("send_reasoning", request.thinking != Some(false))?;
    let images = options.switch("images", completions::glm_sees(&model))?;
    let style = Style {
        thoughts: if thoughts { Thoughts::OfThisTurn } else { Thoughts::Never },
        images,
        video: options.switch("video", images)?,
        ..Style::default()
    };

    let mut body = Map::new();
    body.insert("model".to_owned(), request.model.as_str().into());
    let mut messages = completions::write(&request.messages, &style);
    let tools = completions::tools(content::offered(request))?;
    if let Some(must) = content::must_call(&request.tool_choice).filter(|_| !tools.is_empty()) {
        messages.push(json!({"role": "system", "content": must}));
    }
    body.insert("messages".to_owned(), messages.into());
    if !tools.is_empty() {
        body.insert("tools".to_owned(), tools.into());
        if request.stream {
            // Without it the arguments of a call come in one piece at the end.
            body.insert("tool_stream".to_owned(), true.into());
        }
    }
    let mut effort = options.one_of("effort", &["low", "high", "max"])?;
    match request.thinking {
        Some(false) if always_thinks(&model) => effort = Some("low"),
        Some(thinking) => {
            let kind = if thinking { "enabled" } else { "disabled" };
            body.insert("thinking".to_owned(), json!({"type": kind}));
        }
        None => {}
    }
    if let Some(effort) = effort {
        body.insert("reasoning_effort".to_owned(), effort.into());
    }
    match request.temperature {
        // The vendor's way to say it.
        Some(temperature) if temperature <= 0.0 => {
            body.insert("do_sample".to_owned(), false.into());
        }
        Some(temperature) => {
            body.insert("temperature".to_owned(), temperature.min(1.0).into());
        }
        None => {}
    }
    if let Some(most) = request.max_tokens {
        body.insert("max_tokens".to_owned(), most.into());
    }
    body.insert("stream".to_owned(), request.stream.into());
    body.extend(options.body()?);
    Ok(content::post(&options.path("/chat/completions")?, body, request))
}

/// From 5.3 on there is no way not to think.
fn always_thinks(model: &str) -> bool {
    let number = model.strip_prefix("glm-").and_then(|rest| rest.split('-').next()).unwrap_or_default();
    number.trim_end_matches('v').parse::<f64>().is_ok_and(|version| version >= 5.3)
}
