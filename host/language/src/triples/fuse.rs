//! The same said twice is one statement.

use std::collections::HashMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::Triple;
use crate::text::fold;

/// A statement with all the places where it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fused {
    /// As it was said first.
    pub triple: Triple,
    /// Every sentence in which it stands, in order: bytes of the text.
    pub spans: Vec<Range<usize>>,
}

/// Joins triples that say the same, whatever the case, width and articles they are written with.
pub fn fuse(triples: impl IntoIterator<Item = Triple>) -> Vec<Fused> {
    let mut fused: Vec<Fused> = Vec::new();
    let mut known: HashMap<(String, String, String, bool), usize> = HashMap::new();
    for triple in triples {
        let key = (plain(&triple.subject), plain(&triple.predicate), plain(&triple.object), triple.negated);
        match known.get(&key).and_then(|at| fused.get_mut(*at)) {
            Some(same) => {
                if !same.spans.contains(&triple.span) {
                    same.spans.push(triple.span);
                }
            }
            None => {
                known.insert(key, fused.len());
                fused.push(Fused { spans: vec![triple.span.clone()], triple });
            }
        }
    }
    fused
}

fn plain(text: &str) -> String {
    let folded = fold(text);
    let folded = folded.trim();
    let bare = ["the ", "a ", "an "].iter().find_map(|article| folded.strip_prefix(article));
    bare.unwrap_or(folded).to_owned()
}
