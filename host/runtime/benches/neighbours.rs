//! What a plugin's neighbours cost it: its calls while two others compute without end, how soon those are ended when
//! they have spent their budget, and how late a caller's time-out comes while a guest computes or a host call hangs.

#[allow(dead_code, reason = "the tests need more of it")]
#[path = "../tests/runtime/house.rs"]
mod house;

use std::time::{Duration, Instant};

use homeagent_types::CallError;
use homeagent_types::ports::PluginAdmin;

use house::House;

/// Processor time of each loop, in milliseconds: long enough for the calls.
const BUDGET: i64 = 4_000;
/// Between two calls, so that they meet the loops at any place of their turns.
const PAUSE: Duration = Duration::from_micros(1_700);
/// A budget, and a deadline, where their ends are measured, in milliseconds.
const SHORT: u64 = 300;
const REPEATS: usize = 20;

/// Two plugins that can loop, and one that counts.
async fn street(budget: i64) -> House {
    let house = house::empty();
    house.settings.set("core.plugin.cpu_ms", budget).expect("a valid budget");
    house.settings.set("core.plugin.restarts", 1_000).expect("a valid number");
    house.settings.set("core.plugin.grace_ms", 0).expect("a valid grace");
    for guest in ["counter-one", "hostile", "traps"] {
        house.install(guest, guest);
    }
    house.runtime.load_all().await;
    house.grant_all().await;
    house
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |hundredths: usize| times[(times.len() - 1) * hundredths / 100];
    println!("{what}: p50 {:?}, p99 {:?}, longest {:?}, of {}", at(50), at(99), at(100), times.len());
}

/// The neighbour's calls, for as long as `harm` goes on.
async fn calls_beside(house: &House, harm: impl Future) -> Vec<Duration> {
    let mut harm = std::pin::pin!(harm);
    let mut times = Vec::new();
    loop {
        let call = async {
            tokio::time::sleep(PAUSE).await;
            let begun = Instant::now();
            house.call("counter", "count", "{}").await.expect("the neighbour answers");
            begun.elapsed()
        };
        tokio::select! {
            biased;
            _ = &mut harm => return times,
            took = call => times.push(took),
        }
    }
}

/// How much later than after this many milliseconds the call ends.
async fn lateness(
    call: impl Future<Output = Result<String, CallError>>,
    expected: impl Fn(&CallError) -> bool,
) -> Duration {
    let begun = Instant::now();
    let error = call.await.expect_err("it ends in an error");
    let took = begun.elapsed();
    assert!(expected(&error), "{error}");
    took.saturating_sub(Duration::from_millis(SHORT))
}

async fn until_it_serves(house: &House, plugin: &str, tool: &str) {
    house.call_again(plugin, tool).await.expect("it serves again");
}

async fn measure() {
    const LOOP: &str = r#"{"fault":"loop"}"#;
    const HANGS: &str = r#"{"tool":"gate","arguments":{}}"#;
    let house = street(BUDGET).await;
    let quiet = calls_beside(&house, tokio::time::sleep(Duration::from_secs(2))).await;
    report("a call with nobody else there", quiet);
    let one = calls_beside(&house, house.call("hostile", "harm", LOOP)).await;
    report("a call beside one loop", one);
    until_it_serves(&house, "hostile", "behave").await;
    let loops = async { tokio::join!(house.call("hostile", "harm", LOOP), house.call("traps", "loop", "{}")) };
    report("a call beside two loops", calls_beside(&house, loops).await);
    until_it_serves(&house, "traps", "ok").await;

    let (mut computing, mut hanging) = (Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        let is_late = |error: &CallError| *error == CallError::Timeout;
        computing.push(lateness(house.call_within("hostile", "harm", LOOP, SHORT), is_late).await);
        until_it_serves(&house, "hostile", "behave").await;
        hanging.push(lateness(house.call_within("hostile", "errand", HANGS, SHORT), is_late).await);
        until_it_serves(&house, "hostile", "behave").await;
        house.runtime.reload("hostile", homeagent_types::ports::Haste::default()).await.expect("it behaves");
    }
    report("a time-out later than its deadline, the guest computing", computing);
    report("a time-out later than its deadline, a host call hanging", hanging);
    house.runtime.shutdown().await;

    let budget = i64::try_from(SHORT).expect("a small number");
    let house = street(budget).await;
    let mut ends = Vec::new();
    for _ in 0..REPEATS {
        let spent = |error: &CallError| error.to_string().contains("processor time");
        ends.push(lateness(house.call("hostile", "harm", LOOP), spent).await);
        until_it_serves(&house, "hostile", "behave").await;
        house.runtime.reload("hostile", homeagent_types::ports::Haste::default()).await.expect("it behaves");
    }
    report("the end of a loop after as much time as its budget", ends);
    house.runtime.shutdown().await;
}

fn main() {
    let executor = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("an executor");
    executor.block_on(measure());
}
