//! What a piece of work takes: by the clock, and by how long the process was running, which other programs' work does not
//! lengthen.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// When some work began.
#[derive(Clone, Copy)]
pub(crate) struct Begun {
    clock: Instant,
    ran: Duration,
}

/// How long some work took.
#[derive(Clone, Copy)]
pub(crate) struct Took {
    pub(crate) clock: Duration,
    /// All threads of the process together.
    pub(crate) work: Duration,
}

impl Begun {
    pub(crate) fn now() -> Self {
        Self { clock: Instant::now(), ran: running() }
    }

    pub(crate) fn took(self) -> Took {
        Took { clock: self.clock.elapsed(), work: running().saturating_sub(self.ran) }
    }
}

/// How long the threads of this process were running.
fn running() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// How some times are spread, by the clock and by work.
pub(crate) fn spread(times: &[Took]) -> String {
    let of = |part: fn(&Took) -> Duration| {
        let mut sorted: Vec<Duration> = times.iter().map(part).collect();
        sorted.sort_unstable();
        let at = |share: f64| {
            let last = sorted.len().saturating_sub(1);
            sorted.get(((sorted.len() as f64 * share) as usize).min(last)).copied().unwrap_or_default()
        };
        let [p50, p95, p99] = [0.5, 0.95, 0.99].map(|share| at(share).as_secs_f64() * 1000.0);
        format!("p50 {p50:.2} ms, p95 {p95:.2} ms, p99 {p99:.2} ms")
    };
    format!("{}; of work {}", of(|took| took.clock), of(|took| took.work))
}
