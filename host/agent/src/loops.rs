//! Whether a turn goes round in circles.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use homeagent_types::ToolCall;

use crate::config::Limits;
use crate::schema::canonical;

/// How much of a failure's text tells it from others, in characters.
const TELLING: usize = 400;

/// What the tools of a turn were called with and answered. It is kept for the whole turn: neither other calls in between
/// nor an interrupt make it forget.
#[derive(Debug, Default)]
pub(crate) struct Loops {
    /// The last call in one spelling, and how often it came in a row.
    last: (String, u32),
    /// For each call in one spelling, what tells its last answer from others, and how often it gave that.
    answers: HashMap<String, (u64, u32)>,
    hasher: RandomState,
    /// How often each tool failed in each way.
    failures: HashMap<(String, String), u32>,
}

/// Why a turn is stopped: words for people, and a short name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Circle {
    pub(crate) reason: String,
    pub(crate) finish: &'static str,
}

impl Loops {
    /// Why these calls must not run, if they would only go on as before.
    pub(crate) fn check(&mut self, calls: &[ToolCall], limits: &Limits) -> Option<Circle> {
        let most = limits.identical_calls;
        let identical = |reason| Some(Circle { reason, finish: "identical-calls" });
        for call in calls {
            let name = &call.name;
            let this = spelling(call);
            if self.last.0 == this {
                self.last.1 += 1;
            } else {
                self.last = (this, 1);
            }
            if self.last.1 > most {
                return identical(format!("{name} was called {most} times in a row with the same arguments"));
            }
            if let Some((_, times)) = self.answers.get(&self.last.0).filter(|(_, times)| *times > most) {
                return identical(format!(
                    "{name} was called {times} times with the same arguments, to the same result"
                ));
            }
            if let Some(reason) = self.fails(name, limits) {
                return Some(Circle { reason, finish: "identical-errors" });
            }
        }
        None
    }

    /// Why a tool is not to be tried any more, if it only fails.
    pub(crate) fn fails(&self, name: &str, limits: &Limits) -> Option<String> {
        let most = limits.identical_calls.saturating_mul(2);
        let failed = self.failures.iter().find(|((tool, _), times)| tool == name && **times >= most);
        failed.map(|(_, times)| format!("{name} failed {times} times in the same way"))
    }

    /// Keeps in mind what a call came to.
    pub(crate) fn came_to(&mut self, call: &ToolCall, text: &str, failed: bool) {
        let answer = self.hasher.hash_one(text);
        let known = self.answers.entry(spelling(call)).or_default();
        *known = if known.0 == answer { (answer, known.1 + 1) } else { (answer, 1) };
        if failed {
            *self.failures.entry((call.name.clone(), without_names(text))).or_default() += 1;
        }
    }
}

fn spelling(call: &ToolCall) -> String {
    format!("{} {}", call.name, canonical(&call.arguments))
}

/// A failure's text without what differs from call to call though the failure is the same: numbers, ids, and what is quoted.
fn without_names(text: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let words = text.split_inclusive(|c| !is_part(c));
    let plain: String = words.filter(|word| !word.contains(|c: char| c.is_ascii_digit())).collect();
    plain.chars().take(TELLING).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_the_same_whatever_id_they_name() {
        let one = without_names("error: there is no light light_17 (request 8f3a-11)");
        assert_eq!(one, without_names("error: there is no light light_18 (request 0c2b-12)"));
        assert_ne!(one, without_names("error: the light is broken"));
    }
}
