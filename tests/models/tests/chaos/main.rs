//! Every format with every fault: what people get is an answer or one clear sentence, once, and then it is over.
//!
//! `matrix.rs` says what each fault has to come to; the snapshots show the sentences as people read them.

mod agent;
mod matrix;
#[path = "../../../../host/agent/tests/it/fake/plugins.rs"]
#[allow(dead_code, reason = "shared with the agent's own tests, which use more of it")]
#[allow(clippy::unwrap_used, reason = "a test that can't go on is to fail there")]
mod plugins;
mod sources;

use std::fmt::Write as _;
use std::time::Duration;

use futures::{StreamExt as _, stream};
use homeagent_model_tests::Home;
use homeagent_providers::Policy;
use homeagent_providers::assembler::AnswerLimits;
use homeagent_test_vendors::{Fault, Format, Vendor};

/// As many cases as run at the same time; most of them wait.
const TOGETHER: usize = 24;

/// Beside what a vendor with a fault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Nothing: it is the only source.
    Alone,
    /// A healthy vendor of another format, which is asked after it.
    First,
    /// Nothing, and the fault happens once.
    Once,
}

/// All cases of a suite, in the order of the snapshot.
fn cases() -> impl Iterator<Item = (Fault, Format, Place)> {
    let all = Fault::ALL.into_iter().flat_map(|fault| Format::ALL.map(|format| (fault, format)));
    let places = |fault: Fault| {
        let once = matrix::passes(fault).then_some(Place::Once);
        [Place::Alone, Place::First].into_iter().chain(once)
    };
    all.flat_map(move |(fault, format)| places(fault).map(move |place| (fault, format, place)))
}

/// A home for a case. A source that has failed is not asked again while the test runs, unless the test is about that.
/// Where one is to be waited for in vain, the wait is short, and still long enough for the healthy one on a machine with
/// much to do.
fn home(fault: Fault, place: Place) -> Home {
    let back_off = if place == Place::Once { Duration::from_millis(1) } else { Duration::from_secs(3600) };
    let limits = AnswerLimits { text: 64 << 10, ..AnswerLimits::default() };
    let home = Home::new(Policy { back_off, longest_back_off: back_off, limits, ..Policy::default() });
    let set = |key: &str, value: u32| home.settings.set(key, serde_json::json!(value)).expect("a setting");
    if place != Place::Once {
        set("core.model.wait_seconds", 0);
    }
    if matches!(fault, Fault::NoFirstByte | Fault::Stall) {
        set("core.model.first_byte_seconds", 8);
        set("core.model.silence_seconds", 8);
    }
    home
}

/// What came of a case.
struct Outcome {
    /// What people read.
    line: String,
    /// What is wrong.
    wrong: Vec<String>,
}

/// Runs all cases and returns what people read in those with one source.
async fn play<F>(run: fn(Fault, Format, Place) -> F) -> String
where
    F: Future<Output = Outcome> + Send + 'static,
{
    let outcomes: Vec<_> = stream::iter(cases())
        .map(|(fault, format, place)| async move {
            let case = tokio::spawn(run(fault, format, place));
            (fault, format, place, case.await.expect("a case runs to its end"))
        })
        .buffered(TOGETHER)
        .collect()
        .await;
    let mut lines = String::new();
    let mut wrong = String::new();
    let mut last = None;
    for (fault, format, place, outcome) in outcomes {
        for what in outcome.wrong {
            let _ = writeln!(wrong, "{fault:?}, {format:?}, {place:?}: {what}");
        }
        if place == Place::Alone {
            if last.replace(fault) != Some(fault) {
                let _ = writeln!(lines, "\n{fault:?}");
            }
            let _ = writeln!(lines, "  {:<10} {}", format!("{format:?}"), outcome.line);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    lines.trim_start().to_owned()
}

/// Adds a vendor as a source of its own name.
fn add(home: &Home, name: &str, format: Format, vendor: &Vendor) {
    home.add(name, format.adapter(), &vendor.url, format.model());
}

/// A healthy vendor's format beside a sick one's: another one, always.
fn other(format: Format) -> Format {
    let place = Format::ALL.iter().position(|known| *known == format).unwrap_or_default();
    Format::ALL[(place + 3) % Format::ALL.len()]
}

/// The sentence without what differs from run to run.
fn plain(sentence: &str, vendor: &Vendor) -> String {
    let place = vendor.url.trim_start_matches("http://");
    sentence.replace(place.split('/').next().unwrap_or(place), "HOST")
}
