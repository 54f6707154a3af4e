//! What the names of models say, wherever they are asked. Names are in lower case, without the vendor in front.

/// The least effort that a reasoning model of OpenAI's can be told to think with. Nothing for every other model.
///
/// Reasoning models take no temperature.
#[must_use]
pub fn least_effort(model: &str) -> Option<&'static str> {
    let begins = |names: &[&str]| names.iter().any(|name| model.starts_with(name));
    // What is below `low` has another name in the first of its models, and the o-series has none.
    match model.strip_prefix("gpt-5") {
        Some(rest) if !rest.starts_with('.') => Some("minimal"),
        None if begins(&["o1", "o3", "o4"]) => Some("low"),
        _ if begins(&["gpt-5", "gpt-6"]) => Some("none"),
        _ => None,
    }
}

/// Whether a GLM sees: `glm-4.6v-flash` does, `glm-4.7-flash` does not.
#[must_use]
pub fn glm_sees(model: &str) -> bool {
    model.split('-').any(|word| word.ends_with('v') && word.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether a model of DeepSeek's own service sees: each `flash` does, since the service answers the older names
/// (`deepseek-v4-flash`) with the model that does; `deepseek-v4-pro` does not.
#[must_use]
pub fn deepseek_sees(model: &str) -> bool {
    has(model, &["flash", "vision", "vl", "ocr"])
}

/// Whether a Qwen sees: `qwen-vl-max` and `qwen3.7-plus` do, `qwen-plus` and `qwen3.7-max` do not.
#[must_use]
pub fn qwen_sees(model: &str) -> bool {
    let grown = model.strip_prefix("qwen").and_then(version).is_some_and(|version| version >= 3.5);
    has(model, &["vl", "qvq", "ocr", "omni"]) || (grown && !has(model, &["max"]))
}

/// Whether a Qwen hears: `qwen3-omni-flash` does.
#[must_use]
pub fn qwen_hears(model: &str) -> bool {
    has(model, &["omni", "audio"])
}

/// The number that a text begins with.
#[must_use]
pub fn version(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text[..end].trim_end_matches('.').parse().ok()
}

fn has(model: &str, words: &[&str]) -> bool {
    words.iter().any(|word| model.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_sees() {
        let check = |sees: fn(&str) -> bool, names: &[(&str, bool)]| {
            for (name, expected) in names {
                assert_eq!(sees(name), *expected, "{name}");
            }
        };
        check(
            deepseek_sees,
            &[
                ("deepseek-v4-flash", true),
                ("deepseek-flash", true),
                ("deepseek-v4-flash-vision-exp", true),
                ("deepseek-v4-pro", false),
                ("deepseek-chat", false),
                ("deepseek-reasoner", false),
                ("deepseek-coder", false),
                ("deepseek-r1", false),
            ],
        );
        check(
            qwen_sees,
            &[
                ("qwen-vl-max", true),
                ("qwen3.7-plus", true),
                ("qwen3-omni-flash", true),
                ("qwen-plus", false),
                ("qwen3.7-max", false),
            ],
        );
        check(qwen_hears, &[("qwen3-omni-flash", true), ("qwen-vl-max", false)]);
        check(glm_sees, &[("glm-4.6v-flash", true), ("glm-4.7-flash", false)]);
    }
}
