//! The models that a source's vendor offers.

use homeagent_providers::{ListingError, SourceStanding};
use homeagent_types::model::FailureClass;

use crate::vendor::{Vendor, error, json};
use crate::world::{KEY, World, hasty};

async fn names(world: &World, source: &str) -> Vec<String> {
    world.providers.models(source).await.expect("listed").into_iter().map(|model| model.id).collect()
}

#[tokio::test]
async fn a_vendor_is_asked_with_the_key_of_the_source() {
    let list = format!(
        "{{\"object\":\"list\",\"data\":[{{\"id\":\"b\",\"context_length\":4096}},{{\"id\":\"a\"}},{{\"id\":\"a b\"}},{{\"id\":\"{KEY}\"}}]}}"
    );
    let vendor = Vendor::start(vec![json(200, &list, Vec::new())]).await;
    let world = World::new(hasty());
    let mut source = world.source("home", "openai", &vendor.url);
    source.enabled = false;
    world.sources.add(&source).expect("added");
    let models = world.providers.models("home").await.expect("listed");
    let seen: Vec<_> = models.iter().map(|model| (model.id.as_str(), model.context_window)).collect();
    assert_eq!(seen, [("a", None), ("b", Some(4096))], "in order, without what can't be a name, and no key");
    let request = &vendor.requests()[0];
    assert!(request.starts_with("GET /v1/models HTTP/1.1\r\n"), "{request}");
    assert!(request.contains(&format!("authorization: Bearer {KEY}\r\n")), "{request}");
}

#[tokio::test]
async fn each_vendors_adapter_finds_its_list() {
    let cases = [
        (
            "anthropic",
            "GET /v1/models?limit=1000 ",
            "{\"data\":[{\"id\":\"m\",\"type\":\"model\"}],\"has_more\":false}",
        ),
        ("deepseek", "GET /v1/models ", "{\"data\":[{\"id\":\"m\"}]}"),
        ("gemini", "GET /v1/models?pageSize=1000 ", "{\"models\":[{\"name\":\"models/m\"}]}"),
        ("ollama", "GET /v1/api/tags ", "{\"models\":[{\"name\":\"m\"}]}"),
        ("openai-responses", "GET /v1/models ", "{\"data\":[{\"id\":\"m\"}]}"),
        ("qwen", "GET /v1/models?page_no=1&page_size=100 ", "{\"output\":{\"models\":[{\"model\":\"m\"}]}}"),
        ("zhipu", "GET /v1/models ", "{\"data\":[{\"id\":\"m\"}]}"),
    ];
    for (adapter, asked, list) in cases {
        let vendor = Vendor::start(vec![json(200, list, Vec::new())]).await;
        let world = World::new(hasty());
        world.sources.add(&world.source("a", adapter, &vendor.url)).expect("added");
        assert_eq!(names(&world, "a").await, ["m"], "{adapter}");
        assert!(vendor.requests()[0].starts_with(asked), "{adapter}: {}", vendor.requests()[0]);
    }
}

#[tokio::test]
async fn without_a_list_a_sentence_says_why_and_the_source_stands_as_it_did() {
    let refused = error(401, &format!("{{\"error\":{{\"message\":\"Incorrect API key provided: {KEY}\"}}}}"));
    let vendor = Vendor::start(vec![refused, json(200, "[", Vec::new()), json(404, "not found", Vec::new())]).await;
    let world = World::new(hasty());
    world.add("a", &vendor.url);
    for (class, words) in
        [(FailureClass::Auth, "no valid key"), (FailureClass::Protocol, "not JSON"), (FailureClass::BadRequest, "404")]
    {
        let error = world.providers.models("a").await.expect_err("refused");
        let ListingError::Failed { sentence, class: told } = &error else { panic!("{error:?}") };
        assert_eq!(*told, class);
        assert!(sentence.contains("`a`") && sentence.contains(words), "{sentence}");
        assert!(!sentence.contains("geheim"), "{sentence}");
    }
    assert_eq!(world.standing("a"), SourceStanding::Ready);

    let error = world.providers.models("none").await.expect_err("unknown");
    assert!(matches!(&error, ListingError::Unknown(sentence) if sentence.contains("configured are: a")), "{error:?}");
    world.sources.add(&world.source("script", "rehearsal", "offline:")).expect("added");
    let error = world.providers.models("script").await.expect_err("it has none");
    assert!(error.to_string().contains("`script` lists no models"), "{error}");
}
