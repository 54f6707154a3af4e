//! Which exchanges stay in a window.

use serde::{Deserialize, Serialize};

/// How many of the last events always stay.
pub const PROTECTED: usize = 10;

/// An exchange as the choice sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Its events: what a person said is one, all that the agent did and said in answer is another.
    pub events: usize,
    /// Its messages.
    pub messages: usize,
    /// How much it bears on what is being said; greater is more.
    pub relevance: f64,
}

/// How much may stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Events.
    pub events: usize,
    /// Messages.
    pub messages: usize,
    /// So many of the last events stay whatever their relevance, as long as their messages have room.
    pub protected: usize,
}

impl Budget {
    /// What is left of a window in which there may be so many events and messages: three quarters of each, so that it is
    /// pruned in batches, what precedes stays the same from turn to turn, and vendors' caches hit.
    #[must_use]
    pub fn below(most_events: usize, most_messages: usize) -> Self {
        let batch = |most: usize| (most - most / 4).max(1);
        Self { events: batch(most_events).max(PROTECTED), messages: batch(most_messages), protected: PROTECTED }
    }

    /// What is left where a model found so many messages too long: half of them. The newest have half of that room, as far
    /// as whole exchanges go.
    #[must_use]
    pub fn half_of(messages: usize) -> Self {
        let half = (messages / 2).max(1);
        Self { events: usize::MAX, messages: half, protected: (half / 2).max(2) }
    }
}

/// What became of an exchange, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It stays: it is going on.
    Current,
    /// It stays: it is among the last.
    Recent,
    /// It stays: there was room for it, the most relevant first.
    Relevant,
    /// It goes: more relevant ones took the room.
    LessRelevant,
    /// It goes: it alone has more messages than there was room for.
    TooLong,
}

impl Verdict {
    /// Whether it stays.
    #[must_use]
    pub fn stays(self) -> bool {
        matches!(self, Self::Current | Self::Recent | Self::Relevant)
    }
}

/// Chooses among exchanges in the order of their time. The last one always stays; of two that are as relevant, the newer
/// one does.
#[must_use]
pub fn choose(candidates: &[Candidate], budget: Budget) -> Vec<Verdict> {
    let mut verdicts = vec![Verdict::LessRelevant; candidates.len()];
    let Some((current, before)) = candidates.split_last() else { return verdicts };
    let (mut events, mut messages) = (current.events, current.messages);
    if let Some(last) = verdicts.last_mut() {
        *last = Verdict::Current;
    }
    let mut older = before.len();
    while let Some(at) = older.checked_sub(1) {
        let candidate = &before[at];
        // Whole exchanges: the one in which the last protected event lies stays too.
        if events >= budget.protected || messages + candidate.messages > budget.messages {
            break;
        }
        verdicts[at] = Verdict::Recent;
        events += candidate.events;
        messages += candidate.messages;
        older = at;
    }
    let mut rest: Vec<usize> = (0..older).collect();
    rest.sort_by(|a, b| before[*b].relevance.total_cmp(&before[*a].relevance).then(b.cmp(a)));
    for at in rest {
        let candidate = &before[at];
        if messages + candidate.messages > budget.messages {
            let alone = current.messages + candidate.messages > budget.messages;
            verdicts[at] = if alone { Verdict::TooLong } else { Verdict::LessRelevant };
        } else if events + candidate.events <= budget.events {
            verdicts[at] = Verdict::Relevant;
            events += candidate.events;
            messages += candidate.messages;
        }
    }
    verdicts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plain(relevance: f64) -> Candidate {
        Candidate { events: 2, messages: 2, relevance }
    }

    #[test]
    fn the_last_ten_events_stay_and_the_most_relevant_of_the_rest() {
        let relevances = [0.1, 0.9, 0.2, 0.8, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let candidates: Vec<Candidate> = relevances.into_iter().map(plain).collect();
        let verdicts = choose(&candidates, Budget { events: 14, messages: 100, protected: 10 });
        use Verdict::{Current, LessRelevant, Recent, Relevant};
        let expected =
            [LessRelevant, Relevant, LessRelevant, Relevant, LessRelevant, Recent, Recent, Recent, Recent, Current];
        assert_eq!(verdicts, expected);
    }

    #[test]
    fn what_is_too_long_makes_room_for_shorter_ones() {
        let long = Candidate { events: 2, messages: 50, relevance: 1.0 };
        let candidates = [plain(0.5), long, plain(0.4), plain(0.0)];
        let verdicts = choose(&candidates, Budget { events: 20, messages: 10, protected: 0 });
        assert_eq!(verdicts, [Verdict::Relevant, Verdict::TooLong, Verdict::Relevant, Verdict::Current]);
    }

    proptest! {
        #[test]
        fn what_stays_fits_and_is_never_without_the_last(
            sizes in prop::collection::vec((1usize..3, 1usize..40, -1.0f64..1.0), 1..80),
            events in 1usize..60,
            messages in 1usize..300,
        ) {
            let candidates: Vec<Candidate> =
                sizes.into_iter().map(|(events, messages, relevance)| Candidate { events, messages, relevance }).collect();
            let budget = Budget { events, messages, protected: PROTECTED };
            let verdicts = choose(&candidates, budget);
            let kept = || candidates.iter().zip(&verdicts).filter(|(_, verdict)| verdict.stays());
            prop_assert!(verdicts.last() == Some(&Verdict::Current));
            let current = candidates.last().map_or(0, |last| last.messages);
            prop_assert!(kept().map(|(one, _)| one.messages).sum::<usize>() <= messages.max(current));
            prop_assert!(kept().map(|(one, _)| one.events).sum::<usize>() <= events.max(PROTECTED + 1));
        }
    }
}
