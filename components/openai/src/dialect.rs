//! Where endpoints that speak chat completions differ, known by the model's name unless the source's options say.
//!
//! Options: `thinking_style` (`type`, `enable_thinking`, `reasoning_effort`, `none`), `send_reasoning` (`on`, `off`),
//! `max_tokens_field` (a name), `images` (`on`, `off`), `stream_usage` (`on`, `off`), `path` (in place of
//! `/chat/completions`), `body` (a JSON object whose fields go into every request).

use serde_json::{Map, Value, json};

use homeagent_sdk::adapter::ModelRequest;

/// How requests for a model are written.
#[derive(Debug)]
pub(crate) struct Dialect {
    thinking: ThinkingStyle,
    /// Thoughts of the turn under way go back to the model.
    pub(crate) send_reasoning: bool,
    /// The name of the field for the most tokens.
    pub(crate) max_tokens_field: String,
    /// The model takes a temperature.
    pub(crate) temperature: bool,
    /// The model sees pictures.
    pub(crate) images: bool,
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
        let option = |name: &str| request.options.iter().find(|(key, _)| key == name).map(|(_, value)| value.trim());
        let switch = |name: &str, usual: bool| match option(name) {
            None | Some("auto") => Ok(usual),
            Some("on" | "true" | "yes" | "always") => Ok(true),
            Some("off" | "false" | "no" | "never") => Ok(false),
            Some(other) => Err(format!("the source's option `{name}` is {other:?}; it can be on or off")),
        };
        let reasoner = begins(&["o1", "o3", "o4", "gpt-5", "gpt-6"]);
        // The effort below `low` has another name in the first of its models, and the o-series has none.
        let effort = ThinkingStyle::ReasoningEffort {
            least: match model.strip_prefix("gpt-5") {
                Some(rest) if !rest.starts_with('.') => "minimal",
                None if begins(&["o1", "o3", "o4"]) => "low",
                _ => "none",
            },
        };
        let deepseek = begins(&["deepseek"]);
        let thinking = match option("thinking_style") {
            Some("type") => ThinkingStyle::Type,
            Some("enable_thinking") => ThinkingStyle::EnableThinking,
            Some("reasoning_effort") => effort,
            Some("none") => ThinkingStyle::Silent,
            Some(other) if other != "auto" => {
                return Err(format!(
                    "the source's option `thinking_style` is {other:?}; it can be type, enable_thinking, \
                     reasoning_effort or none"
                ));
            }
            _ if deepseek || begins(&["glm", "kimi", "doubao", "mimo"]) => ThinkingStyle::Type,
            _ if begins(&["qwen", "qwq"]) => ThinkingStyle::EnableThinking,
            _ if reasoner => effort,
            _ => ThinkingStyle::Silent,
        };
        let path = option("path").unwrap_or("/chat/completions");
        if !path.starts_with('/') {
            return Err(format!("the source's option `path` is {path:?}; it has to begin with a slash"));
        }
        let body = match option("body") {
            None => Map::new(),
            Some(text) => serde_json::from_str(text)
                .map_err(|error| format!("the source's option `body` is not a JSON object: {error}"))?,
        };
        let thinks = request.thinking != Some(false);
        let blind = deepseek && !model.contains("vl") && !model.contains("ocr");
        Ok(Dialect {
            thinking,
            send_reasoning: switch("send_reasoning", thinks && (deepseek || begins(&["kimi", "glm", "mimo"])))?,
            max_tokens_field: match option("max_tokens_field") {
                Some(field) if !field.is_empty() => field.to_owned(),
                _ if reasoner => "max_completion_tokens".to_owned(),
                _ => "max_tokens".to_owned(),
            },
            temperature: !reasoner,
            images: switch("images", !blind)?,
            stream_usage: switch("stream_usage", true)?,
            path: path.to_owned(),
            body,
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
