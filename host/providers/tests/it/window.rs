//! Each source is asked what its model's window holds.

use homeagent_providers::Policy;
use homeagent_types::model::{ContentPart, FailureClass, Message, ModelMedia};

use crate::vendor::{Ending, Reply, Vendor, breaks_after, end, error, says, text};
use crate::world::{World, hasty};

/// A conversation of so many turns of about 120 tokens each; each can be told from the others.
fn conversation(turns: usize) -> Vec<Message> {
    let said = |turn: usize| format!("turn-{turn}-ends {}", "the kettle is on the stove ".repeat(10));
    (0..turns).map(|turn| Message::user(said(turn))).collect()
}

fn with_context(world: &World, name: &str, url: &str, context: &str) {
    let mut source = world.source(name, "openai", url);
    source.options.insert("context".to_owned(), context.to_owned());
    source.options.insert("max_tokens".to_owned(), "1000".to_owned());
    world.sources.add(&source).expect("added");
}

/// How many turns of a conversation a request has, and whether it has the newest.
fn turns(request: &str, all: usize) -> (usize, bool) {
    let has = |turn: &usize| request.contains(&format!("turn-{turn}-ends"));
    ((0..all).filter(has).count(), has(&(all - 1)))
}

fn overflow() -> Reply {
    let body = "{\"error\":{\"message\":\"maximum context length is 10\",\"code\":\"context_length_exceeded\"}}";
    error(400, body)
}

#[tokio::test]
async fn a_prompt_is_kept_within_the_window_of_the_source_that_is_asked() {
    let (small, large) = (Vendor::start(vec![overflow(), overflow()]).await, Vendor::start(vec![says("ok")]).await);
    let world = World::new(hasty());
    with_context(&world, "small", &small.url, "3000");
    with_context(&world, "large", &large.url, "100000");
    let completion = world.ask_for(conversation(60)).await.expect("the large one answers");
    assert_eq!(completion.source, "large");
    let (shown, newest) = turns(&small.requests()[0], 60);
    assert!(newest && (8..30).contains(&shown), "{shown} of 60 turns in a window of 3000 tokens");
    assert_eq!(turns(&large.requests()[0], 60), (60, true));
}

#[tokio::test]
async fn what_the_vendor_finds_too_long_is_shortened_and_asked_once_more() {
    let vendor = Vendor::start(vec![overflow(), says("fine"), says("fine, too")]).await;
    let world = World::new(hasty());
    with_context(&world, "a", &vendor.url, "100000");
    assert_eq!(world.ask_for(conversation(60)).await.expect("it answers").answer.text, "fine");
    world.ask_for(conversation(60)).await.expect("it answers");
    let shown: Vec<_> = vendor.requests().iter().map(|request| turns(request, 60)).collect();
    assert_eq!(shown[0], (60, true));
    assert!(shown[1].0 < 50 && shown[1].1, "{shown:?}");
    assert_eq!(shown[2], shown[1], "it is remembered");
}

#[tokio::test]
async fn a_question_that_fits_no_window_is_told_in_a_sentence() {
    let vendor = Vendor::start(vec![says("never")]).await;
    let world = World::new(hasty());
    with_context(&world, "a", &vendor.url, "3000");
    let long = Message::user("the kettle is on the stove ".repeat(2000));
    let failure = world.ask_for(vec![long]).await.expect_err("it does not fit");
    assert_eq!(failure.tried[0].1.class, FailureClass::ContextOverflow);
    assert!(failure.sentence.contains("there is room for 2000"), "{}", failure.sentence);
    assert!(vendor.requests().is_empty(), "nothing is spent on it");
}

#[tokio::test]
async fn what_may_fit_a_window_that_nobody_knows_is_sent() {
    let vendor = Vendor::start(vec![says("it does")]).await;
    let world = World::new(hasty());
    world.settings.set("core.model.context_tokens", 3000).expect("set");
    world.add("a", &vendor.url);
    let mut messages = conversation(5);
    messages.push(Message::user("the kettle is on the stove ".repeat(2000)));
    assert_eq!(world.ask_for(messages).await.expect("it answers").answer.text, "it does");
    assert!(!vendor.requests()[0].contains("turn-4-ends"), "what can be left out is");
}

#[tokio::test]
async fn what_the_vendor_counts_above_the_estimate_is_learnt() {
    let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":20000,\"completion_tokens\":1}}\n\n";
    let counted = || Reply::Stream { pieces: vec![text("ok"), usage.to_owned(), end()], ending: Ending::Proper };
    let vendor = Vendor::start(vec![counted(), counted()]).await;
    let world = World::new(hasty());
    with_context(&world, "a", &vendor.url, "7000");
    for _ in 0..2 {
        world.ask_for(conversation(60)).await.expect("it answers");
    }
    let shown: Vec<_> = vendor.requests().iter().map(|request| turns(request, 60)).collect();
    assert_eq!(shown[0], (60, true));
    assert!(shown[1].0 < 50 && shown[1].1, "{shown:?}");
}

#[tokio::test]
async fn the_part_of_an_answer_stays_its_sources_where_the_next_one_can_not_even_be_asked() {
    let (broken, small) = (Vendor::start(vec![breaks_after("half")]).await, Vendor::start(vec![says("never")]).await);
    let world = World::new(Policy { attempts: 1, ..hasty() });
    with_context(&world, "broken", &broken.url, "100000");
    with_context(&world, "small", &small.url, "3000");
    let failure =
        world.ask_for(vec![Message::user("a very long word ".repeat(4000))]).await.expect_err("nobody answers");
    let partial = failure.partial.expect("the half of it");
    assert_eq!((partial.source.as_str(), partial.answer.text.as_str()), ("broken", "half"));
    assert!(small.requests().is_empty());
}

/// The conversation, and a picture at its end.
fn with_picture(turns: usize) -> Vec<Message> {
    let mut messages = conversation(turns);
    let medium = ModelMedia { mime: "image/png".to_owned(), name: None, data: vec![7; 100], url: None };
    if let Some(Message::User(parts)) = messages.last_mut() {
        parts.push(ContentPart::medium(medium));
    }
    messages
}

#[tokio::test]
async fn a_picture_that_is_too_large_is_left_out_and_shortens_nothing() {
    let vendor = Vendor::start(vec![overflow(), says("fine"), says("fine, too")]).await;
    let world = World::new(hasty());
    with_context(&world, "a", &vendor.url, "100000");
    assert_eq!(world.ask_for(with_picture(60)).await.expect("it answers").answer.text, "fine");
    world.ask_for(conversation(60)).await.expect("it answers");
    let requests = vendor.requests();
    assert!(requests[0].contains("data:image/png;base64,") && !requests[1].contains("base64"));
    assert!(requests[1].contains("[image/png that is too large for this model]"), "{}", requests[1]);
    assert_eq!((turns(&requests[1], 60), turns(&requests[2], 60)), ((60, true), (60, true)));
}

#[tokio::test]
async fn a_text_that_is_too_long_is_shortened_also_beside_a_picture() {
    let vendor = Vendor::start(vec![overflow(), overflow(), says("fine")]).await;
    let world = World::new(hasty());
    with_context(&world, "a", &vendor.url, "100000");
    assert_eq!(world.ask_for(with_picture(60)).await.expect("it answers").answer.text, "fine");
    let shown = turns(&vendor.requests()[2], 60);
    assert!(shown.0 < 50 && shown.1, "{shown:?}");
}

#[tokio::test]
async fn what_a_picture_weighs_says_nothing_of_texts() {
    let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":20000,\"completion_tokens\":1}}\n\n";
    let counted = || Reply::Stream { pieces: vec![text("ok"), usage.to_owned(), end()], ending: Ending::Proper };
    let vendor = Vendor::start(vec![counted(), counted()]).await;
    let world = World::new(hasty());
    with_context(&world, "a", &vendor.url, "9500");
    world.ask_for(with_picture(55)).await.expect("it answers");
    world.ask_for(conversation(60)).await.expect("it answers");
    let shown: Vec<_> = vendor.requests().iter().map(|request| turns(request, 60).0).collect();
    assert_eq!(shown, [55, 60]);
}

#[tokio::test]
async fn what_a_source_is_not_shown_takes_no_room() {
    let vendor = Vendor::start(vec![says("fine")]).await;
    let world = World::new(hasty());
    let mut source = world.source("a", "openai", &vendor.url);
    for (name, value) in [("context", "7000"), ("max_tokens", "1000"), ("media", "none")] {
        source.options.insert(name.to_owned(), value.to_owned());
    }
    world.sources.add(&source).expect("added");
    let mut messages = with_picture(40);
    let Some(Message::User(parts)) = messages.last_mut() else { panic!("it has a picture") };
    parts.extend(vec![parts[1].clone(); 9]);
    world.ask_for(messages).await.expect("it answers");
    assert_eq!(turns(&vendor.requests()[0], 40), (40, true));
}

#[tokio::test]
async fn a_small_window_is_not_asked_for_more_than_the_room_of_the_answer() {
    let vendor = Vendor::start(vec![says("fine")]).await;
    let world = World::new(hasty());
    let mut source = world.source("a", "openai", &vendor.url);
    for (name, value) in [("context", "3000"), ("max_tokens", "4096")] {
        source.options.insert(name.to_owned(), value.to_owned());
    }
    world.sources.add(&source).expect("added");
    world.ask().await.expect("it answers");
    let request = &vendor.requests()[0];
    assert!(request.contains("\"max_tokens\":1500"), "{request}");
}
