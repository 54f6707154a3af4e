//! New code in an old slot.

use homeagent_types::ports::{Haste, PluginAdmin, Plugins};
use homeagent_types::{CallError, Role};
use tokio::sync::broadcast::error::RecvError;

use crate::house;

#[tokio::test]
async fn after_a_reload_the_new_code_runs_and_the_old_registrations_are_gone() {
    let house = house::empty();
    house.install("counter-one", "counter");
    house.runtime.load_all().await;
    house.grant_all().await;
    assert_eq!(house.call("counter", "version", "{}").await, Ok("1.0.0".into()));
    assert!(house.tools().contains(&"only_in_one".to_owned()));

    house.install("counter-two", "counter");
    let status = house.runtime.reload("counter", Haste::default()).await.expect("the new code is good");
    assert_eq!(status.state, "live");
    assert_eq!(house.call("counter", "version", "{}").await, Ok("2.0.0".into()));
    assert!(!house.tools().contains(&"only_in_one".to_owned()));
}

#[tokio::test]
async fn a_bad_file_is_refused_in_words_and_the_old_code_goes_on() {
    let house = house::with(&["counter-one"]).await;
    house.call("counter", "count", "{}").await.expect("it counts");
    let component = house.plugins().join("counter-one/guest_counter_one.wasm");
    let good = std::fs::read(&component).expect("the guest is installed");
    let half = &good[..good.len() / 2];
    for (bytes, words) in [(&b"hello"[..], "not a WebAssembly component"), (half, "damaged"), (b"", "component")] {
        std::fs::write(&component, bytes).expect("the folder takes files");
        let refused = house.runtime.reload("counter", Haste::default()).await.expect_err("the file is bad").to_string();
        assert!(refused.contains(words) && refused.contains("counter"), "{refused}");
    }
    assert_eq!(house.call("counter", "count", "{}").await, Ok("2".into()), "the old instance kept its count");
}

#[tokio::test]
async fn calls_that_run_when_the_code_is_replaced_are_answered_by_the_old_one() {
    let house = house::with(&["counter-one", "traps"]).await;
    for _ in 0..20 {
        let calls = (0..8).map(|_| house.call("counter", "count", "{}"));
        let (reloaded, answers) =
            tokio::join!(house.runtime.reload("counter", Haste::default()), futures::future::join_all(calls));
        reloaded.expect("the code is good");
        for answer in answers {
            answer.expect("no call is lost in a reload");
        }
    }
}

#[tokio::test]
async fn unloading_takes_everything_back_and_loading_brings_it_again() {
    let house = house::with(&["counter-one"]).await;
    house.runtime.unload("counter").await.expect("it is loaded");
    assert!(house.tools().is_empty());
    let error = house.call("counter", "count", "{}").await.expect_err("it is gone");
    assert!(matches!(error, CallError::NotFound(_)), "{error:?}");
    assert_eq!(house.state("counter"), "unloaded");
    house.runtime.load("counter").await.expect("it is still installed");
    assert_eq!(house.call("counter", "count", "{}").await, Ok("1".into()));
    assert!(house.runtime.load("counter").await.is_err(), "it is loaded already");
    assert!(house.runtime.reload("nobody", Haste::default()).await.is_err());
}

#[tokio::test]
async fn taking_a_grant_away_works_at_once() {
    let house = house::with(&["counter-one"]).await;
    assert!(!house.tools().is_empty());
    house.runtime.revoke("counter", "tools").await.expect("it has the grant");
    assert!(house.tools().is_empty());
    assert_eq!(house.runtime.list()[0].missing, ["tools"]);
    house.runtime.reload("counter", Haste::default()).await.expect("it runs with what it has");
    assert!(house.tools().is_empty(), "a reload gives nothing back");
    let error = house.runtime.grant("counter", "tolls").await.expect_err("no such capability").to_string();
    assert!(error.contains("tools"), "{error}");
}

#[tokio::test]
async fn an_event_lends_nobody_the_rights_of_the_turn_it_tells_of() {
    let house = house::with(&["events"]).await;
    let payload = serde_json::json!({ "call": "an_owners_tool" });
    house.runtime.publish("agent_llm_chain", payload, house::cause(1_000));
    let called = || house.mind.called.lock().expect("no panic").clone();
    house::until(|| !called().is_empty()).await;
    let called = called();
    let (caller, _, cause) = &called[0];
    assert_eq!((caller.as_str(), cause.principal.role), ("events", Role::Plugin));
}

#[tokio::test]
async fn events_reach_those_who_asked_for_them() {
    let house = house::with(&["events"]).await;
    house.runtime.reload("events", Haste::default()).await.expect("granted now, it subscribes");
    house.runtime.publish("agent_llm_chain", serde_json::json!({ "round": 1 }), house::cause(1_000));
    house.runtime.publish("something_else", serde_json::json!({}), house::cause(1_000));
    let seen = async {
        loop {
            let seen = house.call("events", "events_seen", "{}").await.expect("it tells");
            if seen.contains("agent_llm_chain") {
                return seen;
            }
            tokio::task::yield_now().await;
        }
    };
    assert!(!house::soon(seen).await.contains("something_else"));
}

#[tokio::test]
async fn nothing_of_a_runtime_that_was_dropped_goes_on() {
    let house = house::with(&["counter-one", "events"]).await;
    let mut changes = house.runtime.subscribe();
    drop(house.runtime);
    // It closes when the last part of the runtime has gone.
    let closed = async { while !matches!(changes.recv().await, Err(RecvError::Closed)) {} };
    house::soon(closed).await;
}
