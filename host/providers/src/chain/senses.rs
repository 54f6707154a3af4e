//! What the models take in that the adapters of the house speak with.
//!
//! An adapter's features say what its protocol has room for. Which of its models sees and hears, the adapter decides in its
//! sandbox when it writes a request: by the model's name, by whose address it is, and by the source's options. The host has
//! to know before, so that what the first source can't take in is described by another. So the rules of
//! `components/*/src` stand here once more; `tests/it/senses.rs` holds both against each other.

use homeagent_settings::SourceRecord;
use homeagent_types::MediaKind;

/// What a model takes in.
#[derive(Clone, Copy, Default)]
pub(super) struct Senses {
    images: bool,
    audio: bool,
    video: bool,
    files: bool,
}

/// Vendors in whose ways `openai` speaks, by the ends of hosts' names; what is not here is nobody's in particular.
const HOSTS: [(&str, &str); 15] = [
    ("openai.com", "openai"),
    ("deepseek.com", "deepseek"),
    ("openrouter.ai", "openrouter"),
    ("moonshot.cn", "moonshot"),
    ("moonshot.ai", "moonshot"),
    ("kimi.com", "moonshot"),
    ("bigmodel.cn", "zhipu"),
    ("z.ai", "zhipu"),
    ("dashscope.aliyuncs.com", "dashscope"),
    ("dashscope-intl.aliyuncs.com", "dashscope"),
    ("dashscope-us.aliyuncs.com", "dashscope"),
    ("volces.com", "doubao"),
    ("bytepluses.com", "doubao"),
    ("siliconflow.cn", "siliconflow"),
    ("siliconflow.com", "siliconflow"),
];

impl Senses {
    /// Those of a source's model; nothing for an adapter that is not of the house.
    pub(super) fn of(record: &SourceRecord) -> Option<Self> {
        let full = record.model.to_lowercase();
        let name = full.rsplit('/').next().unwrap_or_default();
        let usual = match record.adapter.as_str() {
            "openai" => compatible(record, name),
            "zhipu" => Self { images: glm_sees(name), ..Self::default() },
            "qwen" => match record.options.get("endpoint").map(|endpoint| endpoint.trim()) {
                Some("text") => Self::default(),
                Some(_) => Self { images: true, audio: true, video: true, files: false },
                None => qwen(&full),
            },
            "deepseek" => Self { images: deepseek_sees(name), ..Self::default() },
            "anthropic" | "openai-responses" => Self { images: true, files: true, ..Self::default() },
            "gemini" => Self { images: true, audio: true, video: true, files: true },
            "ollama" => Self { images: true, ..Self::default() },
            _ => return None,
        };
        Some(usual.told(record))
    }

    /// What options of the source say holds before what the name does.
    fn told(self, record: &SourceRecord) -> Self {
        let images = switch(record, "images").unwrap_or(self.images);
        // Who sees pictures there sees films.
        let video = if record.adapter == "zhipu" || (record.adapter == "openai" && shows_films(record)) {
            images
        } else {
            self.video
        };
        Self {
            images,
            audio: switch(record, "audio").unwrap_or(self.audio),
            video: switch(record, "video").unwrap_or(video),
            files: switch(record, "files").unwrap_or(self.files),
        }
    }

    pub(super) fn has(self, kind: MediaKind) -> bool {
        match kind {
            MediaKind::Image => self.images,
            MediaKind::Audio => self.audio,
            MediaKind::Video => self.video,
            MediaKind::File => self.files,
        }
    }
}

/// An option of a source that is on or off.
pub(super) fn switch(record: &SourceRecord, name: &str) -> Option<bool> {
    match record.options.get(name)?.trim() {
        "on" | "true" | "yes" | "always" => Some(true),
        "off" | "false" | "no" | "never" => Some(false),
        _ => None,
    }
}

/// In whose ways `openai` speaks with a source.
fn preset(record: &SourceRecord) -> &str {
    if let Some(named) = record.options.get("preset") {
        return named.trim();
    }
    let authority = record.base_url.split("//").nth(1).and_then(|rest| rest.split(['/', '?']).next());
    let host = authority.unwrap_or_default().split(':').next().unwrap_or_default().to_lowercase();
    let is = |end: &str| host.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    HOSTS.iter().find(|(end, _)| is(end)).map_or("plain", |(_, preset)| preset)
}

fn shows_films(record: &SourceRecord) -> bool {
    matches!(preset(record), "moonshot" | "zhipu" | "dashscope" | "doubao" | "openrouter" | "vllm")
}

/// As `components/openai/src/dialect.rs` has it.
fn compatible(record: &SourceRecord, name: &str) -> Senses {
    let preset = preset(record);
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let is_deepseek = preset == "deepseek" || name.starts_with("deepseek");
    let images = match preset {
        "zhipu" => glm_sees(name),
        "dashscope" => qwen_sees(name),
        "moonshot" => {
            name.strip_prefix("kimi-k").and_then(number).is_some_and(|version| version >= 2.5) || has(&["vision"])
        }
        "deepseek" => deepseek_sees(name),
        _ if name.starts_with("deepseek-v4-flash") => has(&["vision"]),
        _ => !is_deepseek || deepseek_sees(name),
    };
    let audio = match preset {
        "openai" => has(&["audio"]),
        "dashscope" => has(&["omni", "audio"]),
        "plain" | "openrouter" | "llamacpp" | "vllm" => true,
        _ => false,
    };
    Senses { images, audio, video: false, files: matches!(preset, "openai" | "openrouter") }
}

/// `deepseek-v4-flash` sees, `deepseek-v4-pro` does not.
fn deepseek_sees(name: &str) -> bool {
    ["flash", "vision", "vl", "ocr"].iter().any(|word| name.contains(word))
}

/// `glm-4.6v-flash` sees, `glm-4.7-flash` does not.
fn glm_sees(name: &str) -> bool {
    name.split('-').any(|word| word.ends_with('v') && word.starts_with(|c: char| c.is_ascii_digit()))
}

/// `qwen-vl-max` and `qwen3.7-plus` see, `qwen3-omni-flash` hears as well, `qwen-plus` and `qwen3.7-max` read.
fn qwen(name: &str) -> Senses {
    let audio = ["omni", "audio"].iter().any(|word| name.contains(word));
    let images = audio || qwen_sees(name);
    Senses { images, audio, video: images, files: false }
}

fn qwen_sees(name: &str) -> bool {
    let version = name.strip_prefix("qwen").and_then(number);
    let is_grown = version.is_some_and(|version| version >= 3.5) && !name.contains("max");
    is_grown || ["vl", "qvq", "ocr", "omni"].iter().any(|word| name.contains(word))
}

/// The number that a text begins with.
fn number(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text[..end].trim_end_matches('.').parse().ok()
}

#[cfg(test)]
mod tests {
    use homeagent_settings::SourceLine;

    use super::*;

    fn of(adapter: &str, url: &str, model: &str) -> Vec<MediaKind> {
        let record = SourceRecord {
            name: "a".to_owned(),
            line: SourceLine::Main,
            adapter: adapter.to_owned(),
            base_url: url.to_owned(),
            model: model.to_owned(),
            secret: None,
            options: std::collections::BTreeMap::new(),
            position: 0,
            enabled: true,
        };
        let senses = Senses::of(&record).expect("it is of the house");
        MediaKind::ALL.into_iter().filter(|kind| senses.has(*kind)).collect()
    }

    #[test]
    fn names_say_what_models_take_in() {
        use MediaKind::{Audio, File, Image, Video};
        let dashscope = "https://dashscope.aliyuncs.com/compatible-mode/v1";
        let cases: [(&str, &str, &str, &[MediaKind]); 16] = [
            ("zhipu", "", "glm-4.7-flash", &[]),
            ("zhipu", "", "glm-4.6v-flash", &[Image, Video]),
            ("qwen", "", "qwen-plus", &[]),
            ("qwen", "", "qwen3.7-plus", &[Image, Video]),
            ("qwen", "", "qwen3-omni-flash", &[Image, Audio, Video]),
            ("deepseek", "", "deepseek-v4-pro", &[]),
            ("deepseek", "", "deepseek-v4-flash", &[Image]),
            ("anthropic", "", "claude-opus-5", &[Image, File]),
            ("gemini", "", "gemini-3-flash", &MediaKind::ALL),
            ("openai", "https://api.openai.com/v1", "gpt-6", &[Image, File]),
            ("openai", "https://open.bigmodel.cn/api/paas/v4", "glm-4.7", &[]),
            ("openai", dashscope, "qwen-plus", &[]),
            ("openai", dashscope, "qwen-vl-max", &[Image, Video]),
            ("openai", "https://api.deepseek.com:443", "deepseek-chat", &[]),
            ("openai", "https://api.moonshot.cn/v1", "kimi-k2.6", &[Image, Video]),
            ("openai", "http://127.0.0.1:8080/v1", "whatever", &[Image, Audio]),
        ];
        for (adapter, url, model, takes) in cases {
            assert_eq!(of(adapter, url, model), takes, "{adapter} {model}");
        }
    }
}
