//! How much of what answers a question is among the first that were found.

use std::collections::BTreeMap;

use crate::corpus::Question;

/// The places that are looked at.
pub(crate) const AT: [usize; 3] = [1, 5, 10];

/// Recall over questions, whole and by their kind.
#[derive(Default)]
pub(crate) struct Tally {
    sums: [f64; 3],
    questions: usize,
    by_kind: BTreeMap<String, ([f64; 3], usize)>,
    /// Questions of whose evidence nothing was among the first five.
    pub(crate) missed: Vec<String>,
}

impl Tally {
    /// Counts one question. A question's recall at a place: those of its evidence up to there, over all of its evidence.
    pub(crate) fn count(&mut self, question: &Question, ranked: &[usize]) {
        let found = |at: usize| {
            let found = question.evidence.iter().filter(|evidence| ranked.iter().take(at).any(|hit| hit == *evidence));
            found.count() as f64 / question.evidence.len() as f64
        };
        let kind = self.by_kind.entry(question.kind.clone()).or_default();
        kind.1 += 1;
        self.questions += 1;
        for (nth, at) in AT.into_iter().enumerate() {
            self.sums[nth] += found(at);
            kind.0[nth] += found(at);
        }
        if found(AT[1]) == 0.0 {
            self.missed.push(question.id.clone());
        }
    }

    /// Recall at each place, in percent.
    pub(crate) fn recall(&self) -> [f64; 3] {
        self.sums.map(|sum| 100.0 * sum / self.questions as f64)
    }

    /// Kind, recall at each place, number of questions.
    pub(crate) fn by_kind(&self) -> impl Iterator<Item = (&str, [f64; 3], usize)> {
        let share = |sums: [f64; 3], of: usize| sums.map(|sum| 100.0 * sum / of as f64);
        self.by_kind.iter().map(move |(kind, (sums, of))| (kind.as_str(), share(*sums, *of), *of))
    }
}
