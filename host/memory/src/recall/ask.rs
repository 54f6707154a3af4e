//! What is asked and what is found.

use std::time::Duration;

use homeagent_types::Viewer;
use jiff::tz::TimeZone;
use serde::Serialize;

use crate::index::{Passage, PassageKind};

/// A question to the memory.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The question, or any text that what is looked for is about.
    pub text: String,
    /// Who reads what is found.
    pub viewer: Viewer,
    /// When it is asked, in milliseconds since 1970 UTC: "last week" is counted from it.
    pub now_ms: i64,
    /// Whose days these are.
    pub time_zone: TimeZone,
    /// How many passages are wanted at most.
    pub limit: usize,
    /// Only what was said in this conversation.
    pub conversation: Option<String>,
    /// Who asks, as people call them: "I" and 我 are them.
    pub speaker: Option<String>,
    /// Only these; all where there are none.
    pub kinds: Vec<PassageKind>,
    /// How long who asks waits at most: half of it may pass before words alone decide. None: as long as is usual.
    pub patience: Option<Duration>,
}

/// A passage that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hit {
    /// The passage's id in the index.
    pub id: i64,
    /// The passage.
    pub passage: Passage,
    /// How well it answers: the sum of the parts. To be compared within one answer only.
    pub score: f32,
    /// What the score is made of.
    pub parts: Parts,
}

/// What a score is made of; each part as weighted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Parts {
    /// It holds words of the question.
    pub keyword: f32,
    /// It means something like the question.
    pub vector: f32,
    /// What stands before and after it answers the question.
    pub neighbours: f32,
    /// The sitting it was said in is about the question.
    pub session: f32,
    /// The question names who said it.
    pub speaker: f32,
    /// It tells of an entity that the question names.
    pub entity: f32,
    /// It was said at the time the question names.
    pub time: f32,
}

impl Parts {
    /// The score.
    #[must_use]
    pub fn sum(&self) -> f32 {
        let Self { keyword, vector, neighbours, session, speaker, entity, time } = self;
        keyword + vector + neighbours + session + speaker + entity + time
    }
}

/// What is known of entities: the graph, as recall sees it.
pub trait EntitySource: Send + Sync {
    /// The entities that a text names and `viewer` may know of, each with how surely it is meant, from 0 to 1. May block.
    fn mentioned(&self, text: &str, viewer: &Viewer) -> Vec<(i64, f32)>;

    /// The passages in which an entity is spoken of.
    fn passages_of(&self, entity: i64) -> Vec<(PassageKind, String)>;
}
