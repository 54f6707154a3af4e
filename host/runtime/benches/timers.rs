//! What ten thousand timers cost: criterion for setting one more, then how late timers fire, and what a rest takes of the
//! processor. The component is the bundled `timer`; the agent is one that notes what reaches it.

#[allow(dead_code, reason = "the tests need more of it")]
#[path = "../tests/runtime/house.rs"]
mod house;

use std::time::Duration;

use criterion::{Criterion, criterion_group};
use homeagent_runtime::Bundled;
use homeagent_settings::Times;

use house::House;

/// As many as the plugin may have, less those that are set here.
const MANY: usize = 9_500;
/// How many fire, each so many milliseconds after the one before.
const FIRED: usize = 200;
const APART: u64 = 50;
/// How many fire at the same moment.
const TOGETHER: usize = 100;
const REST: Duration = Duration::from_secs(20);

fn executor() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("an executor")
}

async fn with_timers(many: usize) -> House {
    let timer = homeagent_bundle::packages().find(|package| package.name == "timer").expect("it is bundled");
    let bundled = Bundled { manifest: timer.manifest, component: timer.component, digest: timer.digest };
    let house = house::with_bundled(vec![bundled]);
    let far = homeagent_types::now() + 365 * 24 * 3_600_000;
    for number in 0..many {
        let times = Times { due: far + number as u64, every: None, calendar: true };
        let payload = format!(
            r#"{{"uid":"{number}","name":"t{number}","by":"cli:owner","work":{{"message":"drink tea"}},
                "schedule":{{"once":{}}},"next":{}}}"#,
            times.due, times.due
        );
        let name = format!("owner/t{number}");
        house.data.timers.set_for("timer", &name, times, &payload, None, 10_000).expect("there is room");
    }
    house.runtime.load_all().await;
    house
}

async fn set(house: &House, name: &str, due: u64) {
    let when = jiff::Timestamp::from_millisecond(due.cast_signed()).expect("a moment");
    let request = format!(r#"{{"name":"{name}","when":"{when}","message":"drink tea"}}"#);
    house.call("timer", "timer_set", &request).await.expect("it is set");
}

fn setting(criterion: &mut Criterion) {
    let executor = executor();
    for (name, many) in [("one of one", 0), ("one of ten thousand", MANY)] {
        let house = executor.block_on(with_timers(many));
        let far = homeagent_types::now() + 24 * 3_600_000;
        criterion.bench_function(&format!("set and cancel {name}"), |bencher| {
            bencher.to_async(&executor).iter(async || {
                set(&house, "x", far).await;
                house.call("timer", "timer_cancel", r#"{"name":"x"}"#).await.expect("it is there");
            });
        });
        executor.block_on(house.runtime.shutdown());
    }
}

/// How late each of the last errands came, in milliseconds, the least first.
async fn lateness(house: &House, dues: &[u64]) -> Vec<u64> {
    let count = house.mind.errands.lock().expect("no panic").len() + dues.len();
    for (number, due) in dues.iter().enumerate() {
        set(house, &format!("late {number}"), *due).await;
    }
    while house.mind.errands.lock().expect("no panic").len() < count {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let brought = house.mind.brought.lock().expect("no panic").clone();
    let mut late: Vec<u64> =
        dues.iter().zip(&brought[count - dues.len()..]).map(|(due, at)| at.saturating_sub(*due)).collect();
    late.sort_unstable();
    late
}

fn report() {
    let executor = executor();
    executor.block_on(async {
        let house = with_timers(MANY).await;
        let begin = homeagent_types::now() + 3_000;
        let dues: Vec<u64> = (0..FIRED as u64).map(|number| begin + number * APART).collect();
        let late = lateness(&house, &dues).await;
        let at = |share: usize| late[(late.len() - 1) * share / 100];
        println!(
            "{FIRED} of {MANY} fired {APART} ms apart: late by p50 {}, p99 {}, at most {} ms",
            at(50),
            at(99),
            at(100)
        );
        let together = vec![homeagent_types::now() + 3_000; TOGETHER];
        let late = lateness(&house, &together).await;
        println!(
            "{TOGETHER} of {MANY} due at one moment: the first {} ms late, the last {}",
            late[0],
            late[TOGETHER - 1]
        );
        house.runtime.shutdown().await;
    });
    for many in [0, MANY] {
        executor.block_on(async {
            let house = with_timers(many).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            let before = processor_time();
            tokio::time::sleep(REST).await;
            println!("{many} timers at rest took {:?} of a processor in {REST:?}", processor_time() - before);
            house.runtime.shutdown().await;
        });
    }
}

fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.cast_unsigned(), u32::try_from(time.tv_nsec).expect("less than a second"))
}

criterion_group!(benches, setting);

fn main() {
    benches();
    report();
}
