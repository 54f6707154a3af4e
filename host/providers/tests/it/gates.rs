//! How many requests a source gets at once, and in a minute.

use std::sync::Arc;
use std::time::Duration;

use homeagent_providers::Policy;
use homeagent_settings::SourceRecord;
use homeagent_types::model::FailureClass;
use tokio::sync::Notify;

use crate::vendor::{Reply, Vendor, says};
use crate::world::{World, hasty};

fn limited(world: &World, name: &str, url: &str, option: &str, limit: &str) {
    let mut record: SourceRecord = world.source(name, "openai", url);
    record.options.insert(option.to_owned(), limit.to_owned());
    world.sources.add(&record).expect("added");
}

async fn asked(vendor: &Vendor, times: usize) {
    while vendor.requests().len() < times {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_next_source_is_asked_where_the_first_is_busy() {
    let go_on = Arc::new(Notify::new());
    let first = Vendor::start(vec![Reply::Held(Arc::clone(&go_on), Box::new(says("slow")))]).await;
    let second = Vendor::start(vec![says("quick")]).await;
    let world = World::new(Policy { queue: Duration::from_millis(1), ..hasty() });
    limited(&world, "a", &first.url, "concurrent", "1");
    world.add("b", &second.url);
    let other = async {
        asked(&first, 1).await;
        let answer = world.ask().await.expect("b answers");
        go_on.notify_one();
        answer
    };
    let (one, other) = tokio::join!(world.ask(), other);
    assert_eq!((one.expect("a answers").source.as_str(), other.source.as_str()), ("a", "b"));
}

#[tokio::test]
async fn the_only_source_is_waited_for_until_it_has_a_place() {
    let go_on = Arc::new(Notify::new());
    let vendor = Vendor::start(vec![Reply::Held(Arc::clone(&go_on), Box::new(says("1"))), says("2")]).await;
    let world = World::new(hasty());
    limited(&world, "a", &vendor.url, "concurrent", "1");
    let other = async {
        asked(&vendor, 1).await;
        // Whoever gives up while it waits leaves the queue.
        assert!(tokio::time::timeout(Duration::from_millis(1), world.ask()).await.is_err());
        let next = world.ask();
        go_on.notify_one();
        next.await
    };
    let (one, other) = tokio::join!(world.ask(), other);
    assert_eq!(
        (one.expect("it answers").answer.text, other.expect("it answers").answer.text),
        ("1".into(), "2".into())
    );
    assert_eq!(vendor.requests().len(), 2);
}

#[tokio::test]
async fn patience_with_a_busy_source_ends_with_a_sentence() {
    let vendor = Vendor::start(vec![says("1")]).await;
    let world = World::new(hasty());
    world.settings.set("core.model.wait_seconds", 1).expect("set");
    limited(&world, "a", &vendor.url, "per_minute", "1");
    world.ask().await.expect("the first of the minute");
    let (sentence, classes) = world.fails().await;
    assert_eq!(classes, [FailureClass::RateLimited]);
    assert!(sentence.contains("as often as it may be in a minute (1)"), "{sentence}");
    assert_eq!(vendor.requests().len(), 1);
    // Other bounds count at once.
    limited(&world, "a", &vendor.url, "per_minute", "0");
    let more = Vendor::start(vec![says("2")]).await;
    limited(&world, "a", &more.url, "per_minute", "2");
    assert_eq!(world.ask().await.expect("the second").answer.text, "2");
}
