//! What the agent asks of the memory before it asks a model, and what it gets.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use homeagent_types::Audience;
use serde::Serialize;

/// A turn that is about to ask a model for the first time.
#[derive(Clone, Debug)]
pub struct Occasion {
    /// The turn.
    pub run: String,
    /// Where it is.
    pub conversation: String,
    /// Who reads the reply: nothing is recalled that not each of them may see.
    pub audience: Audience,
    /// Who speaks, as `namespace:user`.
    pub speaker: String,
    /// What people call them.
    pub called: String,
    /// What was said, as the handlers left it.
    pub text: String,
    /// The [traces](crate::said::trace) of what stands in the window.
    pub window: HashSet<u64>,
    /// How many passages are wanted, at most.
    pub passages: usize,
    /// How long all that is recalled may be together, in characters.
    pub characters: usize,
    /// How long the turn waits: what is not read by then is left out, each part by itself.
    pub patience: Duration,
}

/// A passage that was said or written earlier.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recalled {
    /// What it comes from: `said`, `answered`, `document`, `sentence`.
    pub kind: String,
    /// Where it stands: an event's place in the journal, a document, a sentence.
    pub origin: String,
    /// When it was said, in milliseconds since 1970.
    pub at_ms: i64,
    /// Who said it, for people to read; none: the agent itself.
    pub speaker: Option<String>,
    /// Whether it was said in the conversation it is recalled in.
    pub here: bool,
    /// Whether others than the reader may have written it.
    pub foreign: bool,
    /// How well it fits, in comparison with the others.
    pub score: f32,
    /// What was said; never written down again.
    #[serde(skip)]
    pub text: String,
}

/// What the memory has for a turn. Empty texts are nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recollection {
    /// What was said, in the order of time.
    pub passages: Vec<Recalled>,
    /// The facts that the agent and the owner keep by hand.
    pub curated: String,
    /// What the best documents are about.
    pub documents: String,
    /// Which names the graph knows.
    pub index: String,
    /// Whether others than the reader may have written some of it.
    pub foreign: bool,
    /// What was left out, and why: a word each.
    pub left_out: Vec<&'static str>,
}

/// What the agent sees of the memory.
#[async_trait]
pub trait Remembers: Send + Sync {
    /// What there is for a turn. Never fails: what can't be read is left out, and said so.
    async fn recollect(&self, occasion: Occasion) -> Recollection;

    /// What a run's model is shown of it: it is nothing new when it is said again.
    fn shown(&self, run: &str, shown: &Recollection) {
        let _ = (run, shown);
    }

    /// How near each of these texts is to a query, the best about 1. Cheap: what would take long is left out.
    async fn nearness(&self, query: &str, texts: Arc<[String]>) -> Vec<f32>;
}
