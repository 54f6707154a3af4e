//! What the example costs in each language: a whole reload with compiled code at hand, a call, and the least memory it
//! runs with; and what adapters cost. What needs more than cargo is there where `HOMEAGENT_OPTIONAL_PACKAGES` says so: see `.ci/components`.

#[allow(dead_code, reason = "the tests need more of it")]
#[path = "../tests/runtime/greeters.rs"]
mod greeters;
#[allow(dead_code, reason = "the tests need more of it")]
#[path = "../tests/runtime/house.rs"]
mod house;

use std::path::PathBuf;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use homeagent_types::model::StreamEvent;
use homeagent_types::ports::{Haste, PluginAdmin as _};

use greeters::{examples, install, interpreters, optional};
use house::House;

const LANGUAGES: [&str; 5] = ["rust", "c", "lua", "js", "python"];

const GREET: &str = r#"{"name":"Ada"}"#;

/// The example in this language, installed and loaded, and the folder it is in; nothing where it is not built.
async fn greeter(language: &str) -> Option<(House, PathBuf)> {
    let house = house::with_shared_cache(interpreters());
    let folder = match language {
        "rust" => house.install("greeter-rust", "greeter"),
        "c" | "python" => install(&house, &optional(&format!("greeter-{language}"))?),
        "js" => {
            install(&house, &optional("interpreter-js")?);
            install(&house, &examples().join("greeter-js"))
        }
        script => install(&house, &examples().join(format!("greeter-{script}"))),
    };
    house.runtime.load_all().await;
    house.grant_all().await;
    Some((house, folder))
}

async fn reload(house: &House) -> bool {
    house.runtime.reload("greeter", Haste::default()).await.is_ok()
}

async fn greet(house: &House) -> bool {
    house.call("greeter", "greet", GREET).await.is_ok()
}

/// The least memory, in MiB, with which it starts and greets.
async fn least_memory(house: &House, folder: &std::path::Path) -> Option<u32> {
    let place = folder.join("plugin.toml");
    let manifest = std::fs::read_to_string(&place).expect("a manifest");
    for mib in 1..=64 {
        let limited = format!("{manifest}\n[limits]\nmemory_mib = {mib}\n");
        std::fs::write(&place, limited).expect("the folder takes files");
        if reload(house).await && greet(house).await {
            return Some(mib);
        }
    }
    None
}

fn languages(criterion: &mut Criterion) {
    let executor = tokio::runtime::Runtime::new().expect("an executor");
    for language in LANGUAGES {
        let Some((house, folder)) = executor.block_on(greeter(language)) else { continue };
        let mut group = criterion.benchmark_group(language);
        group.sample_size(20);
        group.bench_function("a reload", |bencher| {
            bencher.to_async(&executor).iter(async || assert!(reload(&house).await, "it runs"));
        });
        group.bench_function("a call", |bencher| {
            bencher.to_async(&executor).iter(async || assert!(greet(&house).await, "it greets"));
        });
        group.finish();
        if let Some(mib) = executor.block_on(least_memory(&house, &folder)) {
            println!("{language} runs with {mib} MiB");
        }
    }
}

/// An event of the stream of the vendor that the adapters of the examples speak with.
fn event() -> StreamEvent {
    StreamEvent { event: String::new(), data: r#"{"say":"a few words of an answer"}"#.to_owned() }
}

/// What the example of an adapter costs in each language: an instance, which each model call has one of, with its first
/// step; and an event of a stream, of which a read brings a hundred.
fn adapters(criterion: &mut Criterion) {
    let executor = tokio::runtime::Runtime::new().expect("an executor");
    for language in ["rust", "lua", "js"] {
        let within = executor.enter();
        let house = house::with_shared_cache(interpreters());
        drop(within);
        match language {
            "rust" => drop(house.install("adapter-rust", "lantern")),
            "js" => {
                let Some(interpreter) = optional("interpreter-js") else { continue };
                install(&house, &interpreter);
                install(&house, &examples().join("adapter-js"));
            }
            script => drop(install(&house, &examples().join(format!("adapter-{script}")))),
        }
        executor.block_on(house.runtime.load_all());
        let shelf = house.runtime.adapters();
        let mut group = criterion.benchmark_group(format!("adapter in {language}"));
        group.sample_size(20);
        group.bench_function("an instance", |bencher| {
            bencher.to_async(&executor).iter(async || {
                let mut session = shelf.open("lantern").await.expect("it is loaded");
                session.step(vec![event()]).await.expect("it reads")
            });
        });
        group.throughput(Throughput::Elements(100));
        let session = executor.block_on(shelf.open("lantern")).expect("it is loaded");
        let session = tokio::sync::Mutex::new(session);
        group.bench_function("a hundred events", |bencher| {
            bencher
                .to_async(&executor)
                .iter(async || session.lock().await.step((0..100).map(|_| event()).collect()).await.expect("it reads"));
        });
        group.finish();
    }
}

criterion_group!(benches, languages, adapters);
criterion_main!(benches);
