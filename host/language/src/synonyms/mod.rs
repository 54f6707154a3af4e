//! Which names may be of one thing: written almost alike, one within the other, or near in meaning. They are candidates
//! only, for somebody to judge; names whose numbers or dates differ, and full names of two people, are none.

mod marks;

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

pub use marks::{Marks, marks};

use crate::facts::{addressed_family, is_address, is_full_name};
use crate::text::{bigram_jaccard, fold};

/// From which share of common character pairs on two names are written almost alike.
pub const ALIKE: f64 = 0.75;

/// From which nearness on two names in one writing are near in meaning: 0 is what any two names have in common, 1 the same.
/// Measured with multilingual-e5-small, as [`NEAR_ACROSS`]: 番茄 and 西红柿 have 0.54, 北京 and 上海 0.52, most others under 0.3.
pub const NEAR: f32 = 0.45;

/// The same for names in two writings, such as a Chinese name and its translation, which models take for less alike: "Uncle
/// Wang" and 王叔叔 have 0.20, "robot vacuum" and 扫地机器人 0.36, what has nothing in common under 0.15.
pub const NEAR_ACROSS: f32 = 0.15;

/// A pair of characters that so many names have says nothing about any of them.
const COMMON: usize = 200;

/// A name of something that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Of what.
    pub id: i64,
    /// The name.
    pub name: String,
    /// Whether it is a person's.
    pub person: bool,
}

/// Why two names may be of one thing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "because", content = "likeness")]
pub enum Likeness {
    /// They share this much of their character pairs.
    Spelling(f64),
    /// One is a part of the other.
    Contained,
    /// Their vectors are this near, beyond what any two names are.
    Meaning(f32),
}

/// Two things that may be one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The one with the lower id.
    pub a: i64,
    /// The other.
    pub b: i64,
    /// Their names that are alike.
    pub names: (String, String),
    /// Why.
    pub likeness: Likeness,
}

/// Whether two names can't be of one thing: their numbers or dates differ, or they are full names of two people.
#[must_use]
pub fn are_apart(a: &Named, b: &Named) -> bool {
    if marks(&a.name) != marks(&b.name) {
        return true;
    }
    if !a.person || !b.person || fold(&a.name) == fold(&b.name) {
        return false;
    }
    let families = addressed_family(&a.name).zip(addressed_family(&b.name));
    // In another writing a full name looks like another name.
    families.is_some_and(|(a, b)| a != b)
        || (is_whole_name(&a.name) && is_whole_name(&b.name) && is_han(&a.name) == is_han(&b.name))
}

/// Whether a name is written with Chinese characters.
#[must_use]
pub fn is_han(name: &str) -> bool {
    name.chars().any(|c| matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{20000}'..='\u{3134f}'))
}

/// Whether a name is a person's full one: a Chinese family name with what follows it, or two words and more.
fn is_whole_name(name: &str) -> bool {
    let is_whole =
        is_full_name(name.trim()) || (name.is_ascii() && name.split_whitespace().count() > 1) || name.contains('·');
    is_whole && !is_address(name)
}

/// Why two names may be of one thing, judging by how they are written.
#[must_use]
pub fn likeness(a: &Named, b: &Named) -> Option<Likeness> {
    if are_apart(a, b) {
        return None;
    }
    let jaccard = bigram_jaccard(&marks::without_numbers(&a.name), &marks::without_numbers(&b.name));
    if jaccard > ALIKE {
        return Some(Likeness::Spelling(jaccard));
    }
    is_part(a, b).then_some(Likeness::Contained)
}

/// Whether one name is a part of the other: whole words of it, or at least half of a Chinese one.
fn is_part(a: &Named, b: &Named) -> bool {
    let (a_name, b_name) = (fold(&a.name), fold(&b.name));
    let (short, long) =
        if a_name.chars().count() <= b_name.chars().count() { (a_name, b_name) } else { (b_name, a_name) };
    let length = short.chars().count();
    if length < 2 || short == long {
        return length >= 2;
    }
    if short.is_ascii() {
        let words: HashSet<&str> = long.split_whitespace().collect();
        return length > 2 && short.split_whitespace().all(|word| words.contains(word));
    }
    let share = length as f64 / long.chars().count() as f64;
    let person = a.person && b.person;
    long.contains(&short) && (share >= 0.6 || (person && share >= 0.5))
}

/// The pairs among names that may be of one thing, by how they are written, most alike first; at most `most`. The work
/// grows with the names that share rare pairs of characters, not with all pairs of names.
#[must_use]
pub fn candidates(names: &[Named], most: usize) -> Vec<Candidate> {
    let mut by_pair: HashMap<(char, char), Vec<usize>> = HashMap::new();
    for (at, named) in names.iter().enumerate() {
        let characters: Vec<char> =
            fold(&marks::without_numbers(&named.name)).chars().filter(|c| c.is_alphanumeric()).collect();
        let pairs: HashSet<(char, char)> =
            characters.iter().zip(characters.iter().skip(1)).map(|(a, b)| (*a, *b)).collect();
        for pair in pairs {
            by_pair.entry(pair).or_default().push(at);
        }
    }
    let marked: Vec<Marks> = names.iter().map(|named| marks(&named.name)).collect();
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for group in by_pair.values().filter(|group| group.len() <= COMMON) {
        for (position, a) in group.iter().enumerate() {
            for b in group.iter().skip(position + 1) {
                let (Some(first), Some(second)) = (names.get(*a), names.get(*b)) else { continue };
                if first.id != second.id && marked.get(*a) == marked.get(*b) && seen.insert((*a, *b)) {
                    found.extend(likeness(first, second).map(|likeness| candidate(first, second, likeness)));
                }
            }
        }
    }
    strongest(found, most)
}

/// Candidates by meaning: `near` has pairs of positions in `names` with the nearness of their vectors, which must be of one
/// model: the cosine, as a share of the way from what any two names have to 1.
#[must_use]
pub fn near_in_meaning(names: &[Named], near: &[(usize, usize, f32)]) -> Vec<Candidate> {
    let found = near.iter().filter_map(|(a, b, nearness)| {
        let (a, b) = (names.get(*a)?, names.get(*b)?);
        let least = if is_han(&a.name) == is_han(&b.name) { NEAR } else { NEAR_ACROSS };
        let is_near = a.id != b.id && *nearness >= least && !are_apart(a, b);
        is_near.then(|| candidate(a, b, Likeness::Meaning(*nearness)))
    });
    strongest(found.collect(), usize::MAX)
}

fn candidate(a: &Named, b: &Named, likeness: Likeness) -> Candidate {
    let (a, b) = if a.id <= b.id { (a, b) } else { (b, a) };
    Candidate { a: a.id, b: b.id, names: (a.name.clone(), b.name.clone()), likeness }
}

/// Each pair of things once, by its best reason.
fn strongest(mut found: Vec<Candidate>, most: usize) -> Vec<Candidate> {
    let strength = |candidate: &Candidate| match candidate.likeness {
        Likeness::Spelling(share) => share,
        Likeness::Meaning(cosine) => f64::from(cosine) * 0.9,
        Likeness::Contained => 0.5,
    };
    found.sort_by(|a, b| {
        strength(b).total_cmp(&strength(a)).then_with(|| (a.a, a.b, &a.names).cmp(&(b.a, b.b, &b.names)))
    });
    let mut seen = HashSet::new();
    found.retain(|candidate| seen.insert((candidate.a, candidate.b)));
    found.truncate(most);
    found
}

#[cfg(test)]
mod tests;
