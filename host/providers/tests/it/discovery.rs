//! What is found in the environment, and the adapters that it is offered through.

use std::collections::BTreeSet;

use homeagent_providers::discovery::{Discovery, Environment};
use homeagent_types::model::{KeyPlacement, Message, ModelRequest, Prompt};
use homeagent_types::ports::Adapters as _;

use crate::native::Native;
use crate::vendor::{Reply, Vendor};
use crate::world::{World, hasty};

/// A key for everybody, and no other address for anybody.
const EVERY_KEY: Environment = |name| name.ends_with("_API_KEY").then(|| "sk-1".to_owned());

#[tokio::test]
async fn every_offer_is_one_that_its_adapter_can_ask_and_agrees_with_it() {
    let world = World::new(hasty());
    for server in ["core.discovery.ollama_url", "core.discovery.llamacpp_url"] {
        world.settings.set(server, "http://127.0.0.1:1").expect("set");
    }
    let discovery = Discovery::new(world.settings.clone(), world.secrets.clone(), world.sources.clone(), EVERY_KEY);
    let offers = discovery.look().await.expect("it looks").offers;
    let own: BTreeSet<&str> =
        offers.iter().map(|offer| offer.adapter.as_str()).filter(|adapter| *adapter != "openai").collect();
    assert_eq!(own, BTreeSet::from(["anthropic", "deepseek", "gemini", "openai-responses", "qwen", "zhipu"]));
    for offer in &offers {
        let descriptor = Native.descriptor(&offer.adapter).expect("there is such an adapter");
        assert_ne!(descriptor.key, KeyPlacement::None, "{offer:?}");
        if own.contains(offer.adapter.as_str()) {
            let usual = (descriptor.default_model.as_deref(), descriptor.default_base_url.as_deref());
            assert_eq!(usual, (Some(&*offer.model), Some(&*offer.base_url)), "{offer:?}");
        }
        let request = ModelRequest {
            model: offer.model.clone(),
            prompt: Prompt { messages: vec![Message::user("hi")], ..Prompt::default() },
            temperature: Some(0.7),
            max_tokens: Some(64),
            thinking: None,
            stream: true,
            options: offer.options.clone().into_iter().collect(),
        };
        let mut session = Native.open(&offer.adapter).await.expect("it opens");
        session.build_request(&request).await.unwrap_or_else(|error| panic!("{offer:?}: {error}"));
    }
    let doubao = offers.iter().find(|offer| offer.name == "doubao").expect("it is among them");
    assert_eq!(doubao.found_in, "environment variable ARK_API_KEY");
}

#[tokio::test]
async fn a_source_by_another_protocol_of_the_same_vendor_is_enough() {
    let world = World::new(hasty());
    for server in ["core.discovery.ollama_url", "core.discovery.llamacpp_url"] {
        world.settings.set(server, "http://127.0.0.1:1").expect("set");
    }
    let environment: Environment = |name| (name == "DASHSCOPE_API_KEY").then(|| "sk-1".to_owned());
    let discovery = Discovery::new(world.settings.clone(), world.secrets.clone(), world.sources.clone(), environment);
    assert_eq!(discovery.look().await.expect("it looks").offers.len(), 1);
    world.add("mine", "https://dashscope.aliyuncs.com/compatible-mode/v1");
    let found = discovery.look().await.expect("it looks");
    assert!(found.offers.is_empty() && !found.notes.concat().contains("dashscope"), "{found:?}");
}

#[tokio::test]
async fn an_ollama_is_offered_with_a_window_that_holds_a_conversation() {
    let body = r#"{"models":[{"name":"qwen3:8b","details":{"family":"qwen3"}}]}"#;
    let headers = vec![("content-type", "application/json".to_owned())];
    let vendor = Vendor::start(vec![Reply::Whole { status: 200, headers, body: body.to_owned() }]).await;
    let world = World::new(hasty());
    world.settings.set("core.discovery.llamacpp_url", "http://127.0.0.1:1").expect("set");
    world.settings.set("core.discovery.ollama_url", vendor.url.trim_end_matches("/v1")).expect("set");
    let discovery = Discovery::new(world.settings.clone(), world.secrets.clone(), world.sources.clone(), |_| None);
    let offers = discovery.look().await.expect("it looks").offers;
    let offer = offers.first().expect("it is found");
    assert_eq!((offer.model.as_str(), offer.options["num_ctx"].as_str()), ("qwen3:8b", "16384"));
}
