//! A memory that has what a test gives it.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use homeagent_memory::recollection::{Occasion, Recalled, Recollection, Remembers};

#[derive(Default)]
pub(crate) struct FakeMemory {
    /// What it has; none: it never answers.
    pub(crate) has: Mutex<Option<Recollection>>,
    pub(crate) asked: Mutex<Vec<Occasion>>,
}

impl FakeMemory {
    pub(crate) fn of(passages: Vec<Recalled>) -> Arc<Self> {
        let foreign = passages.iter().any(|passage| passage.foreign);
        let found = Recollection { passages, foreign, ..Recollection::default() };
        Arc::new(Self { has: Mutex::new(Some(found)), ..Self::default() })
    }
}

/// Something that was said in spring, on another day than the tests run.
pub(crate) fn recalled(speaker: Option<&str>, text: &str) -> Recalled {
    Recalled {
        kind: "said".to_owned(),
        origin: "7".to_owned(),
        at_ms: 1_777_777_777_777,
        speaker: speaker.map(str::to_owned),
        here: true,
        foreign: false,
        score: 1.0,
        text: text.to_owned(),
    }
}

#[async_trait]
impl Remembers for FakeMemory {
    async fn recollect(&self, occasion: Occasion) -> Recollection {
        self.asked.lock().unwrap().push(occasion);
        let has = self.has.lock().unwrap().clone();
        match has {
            Some(found) => found,
            None => std::future::pending().await,
        }
    }

    async fn nearness(&self, query: &str, texts: Arc<[String]>) -> Vec<f32> {
        texts.iter().map(|text| if text.contains(query) { 1.0 } else { 0.0 }).collect()
    }
}
