//! Shares of evidence found.

use std::collections::{BTreeMap, BTreeSet};

use crate::dataset::Question;

/// Recall is measured at these depths.
const DEPTHS: [usize; 5] = [1, 5, 10, 20, 50];

/// The deepest of them.
pub(crate) const DEPTH: usize = 50;

/// The conversations that the weights were found on.
const TUNED: usize = 3;

/// How one question was answered.
pub(crate) struct Answer {
    pub(crate) conversation: usize,
    pub(crate) category: u8,
    turns: [f64; DEPTHS.len()],
    sessions: [f64; DEPTHS.len()],
    whole: bool,
}

/// All answers.
#[derive(Default)]
pub(crate) struct Figures {
    answers: Vec<Answer>,
}

/// Means over some answers.
pub(crate) struct Means {
    questions: usize,
    turns: [f64; DEPTHS.len()],
    sessions: [f64; DEPTHS.len()],
    whole: f64,
}

impl Figures {
    pub(crate) fn add(&mut self, conversation: usize, question: &Question, found: &[String]) {
        let session = |id: &str| id.split(':').next().unwrap_or_default().to_owned();
        let evidence: BTreeSet<&str> = question.evidence.iter().map(String::as_str).collect();
        let sessions: BTreeSet<String> = evidence.iter().map(|id| session(id)).collect();
        let share = |depth: usize| {
            let hit: BTreeSet<&str> = found.iter().take(depth).map(String::as_str).collect();
            evidence.intersection(&hit).count() as f64 / evidence.len() as f64
        };
        let session_share = |depth: usize| {
            let hit: BTreeSet<String> = found.iter().take(depth).map(|id| session(id)).collect();
            sessions.intersection(&hit).count() as f64 / sessions.len() as f64
        };
        let turns = DEPTHS.map(share);
        let whole = share(10) >= 1.0;
        self.answers.push(Answer {
            conversation,
            category: question.category,
            turns,
            sessions: DEPTHS.map(session_share),
            whole,
        });
    }

    pub(crate) fn of(&self, chosen: impl Fn(&Answer) -> bool) -> Means {
        let chosen: Vec<&Answer> = self.answers.iter().filter(|answer| chosen(answer)).collect();
        let count = chosen.len().max(1) as f64;
        let mean = |values: &dyn Fn(&Answer) -> [f64; DEPTHS.len()]| {
            let mut sums = [0.0; DEPTHS.len()];
            for answer in &chosen {
                sums.iter_mut().zip(values(answer)).for_each(|(sum, value)| *sum += value);
            }
            sums.map(|sum| 100.0 * sum / count)
        };
        let whole = chosen.iter().filter(|answer| answer.whole).count() as f64;
        Means {
            questions: chosen.len(),
            turns: mean(&|answer| answer.turns),
            sessions: mean(&|answer| answer.sessions),
            whole: 100.0 * whole / count,
        }
    }

    pub(crate) fn print(&self) {
        println!("recall of evidence turns, in per cent, among the first k");
        header();
        let categories = BTreeMap::from([
            (1, "multi-hop"),
            (2, "temporal"),
            (3, "open-domain"),
            (4, "single-hop"),
            (5, "adversarial"),
        ]);
        for (category, name) in categories {
            self.of(|answer| answer.category == category).print(name);
        }
        self.of(|answer| answer.conversation < TUNED).print("conversations 1-3 (tuned on)");
        self.of(|answer| answer.conversation >= TUNED).print("conversations 4-10");
        let all = self.of(|_| true);
        all.print("all");
        println!("\nrecall of evidence sessions");
        header();
        Means { turns: all.sessions, ..self.of(|_| true) }.print("all");
        println!("\nquestions with all their evidence among the first 10: {:.1}\n", all.whole);
        let figures = DEPTHS.iter().zip(all.turns).map(|(depth, share)| format!("recall@{depth} {share:.1}"));
        println!("{}", figures.collect::<Vec<_>>().join(" "));
    }
}

impl Means {
    /// Recall at a depth that is measured.
    pub(crate) fn at(&self, depth: usize) -> f64 {
        DEPTHS.iter().zip(self.turns).find(|(measured, _)| **measured == depth).map_or(f64::NAN, |(_, share)| share)
    }

    fn print(&self, name: &str) {
        let shares: Vec<String> = self.turns.iter().map(|share| format!("{share:>7.1}")).collect();
        println!("{name:<30}{:>6}{}", self.questions, shares.concat());
    }
}

fn header() {
    let depths: Vec<String> = DEPTHS.iter().map(|depth| format!("{:>7}", format!("@{depth}"))).collect();
    println!("{:<30}{:>6}{}", "", "n", depths.concat());
}
