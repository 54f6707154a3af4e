//! What the parts of the daemon count, kept for whoever scrapes it.
//!
//! The parts count through the facade `metrics`, which knows one recorder in a process: daemons that run in one process
//! count together.

use std::sync::OnceLock;
use std::time::Duration;

use metrics::{Counter, counter, describe_counter};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tokio_util::task::AbortOnDropHandle;

const LOG_LINES: &str = "homeagent_log_lines_written_total";
const LOG_DROPPED: &str = "homeagent_log_lines_dropped_total";

/// The upper bounds of all histograms' buckets, in seconds: from a fast commit to the longest turn.
const BUCKETS: [f64; 18] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0, 600.0];

/// How often what histograms were told is put into their buckets; until then each value takes memory.
const UPKEEP: Duration = Duration::from_secs(5);

/// What is counted, for as long as a daemon runs.
pub(crate) struct Meters {
    counted: PrometheusHandle,
    _upkeep: AbortOnDropHandle<()>,
}

impl Meters {
    /// From here on what is counted is kept. What was counted before in this process goes on.
    pub(crate) fn start() -> Self {
        static RECORDER: OnceLock<PrometheusHandle> = OnceLock::new();
        let counted = RECORDER.get_or_init(install).clone();
        let upkeep = AbortOnDropHandle::new(tokio::spawn(keep_up(counted.clone())));
        Self { counted, _upkeep: upkeep }
    }

    /// All that was counted, in Prometheus's text format.
    pub(crate) fn render(&self) -> String {
        self.counted.render()
    }
}

fn install() -> PrometheusHandle {
    let builder = PrometheusBuilder::new().set_buckets(&BUCKETS).expect("there are buckets");
    let recorder = builder.build_recorder();
    let handle = recorder.handle();
    if let Err(error) = metrics::set_global_recorder(recorder) {
        // There is no log yet.
        eprintln!("nothing will be counted: {error}");
    }
    homeagent_agent::describe_metrics();
    homeagent_gateway::describe_metrics();
    homeagent_journal::describe_metrics();
    homeagent_providers::describe_metrics();
    homeagent_runtime::describe_metrics();
    describe_counter!(LOG_LINES, "Lines of the log that were written into its files");
    describe_counter!(LOG_DROPPED, "Lines of the log that are not in its files, by reason");
    handle
}

async fn keep_up(counted: PrometheusHandle) {
    let mut tick = tokio::time::interval(UPKEEP);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        counted.run_upkeep();
    }
}

/// The counters of the log's lines: those that were written, and those that the disk did not take.
pub(crate) fn log_lines() -> (Counter, Counter) {
    (counter!(LOG_LINES), counter!(LOG_DROPPED, "reason" => "disk"))
}

/// So many lines were dropped so far because too many waited for the disk.
pub(crate) fn log_lines_dropped(so_far: usize) {
    counter!(LOG_DROPPED, "reason" => "queue").absolute(u64::try_from(so_far).unwrap_or(u64::MAX));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn daemons_of_one_process_count_together() {
        let first = Meters::start();
        let counted = counter!("homeagent_test_total");
        counted.increment(2);
        drop(first);
        counted.increment(3);
        let page = Meters::start().render();
        assert!(page.contains("\nhomeagent_test_total 5\n"), "{page}");
    }
}
