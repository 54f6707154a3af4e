//! The registry's memory: what is declared, what is stored, and what follows from both.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::Entry;
use super::declaration::Declaration;
use super::kind::Kind;

/// How much of a refused value an error shows, in characters.
const SHOWN: usize = 80;

pub(super) struct State {
    /// What the table holds, as text, also for keys nobody declares at the moment.
    stored: HashMap<String, String>,
    entries: BTreeMap<String, Entry>,
}

impl State {
    pub(super) fn new(stored: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { stored: stored.into_iter().collect(), entries: BTreeMap::new() }
    }

    pub(super) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.get(key)
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// Those whose keys begin with `prefix`.
    pub(super) fn entries_under(&self, prefix: &str) -> impl Iterator<Item = &Entry> {
        self.entries().filter(move |entry| entry.declaration.key.starts_with(prefix))
    }

    pub(super) fn is_stored(&self, key: &str) -> bool {
        self.stored.contains_key(key)
    }

    pub(super) fn declare(&mut self, declaration: Declaration) {
        let entry = resolve(declaration, &self.stored);
        self.entries.insert(entry.declaration.key.clone(), entry);
    }

    /// Puts `declarations` in place of everything declared under `prefix`; returns the keys whose value changed.
    pub(super) fn replace(&mut self, prefix: &str, declarations: Vec<Declaration>) -> Vec<String> {
        let under = |key: &String| key.starts_with(prefix);
        let old: BTreeMap<String, Entry> = self.entries.extract_if(.., |key, _| under(key)).collect();
        for declaration in declarations {
            self.declare(declaration);
        }
        let now: Vec<&String> = self.entries.keys().filter(|key| under(key)).collect();
        let mut changed: Vec<String> = old.keys().chain(now).cloned().collect();
        changed.sort();
        changed.dedup();
        changed.retain(|key| old.get(key).map(|entry| &entry.value) != self.entry(key).map(|entry| &entry.value));
        changed
    }

    /// Takes over what the table now holds for `key`; returns the key if its value changed.
    pub(super) fn store(&mut self, key: &str, text: Option<String>) -> Vec<String> {
        match text {
            Some(text) => self.stored.insert(key.to_owned(), text),
            None => self.stored.remove(key),
        };
        let Some(entry) = self.entries.get_mut(key) else {
            return Vec::new();
        };
        let before = entry.value.clone();
        *entry = resolve(entry.declaration.clone(), &self.stored);
        if entry.value == before { Vec::new() } else { vec![key.to_owned()] }
    }

    /// The declared key that looks most like `key`: one it is the end of, else the one with the fewest typing errors
    /// between them, if they are few.
    pub(super) fn nearest(&self, key: &str) -> Option<String> {
        let ending = format!(".{key}");
        if let Some(whole) = self.entries.keys().find(|known| known.ends_with(&ending)) {
            return Some(whole.clone());
        }
        nearest(key, self.entries.keys().map(String::as_str)).map(str::to_owned)
    }
}

/// The known name with the fewest typing errors between it and `name`, if they are few.
#[must_use]
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let far = (name.chars().count() / 3).max(2);
    let distances = known.into_iter().map(|known| (strsim::damerau_levenshtein(known, name), known));
    distances.min().filter(|(distance, _)| *distance <= far).map(|(_, known)| known)
}

fn resolve(declaration: Declaration, stored: &HashMap<String, String>) -> Entry {
    let fallback = |problem| Entry {
        value: declaration.default.clone(),
        is_default: true,
        declaration: declaration.clone(),
        problem,
    };
    // A secret's row would hold its text in clear: there is none, and if there is it is not used.
    let text = match (&declaration.kind, stored.get(&declaration.key)) {
        (_, None) => return fallback(None),
        (Kind::Secret, Some(_)) => {
            return fallback(Some("a value from before this was a secret is stored; set it again".to_owned()));
        }
        (_, Some(text)) => text,
    };
    match serde_json::from_str::<Value>(text) {
        Ok(value) if declaration.kind.accepts(&value) => Entry { value, is_default: false, declaration, problem: None },
        Ok(value) => {
            let allowed = declaration.kind.allowed();
            fallback(Some(format!("the stored value {} is not allowed, but {allowed} is", shorten(value.to_string()))))
        }
        Err(_) => fallback(Some(format!("the stored value is no JSON: {}", shorten(text.clone())))),
    }
}

/// The beginning of a value, for an error.
pub(super) fn shorten(value: String) -> String {
    match value.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value,
    }
}
