//! Where endpoints that speak chat completions differ: known by the preset and the model's name, unless the source's
//! options say.
//!
//! Options: `preset` (a name of [`crate::preset`]), `thinking_style` (`type`, `enable_thinking`, `reasoning_effort`,
//! `template`, `reasoning`, `none`), `send_reasoning` (`on`, `off`), `max_tokens_field` (a name), `images`, `audio`,
//! `video`, `files` (each `on` or `off`), `tool_choice` (`any`, `words`, `none`), `system_first` (`on`, `off`),
//! `stream_usage` (`on`, `off`), `path` (in place of `/chat/completions`), `body` (a JSON object whose fields go into
//! every request).

use homeagent_adapters::Options;
use homeagent_adapters::completions::{Audio, Style, Thoughts};
use homeagent_sdk::adapter::ModelRequest;
use serde_json::{Map, Value, json};

use crate::models::Model;
use crate::preset::Preset;

/// How requests for a model are written.
#[derive(Debug)]
pub(crate) struct Dialect {
    thinking: ThinkingStyle,
    /// What of the window is sent, and how.
    pub(crate) style: Style,
    /// The name of the field for the most tokens.
    pub(crate) max_tokens_field: String,
    /// The highest temperature that the model takes; none where it takes no temperature.
    pub(crate) hottest: Option<f64>,
    /// How a call is forced.
    pub(crate) forcing: Forcing,
    /// A call can't be forced while the model thinks.
    pub(crate) thoughtless_force: bool,
    /// By this protocol the model takes no tools while it thinks.
    pub(crate) thoughtless_tools: bool,
    /// Calls side by side have to be asked for.
    pub(crate) asks_for_parallel: bool,
    /// Has to be asked to stream the arguments of calls.
    pub(crate) tool_stream: bool,
    /// The endpoint knows `stream_options`.
    pub(crate) stream_usage: bool,
    /// Where requests go.
    pub(crate) path: String,
    /// Further fields of every request.
    pub(crate) body: Map<String, Value>,
}

/// How a model is made to call a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forcing {
    /// As the protocol has it: `required`, or the tool.
    Any,
    /// By `required` alone: for a certain tool, the others are not offered.
    Words,
    /// By the tool alone; that any has to be called is said in words.
    NamedAlone,
    /// It is said in words, and what may not be called is not offered.
    Asking,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThinkingStyle {
    /// `"thinking": {"type": "enabled"}`.
    Type,
    /// `"enable_thinking": true`.
    EnableThinking,
    /// `"reasoning_effort": "medium"`, and this for as little as the model can.
    ReasoningEffort { least: &'static str, usual: &'static str },
    /// `"chat_template_kwargs": {"enable_thinking": true}`, which templates of models read, under one of two names.
    Template,
    /// `"reasoning": {"enabled": true}`.
    Reasoning,
    /// There is no way to say it.
    Silent,
}

impl Dialect {
    /// The dialect for a request.
    pub(crate) fn of(request: &ModelRequest) -> Result<Self, String> {
        let options = Options::of(request);
        let preset = Preset::of(options)?;
        let model = Model::of(&request.model);
        let forcings = ["any", "words", "none"];
        let forcing = match options.one_of("tool_choice", &forcings)? {
            None => forcing(preset),
            Some("any") => Forcing::Any,
            Some("words") => Forcing::Words,
            Some(_) => Forcing::Asking,
        };
        Ok(Dialect {
            thinking: thinking(preset, &model, options)?,
            style: style(preset, &model, options, request.thinking != Some(false))?,
            max_tokens_field: match options.get("max_tokens_field") {
                Some(field) => field.to_owned(),
                None if model.reasons() || matches!(preset, Preset::OpenAi | Preset::Moonshot) => {
                    "max_completion_tokens".to_owned()
                }
                None => "max_tokens".to_owned(),
            },
            hottest: match preset {
                _ if model.reasons() => None,
                // Every other temperature than the model's own is refused.
                Preset::Moonshot if model.is("kimi") => None,
                Preset::Moonshot | Preset::Zhipu => Some(1.0),
                _ => Some(f64::INFINITY),
            },
            forcing,
            thoughtless_force: matches!(preset, Preset::DeepSeek | Preset::DashScope),
            thoughtless_tools: preset == Preset::OpenAi && model.gpt().is_some_and(|version| version >= 5.4),
            asks_for_parallel: matches!(preset, Preset::DashScope | Preset::LlamaCpp),
            tool_stream: preset == Preset::Zhipu,
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
            ThinkingStyle::ReasoningEffort { least, usual } => {
                Some(("reasoning_effort", if thinking { usual } else { least }.into()))
            }
            ThinkingStyle::Template => {
                Some(("chat_template_kwargs", json!({"enable_thinking": thinking, "thinking": thinking})))
            }
            ThinkingStyle::Reasoning => Some(("reasoning", json!({"enabled": thinking}))),
            ThinkingStyle::Silent => None,
        }
    }
}

fn thinking(preset: Preset, model: &Model, options: Options<'_>) -> Result<ThinkingStyle, String> {
    let effort = ThinkingStyle::ReasoningEffort { least: model.least_effort.unwrap_or("none"), usual: "medium" };
    let styles = ["type", "enable_thinking", "reasoning_effort", "template", "reasoning", "none"];
    Ok(match options.one_of("thinking_style", &styles)? {
        Some("type") => ThinkingStyle::Type,
        Some("enable_thinking") => ThinkingStyle::EnableThinking,
        Some("reasoning_effort") => effort,
        Some("template") => ThinkingStyle::Template,
        Some("reasoning") => ThinkingStyle::Reasoning,
        Some(_) => ThinkingStyle::Silent,
        None => match preset {
            Preset::OpenRouter => ThinkingStyle::Reasoning,
            Preset::LlamaCpp | Preset::Vllm => ThinkingStyle::Template,
            Preset::LmStudio => ThinkingStyle::Silent,
            Preset::SiliconFlow if model.is_hybrid() => ThinkingStyle::EnableThinking,
            // Of a model that can't be told, the vendor refuses the field.
            Preset::SiliconFlow => ThinkingStyle::Silent,
            Preset::DashScope => ThinkingStyle::EnableThinking,
            Preset::Moonshot if model.kimi().is_some_and(|version| version >= 3.0) => {
                ThinkingStyle::ReasoningEffort { least: "low", usual: "high" }
            }
            // These always think, and refuse to be told not to.
            Preset::Moonshot if !model.is("kimi") || model.has(&["code", "thinking"]) => ThinkingStyle::Silent,
            Preset::Zhipu if model.glm().is_some_and(|version| version >= 5.3) => {
                ThinkingStyle::ReasoningEffort { least: "low", usual: "high" }
            }
            Preset::DeepSeek | Preset::Moonshot | Preset::Zhipu | Preset::Doubao => ThinkingStyle::Type,
            _ if model.begins(&["deepseek", "glm", "kimi", "doubao", "mimo"]) => ThinkingStyle::Type,
            _ if model.begins(&["qwen", "qwq"]) => ThinkingStyle::EnableThinking,
            _ if model.reasons() => effort,
            Preset::Plain | Preset::OpenAi => ThinkingStyle::Silent,
        },
    })
}

fn style(preset: Preset, model: &Model, options: Options<'_>, thinks: bool) -> Result<Style, String> {
    let deepseek = model.is("deepseek") || preset == Preset::DeepSeek;
    let wants = match preset {
        // Templates show a model its thoughts of the turn, where it was trained with them.
        Preset::LlamaCpp | Preset::Vllm => true,
        Preset::Doubao => thinks,
        _ => thinks && (deepseek || model.begins(&["kimi", "glm", "mimo"])),
    };
    let sees = match preset {
        Preset::Zhipu => model.glm_sees(),
        Preset::DashScope => model.qwen_sees(),
        Preset::Moonshot => model.kimi().is_some_and(|version| version >= 2.5) || model.has(&["vision"]),
        Preset::DeepSeek => model.deepseek_sees(),
        // What others serve as V4-Flash is the model that was published under that name, which reads.
        _ if model.is("deepseek-v4-flash") => model.has(&["vision"]),
        _ => !deepseek || model.deepseek_sees(),
    };
    let images = options.switch("images", sees)?;
    let hears = match preset {
        Preset::OpenAi => model.has(&["audio"]),
        Preset::DashScope => model.qwen_hears(),
        Preset::Plain | Preset::OpenRouter | Preset::LlamaCpp | Preset::Vllm => true,
        _ => false,
    };
    let films = match preset {
        Preset::Moonshot | Preset::Zhipu | Preset::DashScope | Preset::Doubao | Preset::OpenRouter | Preset::Vllm => {
            images
        }
        _ => false,
    };
    let audio = match (options.switch("audio", hears)?, preset) {
        (false, _) => Audio::Never,
        (true, Preset::DashScope) => Audio::Address,
        (true, _) => Audio::Bytes,
    };
    // Their models' templates refuse rules that do not stand at the beginning.
    let strict =
        matches!(preset, Preset::LlamaCpp | Preset::Vllm | Preset::LmStudio | Preset::DashScope | Preset::SiliconFlow);
    Ok(Style {
        thoughts: match options.switch("send_reasoning", wants)? {
            true if deepseek => Thoughts::OfTurnsWithTools,
            true => Thoughts::OfThisTurn,
            false => Thoughts::Never,
        },
        thoughts_field: match preset {
            Preset::OpenRouter | Preset::Vllm => "reasoning",
            _ => "reasoning_content",
        },
        images,
        // It takes what comes along alone.
        distant: preset != Preset::LmStudio,
        audio,
        video: options.switch("video", films)?,
        files: options.switch("files", matches!(preset, Preset::OpenAi | Preset::OpenRouter))?,
        system_role: if preset == Preset::OpenAi && model.reasons() { "developer" } else { "system" },
        system_first: options.switch("system_first", strict)?,
    })
}

fn forcing(preset: Preset) -> Forcing {
    match preset {
        Preset::LlamaCpp | Preset::LmStudio => Forcing::Words,
        Preset::DashScope => Forcing::NamedAlone,
        Preset::Moonshot | Preset::Zhipu => Forcing::Asking,
        _ => Forcing::Any,
    }
}
