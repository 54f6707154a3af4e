//! Where endpoints that speak chat completions differ, known by the model's name unless the source's options say.
//!
//! Options: `thinking_style` (`type`, `enable_thinking`, `reasoning_effort`, `none`), `send_reasoning` (`on`, `off`),
//! `max_tokens_field` (a name), `images` (`on`, `off`), `stream_usage` (`on`, `off`), `path` (in place of
//! `/chat/completions`), `body` (a JSON object whose fields go into every request).

use homeagent_adapters::Options;
use homeagent_adapters::completions::{self, Style, Thoughts};
use homeagent_sdk::adapter::ModelRequest;
use serde_json::{Map, Value, json};

/// How requests for a model are written.
#[derive(Debug)]
pub(crate) struct Dialect {
    thinking: ThinkingStyle,
    /// What of the window is sent.
    pub(crate) style: Style,
    /// The name of the field for the most tokens.
    pub(crate) max_tokens_field: String,
    /// The model takes a temperature.
    pub(crate) temperature: bool,
    /// The endpoint knows `stream_options`.
    pub(crate) stream_usage: bool,
    /// Where requests go.
    pub(crate) path: String,
    /// Further fields of every request.
    pub(crate) body: Map<String, Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThinkingStyle {
    /// `"thinking": {"type": "enabled"}`.
    Type,
    /// `"enable_thinking": true`.
    EnableThinking,
    /// `"reasoning_effort": "medium"`, and this for as little as the model can.
    ReasoningEffort { least: &'static str },
    /// There is no way to say it.
    Silent,
}

impl Dialect {
    /// The dialect for a request.
    pub(crate) fn of(request: &ModelRequest) -> Result<Self, String> {
        let model = request.model.rsplit('/').next().unwrap_or_default().to_lowercase();
        let begins = |names: &[&str]| names.iter().any(|name| model.starts_with(name));
        let options = Options::of(request);
        let least = completions::least_effort(&model);
        let reasoner = least.is_some();
        let effort = ThinkingStyle::ReasoningEffort { least: least.unwrap_or("none") };
        let deepseek = begins(&["deepseek"]);
        let styles = ["type", "enable_thinking", "reasoning_effort", "none"];
        let thinking = match options.one_of("thinking_style", &styles)? {
            Some("type") => ThinkingStyle::Type,
            Some("enable_thinking") => ThinkingStyle::EnableThinking,
            Some("reasoning_effort") => effort,
            Some(_) => ThinkingStyle::Silent,
            _ if deepseek || begins(&["glm", "kimi", "doubao", "mimo"]) => ThinkingStyle::Type,
            _ if begins(&["qwen", "qwq"]) => ThinkingStyle::EnableThinking,
            _ if reasoner => effort,
            _ => ThinkingStyle::Silent,
        };
        let thinks = request.thinking != Some(false);
        let sees = ["vl", "ocr", "vision", "deepseek-flash"].iter().any(|word| model.contains(word));
        let blind = deepseek && !sees;
        let send_reasoning =
            options.switch("send_reasoning", thinks && (deepseek || begins(&["kimi", "glm", "mimo"])))?;
        Ok(Dialect {
            thinking,
            style: Style {
                thoughts: match send_reasoning {
                    true if deepseek => Thoughts::OfTurnsWithTools,
                    true => Thoughts::OfThisTurn,
                    false => Thoughts::Never,
                },
                images: options.switch("images", !blind)?,
                audio: true,
            },
            max_tokens_field: match options.get("max_tokens_field") {
                Some(field) => field.to_owned(),
                None if reasoner => "max_completion_tokens".to_owned(),
                None => "max_tokens".to_owned(),
            },
            temperature: !reasoner,
            stream_usage: options.switch("stream_usage", true)?,
            path: options.path("/chat/completions")?,
            body: options.body()?,
        })
    }

    /// The field that turns thinking on or off, if there is one.
    pub(crate) fn thinking_field(&self, thinking: bool) -> Option<(&'static str, Value)> {
        match self.thinking {
            ThinkingStyle::Type => Some(("thinking", json!({"type": if thinking { "enabled" } else { "disabled" }}))),
            ThinkingStyle::EnableThinking => Some(("enable_thinking", thinking.into())),
            ThinkingStyle::ReasoningEffort { least } => {
                Some(("reasoning_effort", if thinking { "medium" } else { least }.into()))
            }
            ThinkingStyle::Silent => None,
        }
    }
}
