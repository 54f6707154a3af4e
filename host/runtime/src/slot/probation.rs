//! The first minute of new code, in which the code before it is kept.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::package::Prepared;

/// How long new code is watched.
const PROBATION: Duration = Duration::from_secs(60);
/// How often it may fail in that time.
const FAILURES: u32 = 3;

/// New code that has yet to prove itself, and what there is to go back to.
pub(super) struct Probation {
    /// The code that served before.
    pub(super) good: Arc<Prepared>,
    /// What it knew when it was replaced.
    pub(super) state: Option<Vec<u8>>,
    pub(super) until: Instant,
    failures: u32,
}

impl Probation {
    /// Begins when new code has taken the place of `good`. Where `good` was itself on probation and had failed, what came
    /// before it is the code to go back to.
    pub(super) fn after(earlier: Option<Self>, good: Arc<Prepared>, state: Option<Vec<u8>>) -> Self {
        let until = Instant::now() + PROBATION;
        match earlier {
            Some(earlier) if earlier.failures > 0 && earlier.until > Instant::now() => {
                Self { until, failures: 0, ..earlier }
            }
            _ => Self { good, state, until, failures: 0 },
        }
    }

    /// Counts a failure; whether it was one too many.
    pub(super) fn fails(&mut self) -> bool {
        self.failures += 1;
        self.failures >= FAILURES
    }
}
