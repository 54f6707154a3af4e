//! Triples read off a tree. It only looks at the relations of Universal Dependencies, and so works with any parser.

use std::sync::LazyLock;

use regex::Regex;

use super::Triple;
use crate::parse::{Language, Parsed, Token, Upos};

/// What a tree states, in the order of its predicates. The spans are those of the whole sentence.
#[must_use]
pub fn extract(parsed: &Parsed, sentence: &str) -> Vec<Triple> {
    let reader = Reader::new(parsed, sentence);
    let mut triples = Vec::new();
    for at in 0..parsed.tokens.len() {
        if reader.is_predicate(at) {
            reader.read(at, &mut triples);
        }
        reader.apposition(at, &mut triples);
    }
    triples
}

struct Reader<'a> {
    parsed: &'a Parsed,
    sentence: &'a str,
    children: Vec<Vec<usize>>,
}

/// What is left out of the words of a subject or an object: statements of their own.
const APART: &[&str] = &[
    "acl",
    "acl:relcl",
    "appos",
    "conj",
    "cc",
    "punct",
    "advcl",
    "ccomp",
    "parataxis",
    "dep",
    "cop",
    "nsubj",
    "aux",
    "mark",
    "obl",
    "obj",
    "xcomp",
];

impl<'a> Reader<'a> {
    fn new(parsed: &'a Parsed, sentence: &'a str) -> Self {
        let mut children = vec![Vec::new(); parsed.tokens.len()];
        for (at, token) in parsed.tokens.iter().enumerate() {
            if let Some(own) = token.head.and_then(|head| children.get_mut(head)) {
                own.push(at);
            }
        }
        Self { parsed, sentence, children }
    }

    fn token(&self, at: usize) -> Option<&Token> {
        self.parsed.tokens.get(at)
    }

    fn all(&self, at: usize, deprel: &'a str) -> impl Iterator<Item = usize> + '_ {
        let own = self.children.get(at).into_iter().flatten().copied();
        own.filter(move |child| self.token(*child).is_some_and(|token| token.deprel == deprel))
    }

    fn first(&self, at: usize, deprels: &[&'a str]) -> Option<usize> {
        deprels.iter().find_map(|deprel| self.all(at, deprel).next())
    }

    fn is_predicate(&self, at: usize) -> bool {
        self.token(at).is_some_and(|token| token.upos == Upos::Verb)
            || self.first(at, &["cop"]).is_some()
            || (self.parsed.language == Language::Chinese
                && self.token(at).is_some_and(|token| token.upos == Upos::Adj)
                && self.first(at, &["nsubj"]).is_some())
    }

    /// The subject of a predicate: its own, that of the predicate it goes on from, or the noun it describes.
    fn subject(&self, at: usize) -> Option<usize> {
        let mut at = at;
        for _ in 0..8 {
            let own = self.first(at, &["nsubj", "nsubj:pass"]);
            let token = self.token(at)?;
            let relative = own
                .and_then(|own| self.token(own))
                .is_some_and(|own| matches!(own.text.to_lowercase().as_str(), "who" | "which" | "that"));
            match (own, token.deprel.as_str()) {
                (Some(own), _) if !relative => return Some(own),
                (_, "acl" | "acl:relcl") => return token.head,
                (_, "conj" | "xcomp" | "advcl") => at = token.head?,
                _ => return None,
            }
        }
        None
    }

    fn read(&self, at: usize, triples: &mut Vec<Triple>) {
        let Some(subject) = self.subject(at) else { return };
        let setting = self.setting(at);
        let subjects = self.listed(subject);
        let mut state = |predicate: String, object: usize| {
            for subject in &subjects {
                let named = self.is_named(*subject);
                for object in self.listed(object) {
                    let (subject, object) = (self.phrase(*subject), self.phrase(object));
                    let subject = without_time(&subject).to_owned();
                    let usable =
                        !predicate.is_empty() && !subject.is_empty() && !object.is_empty() && subject != object;
                    if usable {
                        triples.push(Triple {
                            subject,
                            predicate: predicate.clone(),
                            object,
                            named,
                            ..setting.clone()
                        });
                    }
                }
            }
        };
        if let Some(copula) = self.first(at, &["cop"]) {
            let verb = self.token(copula).map(|token| token.text.clone()).unwrap_or_default();
            state(verb.clone(), at);
            for oblique in self.all(at, "obl") {
                state(self.spaced(&[&verb, &self.phrase(at), &self.case(oblique)]), oblique);
            }
            return;
        }
        let verb = self.verb(at);
        let mut has_object = false;
        for object in self.all(at, "obj") {
            has_object = true;
            state(verb.clone(), object);
        }
        for oblique in ["obl", "obl:agent"].into_iter().flat_map(|deprel| self.all(at, deprel)) {
            let case = self.case(oblique);
            let object = self
                .first(at, &["obj"])
                .map(|object| self.phrase(object))
                .filter(|_| self.parsed.language == Language::English);
            state(self.spaced(&[&verb, object.as_deref().unwrap_or_default(), &case]), oblique);
        }
        if self.parsed.language == Language::Chinese
            && !has_object
            && self.token(at).is_some_and(|token| token.upos == Upos::Adj)
        {
            state("是".to_owned(), at);
        }
    }

    /// Whether a subject is whoever speaks, or somebody or something by name.
    fn is_named(&self, at: usize) -> bool {
        self.token(at).is_some_and(|token| token.upos == Upos::Propn || matches!(token.text.as_str(), "I" | "我"))
    }

    /// "Bush, the president": the one is the other.
    fn apposition(&self, at: usize, triples: &mut Vec<Triple>) {
        for other in self.all(at, "appos") {
            let (subject, object) = (self.phrase(at), self.phrase(other));
            let verb = if self.parsed.language == Language::Chinese { "是" } else { "is" };
            if !subject.is_empty() && !object.is_empty() {
                triples.push(Triple {
                    subject,
                    predicate: verb.to_owned(),
                    object,
                    named: self.is_named(at),
                    ..self.plain()
                });
            }
        }
    }

    fn plain(&self) -> Triple {
        Triple {
            subject: String::new(),
            predicate: String::new(),
            object: String::new(),
            negated: false,
            past: false,
            modal: false,
            named: false,
            reported: false,
            span: 0..self.sentence.len(),
        }
    }

    /// Whether a predicate is denied, past, only possible, or somebody's words.
    fn setting(&self, at: usize) -> Triple {
        const MODAL: &[&str] = &[
            "can", "could", "may", "might", "should", "would", "must", "will", "shall", "'ll", "'d", "能", "会",
            "可以", "可能", "应该", "要", "必须", "愿意",
        ];
        const SAYING: &[&str] = &[
            "say", "says", "said", "told", "think", "thinks", "thought", "believe", "believes", "believed", "claim",
            "claims", "claimed", "report", "reported", "说", "认为", "觉得", "表示", "以为", "告诉",
        ];
        let words = |at: usize| {
            self.children
                .get(at)
                .into_iter()
                .flatten()
                .filter_map(|child| self.token(*child))
                .map(|token| (token.text.to_lowercase(), token.deprel.as_str()))
        };
        let copula = self.first(at, &["cop"]);
        let around: Vec<(String, &str)> = words(at).chain(copula.into_iter().flat_map(words)).collect();
        let negated = around.iter().any(|(word, deprel)| {
            *deprel == "advmod"
                && matches!(word.as_str(), "not" | "n't" | "n’t" | "never" | "不" | "没" | "没有" | "未" | "别")
        });
        let modal = around.iter().any(|(word, deprel)| *deprel == "aux" && MODAL.contains(&word.as_str()));
        let verb = copula
            .or(Some(at))
            .and_then(|at| self.token(at))
            .map(|token| token.text.to_lowercase())
            .unwrap_or_default();
        let helper_past = around.iter().any(|(word, deprel)| {
            matches!(*deprel, "aux" | "advmod")
                && matches!(word.as_str(), "was" | "were" | "had" | "did" | "过" | "曾" | "曾经" | "以前")
        });
        let past = helper_past
            || matches!(verb.as_str(), "was" | "were")
            || (verb.ends_with("ed")
                && !around.iter().any(|(word, _)| matches!(word.as_str(), "is" | "are" | "has" | "have")));
        let above = self
            .token(at)
            .filter(|token| matches!(token.deprel.as_str(), "ccomp" | "parataxis"))
            .and_then(|token| token.head)
            .and_then(|head| self.token(head));
        let reported = above.is_some_and(|verb| SAYING.contains(&verb.text.to_lowercase().as_str()));
        Triple { negated, modal, past, reported, ..self.plain() }
    }

    /// A verb with what makes it passive and, behind another verb, with that one: "was built", "wants to buy".
    fn verb(&self, at: usize) -> String {
        let mut words: Vec<usize> = self
            .all(at, "aux")
            .filter(|auxiliary| {
                self.token(*auxiliary)
                    .is_some_and(|token| !matches!(token.text.as_str(), "了" | "过" | "着" | "do" | "does" | "did"))
            })
            .collect();
        words.extend(self.all(at, "compound"));
        words.push(at);
        let mut before = String::new();
        if let Some(token) = self.token(at).filter(|token| token.deprel == "xcomp") {
            words.extend(self.all(at, "mark"));
            words.extend(
                (0..at).filter(|mark| *mark + 1 == at && self.token(*mark).is_some_and(|token| token.text == "to")),
            );
            before = token.head.map(|head| self.verb(head)).unwrap_or_default();
        }
        words.sort_unstable();
        words.dedup();
        let own = self.joined(&words);
        self.spaced(&[&before, &own])
    }

    fn case(&self, at: usize) -> String {
        self.first(at, &["case"])
            .and_then(|case| self.token(case))
            .map(|token| token.text.to_lowercase())
            .unwrap_or_default()
    }

    /// A word and those that are said in one list with it.
    fn listed(&self, at: usize) -> Vec<usize> {
        let others = self
            .all(at, "conj")
            .filter(|other| self.token(*other).is_some_and(|token| token.upos.is_nominal() || token.upos == Upos::Adj));
        std::iter::once(at).chain(others.filter(|other| self.first(*other, &["nsubj", "cop"]).is_none())).collect()
    }

    /// The words of a subject or an object.
    fn phrase(&self, at: usize) -> String {
        let mut words = vec![at];
        let mut open = vec![at];
        while let Some(next) = open.pop() {
            for child in self.children.get(next).into_iter().flatten() {
                let Some(token) = self.token(*child) else { continue };
                let own_case =
                    token.deprel == "case" && next == at && !matches!(token.text.as_str(), "'s" | "的" | "’s");
                let adverb = token.deprel == "advmod"
                    && next == at
                    && self.token(at).is_some_and(|token| token.upos == Upos::Adj)
                    && matches!(token.text.to_lowercase().as_str(), "not" | "n't" | "n’t" | "不");
                if !APART.contains(&token.deprel.as_str()) && !own_case && !adverb && token.upos != Upos::Punct {
                    words.push(*child);
                    open.push(*child);
                }
            }
        }
        words.sort_unstable();
        self.joined(&words)
    }

    /// Words as they are written, with what stands between them where nothing else does.
    fn joined(&self, words: &[usize]) -> String {
        let mut text = String::new();
        let mut end = None;
        for token in words.iter().filter_map(|at| self.token(*at)) {
            let between = end.and_then(|end| self.sentence.get(end..token.span.start)).unwrap_or_default();
            let gap = if between.trim().is_empty() {
                between
            } else if self.parsed.language == Language::Chinese {
                ""
            } else {
                " "
            };
            text.push_str(if end.is_some() { gap } else { "" });
            text.push_str(&token.text);
            end = Some(token.span.end);
        }
        text
    }

    fn spaced(&self, parts: &[&str]) -> String {
        let parts: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
        parts.join(if self.parsed.language == Language::Chinese { "" } else { " " })
    }
}

/// A subject without the time that stands before it: a parser by rules takes "last summer" and the name behind it for one
/// phrase, since no comma parts them.
fn without_time(subject: &str) -> &str {
    static TIME: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?i)^(?:yesterday|today|tomorrow|tonight|(?:last|next|this|every|each)\s+",
            r"(?:day|night|morning|afternoon|evening|week|weekend|month|year|spring|summer|autumn|fall|winter|",
            r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|",
            r"september|october|november|december))\s+(\S.*)$",
        ))
        .expect("a pattern that is part of the program")
    });
    TIME.captures(subject).and_then(|found| found.get(1)).map_or(subject, |rest| rest.as_str())
}
