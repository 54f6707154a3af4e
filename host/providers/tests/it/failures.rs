//! What the user is told of everything that goes wrong.

use std::time::Duration;

use homeagent_providers::SourceStanding;
use homeagent_types::model::FailureClass;

use crate::vendor::{Ending, Reply, Vendor, end, error, json, says, text};
use crate::world::{KEY, World, hasty};

async fn told(reply: Reply) -> (String, Vec<FailureClass>) {
    let vendor = Vendor::start(vec![reply]).await;
    let world = World::new(homeagent_providers::Policy { attempts: 1, ..hasty() });
    world.add("a", &vendor.url);
    world.fails().await
}

#[tokio::test]
async fn a_web_page_or_a_redirect_points_to_the_base_url() {
    let page = Reply::Whole {
        status: 200,
        headers: vec![("content-type", "text/html; charset=utf-8".to_owned())],
        body: "<html>hello</html>".to_owned(),
    };
    let (sentence, classes) = told(page).await;
    assert_eq!(classes, [FailureClass::Protocol]);
    assert!(sentence.contains("web page") && sentence.contains("check the base URL"), "{sentence}");

    let location = vec![("location", format!("https://elsewhere.example/login?key={KEY}"))];
    let (sentence, classes) = told(Reply::Whole { status: 302, headers: location, body: String::new() }).await;
    assert_eq!(classes, [FailureClass::Protocol]);
    assert!(
        sentence.contains("redirect to elsewhere.example") && sentence.contains("check the base URL"),
        "{sentence}"
    );
}

#[tokio::test]
async fn an_empty_or_broken_answer_is_said() {
    let nothing = Reply::Stream { pieces: Vec::new(), ending: Ending::Proper };
    let (sentence, classes) = told(nothing).await;
    assert_eq!(classes, [FailureClass::Protocol]);
    assert!(sentence.contains("before the answer began"), "{sentence}");

    let (_, classes) = told(error(200, "")).await;
    assert_eq!(classes, [FailureClass::Protocol]);
    let (_, classes) = told(error(200, "{\"choices\":[]}")).await;
    assert_eq!(classes, [FailureClass::Protocol]);
    let whole_error = "{\"error\":{\"message\":\"Insufficient Balance\",\"type\":\"insufficient_quota\"}}";
    let (_, classes) = told(error(200, whole_error)).await;
    assert_eq!(classes, [FailureClass::Unfunded]);
    let torn = Reply::Stream { pieces: vec!["data: not json\n\n".to_owned()], ending: Ending::Proper };
    let (_, classes) = told(torn).await;
    assert_eq!(classes, [FailureClass::Protocol]);
}

#[tokio::test]
async fn an_error_inside_a_stream_shows_no_key() {
    let event =
        format!("data: {{\"error\":{{\"message\":\"the key {KEY} is overloaded\\nreally\",\"code\":503}}}}\n\n");
    let (sentence, classes) = told(Reply::Stream { pieces: vec![event], ending: Ending::Proper }).await;
    assert_eq!(classes, [FailureClass::Overloaded]);
    assert!(sentence.contains("[secret key] is overloaded really"), "{sentence}");
}

#[tokio::test]
async fn a_whole_answer_to_a_streaming_request_is_read() {
    let body = "{\"choices\":[{\"message\":{\"content\":\"whole\"},\"finish_reason\":\"stop\"}],\
                 \"usage\":{\"prompt_tokens\":\"3\",\"completion_tokens\":1.0}}";
    let vendor = Vendor::start(vec![json(200, body, Vec::new())]).await;
    let world = World::new(hasty());
    world.add("a", &vendor.url);
    let answer = world.ask().await.expect("it answers").answer;
    assert_eq!(answer.text, "whole");
    assert_eq!(answer.usage.map(|usage| (usage.input, usage.output)), Some((3, 1)));
}

#[tokio::test]
async fn what_is_lost_after_the_finish_does_not_matter() {
    let finish = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n".to_owned();
    let vendor = Vendor::start(vec![Reply::Stream { pieces: vec![text("all"), finish], ending: Ending::Broken }]).await;
    let world = World::new(hasty());
    world.add("a", &vendor.url);
    assert_eq!(world.ask().await.expect("it answers").answer.text, "all");
}

#[tokio::test]
async fn pings_after_the_finish_do_not_withhold_the_answer() {
    let finish = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n".to_owned();
    let stream = |last: String| Reply::Stream { pieces: vec![text("all"), last], ending: Ending::Pinging };
    let vendor = Vendor::start(vec![stream(finish), stream(end())]).await;
    let world = World::new(hasty());
    world.add("a", &vendor.url);
    // The usage may still come, so a finish alone is waited after, but not for ever.
    let patience = Duration::from_secs(30);
    let completion = tokio::time::timeout(patience, world.ask()).await.expect("it is handed out");
    assert_eq!(completion.expect("it answers").answer.text, "all");
    let waited = vendor.pings();
    // After the vendor's own mark of the end nothing is waited for.
    assert_eq!(world.ask().await.expect("it answers").answer.text, "all");
    let further = vendor.pings() - waited;
    assert!(further < waited, "{further} comments were waited through, before it {waited}");
}

#[tokio::test]
async fn a_test_of_a_source_that_only_pings_comes_to_an_end() {
    let stream = Reply::Stream { pieces: vec![text("O")], ending: Ending::Pinging };
    let vendor = Vendor::start(vec![stream]).await;
    let world = World::new(hasty());
    world.settings.set("core.model.first_byte_seconds", 1).expect("a valid time");
    world.settings.set("core.model.silence_seconds", 1).expect("a valid time");
    world.add("a", &vendor.url);
    let tested = tokio::time::timeout(Duration::from_secs(60), world.providers.test("a")).await.expect("it ends");
    let failure = tested.expect_err("the answer never came to its end");
    assert!(failure.sentence.contains("did not finish its answer"), "{}", failure.sentence);
}

#[tokio::test]
async fn a_source_that_only_says_that_it_is_alive_gives_way_to_the_next() {
    let forever = Reply::Stream { pieces: Vec::new(), ending: Ending::Pinging };
    let (pinging, healthy) = (Vendor::start(vec![forever]).await, Vendor::start(vec![says("well")]).await);
    let world = World::new(hasty());
    for key in ["core.model.silence_seconds", "core.model.waiting_seconds"] {
        world.settings.set(key, 1).expect("a valid time");
    }
    world.add("a", &pinging.url);
    world.add("b", &healthy.url);
    let completion = world.ask().await.expect("the other answers");
    assert_eq!((completion.source.as_str(), completion.answer.text.as_str()), ("b", "well"));
    let state = world.providers.states().into_iter().find(|state| state.name == "a").expect("it is there");
    let reason = state.reason.expect("it failed");
    assert!(reason.contains("it said that it is alive, and nothing more"), "{reason}");
}

#[tokio::test]
async fn an_unreachable_server_is_named() {
    let world = World::new(hasty());
    // Nobody listens on a port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    world.add("a", &format!("http://{free}/v1"));
    let (sentence, classes) = world.fails().await;
    assert_eq!(classes, [FailureClass::Network]);
    assert!(sentence.contains("`a`") && sentence.contains(&free.to_string()), "{sentence}");
    assert!(sentence.contains("refused") && sentence.contains("It can be asked again in"), "{sentence}");
    assert_eq!(world.standing("a"), SourceStanding::CoolingDown);
}

#[tokio::test]
async fn what_is_missing_is_said_with_its_remedy() {
    let world = World::new(hasty());
    world.add("a", "http://127.0.0.1:1/v1");
    world.secrets.remove("key").expect("removed");
    let (sentence, classes) = world.fails().await;
    assert_eq!(classes, [FailureClass::Auth]);
    assert!(sentence.contains("no secret `key`") && sentence.contains("`waiter source add a"), "{sentence}");
    assert_eq!(world.standing("a"), SourceStanding::Disabled);

    let world = World::new(hasty());
    world.sources.add(&world.source("a", "opnai", "http://127.0.0.1:1")).expect("added");
    let (sentence, _) = world.fails().await;
    assert!(sentence.contains("no adapter `opnai`") && sentence.contains("openai"), "{sentence}");

    let world = World::new(hasty());
    world.add("a", "api.deepseek.com");
    let (sentence, classes) = world.fails().await;
    assert_eq!(classes, [FailureClass::BadRequest]);
    assert!(sentence.contains("base URL"), "{sentence}");
}

#[tokio::test]
async fn a_broken_adapter_is_named() {
    let vendor = Vendor::start(vec![says("x")]).await;
    let world = World::new(hasty());
    world.sources.add(&world.source("a", "broken", &vendor.url)).expect("added");
    let (sentence, classes) = world.fails().await;
    assert_eq!(classes, [FailureClass::Protocol]);
    assert!(sentence.contains("adapter `broken`") && sentence.contains("unreachable"), "{sentence}");
}

#[tokio::test]
async fn no_key_stands_in_an_address_that_is_told() {
    let world = World::new(hasty());
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    world.sources.add(&world.source("a", "query-key", &format!("http://{free}"))).expect("added");
    // `World::ask` looks for the key in everything that comes back.
    world.fails().await;
    let vendor = Vendor::start(vec![says("x"), says("y")]).await;
    world.sources.add(&world.source("a", "query-key", &vendor.url)).expect("replaced");
    world.ask().await.expect("it answers");
    world.sources.add(&world.source("a", "header-key", &vendor.url)).expect("replaced");
    world.ask().await.expect("it answers");
    let requests = vendor.requests();
    assert!(requests[0].starts_with("POST /v1/chat/completions?key=sk-geheim%2F4711%2Bx HTTP"), "{}", requests[0]);
    assert!(requests[1].contains(&format!("x-api-key: {KEY}\r\n")), "{}", requests[1]);
}

#[tokio::test]
async fn failures_are_logged_without_keys() {
    let refused = error(401, &format!("{{\"error\":{{\"message\":\"Incorrect API key provided: {KEY}\"}}}}"));
    let broken = Reply::Stream { pieces: vec!["data: {}".to_owned()], ending: Ending::Broken };
    let vendor = Vendor::start(vec![refused, broken, says("x")]).await;
    let world = World::new(hasty());
    for (name, adapter) in [("a", "openai"), ("b", "query-key"), ("c", "header-key")] {
        world.sources.add(&world.source(name, adapter, &vendor.url)).expect("added");
    }
    let before = crate::log::failures();
    // `World::ask` looks for the key in the log.
    world.ask().await.expect("the third answers");
    assert!(crate::log::failures() >= before + 2);
}
