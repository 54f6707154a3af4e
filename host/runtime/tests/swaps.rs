//! Two hundred replacements under load, in a process of their own, whose memory is nobody else's.

#[allow(dead_code, reason = "other tests need more of it")]
#[path = "runtime/house.rs"]
mod house;

use std::sync::atomic::{AtomicBool, Ordering};

use homeagent_types::ports::{Connection, Frame, Haste, Listeners, PluginAdmin, Plugins, ToPeer};

use house::House;

const CALLERS: usize = 8;
const SWAPS: usize = 200;
/// Swaps after which everything that is made once has been made.
const WARM: usize = 50;
/// What 150 further swaps may leave behind, in bytes: less than one instance, of which each swap makes one.
const MOST_GROWTH: u64 = 16 << 20;

fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").expect("this is Linux");
    let pages: u64 = pages.split(' ').nth(1).and_then(|it| it.parse().ok()).expect("the second number is of pages");
    pages * 4096
}

/// Calls without a pause; every answer it got.
async fn call_on(house: &House, done: &AtomicBool) -> Vec<u64> {
    let mut answers = Vec::new();
    while !done.load(Ordering::Acquire) {
        let answer = house.call("ledger", "count", "{}").await.expect("no call fails");
        answers.push(answer.parse().expect("a number"));
    }
    answers
}

/// Sends frames without a pause, and has each answered in order; how many there were.
async fn speak_on(connection: &dyn Connection, done: &AtomicBool) -> u64 {
    let mut frames = 0;
    while !done.load(Ordering::Acquire) {
        frames += 1;
        connection.receive(Frame::Text("tick".into())).await.expect("the slot takes it");
        assert_eq!(connection.next().await, Some(ToPeer::Frame(Frame::Text(frames.to_string()))));
    }
    frames
}

/// Swaps between the two versions, with an event at each; the growth after the warm ones, in bytes.
async fn swap_on(house: &House, done: &AtomicBool) -> u64 {
    let mut before = 0;
    for swap in 0..SWAPS {
        let (guest, version) = if swap % 2 == 0 { ("ledger-two", "2.0.0") } else { ("ledger-one", "1.0.0") };
        house.install(guest, "ledger");
        house.runtime.publish("tick", serde_json::json!({ "swap": swap }), house::cause(1_000));
        let status = house.runtime.reload("ledger", Haste::default()).await.expect("the code is good");
        assert_eq!(status.version, version);
        assert_eq!(house.call("ledger", "version", "{}").await, Ok(version.to_owned()), "the new code serves");
        if swap == WARM {
            before = resident();
        }
    }
    done.store(true, Ordering::Release);
    resident().saturating_sub(before)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_swaps_under_load_lose_repeat_and_leave_nothing() {
    let house = house::with(&["ledger-one"]).await;
    std::fs::rename(house.plugins().join("ledger-one"), house.plugins().join("ledger")).expect("a folder");
    let connection = house.runtime.connect("ledger", None, Vec::new()).await.expect("it holds the listener");
    let done = AtomicBool::new(false);
    let callers = futures::future::join_all((0..CALLERS).map(|_| call_on(&house, &done)));
    let (answers, frames, growth) = tokio::join!(callers, speak_on(&*connection, &done), swap_on(&house, &done));

    let mut numbers: Vec<u64> = answers.into_iter().flatten().collect();
    let calls = numbers.len() as u64;
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=calls).collect::<Vec<_>>(), "each call is counted once and answered once");
    let counts = loop {
        let counts = house.call("ledger", "counts", "{}").await.expect("it says its counts");
        let counts: serde_json::Value = serde_json::from_str(&counts).expect("they are JSON");
        if counts["events"].as_u64() >= Some(SWAPS as u64) {
            break counts;
        }
        tokio::task::yield_now().await;
    };
    let expected = serde_json::json!({
        "calls": calls, "events": SWAPS, "frames": frames, "opened": 1, "loads": SWAPS
    });
    assert_eq!(counts, expected, "one subscription, one connection, one counter");
    assert_eq!(house.tools(), ["compute", "count", "count_after", "counts", "version"]);
    assert!(growth < MOST_GROWTH, "{growth} bytes were left behind");
}
