use std::time::Duration;

use homeagent_providers::{Policy, SourceStanding};
use homeagent_settings::SourceRecord;
use homeagent_types::model::{FailureClass, FinishReason, Message, Opaque};

use crate::vendor::{Ending, Reply, Vendor, breaks_after, error, json, says, text};
use crate::world::{KEY, World, hasty};

#[tokio::test]
async fn a_source_answers() {
    let vendor = Vendor::start(vec![says("你好")]).await;
    let world = World::new(hasty());
    world.add("a", &vendor.url);
    let completion = world.ask().await.expect("it answers");
    assert_eq!((completion.source.as_str(), completion.model.as_str()), ("a", "a-model"));
    assert_eq!(completion.answer.text, "你好");
    assert_eq!(completion.answer.finish, Some(FinishReason::Stop));
    assert_eq!(world.watcher.seen(), ("你好".to_owned(), 0));
    let request = &vendor.requests()[0];
    assert!(request.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{request}");
    assert!(request.contains(&format!("authorization: Bearer {KEY}\r\n")), "{request}");
    assert!(request.contains("\"temperature\":0.7") && request.contains("\"max_tokens\":4096"), "{request}");
    assert_eq!(world.standing("a"), SourceStanding::Ready);
}

#[tokio::test]
async fn options_come_before_settings_and_changes_are_live() {
    let vendor = Vendor::start(vec![says("1"), says("2")]).await;
    let world = World::new(hasty());
    let mut source = world.source("a", "openai", &vendor.url);
    for (name, value) in
        [("temperature", "0.1"), ("max_tokens", "many"), ("thinking", "off"), ("thinking_style", "type")]
    {
        source.options.insert(name.to_owned(), value.to_owned());
    }
    world.sources.add(&source).expect("added");
    world.settings.set("core.model.max_tokens", 77).expect("set");
    world.ask().await.expect("it answers");
    world.settings.set("core.model.max_tokens", 78).expect("set");
    world.ask().await.expect("it answers");
    let requests = vendor.requests();
    for part in ["\"temperature\":0.1", "\"max_tokens\":77", "\"thinking\":{\"type\":\"disabled\"}"] {
        assert!(requests[0].contains(part), "{part} is missing in {}", requests[0]);
    }
    assert!(requests[1].contains("\"max_tokens\":78"));
}

#[tokio::test]
async fn a_broken_answer_is_taken_back_when_the_next_source_speaks() {
    let first = Vendor::start(vec![breaks_after("half a")]).await;
    let second = Vendor::start(vec![says("whole")]).await;
    let world = World::new(Policy::default());
    world.add("a", &first.url);
    world.add("b", &second.url);
    let completion = world.ask().await.expect("the second answers");
    assert_eq!((completion.source.as_str(), completion.answer.text.as_str()), ("b", "whole"));
    assert_eq!(world.watcher.seen(), ("whole".to_owned(), 1));
    assert_eq!(world.standing("a"), SourceStanding::CoolingDown);
}

#[tokio::test]
async fn a_broken_answer_stays_when_no_source_can_do_better() {
    let first = Vendor::start(vec![breaks_after("half a")]).await;
    let second = Vendor::start(vec![error(400, "{\"error\":{\"message\":\"no such model\"}}")]).await;
    let world = World::new(Policy { attempts: 1, ..hasty() });
    world.add("a", &first.url);
    world.add("b", &second.url);
    let failure = world.ask().await.expect_err("neither answers");
    assert_eq!(world.watcher.seen(), ("half a".to_owned(), 0));
    let partial = failure.partial.expect("there is a part");
    assert_eq!((partial.source.as_str(), partial.answer.text.as_str()), ("a", "half a"));
    assert_eq!(partial.answer.finish, None);
    let classes: Vec<_> = failure.tried.iter().map(|(name, failure)| (name.as_str(), failure.class)).collect();
    assert_eq!(classes, [("a", FailureClass::StreamEndedEarly), ("b", FailureClass::BadRequest)]);
}

#[tokio::test]
async fn trouble_passes_and_the_only_source_is_waited_for() {
    let trouble = || error(500, "{\"error\":{\"message\":\"oops\",\"type\":\"server_error\"}}");
    let vendor = Vendor::start(vec![trouble(), trouble(), says("here")]).await;
    let world = World::new(hasty());
    world.add("a", &vendor.url);
    let completion = world.ask().await.expect("the third attempt succeeds");
    assert_eq!(completion.answer.text, "here");
    assert_eq!(vendor.requests().len(), 3);
    assert_eq!(world.standing("a"), SourceStanding::Ready);
}

#[tokio::test]
async fn retry_after_is_waited_for_or_told() {
    let busy =
        |after: &str| json(429, "{\"error\":{\"message\":\"slow down\"}}", vec![("retry-after", after.to_owned())]);
    let vendor = Vendor::start(vec![busy("0.001"), says("here"), busy("1200")]).await;
    let world = World::new(Policy { back_off: Duration::from_secs(3600), ..Policy::default() });
    world.add("a", &vendor.url);
    assert_eq!(world.ask().await.expect("it answers").answer.text, "here");
    let (sentence, classes) = world.fails().await;
    assert_eq!(classes, [FailureClass::RateLimited]);
    assert!(sentence.contains("slow down") && sentence.contains("in 20 minutes"), "{sentence}");
    // While it cools down it is not asked, and the reason is still told.
    let (sentence, classes) = world.fails().await;
    assert_eq!(classes, [FailureClass::RateLimited]);
    assert!(sentence.contains("slow down"), "{sentence}");
    assert_eq!(vendor.requests().len(), 3);
}

#[tokio::test]
async fn a_rate_limit_that_speaks_of_billing_is_waited_for() {
    let limit = json(
        429,
        "{\"error\":{\"message\":\"Rate limit reached for gpt-4o. Please try again in 3s. You can increase your limit by \
         adding a payment method at https://platform.openai.com/account/billing.\",\"code\":\"rate_limit_exceeded\"}}",
        vec![("retry-after", "0.001".to_owned())],
    );
    let vendor = Vendor::start(vec![limit, says("here")]).await;
    let world = World::new(Policy { back_off: Duration::from_secs(3600), ..Policy::default() });
    world.add("a", &vendor.url);
    assert_eq!(world.ask().await.expect("it answers").answer.text, "here");
    assert_eq!(world.standing("a"), SourceStanding::Ready);
}

#[tokio::test]
async fn a_refused_key_disables_the_source_until_the_key_changes() {
    let refused = || error(401, &format!("{{\"error\":{{\"message\":\"Incorrect API key provided: {KEY}\"}}}}"));
    let vendor = Vendor::start(vec![refused(), says("welcome")]).await;
    let world = World::new(hasty());
    world.add("a", &vendor.url);
    let (sentence, classes) = world.fails().await;
    assert_eq!(classes, [FailureClass::Auth]);
    assert!(sentence.contains("`a` has no valid key") && sentence.contains("[secret key]"), "{sentence}");
    assert_eq!(world.standing("a"), SourceStanding::Disabled);
    world.fails().await;
    assert_eq!(vendor.requests().len(), 1, "a disabled source is not asked");
    world.secrets.set("key", "sk-another-key".into()).expect("set");
    assert_eq!(world.ask().await.expect("it answers").answer.text, "welcome");
    assert_eq!(world.standing("a"), SourceStanding::Ready);
}

#[tokio::test]
async fn an_empty_account_is_probed_later() {
    let empty = || error(402, "{\"error\":{\"message\":\"Insufficient Balance\",\"code\":\"invalid_request_error\"}}");
    let vendor = Vendor::start(vec![empty()]).await;
    let world = World::new(hasty());
    let mut told = world.providers.subscribe();
    world.add("a", &vendor.url);
    let (sentence, classes) = world.fails().await;
    assert_eq!(classes, [FailureClass::Unfunded]);
    assert!(sentence.contains("money") && sentence.contains("Insufficient Balance"), "{sentence}");
    assert_eq!(world.standing("a"), SourceStanding::Unfunded);
    assert_eq!(told.try_recv().expect("the owner is told").standing, SourceStanding::Unfunded);
    world.fails().await;
    assert_eq!(vendor.requests().len(), 1);

    let vendor = Vendor::start(vec![empty(), says("rich")]).await;
    let world = World::new(Policy { probe: Duration::ZERO, ..hasty() });
    world.add("a", &vendor.url);
    assert_eq!(world.ask().await.expect("the probe succeeds").answer.text, "rich");
}

#[tokio::test]
async fn a_bad_request_is_not_repeated_at_the_same_source() {
    let bad = || {
        error(400, "{\"error\":{\"message\":\"maximum context length is 10\",\"code\":\"context_length_exceeded\"}}")
    };
    let vendor = Vendor::start(vec![bad(), says("fine")]).await;
    let world = World::new(hasty());
    world.add("a", &vendor.url);
    let (_, classes) = world.fails().await;
    assert_eq!(classes, [FailureClass::ContextOverflow]);
    assert_eq!(vendor.requests().len(), 1);
    assert_eq!(world.standing("a"), SourceStanding::Ready, "it is the request's fault");
    assert_eq!(world.ask().await.expect("the next one is fine").answer.text, "fine");
}

#[tokio::test]
async fn dropping_the_call_drops_the_connection() {
    let silent = Reply::Stream { pieces: vec![text("so")], ending: Ending::Silent };
    for reply in [silent, Reply::Mute] {
        let mute = matches!(reply, Reply::Mute);
        let mut vendor = Vendor::start(vec![reply]).await;
        let world = World::new(hasty());
        world.add("a", &vendor.url);
        tokio::select! {
            _ = world.ask() => panic!("the vendor never ends"),
            () = async {
                // The request has arrived, and the text where there is one.
                while vendor.requests().is_empty() || (!mute && world.watcher.seen().0.is_empty()) {
                    tokio::task::yield_now().await;
                }
            } => {}
        }
        vendor.gone.recv().await.expect("the client goes");
    }
}

#[tokio::test]
async fn blobs_go_back_only_to_the_adapter_and_model_that_made_them() {
    let blob = |adapter: &str, model: &str, value: &str| Opaque {
        adapter: adapter.to_owned(),
        model: model.to_owned(),
        kind: "signature".to_owned(),
        value: value.to_owned(),
    };
    let opaque = vec![
        blob("anthropic", "a-model", "another-adapter"),
        blob("mirror", "other", "another-model"),
        blob("mirror", "a-model", "own"),
    ];
    let assistant =
        Message::Assistant { text: "x".to_owned(), reasoning: String::new(), tool_calls: Vec::new(), opaque };
    let world = World::new(hasty());
    world.sources.add(&world.source("a", "mirror", "builtin:")).expect("added");
    let answer = world.ask_for(vec![assistant, Message::user("hi")]).await.expect("it answers").answer;
    assert_eq!(answer.text, "own");
    assert_eq!(answer.opaque, [blob("mirror", "a-model", "mine")]);
}

#[tokio::test]
async fn without_sources_the_rehearsal_answers() {
    let world = World::new(hasty());
    let completion = world.ask_for(vec![Message::user("/say 2 茶")]).await.expect("it answers");
    assert_eq!((completion.source.as_str(), completion.answer.text.as_str()), ("rehearsal", "茶 茶"));
    assert_eq!(world.watcher.seen(), ("茶 茶".to_owned(), 0));
    assert_eq!(world.standing("rehearsal"), SourceStanding::Ready);
    world.providers.test("rehearsal").await.expect("it can be tested");
    // A source that is switched off is a decision; nothing steps in for it.
    world
        .sources
        .add(&SourceRecord { enabled: false, ..world.source("a", "openai", "http://127.0.0.1:1") })
        .expect("added");
    let (sentence, _) = world.fails().await;
    assert!(sentence.contains("`waiter source use NAME`") && sentence.contains('a'), "{sentence}");
    assert_eq!(world.standing("a"), SourceStanding::SwitchedOff);
}

#[tokio::test]
async fn a_test_says_how_a_source_does() {
    let vendor = Vendor::start(vec![error(401, "{\"error\":\"bad key\"}"), says("OK")]).await;
    let world = World::new(hasty());
    world.add("a", &vendor.url);
    let failure = world.providers.test("a").await.expect_err("refused");
    assert!(failure.sentence.contains("bad key"), "{}", failure.sentence);
    assert_eq!(world.standing("a"), SourceStanding::Disabled);
    assert_eq!(world.providers.test("a").await.expect("accepted").answer.text, "OK");
    assert_eq!(world.standing("a"), SourceStanding::Ready);
    let failure = world.providers.test("b").await.expect_err("unknown");
    assert!(failure.sentence.contains("`b`") && failure.sentence.contains("configured are: a"), "{}", failure.sentence);
}
