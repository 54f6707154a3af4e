//! A real sentence model, by both ways. `HOMEAGENT_MODELS` names a folder with `multilingual-e5-small` in it, and
//! `HOMEAGENT_ONNX_RUNTIME` the library or a folder with it; where they are not set, these tests have nothing to test.

#![allow(clippy::unwrap_used, reason = "a test that can't go on is to fail there")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use homeagent_language::embed::{Embedder, ModelFolder, Places, Purpose, open_in_rust, open_model};

const TEXTS: [&str; 6] = [
    "我把车钥匙放在玄关的抽屉里了。",
    "Where are the car keys?",
    "The dentist moved the appointment to Thursday at nine.",
    "下周四上午九点看牙医",
    "🍜 dinner at 七点, don't forget the soy sauce!",
    "",
];

fn folder() -> Option<ModelFolder> {
    let Some(models) = std::env::var_os("HOMEAGENT_MODELS") else {
        eprintln!("skipped: HOMEAGENT_MODELS names no folder of models");
        return None;
    };
    Some(ModelFolder::open(&PathBuf::from(models).join("multilingual-e5-small")).unwrap())
}

fn by_runtime(folder: &ModelFolder) -> Option<Arc<dyn Embedder>> {
    let Some(library) = std::env::var_os("HOMEAGENT_ONNX_RUNTIME") else {
        eprintln!("skipped: HOMEAGENT_ONNX_RUNTIME names no library");
        return None;
    };
    Some(open_model(folder, &Places { named: Some(library.into()), models: None }, 1).unwrap())
}

fn cosine(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

async fn timed(embedder: &dyn Embedder, purpose: Purpose) -> Vec<Vec<f32>> {
    let texts = TEXTS.iter().map(|text| (*text).to_owned()).collect();
    let began = Instant::now();
    let vectors = embedder.embed(purpose, texts).await.unwrap();
    eprintln!("{}: {:.1?} for {} texts", embedder.identity(), began.elapsed(), TEXTS.len());
    vectors
}

#[tokio::test]
async fn the_nearest_text_is_the_one_that_says_the_same() {
    let Some(embedder) = folder().as_ref().and_then(by_runtime) else { return };
    assert_eq!(embedder.identity().kind, "onnx");
    assert_eq!(embedder.identity().dimensions, 384);
    let passages = timed(embedder.as_ref(), Purpose::Passage).await;
    let queries = timed(embedder.as_ref(), Purpose::Query).await;
    assert!(cosine(&queries[1], &passages[0]) > cosine(&queries[1], &passages[3]));
    assert!(cosine(&queries[3], &passages[2]) > cosine(&queries[3], &passages[0]));
    for vector in &passages {
        assert!((cosine(vector, vector) - 1.0).abs() < 1e-4);
    }
}

#[tokio::test]
async fn both_ways_make_the_same_vectors() {
    let Some(folder) = folder() else { return };
    let in_rust = open_in_rust(&folder, 1).unwrap();
    let alone = timed(in_rust.as_ref(), Purpose::Passage).await;
    let Some(by_runtime) = by_runtime(&folder) else { return };
    assert_ne!(by_runtime.identity(), in_rust.identity());
    let beside = timed(by_runtime.as_ref(), Purpose::Passage).await;
    for ((one, other), text) in alone.iter().zip(&beside).zip(TEXTS) {
        let alike = cosine(one, other);
        eprintln!("{alike:.6} {text}");
        assert!(alike > 0.999, "{text}: {alike}");
    }
}
