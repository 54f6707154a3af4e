//! What a question says of itself: whom it names, and by which words it is looked up.

use std::collections::HashSet;

use homeagent_language::text::time::{TimeRange, time_ranges};
use homeagent_language::text::{fold, query_terms, words};

use super::Ask;
use crate::index::Columns;

/// What makes a question about whoever asks it.
const FIRST_PERSON: &[&str] = &["i", "me", "my", "mine", "myself", "i'm", "i've", "i'd", "我", "我的", "咱", "自己"];

/// So many words of a question at most are looked up: half from its beginning, half from its end.
const MOST_TERMS: usize = 256;

/// A question, read.
pub(super) struct Cues {
    /// What to look up.
    pub(super) terms: Vec<String>,
    /// Whose passages count more: the speakers it names, or who asks where it says "I" and names nobody.
    pub(super) speakers: HashSet<u32>,
    /// The times it names.
    pub(super) times: Vec<TimeRange>,
}

/// Reads a question. A speaker's name is no word to look up: it stands in each of the speaker's passages.
pub(super) fn read(ask: &Ask, columns: &Columns) -> Cues {
    let folded = fold(&ask.text);
    let said = words(&ask.text);
    let mut speakers = HashSet::new();
    let mut names = HashSet::new();
    for (id, name) in columns.speakers().filter(|(_, name)| names_speaker(&folded, &said, name)) {
        speakers.insert(id);
        names.extend(query_terms(name));
    }
    if speakers.is_empty() && said.iter().any(|word| FIRST_PERSON.contains(&word.as_str())) {
        speakers.extend(ask.speaker.as_ref().and_then(|speaker| columns.name_id(speaker)));
    }
    let mut terms = query_terms(&ask.text);
    if terms.iter().any(|term| !names.contains(term)) {
        terms.retain(|term| !names.contains(term));
    }
    if terms.len() > MOST_TERMS {
        let end = terms.split_off(terms.len() - MOST_TERMS / 2);
        terms.truncate(MOST_TERMS / 2);
        terms.extend(end);
    }
    let times = time_ranges(&ask.text, ask.now_ms, &ask.time_zone);
    Cues { terms, speakers, times }
}

/// Whether a question names somebody: with each word of the name, or in Chinese with the name anywhere.
fn names_speaker(folded: &str, said: &[String], name: &str) -> bool {
    let name_words = words(name);
    if name_words.is_empty() {
        return false;
    }
    let chinese = !name.is_ascii() && name.chars().count() > 1 && folded.contains(&fold(name));
    chinese || name_words.iter().all(|word| said.contains(word))
}
