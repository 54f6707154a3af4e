//! How often one sender is listened to.

use serde::{Deserialize, Serialize};

use crate::ring::Ring;

/// Senders whose rate is known at a time.
const MOST: usize = 2_000;

/// How many messages each sender has left.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Rates(Ring<Allowance>);

/// What a sender has left: it fills up again evenly over a minute.
#[derive(Debug, Serialize, Deserialize)]
struct Allowance {
    left: f64,
    /// When that was so, in milliseconds.
    at: u64,
    /// It has been said that they are not listened to.
    said: bool,
}

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Heard,
    /// It is one too many. `first`: of a row of them.
    TooMany {
        first: bool,
    },
}

impl Default for Rates {
    fn default() -> Self {
        Self(Ring::new(MOST))
    }
}

impl Rates {
    /// Counts a message. `per_minute`: how many are listened to; 0 for any number.
    pub(crate) fn count(&mut self, sender: &str, per_minute: u32, now: u64) -> Verdict {
        if per_minute == 0 {
            return Verdict::Heard;
        }
        let most = f64::from(per_minute);
        if self.0.get(sender).is_none() {
            self.0.keep(sender, Allowance { left: most, at: now, said: false });
        }
        let Some(allowance) = self.0.get_mut(sender) else { return Verdict::Heard };
        let passed = now.saturating_sub(allowance.at);
        allowance.left = (allowance.left + most * (passed as f64 / 60_000.0)).min(most);
        allowance.at = now;
        if allowance.left < 1.0 {
            return Verdict::TooMany { first: !std::mem::replace(&mut allowance.said, true) };
        }
        allowance.left -= 1.0;
        allowance.said = false;
        Verdict::Heard
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sender_is_listened_to_so_often_and_others_all_the_same() {
        let mut rates = Rates::default();
        let verdicts: Vec<Verdict> = (0..5).map(|_| rates.count("a", 3, 1_000)).collect();
        let (first, further) = (Verdict::TooMany { first: true }, Verdict::TooMany { first: false });
        assert_eq!(verdicts, [Verdict::Heard, Verdict::Heard, Verdict::Heard, first, further]);
        assert_eq!(rates.count("b", 3, 1_000), Verdict::Heard);
        assert_eq!(rates.count("a", 3, 21_000), Verdict::Heard, "a third of a minute is worth one");
        assert_eq!(rates.count("a", 3, 21_000), first);
        assert_eq!(rates.count("a", 0, 21_000), Verdict::Heard);
    }
}
