//! What is asked and what is found.

use std::borrow::Cow;
use std::time::Duration;

use homeagent_types::Viewer;
use jiff::tz::TimeZone;
use serde::Serialize;

use crate::index::{Passage, PassageKind};

/// How much of a long text's beginning, and as much of its end, is looked at as a question, in characters.
const END: usize = 1_000;

/// What of a text is looked at as a question: all, or of a long one the beginning and the end, where people say what they
/// want of what they paste. Otherwise the work would grow with what somebody sends.
pub(crate) fn asked(text: &str) -> Cow<'_, str> {
    let Some((first, _)) = text.char_indices().nth(END) else { return Cow::Borrowed(text) };
    let last = text.char_indices().rev().nth(END - 1).map_or(0, |(at, _)| at);
    if last <= first {
        return Cow::Borrowed(text);
    }
    let (beginning, end) = (text.get(..first).unwrap_or_default(), text.get(last..).unwrap_or_default());
    Cow::Owned(format!("{beginning}\n{end}"))
}

/// A question to the memory.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The question, or any text that what is looked for is about. Of more than 2,000 characters the first and the last 1,000
    /// are looked at.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_text_the_beginning_and_the_end_are_looked_at() {
        let all = "猫".repeat(2 * END);
        assert_eq!(asked(&all), all);
        let long = format!("{}{}{}", "开".repeat(END), "x".repeat(10_000_000), "🏡".repeat(END));
        assert_eq!(asked(&long), format!("{}\n{}", "开".repeat(END), "🏡".repeat(END)));
    }
}
