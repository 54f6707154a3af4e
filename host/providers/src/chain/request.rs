//! What is asked of a source: the prompt with the source's options and the settings.

use std::time::Duration;

use homeagent_settings::Settings;
use homeagent_types::Meta;
use homeagent_types::model::{Message, ModelRequest, Prompt};

use super::attempt::Route;
use crate::transport::Timeouts;

/// The option that adapters are told the source's address in.
const BASE_URL: &str = "base_url";

/// The request for the adapter. Options of the source come before the settings.
pub(super) fn build(settings: &Settings, route: &Route, prompt: &Prompt) -> ModelRequest {
    let options = &route.record.options;
    let max_tokens = settings.integer("core.model.max_tokens").ok().and_then(|count| u32::try_from(count).ok());
    let max_tokens = parsed(route, "max_tokens", "a whole number").or(max_tokens);
    let temperature = settings.number("core.model.temperature").ok();
    let switch = |name: &str| match options.get(name).map(String::as_str) {
        Some("on" | "true" | "yes") => Some(true),
        Some("off" | "false" | "no") => Some(false),
        Some(other) => {
            ignored(route, name, other, "on or off");
            None
        }
        None => None,
    };
    ModelRequest {
        model: route.record.model.clone(),
        prompt: own(route, prompt),
        temperature: parsed(route, "temperature", "a number").or(temperature),
        max_tokens: prompt
            .max_tokens
            .map_or(max_tokens, |wanted| Some(max_tokens.map_or(wanted, |most| wanted.min(most)))),
        thinking: switch("thinking"),
        stream: route.descriptor.has("streaming") && switch("stream").unwrap_or(true),
        options: self::options(route),
    }
}

/// The options of the source, and among them its address as `base_url`: an adapter that speaks with several vendors knows
/// by it which one answers.
pub(super) fn options(route: &Route) -> Meta {
    let own = route.record.options.iter().filter(|(name, _)| *name != BASE_URL);
    let mut options: Meta = own.map(|(name, value)| (name.clone(), value.clone())).collect();
    options.push((BASE_URL.to_owned(), route.record.base_url.clone()));
    options
}

/// The prompt with those of the vendors' blobs that this adapter made with this model.
fn own(route: &Route, prompt: &Prompt) -> Prompt {
    let mut prompt = prompt.clone();
    for message in &mut prompt.messages {
        if let Message::Assistant { opaque, .. } = message {
            opaque.retain(|blob| blob.adapter == route.record.adapter && blob.model == route.record.model);
        }
    }
    prompt
}

fn parsed<T: std::str::FromStr>(route: &Route, name: &str, wanted: &str) -> Option<T> {
    let text = route.record.options.get(name)?;
    let value = text.trim().parse().ok();
    if value.is_none() {
        ignored(route, name, text, wanted);
    }
    value
}

fn ignored(route: &Route, option: &str, value: &str, wanted: &str) {
    tracing::warn!(source = route.record.name, option, value, wanted, "option of a model source ignored");
}

/// The time-outs that are set.
pub(super) fn timeouts(settings: &Settings) -> Timeouts {
    let usual = Timeouts::default();
    let set = |key: &str, usual| settings.duration(key).unwrap_or(usual);
    let silence = set("core.model.silence_seconds", usual.silence);
    Timeouts {
        connect: set("core.model.connect_seconds", usual.connect),
        first_byte: set("core.model.first_byte_seconds", usual.first_byte),
        silence,
        // Who may be silent for longer may say that it is alive for as long.
        waiting: set("core.model.waiting_seconds", usual.waiting).max(silence),
    }
}

/// Whether a refusal by a vendor's filter is the last word, rather than a reason to ask the next source.
pub(super) fn filter_is_final(settings: &Settings) -> bool {
    settings.text("core.model.on_content_filter").is_ok_and(|policy| policy == "stop")
}

/// How long a request may wait for a source to come back.
pub(super) fn patience(settings: &Settings) -> Duration {
    settings.duration("core.model.wait_seconds").unwrap_or(Duration::from_secs(30))
}
