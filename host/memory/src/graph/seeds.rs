//! Where a search in the graph begins: the entities that a text names, or is about.

use std::collections::{HashMap, HashSet};

use homeagent_language::text;
use rusqlite::params;

use super::error::Stop;
use super::show::Showing;
use super::terms;

/// How much of a text is looked at, in characters: what is asked stands in few words.
const LOOKED_AT: usize = 600;

/// Words of a name in a language with spaces, at most.
const NAME_WORDS: usize = 4;

/// Characters of a name in Chinese, at most.
const NAME_CHARACTERS: usize = 8;

/// A word that stands in more names than this says nothing about which is meant.
const COMMON: u32 = 64;

/// What a name weighs that stands in a longer one that was found too.
const WITHIN: f32 = 0.4;

/// What a word of a name weighs, and a word of a value.
const WORD: f32 = 0.5;
const VALUE: f32 = 0.4;

/// What likeness of meaning weighs.
const MEANING: f32 = 0.5;

/// Where to begin.
#[derive(Debug, Default)]
pub(super) struct Seeds {
    /// Entities that stand for what they are one with, by score.
    pub(super) entities: HashMap<i64, f32>,
    /// Relations to a value that was asked for.
    pub(super) relations: HashMap<i64, f32>,
}

impl Seeds {
    fn entity(&mut self, id: i64, score: f32) {
        let known = self.entities.entry(id).or_default();
        *known = known.max(score);
    }
}

/// A stretch of the text, as it may be a name.
struct Piece {
    from: usize,
    to: usize,
    text: String,
}

impl Showing<'_> {
    /// The entities that a text is about. `alike` are rows of names whose vectors are near the text's, with their likeness
    /// from 0 to 1.
    pub(super) fn seeds(&self, asked: &str, alike: &[(i64, f32)]) -> Result<Seeds, Stop> {
        let asked: String = asked.chars().take(LOOKED_AT).collect();
        let mut seeds = Seeds::default();
        self.by_name(&asked, &mut seeds)?;
        let words = text::query_terms(&asked);
        self.by_words(&words, &mut seeds)?;
        self.by_values(&words, &mut seeds)?;
        self.by_meaning(alike, &mut seeds)?;
        Ok(seeds)
    }

    /// Names that stand in the text; one within a longer one counts less.
    fn by_name(&self, asked: &str, seeds: &mut Seeds) -> Result<(), Stop> {
        let condition = self.seen.condition("audience");
        let sql = format!("SELECT DISTINCT entity FROM names WHERE folded = ?1 AND {condition}");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut found: Vec<(Piece, Vec<i64>)> = Vec::new();
        for piece in pieces(asked) {
            let rows = statement.query_map([&piece.text], |row| row.get(0))?;
            let entities: Vec<i64> = rows.collect::<Result<_, _>>()?;
            if !entities.is_empty() {
                found.push((piece, entities));
            }
        }
        for (piece, entities) in &found {
            let is_within = found.iter().any(|(other, _)| {
                other.from <= piece.from && piece.to <= other.to && other.to - other.from > piece.to - piece.from
            });
            for entity in entities {
                seeds.entity(self.merged.root(*entity), if is_within { WITHIN } else { 1.0 });
            }
        }
        Ok(())
    }

    /// Names in which words of the text stand, by how few names they stand in.
    fn by_words(&self, words: &[String], seeds: &mut Seeds) -> Result<(), Stop> {
        let sql = format!(
            "SELECT entity FROM name_terms JOIN names ON names.id = name WHERE term = ?1 AND {} LIMIT ?2",
            self.seen.condition("audience")
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut scores: HashMap<i64, f32> = HashMap::new();
        for word in words.iter().filter(|word| !terms::is_slight(word)) {
            let rows = statement.query_map(params![word, COMMON + 1], |row| row.get::<_, i64>(0))?;
            let entities: HashSet<i64> =
                rows.map(|row| row.map(|id| self.merged.root(id))).collect::<Result<_, _>>()?;
            if entities.len() <= COMMON as usize {
                let weight = WORD / (1.0 + (entities.len() as f32).ln());
                entities.into_iter().for_each(|entity| *scores.entry(entity).or_default() += weight);
            }
        }
        scores.into_iter().for_each(|(entity, score)| seeds.entity(entity, score.min(0.9)));
        Ok(())
    }

    /// Relations to values in which words of the text stand, and what they are of.
    fn by_values(&self, words: &[String], seeds: &mut Seeds) -> Result<(), Stop> {
        let sql = format!(
            "SELECT relations.id, subject FROM literal_terms JOIN relations ON relations.id = relation
             WHERE term = ?1 AND retracted_at IS NULL AND {} LIMIT ?2",
            self.seen.condition("audience")
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        for word in words.iter().filter(|word| !terms::is_slight(word)) {
            let rows = statement.query_map(params![word, COMMON + 1], |row| Ok((row.get(0)?, row.get(1)?)))?;
            let found: Vec<(i64, i64)> = rows.collect::<Result<_, _>>()?;
            if found.len() > COMMON as usize {
                continue;
            }
            let weight = VALUE / (1.0 + (found.len() as f32).ln());
            for (relation, subject) in found {
                *seeds.relations.entry(relation).or_default() += weight;
                seeds.entity(self.merged.root(subject), weight);
            }
        }
        Ok(())
    }

    fn by_meaning(&self, alike: &[(i64, f32)], seeds: &mut Seeds) -> Result<(), Stop> {
        let sql = format!("SELECT entity FROM names WHERE id = ?1 AND {}", self.seen.condition("audience"));
        let mut statement = self.connection.prepare_cached(&sql)?;
        for (name, likeness) in alike {
            let rows = statement.query_map([name], |row| row.get::<_, i64>(0))?;
            for entity in rows {
                seeds.entity(self.merged.root(entity?), likeness.clamp(0.0, 1.0) * MEANING);
            }
        }
        Ok(())
    }
}

/// All stretches of a text that may be names: of neighbouring words, and of neighbouring characters in Chinese, where no
/// dictionary knows what people are called.
fn pieces(asked: &str) -> Vec<Piece> {
    let folded = text::fold(asked);
    let spans = spans(&folded);
    let mut seen = HashSet::new();
    let mut pieces = Vec::new();
    for (first, (from, _, is_word)) in spans.iter().enumerate() {
        let longest = if *is_word { NAME_WORDS } else { NAME_CHARACTERS };
        for (from_last, to, last_is_word) in spans.iter().skip(first).take(longest) {
            let Some(text) = folded.get(*from..*to).map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
            else {
                continue;
            };
            let is_empty_word = from_last == from && *last_is_word && text::is_stop_word(&text);
            if !is_empty_word && seen.insert(text.clone()) {
                pieces.push(Piece { from: *from, to: *to, text });
            }
        }
    }
    pieces
}

/// The parts of a text that a name may begin or end with: runs of letters and digits, and each character of a script
/// without spaces. (from, to, whether it is such a run)
fn spans(folded: &str) -> Vec<(usize, usize, bool)> {
    let mut spans: Vec<(usize, usize, bool)> = Vec::new();
    for (at, c) in folded.char_indices() {
        let to = at + c.len_utf8();
        let is_word = c.is_alphanumeric() && !is_solid(c);
        match spans.last_mut() {
            Some((_, end, true)) if is_word && *end == at => *end = to,
            _ if c.is_whitespace() || c.is_ascii_punctuation() => {}
            _ => spans.push((at, to, is_word)),
        }
    }
    spans
}

/// Whether a character is of a script that puts no spaces between words.
fn is_solid(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{20000}'..='\u{3134f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(asked: &str) -> Vec<String> {
        pieces(asked).into_iter().map(|piece| piece.text).collect()
    }

    #[test]
    fn names_are_looked_for_in_every_stretch() {
        assert_eq!(
            texts("Is Ann Lee in?"),
            ["is ann", "is ann lee", "is ann lee in", "ann", "ann lee", "ann lee in", "lee", "lee in"]
        );
        assert!(texts("给小明打电话").contains(&"小明".to_owned()));
        assert!(texts("🐱和A1").contains(&"🐱".to_owned()));
        assert!(texts("").is_empty());
    }
}
