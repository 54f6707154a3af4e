//! What a replacement takes: criterion for the time from the trigger to the first answer of the new code, then two
//! thousand replacements under load for the switch alone, the pauses of callers, and memory.

#[allow(dead_code, reason = "the tests need more of it")]
#[path = "../tests/runtime/house.rs"]
mod house;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group};
use homeagent_types::ports::{Haste, PluginAdmin};
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use house::House;

const SWAPS: usize = 2_000;
const CALLERS: usize = 4;
/// Swaps between two looks at the memory.
const STEP: usize = 500;

fn executor() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("an executor")
}

async fn ledger() -> House {
    let house = house::empty();
    house.install("ledger-one", "ledger");
    house.runtime.load_all().await;
    house.grant_all().await;
    for turn in 0..2 {
        lay(&house, turn);
        swap(&house, turn).await;
    }
    house
}

const VERSIONS: [(&str, &str); 2] = [("ledger-two", "2.0.0"), ("ledger-one", "1.0.0")];

fn lay(house: &House, turn: usize) {
    house.install(VERSIONS[turn % 2].0, "ledger");
}

/// From the trigger to the first answer of the new code, which is compiled already.
async fn swap(house: &House, turn: usize) -> Duration {
    let begun = Instant::now();
    house.runtime.reload("ledger", Haste::default()).await.expect("the code is good");
    let version = house.call("ledger", "version", "{}").await.expect("it answers");
    let took = begun.elapsed();
    assert_eq!(version, VERSIONS[turn % 2].1);
    took
}

fn trigger(criterion: &mut Criterion) {
    let executor = executor();
    let house = executor.block_on(ledger());
    let mut turn = 0;
    criterion.bench_function("swap: from the trigger to the first answer of the new code", |bencher| {
        bencher.iter_custom(|swaps| {
            let mut took = Duration::ZERO;
            for _ in 0..swaps {
                lay(&house, turn);
                took += executor.block_on(swap(&house, turn));
                turn += 1;
            }
            took
        });
    });
    executor.block_on(house.runtime.shutdown());
}

/// For how long each replacement kept the slot closed, in microseconds, as the runtime logs it.
#[derive(Clone)]
struct Closed(Arc<Mutex<Times>>);

impl<S: tracing::Subscriber> Layer<S> for Closed {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        event.record(&mut Read(self));
    }
}

struct Read<'a>(&'a Closed);

impl Visit for Read<'_> {
    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "closed_us" {
            self.0.0.lock().expect("no panic").add(Duration::from_micros(value));
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

/// How often something took how long. Of one size from the start, so that measuring does not look like memory that grows.
struct Times {
    /// By microseconds; the last one has all that took longer, too.
    counts: Vec<u64>,
    longest: u64,
}

impl Times {
    fn new() -> Self {
        let mut counts = vec![1; 100_000];
        counts.fill(0);
        Self { counts, longest: 0 }
    }

    fn add(&mut self, took: Duration) {
        let microseconds = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let last = self.counts.len() - 1;
        self.counts[usize::try_from(microseconds).unwrap_or(last).min(last)] += 1;
        self.longest = self.longest.max(microseconds);
    }

    fn join(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.longest = self.longest.max(other.longest);
    }

    fn report(&self, what: &str) {
        let all: u64 = self.counts.iter().sum();
        let at = |thousandths: u64| {
            let mut before = all * thousandths / 1000;
            self.counts
                .iter()
                .position(|count| {
                    let here = *count > before;
                    before = before.saturating_sub(*count);
                    here
                })
                .unwrap_or_default()
        };
        let (median, p99, p999, longest) = (at(500), at(990), at(999), self.longest);
        println!("{what}: median {median} us, p99 {p99} us, p99.9 {p999} us, longest {longest} us, of {all}");
    }
}

async fn call_on(house: &House, done: &AtomicBool) -> Times {
    let mut times = Times::new();
    while !done.load(Ordering::Acquire) {
        let begun = Instant::now();
        house.call("ledger", "count", "{}").await.expect("no call fails");
        times.add(begun.elapsed());
        tokio::task::yield_now().await;
    }
    times
}

fn resident_mib() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").expect("this is Linux");
    let pages: u64 = pages.split(' ').nth(1).and_then(|it| it.parse().ok()).expect("the second number is of pages");
    pages * 4 / 1024
}

fn soak() {
    let closed = Closed(Arc::new(Mutex::new(Times::new())));
    let subscriber = tracing_subscriber::registry().with(closed.clone());
    tracing::subscriber::set_global_default(subscriber).expect("nobody else logs");
    let executor = executor();
    executor.block_on(async {
        let house = Arc::new(ledger().await);
        let done = Arc::new(AtomicBool::new(false));
        let callers: Vec<_> = (0..CALLERS)
            .map(|_| {
                let (house, done) = (Arc::clone(&house), Arc::clone(&done));
                tokio::spawn(async move { call_on(&house, &done).await })
            })
            .collect();
        let mut swaps = Times::new();
        for turn in 0..SWAPS {
            if turn % STEP == 0 {
                println!("after {turn} swaps: {} MiB resident", resident_mib());
            }
            lay(&house, turn);
            swaps.add(swap(&house, turn).await);
        }
        println!("after {SWAPS} swaps: {} MiB resident", resident_mib());
        done.store(true, Ordering::Release);
        let mut calls = Times::new();
        for caller in callers {
            calls.join(&caller.await.expect("no caller panics"));
        }
        swaps.report("swap under load, from the trigger to the first answer");
        closed.0.lock().expect("no panic").report("the slot closed");
        calls.report("a call while swaps go on");
        house.runtime.shutdown().await;
    });
}

criterion_group!(benches, trigger);

fn main() {
    benches();
    soak();
    Criterion::default().configure_from_args().final_summary();
}
