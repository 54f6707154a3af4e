//! Forgetting after real turns, with everything on that keeps words: nothing is left in any byte of the home folder.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use homeagent_language::embed::{EmbedError, Embedder, ModelIdentity, Purpose};
use homeagent_types::memory::{MemoryForget, MemoryForgotten, MemoryWhat};
use homeagent_types::model::FailureClass;
use tempfile::TempDir;

use crate::fake::failure;
use crate::home::soon;
use crate::memories::Lived;

/// Counts the characters of a text.
struct Characters(ModelIdentity);

impl Characters {
    fn shared() -> Arc<dyn Embedder> {
        Arc::new(Self(ModelIdentity {
            name: "characters".into(),
            kind: "static".into(),
            digest: String::new(),
            dimensions: 64,
            pooling: "none".into(),
            query_prefix: String::new(),
            passage_prefix: String::new(),
            normalised: false,
        }))
    }
}

#[async_trait]
impl Embedder for Characters {
    fn identity(&self) -> &ModelIdentity {
        &self.0
    }

    async fn embed(&self, _: Purpose, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
        let vector = |text: &String| {
            let mut vector = vec![0.0; 64];
            text.chars().for_each(|char| vector[char as usize % 64] += 1.0);
            vector
        };
        Ok(texts.iter().map(vector).collect())
    }
}

/// The files in which a text stands.
fn holding(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for path in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
        if path.is_dir() {
            found.extend(holding(&path, text));
        } else if std::fs::read(&path).unwrap().windows(text.len()).any(|bytes| bytes == text.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

async fn lived_in() -> Lived {
    let lived = Lived::with(TempDir::new().unwrap(), Some(Characters::shared())).await;
    lived.home.settings.set("core.memory.text_log", true).unwrap();
    lived.told("204800", "我的猫叫团子，它对鸡肉过敏").await;
    lived.told("204800", "My flat is in Lindenstrasse, above the bakery").await;
    lived.shown("204800", "大家好，我带了桂花糕", true).await;
    lived.shown("ann", "桂花糕真好吃，谢谢204800", true).await;
    lived.shown("ann", "The kettle is broken", false).await;
    // What was said long ago comes into the prompt of a later turn, which is kept, too.
    lived.home.say("204800", "/new").await;
    soon(lived.home.plugins.next_output()).await;
    lived.shown("204800", "猫能吃鸡肉吗？", false).await;
    // A turn that fails with the words in its error.
    lived.home.say("204800", "再说一次").await;
    soon(lived.home.models.next())
        .await
        .fail(failure("the vendor says: 204800 asked about 团子", FailureClass::BadRequest));
    soon(lived.home.plugins.next_output()).await;
    settle(&lived).await;
    lived
}

/// Waits until all is indexed and has its vector, and the windows are saved.
async fn settle(lived: &Lived) {
    soon(lived.memory.caught_up()).await;
    soon(lived.memory.vectors().wait_for(|progress| progress.complete)).await.unwrap();
    lived.home.context.flush().await;
}

async fn forget(lived: &Lived, what: MemoryWhat) -> MemoryForgotten {
    let forgotten = lived.memory.forget(MemoryForget { what, dry_run: false, plugins: false }).await.unwrap();
    lived.home.context.flush().await;
    forgotten
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_is_forgotten_after_real_turns_is_in_no_byte() {
    let lived = lived_in().await;
    let folder = lived.home.folder.path().to_path_buf();
    assert!(holding(&folder, "团子").len() > 2, "{:?}", holding(&folder, "团子"));
    let forgotten = forget(&lived, MemoryWhat::Text("团子".to_owned())).await;
    assert_eq!(forgotten.left, Vec::<String>::new());
    assert_eq!(holding(&folder, "团子"), Vec::<String>::new());
    let shown = lived.shown("204800", "猫叫什么？", false).await;
    assert!(!shown.contains("团子"), "{shown}");
    settle(&lived).await;
    assert_eq!(holding(&folder, "团子"), Vec::<String>::new());
    let lived = lived.restart().await;
    soon(lived.memory.caught_up()).await;
    assert_eq!(holding(&folder, "团子"), Vec::<String>::new());
    assert!(!holding(&folder, "桂花糕").is_empty(), "the rest is there");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_who_is_forgotten_is_in_no_byte_and_what_others_said_stays() {
    let lived = lived_in().await;
    let folder = lived.home.folder.path().to_path_buf();
    let forgotten = forget(&lived, MemoryWhat::Person("cli:204800".to_owned())).await;
    assert!(forgotten.events > 4, "{forgotten:?}");
    for gone in ["204800", "团子", "Lindenstrasse", "我带了"] {
        assert_eq!(holding(&folder, gone), Vec::<String>::new(), "{gone}");
    }
    assert_eq!(forgotten.left, Vec::<String>::new());
    let lived = lived.restart().await;
    soon(lived.memory.caught_up()).await;
    assert_eq!(holding(&folder, "204800"), Vec::<String>::new());
    assert!(!holding(&folder, "kettle").is_empty() && !holding(&folder, "真好吃").is_empty(), "others' words stay");
    // Who comes back is somebody new.
    let shown = lived.shown("204800", "猫叫什么？", false).await;
    assert!(!shown.contains("团子"), "{shown}");
}
