//! Guests that compute without end, in each of their exports.

use homeagent_types::ports::{Connection, Frame, Haste, Listeners, PluginAdmin, Plugins};

use super::street::{beside, context, output, piece, reason, says, unnoticed, with_budget};
use crate::house::{self, House};

/// Little enough for a test, and much more than any first step takes.
const BUDGET: i64 = 400;
const ITS_BUDGET: &str = "it used more than 400 ms of processor time";

async fn connect(house: &House) -> Box<dyn Connection> {
    house.runtime.connect("hostile", Some(house::owner()), Vec::new()).await.expect("it listens")
}

#[tokio::test]
async fn two_hundred_calls_are_answered_while_two_plugins_loop_and_each_loop_ends_with_its_budget() {
    let house = with_budget(3_000).await;
    house.install("traps", "traps");
    house.runtime.load("traps").await.expect("it loads");
    house.grant_all().await;
    let loops = async { tokio::join!(house.harm("loop"), house.call("traps", "loop", "{}")) };
    let (one, other) = unnoticed(&house, 200, loops).await;
    says(
        &reason(one),
        &["hostile", "tool-provider.call", "more than 3000 ms of processor time", "core.plugin.cpu_most_ms"],
    );
    says(&reason(other), &["traps", "tool-provider.call", "more than 3000 ms of processor time"]);
    assert_eq!(house.call_again("hostile", "behave").await, Ok("ok".into()));
    assert_eq!(house.call_again("traps", "ok").await, Ok("ok".into()));
}

#[tokio::test]
async fn a_loop_before_the_plugin_serves_is_the_reason_why_it_is_not_loaded() {
    let house = with_budget(BUDGET).await;
    let steps = [
        ("describe loop", "lifecycle.describe"),
        ("start loop", "lifecycle.start"),
        ("self-check loop", "lifecycle.self-check"),
        ("load loop", "snapshot.load"),
        ("activated loop", "lifecycle.activated"),
    ];
    for (fault, export) in steps {
        house.order(fault);
        let refused = unnoticed(&house, 1, house.runtime.reload("hostile", Haste::default())).await;
        says(&reason(refused), &["hostile", export, ITS_BUDGET]);
        // What served serves on.
        assert_eq!(house.call_again("hostile", "behave").await, Ok("ok".into()), "after {fault}");
    }
}

#[tokio::test]
async fn a_loop_in_a_call_is_an_error_that_names_the_export_and_the_budget() {
    let house = with_budget(BUDGET).await;
    says(&reason(unnoticed(&house, 1, house.harm("loop")).await), &["hostile", "tool-provider.call", ITS_BUDGET]);
    house.pacify().await;
    house.order("run loop");
    let ran = unnoticed(&house, 1, house.runtime.run_stage("hostile", context())).await;
    says(&reason(ran), &["hostile", "stage-handler.run", ITS_BUDGET]);
    house.pacify().await;
    house.order("deliver loop");
    let delivered = unnoticed(&house, 1, house.runtime.deliver("hostile", output(), house::cause(60_000))).await;
    says(&reason(delivered), &["hostile", "channel.deliver", ITS_BUDGET]);
}

#[tokio::test]
async fn a_loop_in_what_nobody_waits_for_stands_in_the_status() {
    let house = with_budget(BUDGET).await;
    house.order("on-event loop");
    house.runtime.publish("hurt", serde_json::json!({}), house::cause(60_000));
    unnoticed(&house, 1, house.blamed(&["event-handler.on-event", ITS_BUDGET])).await;
    house.pacify().await;
    house.order("show loop");
    house.runtime.show("hostile", vec![piece()]);
    unnoticed(&house, 1, house.blamed(&["channel.show", ITS_BUDGET])).await;
    house.pacify().await;
    house.order("on-open loop");
    let connection = connect(&house).await;
    unnoticed(&house, 1, house.blamed(&["socket-handler.on-open", ITS_BUDGET])).await;
    connection.closed("it is enough".into()).await;
    house.pacify().await;
    house.order("on-frames loop");
    let connection = connect(&house).await;
    connection.receive(Frame::Text("hello".into())).await.expect("the slot takes it");
    unnoticed(&house, 1, house.blamed(&["socket-handler.on-frames", ITS_BUDGET])).await;
    house.pacify().await;
    house.order("on-close loop");
    connection.closed("it is enough".into()).await;
    unnoticed(&house, 1, house.blamed(&["socket-handler.on-close", ITS_BUDGET])).await;
}

#[tokio::test]
async fn a_loop_at_the_end_holds_up_neither_a_replacement_nor_the_end() {
    let house = with_budget(BUDGET).await;
    house.order("save loop");
    let refused = unnoticed(&house, 1, house.runtime.reload("hostile", Haste::default())).await;
    says(&reason(refused), &["its state could not be saved", "snapshot.save", ITS_BUDGET]);
    assert_eq!(house.call_again("hostile", "behave").await, Ok("ok".into()));
    house.order("stop loop");
    beside(&house, house.runtime.unload("hostile")).await.expect("it is unloaded whatever it does");
    assert_eq!(house.state("hostile"), "unloaded");
}

#[tokio::test]
async fn a_package_that_asks_for_more_may_compute_for_longer() {
    let house = with_budget(100).await;
    says(&reason(house.harm("long").await), &["more than 100 ms of processor time"]);
    let manifest = house.plugins().join("hostile/plugin.toml");
    let text = std::fs::read_to_string(&manifest).expect("it is installed");
    std::fs::write(&manifest, format!("{text}\n[limits]\ncpu_ms = 20000\n")).expect("the folder takes files");
    house.runtime.reload("hostile", Haste::default()).await.expect("the limits are right");
    assert_eq!(unnoticed(&house, 1, house.harm("long")).await, Ok("done".into()));
}

#[tokio::test]
async fn pauses_do_not_hide_that_a_call_computes_all_the_time() {
    let house = with_budget(BUDGET).await;
    says(&reason(unnoticed(&house, 1, house.harm("restless")).await), &["tool-provider.call", ITS_BUDGET]);
}
