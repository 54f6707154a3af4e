//! A home folder with a knowledge base, and a model that knows words alone.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use homeagent_knowledge::{Ask, Circle, Knowledge, Parts};
use homeagent_language::embed::{EmbedError, Embedder, ModelIdentity, Purpose};
use homeagent_language::text::index_terms;
use homeagent_settings::{Database, Secrets, Settings};
use homeagent_types::knowledge::Found;
use tempfile::TempDir;
use tokio::sync::watch;

/// Longer than anything takes; only a test that fails waits for it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where models come from, as the daemon loads them.
pub type Models = watch::Sender<Option<Arc<dyn Embedder>>>;

pub struct Home {
    pub knowledge: Arc<Knowledge>,
    pub settings: Settings,
    pub model: Models,
    pub folder: TempDir,
}

impl Home {
    pub async fn open() -> Self {
        Self::with(&[]).await
    }

    /// With these texts in it before it opens.
    pub async fn with(texts: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in texts {
            std::fs::create_dir_all(folder.path().join("knowledge").join(name)).unwrap();
            std::fs::write(folder.path().join("knowledge").join(name).join("content.md"), text).unwrap();
        }
        let home = Self::at(folder);
        home.until(async |home| home.knowledge.list(Circle::Owner).await.unwrap().bases.len() == texts.len()).await;
        home
    }

    /// In a folder that is there.
    pub fn at(folder: TempDir) -> Self {
        let (knowledge, settings, model) = knowledge_in(folder.path());
        Self { knowledge, settings, model, folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("knowledge").join(name).join("content.md")
    }

    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// As a person saves a file.
    pub fn save(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Waits until something is so.
    pub async fn until(&self, is_so: impl AsyncFn(&Self) -> bool) {
        let mut changes = self.knowledge.changes();
        let waiting = async {
            while !is_so(self).await {
                changes.changed().await.unwrap();
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.expect("it never was so");
    }

    /// Waits until every passage has its vector.
    pub async fn until_embedded(&self) {
        self.until(async |home| {
            let status = home.knowledge.status().await.unwrap();
            status.passages > 0 && status.passages == status.vectors
        })
        .await;
    }

    pub async fn search(&self, text: &str) -> Found {
        self.knowledge.search(ask(text)).await.unwrap()
    }

    /// What a search finds, as `base lines: text`.
    pub async fn found(&self, text: &str) -> Vec<String> {
        let passages = self.search(text).await.passages.into_iter();
        let shown = passages.map(|passage| {
            let (first, last, text) = (passage.first_line, passage.last_line, passage.text.replace('\n', "⏎"));
            format!("{} {first}-{last} {}: {text}", passage.base, passage.headings.join(" > "))
        });
        shown.collect()
    }
}

/// The knowledge base of a home folder, its settings, and where its model comes from.
pub fn knowledge_in(folder: &Path) -> (Arc<Knowledge>, Settings, Models) {
    let database = Database::open(folder.join("homeagent.db")).unwrap();
    let secrets = Secrets::open(&database, folder).unwrap();
    let settings = Settings::open(&database, &secrets).unwrap();
    let (model, embedder) = watch::channel(None);
    let parts = Parts { home: folder.to_path_buf(), settings: settings.clone(), embedder };
    (Knowledge::open(parts).unwrap(), settings, model)
}

pub fn ask(text: &str) -> Ask {
    Ask { text: text.to_owned(), circle: Circle::Owner, base: None, limit: 5 }
}

/// A model whose vectors say which words a text has, and that takes some words for others.
pub struct Words {
    identity: ModelIdentity,
    alike: Vec<(&'static str, &'static str)>,
}

impl Words {
    pub fn called(name: &str, alike: &[(&'static str, &'static str)]) -> Arc<dyn Embedder> {
        let identity = ModelIdentity {
            name: name.to_owned(),
            kind: "words".to_owned(),
            digest: "0".to_owned(),
            dimensions: 256,
            pooling: "none".to_owned(),
            query_prefix: String::new(),
            passage_prefix: String::new(),
            normalised: false,
        };
        Arc::new(Self { identity, alike: alike.to_vec() })
    }
}

#[async_trait]
impl Embedder for Words {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    async fn embed(&self, _: Purpose, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
        if texts.iter().any(|text| text.contains("unembeddable")) {
            return Err(EmbedError("it can't be".to_owned()));
        }
        let vector = |text: String| {
            let text = self.alike.iter().fold(text, |text, (word, other)| text.replace(word, other));
            let mut vector = vec![0.0; self.identity.dimensions];
            for term in index_terms(&text) {
                let place =
                    term.bytes().fold(7_usize, |hash, byte| hash.wrapping_mul(31).wrapping_add(usize::from(byte)));
                vector[place % self.identity.dimensions] += 1.0;
            }
            vector
        };
        Ok(texts.into_iter().map(vector).collect())
    }
}
