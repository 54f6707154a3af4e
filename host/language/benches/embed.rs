//! How long a text takes, by each way there is. Sentence models need `HOMEAGENT_MODELS` and `HOMEAGENT_ONNX_RUNTIME`, as
//! the tests of a real model do.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use criterion::{Criterion, criterion_group, criterion_main};
use homeagent_language::embed::{
    Embedder, Manager, ModelFolder, Places, Purpose, WORDS, Wishes, open_in_rust, open_model,
};
use tokio::runtime::Runtime;
use tokio::sync::watch;

const SHORT: &str = "车钥匙放在哪里了？ Where are the keys";
const LONG: &str = "昨天晚上我们全家一起去了外婆家吃饭，外婆做了红烧肉、清蒸鱼和西红柿炒鸡蛋，爸爸说下个月要出差去上海两个星期，\
                    妈妈提醒他记得带上降压药。 Ben promised to fix the garden gate on Saturday, and Anna asked whether the \
                    plumber could come before nine because she has a dentist appointment in town at half past ten.";

/// The embedder of this name in a home with a thousand word vectors.
fn of_a_home(runtime: &Runtime, name: &str) -> (tempfile::TempDir, Manager, Arc<dyn Embedder>) {
    let home = tempfile::tempdir().expect("a folder");
    let numbers = |row: usize| (0..300).map(|at| format!(" {}", (row * 31 + at * 17) % 97)).collect::<String>();
    let words = ["the", "keys", "dentist", "garden", "plumber", "钥匙", "外婆", "上海", "红烧肉", "妈妈"];
    let lines = (0..1_000)
        .map(|row| format!("{}{}\n", words.get(row).map_or(format!("w{row}"), |it| (*it).to_owned()), numbers(row)));
    std::fs::write(home.path().join("vectors.vec"), lines.collect::<String>()).expect("room on the disk");
    let models = home.path().to_owned();
    let wishes = Wishes { models, embedder: Some(name.to_owned()), sessions: 1, ..Wishes::default() };
    let _inside = runtime.enter();
    // The sender may go: nothing changes.
    let manager = Manager::start(watch::channel(wishes).1, None);
    let mut current = manager.current();
    let embedder = runtime.block_on(async { current.wait_for(Option::is_some).await.expect("it lives").clone() });
    (home, manager, embedder.expect("there is one"))
}

fn measure(criterion: &mut Criterion, runtime: &Runtime, name: &str, embedder: &dyn Embedder) {
    // No text comes twice, or it would be remembered.
    let number = AtomicU64::new(0);
    let mut group = criterion.benchmark_group(name);
    for (what, purpose, text) in [("query", Purpose::Query, SHORT), ("passage", Purpose::Passage, LONG)] {
        group.bench_function(what, |bencher| {
            bencher.iter(|| {
                let text = format!("{text} {}", number.fetch_add(1, Ordering::Relaxed));
                runtime.block_on(embedder.embed(purpose, vec![text])).expect("a vector")
            });
        });
    }
    group.bench_function("16 passages", |bencher| {
        bencher.iter(|| {
            let texts = (0..16).map(|_| format!("{LONG} {}", number.fetch_add(1, Ordering::Relaxed))).collect();
            runtime.block_on(embedder.embed(Purpose::Passage, texts)).expect("vectors")
        });
    });
    group.finish();
}

fn all(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    for name in [WORDS, "vectors"] {
        let (_home, _manager, embedder) = of_a_home(&runtime, name);
        measure(criterion, &runtime, name, embedder.as_ref());
    }
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let Some(models) = variable("HOMEAGENT_MODELS") else {
        eprintln!("HOMEAGENT_MODELS names no folder of models: sentence models are left out");
        return;
    };
    let folder = ModelFolder::open(&models.join("multilingual-e5-small")).expect("multilingual-e5-small");
    let in_rust = open_in_rust(&folder, 1).expect("a model that runs in Rust alone");
    measure(criterion, &runtime, "tract", in_rust.as_ref());
    let places = Places { named: variable("HOMEAGENT_ONNX_RUNTIME"), models: None };
    let by_runtime = open_model(&folder, &places, 1).expect("a model that runs");
    measure(criterion, &runtime, &by_runtime.identity().kind.clone(), by_runtime.as_ref());
}

criterion_group! { name = benches; config = Criterion::default().sample_size(20); targets = all }
criterion_main!(benches);
