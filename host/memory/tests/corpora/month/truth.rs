//! What is true at the end of the month, and how far a memory's facts are from it.

use std::collections::{BTreeMap, BTreeSet};

use super::home::About;

/// A fact that was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fact {
    /// The account of the one whom it is about.
    pub(crate) person: &'static str,
    pub(crate) about: About,
    pub(crate) value: String,
    /// The day, from 0, on which it was first told.
    pub(crate) from: u32,
    /// The day from which on it does not hold; `None`: it holds at the end.
    pub(crate) until: Option<u32>,
}

#[derive(Debug, Default)]
pub(crate) struct Truth {
    /// What was told; the memory must know those without an end, and must know that the others have ended.
    pub(crate) told: Vec<Fact>,
    /// What must never be taken for a fact that holds: denied, supposed, of somebody else, or of long ago.
    pub(crate) never: BTreeSet<(&'static str, About, String)>,
    /// Of these, what was said of the speaker's own past, and so may be known as ended.
    pub(crate) past: BTreeSet<(&'static str, About, String)>,
    /// Names or accounts of what must not become one.
    pub(crate) distinct: Vec<(String, String)>,
    /// Texts of which no byte may be left.
    pub(crate) gone: Vec<String>,
}

/// A fact as a memory holds it.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) person: String,
    pub(crate) about: About,
    pub(crate) value: String,
    /// Who heard it, in text form.
    pub(crate) audience: String,
    /// Whether it is held to be so at the end.
    pub(crate) current: bool,
}

/// Counts over one memory's facts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Score {
    pub(crate) held: usize,
    /// More than one that says the same of the same person, holds, and was heard by the same.
    pub(crate) duplicates: Vec<String>,
    /// The same, of facts that were told before several audiences and are shown once for each.
    pub(crate) shown_again: Vec<String>,
    /// Of no fact that was told.
    pub(crate) junk: Vec<String>,
    /// What holds and is held to be over.
    pub(crate) wrongly_closed: Vec<String>,
    /// What is over and is held to be so.
    pub(crate) stale: Vec<String>,
    /// What holds and is not there at all.
    pub(crate) missing: Vec<String>,
    /// How many facts hold at the end.
    pub(crate) holding: usize,
}

impl Score {
    pub(crate) fn share(part: &[String], whole: usize) -> f64 {
        if whole == 0 {
            return 0.0;
        }
        part.len() as f64 / whole as f64
    }
}

/// Case, articles and the unit of an age do not make another value.
pub(crate) fn folded(value: &str) -> String {
    let lower = value.trim().to_lowercase();
    let bare = ["a ", "an ", "the "].iter().find_map(|article| lower.strip_prefix(article)).unwrap_or(&lower);
    bare.trim_end_matches('岁').trim_end_matches(" years old").trim_end_matches("市").trim().to_owned()
}

impl Truth {
    /// Compares what a memory holds of those who talk, about what the truth speaks of, with what is true.
    pub(crate) fn score(&self, held: &[Held]) -> Score {
        let mut score = Score { held: held.len(), ..Score::default() };
        let mut counted: BTreeMap<(&str, About, String), (usize, usize)> = BTreeMap::new();
        let mut heard: BTreeMap<(&str, About, String), BTreeSet<&str>> = BTreeMap::new();
        for fact in held {
            let key = || (fact.person.as_str(), fact.about, folded(&fact.value));
            let count = counted.entry(key()).or_default();
            if fact.current {
                count.0 += 1;
                heard.entry(key()).or_default().insert(&fact.audience);
            } else {
                count.1 += 1;
            }
        }
        let told = |key: &(&str, About, String)| {
            self.told
                .iter()
                .find(|told| (told.person, told.about, folded(&told.value)) == (key.0, key.1, key.2.clone()))
        };
        for (key, &(current, over)) in &counted {
            let line = || format!("{} {:?} {}", key.0, key.1, key.2);
            let audiences = heard.get(key).map_or(0, BTreeSet::len);
            score.duplicates.extend((audiences..current).map(|_| line()));
            score.shown_again.extend((1..audiences).map(|_| line()));
            match told(key) {
                Some(told) if told.until.is_none() && current == 0 => score.wrongly_closed.push(line()),
                Some(told) if told.until.is_some() && current > 0 => score.stale.push(line()),
                Some(_) => {}
                None if current == 0 && self.was_past(key) => {}
                None => score.junk.extend((0..current + over).map(|_| line())),
            }
        }
        for told in self.told.iter().filter(|told| told.until.is_none()) {
            score.holding += 1;
            if !counted.contains_key(&(told.person, told.about, folded(&told.value))) {
                score.missing.push(format!("{} {:?} {}", told.person, told.about, told.value));
            }
        }
        score
    }

    fn was_past(&self, (person, about, value): &(&str, About, String)) -> bool {
        self.past.iter().any(|past| past.0 == *person && past.1 == *about && folded(&past.2) == *value)
    }
}
