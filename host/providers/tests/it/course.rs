//! What each failure leads to, along the sources of a line.

use std::sync::Arc;
use std::time::Duration;

use homeagent_providers::{Policy, SourceStanding};
use homeagent_settings::{SourceChange, SourceLine, SourceRecord};
use homeagent_types::model::{FailureClass, FinishReason};
use homeagent_types::ports::Models as _;
use tokio::sync::Notify;

use crate::vendor::{Ending, Reply, Vendor, breaks_after, error, json, says, text};
use crate::world::{World, hasty};

fn finishes(reason: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"{reason}\"}}]}}\n\ndata: [DONE]\n\n")
}

/// A stream that ends as it should, and says nothing.
fn says_nothing() -> Reply {
    Reply::Stream { pieces: vec![finishes("stop")], ending: Ending::Proper }
}

/// A stream that a filter ends before its first word.
fn is_filtered() -> Reply {
    Reply::Stream { pieces: vec![finishes("content_filter")], ending: Ending::Proper }
}

/// An error that says that a filter refused the prompt.
fn refuses() -> Reply {
    error(400, "{\"error\":{\"message\":\"The response was filtered\",\"code\":\"content_filter\"}}")
}

/// A world with the sources `a`, `b`, ... that answer so.
async fn world(policy: Policy, scripts: Vec<Vec<Reply>>) -> (World, Vec<Vendor>) {
    let world = World::new(policy);
    let mut vendors = Vec::new();
    for (name, script) in ["a", "b", "c"].into_iter().zip(scripts) {
        let vendor = Vendor::start(script).await;
        world.add(name, &vendor.url);
        vendors.push(vendor);
    }
    (world, vendors)
}

fn reason(world: &World, name: &str) -> Option<String> {
    world.providers.states().into_iter().find(|state| state.name == name)?.reason
}

#[tokio::test]
async fn a_key_that_was_changed_meanwhile_is_tried_at_once() {
    let go_on = Arc::new(Notify::new());
    let refused = Reply::Held(Arc::clone(&go_on), Box::new(error(401, "{\"error\":\"Incorrect API key provided\"}")));
    let (world, vendors) = world(hasty(), vec![vec![refused, says("welcome")]]).await;
    let mut told = world.providers.subscribe();
    let change = async {
        while vendors[0].requests().is_empty() {
            tokio::task::yield_now().await;
        }
        world.secrets.set("key", "sk-another-key".into()).expect("set");
        go_on.notify_one();
    };
    let (answer, ()) = tokio::join!(world.ask(), change);
    assert_eq!(answer.expect("the new key is good").answer.text, "welcome");
    assert!(vendors[0].requests()[1].contains("authorization: Bearer sk-another-key"));
    // Nobody was told that a key is refused that was gone by then.
    assert!(told.try_recv().is_err());
}

#[tokio::test]
async fn a_source_without_money_is_told_of_once() {
    let empty = || error(402, "{\"error\":{\"message\":\"Insufficient Balance\"}}");
    let (world, vendors) = world(hasty(), vec![vec![empty(), empty(), says("rich")]]).await;
    let mut told = world.providers.subscribe();
    world.fails().await;
    world.providers.test("a").await.expect_err("it has none");
    assert_eq!(vendors[0].requests().len(), 2);
    assert_eq!(told.try_recv().expect("it is told").standing, SourceStanding::Unfunded);
    assert!(told.try_recv().is_err(), "that it is still so is no news");
    world.providers.test("a").await.expect("it has money again");
    assert_eq!(told.try_recv().expect("it is told").standing, SourceStanding::Ready);
}

#[tokio::test]
async fn only_a_403_that_speaks_of_the_key_or_a_permission_disables() {
    let forbidden = |words: &str| error(403, &format!("{{\"error\":{{\"message\":\"{words}\"}}}}"));
    let scripts = vec![vec![forbidden("This region is blocked by a rule"), says("a")], vec![says("b")]];
    let (world, _vendors) = world(hasty(), scripts).await;
    assert_eq!(world.ask().await.expect("b answers").source, "b");
    assert_eq!(world.standing("a"), SourceStanding::Ready);
    assert_eq!(world.ask().await.expect("a is asked again").source, "a");
    let (other, _vendors) = self::world(hasty(), vec![vec![forbidden("API key not permitted")], vec![says("b")]]).await;
    assert_eq!(other.ask().await.expect("b answers").source, "b");
    assert_eq!(other.standing("a"), SourceStanding::Disabled);
}

#[tokio::test]
async fn a_wrong_model_goes_on_to_the_next_source_and_can_be_seen() {
    let missing = || error(404, "{\"error\":{\"message\":\"The model `a-model` does not exist\"}}");
    let (world, vendors) =
        world(hasty(), vec![vec![missing(), missing(), says("x")], vec![says("1"), says("2")]]).await;
    let mut told = world.providers.subscribe();
    for expected in ["1", "2"] {
        assert_eq!(world.ask().await.expect("b answers").answer.text, expected);
    }
    assert_eq!((vendors[0].requests().len(), world.standing("a")), (2, SourceStanding::Ready));
    assert!(reason(&world, "a").is_some_and(|reason| reason.contains("does not exist")));
    assert!(told.try_recv().is_ok() && told.try_recv().is_err(), "it is told once");
    // Another model is another source.
    let change = SourceChange { model: Some("another".to_owned()), ..SourceChange::default() };
    world.sources.edit("a", &change).expect("changed");
    assert_eq!(reason(&world, "a"), None);
    assert_eq!(world.ask().await.expect("a answers").model, "another");
}

#[tokio::test]
async fn a_filter_is_the_last_word_only_where_the_owner_wants_it() {
    for filter in [refuses, is_filtered] {
        let (world, vendors) = world(hasty(), vec![vec![filter(), filter()], vec![says("fine")]]).await;
        assert_eq!(world.ask().await.expect("b answers").answer.text, "fine");
        world.settings.set("core.model.on_content_filter", "stop").expect("set");
        let (sentence, classes) = world.fails().await;
        assert_eq!(classes, [FailureClass::ContentFilter]);
        assert!(sentence.contains("its filter refused it"), "{sentence}");
        assert_eq!((vendors[0].requests().len(), vendors[1].requests().len()), (2, 1));
        assert_eq!(world.standing("a"), SourceStanding::Ready);
    }
}

#[tokio::test]
async fn words_before_a_filter_are_an_answer() {
    let cut = Reply::Stream { pieces: vec![text("so far"), finishes("content_filter")], ending: Ending::Proper };
    let (world, _vendors) = world(hasty(), vec![vec![cut], vec![says("other")]]).await;
    let answer = world.ask().await.expect("it answers").answer;
    assert_eq!((answer.text.as_str(), answer.finish), ("so far", Some(FinishReason::ContentFilter)));
}

#[tokio::test]
async fn an_answer_without_a_word_is_asked_for_at_each_source_once() {
    let nothing = || Reply::Stream { pieces: Vec::new(), ending: Ending::Proper };
    let (world, vendors) = world(hasty(), vec![vec![says_nothing()], vec![nothing()], vec![says("words")]]).await;
    assert_eq!(world.ask().await.expect("c answers").answer.text, "words");
    assert_eq!(vendors.iter().map(|vendor| vendor.requests().len()).collect::<Vec<_>>(), [1, 1, 1]);
    assert_eq!(world.standing("a"), SourceStanding::Ready);
    assert!(reason(&world, "a").is_some_and(|reason| reason.contains("said nothing")));
}

#[tokio::test]
async fn that_nobody_has_a_word_to_say_is_an_answer() {
    let (world, vendors) = world(hasty(), vec![vec![says_nothing()], vec![says_nothing()]]).await;
    let completion = world.ask().await.expect("it is empty");
    assert_eq!((completion.source.as_str(), completion.answer.finish), ("a", Some(FinishReason::Stop)));
    assert_eq!(vendors.iter().map(|vendor| vendor.requests().len()).collect::<Vec<_>>(), [1, 1]);
}

#[tokio::test]
async fn a_conversation_that_is_too_long_is_not_waited_with() {
    let long = error(400, "{\"error\":{\"message\":\"maximum context\",\"code\":\"context_length_exceeded\"}}");
    let busy = json(429, "{\"error\":{\"message\":\"slow down\"}}", vec![("retry-after", "20".to_owned())]);
    let (world, _vendors) = world(hasty(), vec![vec![busy, long]]).await;
    world.add("b", "http://127.0.0.1:1");
    // The first is left alone for 20 seconds.
    world.fails().await;
    let other = Vendor::start(vec![error(413, "{\"error\":{\"message\":\"too long\"}}")]).await;
    world.add("b", &other.url);
    let asked = tokio::time::timeout(Duration::from_secs(15), world.fails()).await;
    let (_, classes) = asked.expect("whoever asked is told at once, and can shorten it");
    assert!(classes.contains(&FailureClass::ContextOverflow), "{classes:?}");
}

#[tokio::test]
async fn auxiliary_work_goes_to_the_main_line_where_its_own_fails_and_never_the_other_way() {
    let (main, side) = (vec![says("m1"), says("m2"), error(500, "{}")], vec![says("s"), error(500, "{}")]);
    let policy = Policy { back_off: Duration::from_secs(3600), ..Policy::default() };
    let (world, _vendors) = world(policy, vec![main]).await;
    // Without a source of its own.
    assert_eq!(world.ask_line(SourceLine::Auxiliary).await.expect("main answers").answer.text, "m1");
    let vendor = Vendor::start(side).await;
    let record = SourceRecord { line: SourceLine::Auxiliary, ..world.source("side", "openai", &vendor.url) };
    world.sources.add(&record).expect("added");
    assert_eq!(world.ask_line(SourceLine::Auxiliary).await.expect("its own answers").answer.text, "s");
    assert_eq!(world.ask_line(SourceLine::Auxiliary).await.expect("main answers").answer.text, "m2");
    world
        .sources
        .edit("side", &SourceChange { model: Some("new".to_owned()), ..SourceChange::default() })
        .expect("changed");
    let (_, classes) = world.fails().await;
    assert_eq!((classes.len(), vendor.requests().len()), (1, 2), "the main line has one source");
}

#[tokio::test]
async fn a_source_that_is_added_in_the_midst_of_a_request_is_asked() {
    let go_on = Arc::new(Notify::new());
    let held = Reply::Held(Arc::clone(&go_on), Box::new(breaks_after("half a")));
    let (world, vendors) =
        world(Policy { back_off: Duration::from_secs(3600), ..Policy::default() }, vec![vec![held]]).await;
    let fresh = Vendor::start(vec![says("whole")]).await;
    let add = async {
        while vendors[0].requests().is_empty() {
            tokio::task::yield_now().await;
        }
        world.add("b", &fresh.url);
        go_on.notify_one();
    };
    let (answer, ()) = tokio::join!(world.ask(), add);
    assert_eq!(answer.expect("b answers").answer.text, "whole");
    assert_eq!(world.watcher.seen(), ("whole".to_owned(), 1));
}

#[tokio::test]
async fn what_is_chosen_counts_at_the_next_call() {
    let (world, vendors) = world(hasty(), vec![vec![says("1")], vec![says("2")]]).await;
    assert_eq!(world.ask().await.expect("it answers").source, "a");
    let order = serde_json::json!({"source": "b", "first": true, "model": "m", "temperature": 0.25, "thinking": false});
    let order: homeagent_types::lines::SourceOrder = serde_json::from_value(order).expect("an order");
    let now = world.providers.choose(order.clone()).await.expect("changed");
    assert_eq!((now.source.as_str(), now.model.as_str(), now.temperature.as_deref()), ("b", "m", Some("0.25")));
    assert_eq!(world.ask().await.expect("it answers").source, "b");
    let request = &vendors[1].requests()[0];
    assert!(request.contains("\"model\":\"m\"") && request.contains("\"temperature\":0.25"), "{request}");
    let wrong = homeagent_types::lines::SourceOrder { temperature: Some(7.0), ..order.clone() };
    assert!(world.providers.choose(wrong).await.is_err());
    let unknown = homeagent_types::lines::SourceOrder { source: "z".to_owned(), ..order };
    assert!(world.providers.choose(unknown).await.is_err());
    let names: Vec<_> = world.providers.choices().expect("a choice").into_iter().map(|choice| choice.source).collect();
    assert_eq!(names, ["b", "a"]);
}

#[tokio::test]
async fn a_state_says_when_the_source_is_asked_again() {
    let busy = json(429, "{\"error\":{\"message\":\"slow down\"}}", vec![("retry-after", "1200".to_owned())]);
    let (world, _vendors) = world(Policy::default(), vec![vec![busy]]).await;
    let before = homeagent_types::now();
    world.fails().await;
    let state = world.providers.states().remove(0);
    let again = state.again_at.expect("a moment");
    assert!((before + 1_190_000..=homeagent_types::now() + 1_200_000).contains(&again), "{state:?}");
    assert!(state.since.is_some_and(|since| since >= before) && state.again_in_ms.is_some());
}

#[tokio::test]
async fn what_one_request_did_wrong_does_not_undo_what_another_found_out() {
    let go_on = Arc::new(Notify::new());
    let wrong = Reply::Held(Arc::clone(&go_on), Box::new(error(400, "{\"error\":{\"message\":\"odd\"}}")));
    let (world, vendors) =
        world(hasty(), vec![vec![wrong, error(402, "{\"error\":{\"message\":\"no money\"}}")]]).await;
    let second = async {
        while vendors[0].requests().is_empty() {
            tokio::task::yield_now().await;
        }
        world.fails().await;
        go_on.notify_one();
    };
    let (first, ()) = tokio::join!(world.fails(), second);
    assert_eq!(first.1, [FailureClass::BadRequest]);
    assert_eq!(world.standing("a"), SourceStanding::Unfunded);
    assert!(reason(&world, "a").is_some_and(|reason| reason.contains("no money")));
}

#[tokio::test]
async fn a_key_that_is_added_in_the_midst_of_a_request_is_used() {
    let go_on = Arc::new(Notify::new());
    let held = Reply::Held(Arc::clone(&go_on), Box::new(error(500, "{}")));
    let policy = Policy { back_off: Duration::from_secs(3600), ..Policy::default() };
    let (world, vendors) = world(policy, vec![vec![held]]).await;
    let late = Vendor::start(vec![says("here I am")]).await;
    let record = SourceRecord { secret: Some("late".to_owned()), ..world.source("b", "openai", &late.url) };
    world.sources.add(&record).expect("added");
    let add = async {
        while vendors[0].requests().is_empty() {
            tokio::task::yield_now().await;
        }
        world.secrets.set("late", "sk-late".into()).expect("set");
        go_on.notify_one();
    };
    let (answer, ()) = tokio::join!(world.ask(), add);
    assert_eq!(answer.expect("b answers").source, "b");
}
