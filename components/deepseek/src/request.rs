//! Writing requests.
//!
//! The vendor's models think unless they are told not to, and while they do,
//!
//! - the thoughts of every turn in which tools were called have to be sent back, in each later request, for each message
//!   of the turn; those of other turns are ignored, so they are not sent;
//! - a call can't be forced, and the temperature counts for nothing.
//!
//! Options: `effort` (`low`, `high`, `max`), `images` (`on`, `off`), `path` (in place of `/chat/completions`), `body` (a JSON
//! object whose fields go into every request).

use homeagent_adapters::completions::{self, Style, Thoughts};
use homeagent_adapters::{Options, content};
use homeagent_sdk::adapter::{HttpRequest, ModelRequest, ToolChoice};
use serde_json::{Map, json};

/// The HTTP request for a model request.
///
/// # Errors
///
/// An option of the source or the schema of a tool can't be used.
pub fn build(request: &ModelRequest) -> Result<HttpRequest, String> {
    let options = Options::of(request);
    let forced =
        matches!(request.tool_choice, ToolChoice::Required | ToolChoice::Named(_)) && !request.tools.is_empty();
    // A forced call is a promise to whoever asked for it; thinking is not.
    let thinking = if forced { Some(false) } else { request.thinking };
    let thinks = thinking != Some(false);
    let style = Style {
        thoughts: if thinks { Thoughts::OfTurnsWithTools } else { Thoughts::Never },
        images: options.switch("images", completions::deepseek_sees(&request.model.to_lowercase()))?,
        ..Style::default()
    };

    let mut body = Map::new();
    body.insert("model".to_owned(), request.model.as_str().into());
    body.insert("messages".to_owned(), completions::write(&request.messages, &style).into());
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), completions::tools(&request.tools)?.into());
        let choice = completions::tool_choice(&request.tool_choice);
        body.extend(choice.map(|choice| ("tool_choice".to_owned(), choice)));
    }
    if let Some(thinking) = thinking {
        body.insert("thinking".to_owned(), json!({"type": if thinking { "enabled" } else { "disabled" }}));
    }
    if let Some(effort) = options.one_of("effort", &["low", "high", "max"])?.filter(|_| thinks) {
        body.insert("reasoning_effort".to_owned(), effort.into());
    }
    if let Some(temperature) = request.temperature.filter(|_| !thinks) {
        body.insert("temperature".to_owned(), temperature.into());
    }
    if let Some(most) = request.max_tokens {
        body.insert("max_tokens".to_owned(), most.into());
    }
    body.insert("stream".to_owned(), request.stream.into());
    if request.stream {
        body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    body.extend(options.body()?);
    Ok(content::post(&options.path("/chat/completions")?, body, request))
}
