//! What the host takes a model to see and hear is what its adapter shows it.

use homeagent_settings::SourceRecord;
use homeagent_types::MediaKind;
use homeagent_types::model::{ContentPart, Message, ModelMedia, ModelRequest, Prompt};
use homeagent_types::ports::{Adapters as _, Models as _};

use crate::native::Native;
use crate::world::{World, hasty};

const MEDIA: [(MediaKind, &str); 4] = [
    (MediaKind::Image, "image/png"),
    (MediaKind::Audio, "audio/wav"),
    (MediaKind::Video, "video/mp4"),
    (MediaKind::File, "application/pdf"),
];

/// The kinds of media that the adapter puts into a request to this source.
async fn shown(source: &SourceRecord) -> Vec<MediaKind> {
    let mut shown = Vec::new();
    for (kind, mime) in MEDIA {
        let medium = ModelMedia { mime: mime.to_owned(), name: None, data: b"tea".to_vec(), url: None };
        let messages = vec![Message::User(vec![ContentPart::medium(medium)])];
        let options = source.options.clone().into_iter().chain([("base_url".to_owned(), source.base_url.clone())]);
        let request = ModelRequest {
            model: source.model.clone(),
            prompt: Prompt { messages, ..Prompt::default() },
            temperature: None,
            max_tokens: None,
            thinking: None,
            stream: true,
            options: options.collect(),
        };
        let mut session = Native.open(&source.adapter).await.expect("it is there");
        let http = session.build_request(&request).await.expect("it can be said");
        if !String::from_utf8_lossy(&http.body).contains("can't take in") {
            shown.push(kind);
        }
    }
    shown
}

#[tokio::test]
async fn the_host_knows_what_each_adapter_shows_of_each_model() {
    let world = World::new(hasty());
    let hosts = [
        "https://api.openai.com/v1",
        "https://api.deepseek.com",
        "https://openrouter.ai/api/v1",
        "https://api.moonshot.cn/v1",
        "https://open.bigmodel.cn/api/paas/v4",
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
        "https://ark.cn-beijing.volces.com/api/v3",
        "https://api.siliconflow.cn/v1",
        "http://127.0.0.1:8080/v1",
    ];
    let models = [
        "gpt-6-luna",
        "gpt-audio-2",
        "deepseek-v4-flash",
        "deepseek-v4-pro",
        "deepseek-flash",
        "deepseek-ai/DeepSeek-V3",
        "moonshotai/kimi-k2.6",
        "kimi-k2",
        "glm-4.7-flash",
        "glm-4.6v-flash",
        "qwen-plus",
        "qwen3.7-plus",
        "qwen3-omni-flash",
        "qwen-audio-turbo",
        "Qwen/Qwen3-VL-8B",
    ];
    let mut sources = Vec::new();
    for model in models {
        let source = |adapter, url| SourceRecord { model: model.to_owned(), ..world.source("a", adapter, url) };
        sources.extend(hosts.map(|host| source("openai", host)));
        for adapter in ["deepseek", "zhipu", "qwen", "anthropic", "gemini", "ollama", "openai-responses"] {
            // With the maker in front they are called at those who serve others' models alone.
            if !model.contains('/') {
                sources.push(source(adapter, "https://api.example.com"));
            }
        }
        for (name, value) in [("preset", "llamacpp"), ("preset", "vllm"), ("preset", "lmstudio"), ("images", "off")] {
            let mut told = source("openai", "http://127.0.0.1:8080/v1");
            told.options.insert(name.to_owned(), value.to_owned());
            sources.push(told);
        }
    }
    let mut differ = Vec::new();
    for source in sources {
        world.sources.add(&source).expect("added");
        let known: Vec<MediaKind> = {
            let first = world.providers.sight().first;
            MEDIA.iter().map(|(kind, _)| *kind).filter(|kind| first.contains(kind)).collect()
        };
        let shown = shown(&source).await;
        if known != shown {
            let SourceRecord { adapter, base_url, model, options, .. } = source;
            differ.push(format!("{adapter} {base_url} {model} {options:?}: known {known:?}, shown {shown:?}"));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
