//! What the log says about the collector: each trouble once, however often it is met.

use std::time::{Duration, Instant};

use super::collector::Refusal;

/// The least time between two warnings, so that a collector that comes and goes fills no log.
const QUIET: Duration = Duration::from_secs(60);

/// How it goes with the collector.
#[derive(Default)]
pub(super) struct Report {
    /// When the last warning was.
    warned: Option<Instant>,
    /// Whether the trouble that is has been told.
    told: bool,
    /// Spans that were dropped and not told of.
    lost: u64,
}

impl Report {
    /// Spans were not taken.
    pub(super) fn failed(&mut self, refusal: &Refusal) {
        if !self.told && self.may_warn() {
            self.told = true;
            tracing::warn!(
                reason = %refusal,
                "spans don't reach the collector of core.otel.endpoint; homed goes on, and drops those that are too many"
            );
        }
    }

    /// So many spans are dropped.
    pub(super) fn lost(&mut self, count: u64) {
        self.lost = self.lost.saturating_add(count);
    }

    /// Spans were taken.
    pub(super) fn delivered(&mut self) {
        if self.told {
            self.told = false;
            tracing::info!(dropped = std::mem::take(&mut self.lost), "spans reach the collector again");
        } else if self.lost > 0 && self.may_warn() {
            let dropped = std::mem::take(&mut self.lost);
            tracing::warn!(
                dropped,
                "the collector of core.otel.endpoint does not take all spans, or is too slow for them"
            );
        }
    }

    /// No more spans come.
    pub(super) fn end(&self) {
        if self.lost > 0 {
            tracing::info!(dropped = self.lost, "some spans never reached the collector");
        }
    }

    fn may_warn(&mut self) -> bool {
        let now = Instant::now();
        let may = self.warned.is_none_or(|last| now.duration_since(last) >= QUIET);
        if may {
            self.warned = Some(now);
        }
        may
    }
}
