//! Models that make vectors.

use async_trait::async_trait;
use homeagent_types::CallError;
use homeagent_types::embedding::{
    EmbedderListing, EmbedderStatus, Embedders, EmbeddingTrial, InstalledFile, InstalledModel,
};
use homeagent_types::ports::EmbeddingModels;

/// A home with one model.
pub struct FakeModels;

impl FakeModels {
    fn status() -> EmbedderStatus {
        EmbedderStatus {
            state: "ready".into(),
            name: "e5".into(),
            kind: Some("onnx".into()),
            dimensions: Some(384),
            why: "it is the first sentence model in the folder of models".into(),
            complaint: None,
            runtime: Some("ONNX Runtime 1.32 (/usr/lib/libonnxruntime.so)".into()),
            sessions: 1,
        }
    }
}

#[async_trait]
impl EmbeddingModels for FakeModels {
    async fn list(&self) -> Embedders {
        let e5 = EmbedderListing {
            name: "e5".into(),
            what: "sentence model".into(),
            path: Some("/home/ada/models/e5".into()),
            bytes: Some(54_000_000),
            used: true,
        };
        let words =
            EmbedderListing { name: "tf-idf".into(), what: "words".into(), path: None, bytes: None, used: false };
        Embedders { status: Self::status(), embedders: vec![e5, words], offered: Vec::new() }
    }

    async fn install(&self, from: &str) -> Result<InstalledModel, CallError> {
        if from != "/tmp/e5" {
            return Err(CallError::NotFound(format!("there is no folder \"{from}\"")));
        }
        let file = InstalledFile { name: "model.onnx".into(), bytes: 3, sha256: "ab".into() };
        Ok(InstalledModel { name: "e5".into(), path: "/models/e5".into(), dimensions: Some(384), files: vec![file] })
    }

    async fn choose(&self, name: Option<&str>) -> Result<EmbedderStatus, CallError> {
        match name {
            None | Some("e5") => Ok(Self::status()),
            Some(other) => Err(CallError::NotFound(format!("there is no embedder \"{other}\""))),
        }
    }

    async fn try_texts(&self, _: String, other: Option<String>) -> Result<EmbeddingTrial, CallError> {
        let similarity = other.map(|_| 0.875);
        Ok(EmbeddingTrial { name: "e5".into(), kind: "onnx".into(), dimensions: 384, took_ms: vec![4.5], similarity })
    }
}
