//! Guests that ask the host for more than it can do.

use std::sync::atomic::Ordering;

use homeagent_types::ports::{Frame, Haste, Listeners, PluginAdmin, ToPeer};

use super::street::{reason, says, unnoticed, usual, with_budget};
use crate::house;

/// Little enough for a test.
const BUDGET: i64 = 400;

#[tokio::test]
async fn ten_million_lines_cost_the_one_who_writes_them() {
    let house = with_budget(BUDGET).await;
    for harm in ["log", "stdout"] {
        let words = reason(unnoticed(&house, 1, house.harm(harm)).await);
        says(&words, &["hostile", "tool-provider.call", "processor time"]);
        house.pacify().await;
    }
}

#[tokio::test]
async fn a_million_events_cost_the_one_who_publishes_them_and_who_listens_answers_on() {
    let house = with_budget(BUDGET).await;
    house.install("events", "events");
    house.runtime.load("events").await.expect("it loads");
    house.grant_all().await;
    let listens = async {
        house::until(|| house.status("events").calls > 1).await;
        house.call("events", "events_seen", "{}").await
    };
    let (flood, heard) = tokio::join!(unnoticed(&house, 1, house.harm("publish")), listens);
    says(&reason(flood), &["hostile", "processor time"]);
    assert!(heard.expect("it answers").contains("plugin.hostile.flood"));
    assert_eq!(house.status("events").restarts, 0);
}

#[tokio::test]
async fn inputs_beyond_what_may_be_on_the_way_are_told_busy() {
    let house = usual().await;
    house.mind.slow.store(true, Ordering::Release);
    let opens = async {
        house::until(|| !house.mind.called.lock().expect("no panic").is_empty()).await;
        house.at_gate(16).await;
        house.mind.gate.add_permits(16);
    };
    let (answer, ()) = tokio::join!(unnoticed(&house, 1, house.harm("inputs")), opens);
    assert_eq!(answer, Ok("16 busy".into()));
    assert_eq!(house.mind.submitted.lock().expect("no panic").len(), 16);
}

#[tokio::test]
async fn calls_of_others_beyond_its_places_are_told_busy() {
    let house = usual().await;
    let opens = async {
        house::until(|| !house.mind.submitted.lock().expect("no panic").is_empty()).await;
        house.at_gate(64).await;
        house.mind.gate.add_permits(64);
    };
    let (answer, ()) = tokio::join!(unnoticed(&house, 1, house.harm("calls")), opens);
    assert_eq!(answer, Ok("936 busy".into()));
    assert_eq!(house.mind.called.lock().expect("no panic").len(), 64);
}

#[tokio::test]
async fn frames_that_nobody_reads_are_few_and_cost_the_connection() {
    let house = usual().await;
    house.order("on-open send");
    let connection = house.runtime.connect("hostile", None, Vec::new()).await.expect("it listens");
    // Nothing is read until it has sent all it wants.
    unnoticed(&house, 1, house::until(|| !house.mind.submitted.lock().expect("no panic").is_empty())).await;
    let (mut frames, mut end) = (0, None);
    house::soon(async {
        while let Some(next) = connection.next().await {
            match next {
                ToPeer::Frame(_) => frames += 1,
                other => {
                    end = Some(other);
                    break;
                }
            }
        }
    })
    .await;
    assert!((1..=8).contains(&frames), "{frames} frames of a million bytes waited");
    assert!(matches!(&end, Some(ToPeer::GivenUp(words)) if words.contains("was not read")), "{end:?}");
}

#[tokio::test]
async fn two_hundred_connections_at_once_are_served_and_hold_up_no_neighbour() {
    let house = usual().await;
    let connect = async {
        let mut open = Vec::new();
        for _ in 0..200 {
            let connection = house.runtime.connect("hostile", None, Vec::new()).await.expect("it listens");
            connection.receive(Frame::Text("hello".into())).await.expect("the slot takes it");
            open.push(connection);
        }
        open
    };
    let (open, answer) = tokio::join!(connect, house.call("counter", "count", "{}"));
    answer.expect("the neighbour answers");
    for connection in open {
        connection.closed("enough".into()).await;
    }
    assert_eq!(house.call("hostile", "behave", "{}").await, Ok("ok".into()));
}

#[tokio::test]
async fn a_trap_while_a_replacement_waits_for_calls_is_the_callers_and_the_replacement_goes_on() {
    let house = usual().await;
    let replaces = async {
        house.at_gate(1).await;
        let opens = async {
            // The old one takes no more calls from here on.
            house::until(|| house.status("hostile").waiting == 0).await;
            house.mind.gate.add_permits(1);
        };
        tokio::join!(house.runtime.reload("hostile", Haste::default()), opens).0
    };
    let (late, replaced) = unnoticed(&house, 1, async { tokio::join!(house.harm("late"), replaces) }).await;
    says(&reason(late), &["hostile", "a trap on request, late"]);
    replaced.expect("the new one serves");
    assert_eq!(house.call_again("hostile", "behave").await, Ok("ok".into()));
}
