//! How much each part counts.

/// The weights of a score's parts. The keyword part of the best passage by words is 1; the others are in its measure.
/// Found on the first three conversations of LoCoMo and checked on the other seven (see `docs/memory/recall.md`).
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// BM25: how soon more of a term counts no more, and with it how much a long passage is held back.
    pub saturation: f32,
    /// BM25: how much a passage's length counts, from 0 to 1.
    pub length: f32,
    /// Words, where a passage has the most of all.
    pub keyword: f32,
    /// Meaning, where a passage is the nearest of all.
    pub vector: f32,
    /// Of a passage's own score, what the ones after it get, the next first: an answer follows its question.
    pub following: Vec<f32>,
    /// And what the ones before it get.
    pub preceding: Vec<f32>,
    /// The session's words as one text.
    pub session_words: f32,
    /// The mean of a session's best passages.
    pub session_best: f32,
    /// Of so many.
    pub session_best_of: usize,
    /// The question names the speaker.
    pub speaker: f32,
    /// It tells of an entity in the question.
    pub entity: f32,
    /// It was said when the question says.
    pub time: f32,
}

impl Weights {
    /// Where nothing is known of meaning: then more is to be had from what stands around.
    #[must_use]
    pub fn words() -> Self {
        Self {
            saturation: 2.0,
            length: 0.4,
            keyword: 1.0,
            vector: 0.0,
            following: vec![0.4, 0.3],
            preceding: vec![0.4, 0.15],
            session_words: 0.2,
            session_best: 0.5,
            session_best_of: 2,
            speaker: 0.3,
            entity: 0.3,
            time: 0.5,
        }
    }

    /// With the vectors of a sentence model.
    #[must_use]
    pub fn meaning() -> Self {
        Self {
            saturation: 1.5,
            length: 0.2,
            vector: 0.6,
            following: vec![0.2, 0.3],
            preceding: vec![0.2, 0.15],
            speaker: 0.5,
            ..Self::words()
        }
    }
}
