//! The last warnings and errors, kept for whoever asks how the daemon is.

use std::collections::VecDeque;
use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use homeagent_gateway::LoggedProblem;
use homeagent_settings::Secrets;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

/// How many are kept.
const KEPT: usize = 20;

/// The longest text that is shown of one, in bytes.
const LONGEST: usize = 1000;

/// The longest text that is kept of one, in bytes: more than is shown, so that a secret across the end of that is there
/// as a whole, and known as one.
const LONGEST_KEPT: usize = 16 << 10;

/// The ring. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Problems {
    last: Arc<Mutex<VecDeque<LoggedProblem>>>,
}

impl Problems {
    /// Fills the ring from the log.
    pub(crate) fn layer(&self) -> ProblemLayer {
        ProblemLayer { problems: self.clone() }
    }

    /// What it holds, the oldest first, with known secrets taken out.
    pub(crate) fn list(&self, secrets: &Secrets) -> Vec<LoggedProblem> {
        let mut all: Vec<_> = self.last.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect();
        for problem in &mut all {
            let mut text = secrets.redact(&problem.text).into_owned();
            text.truncate(text.floor_char_boundary(LONGEST));
            problem.text = text;
        }
        all
    }

    fn note(&self, problem: LoggedProblem) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.len() >= KEPT {
            last.pop_front();
        }
        last.push_back(problem);
    }
}

/// See [`Problems::layer`].
pub(crate) struct ProblemLayer {
    problems: Problems,
}

/// The field by which the span of a turn names its run.
const RUN: &str = "run";

/// The run of a span, kept beside it.
struct RunOf(String);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for ProblemLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if attributes.fields().field(RUN).is_none() {
            return;
        }
        let mut run = Run::default();
        attributes.record(&mut run);
        if let (Some(run), Some(span)) = (run.0, context.span(id)) {
            span.extensions_mut().replace(RunOf(run));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut text = Text::default();
        event.record(&mut text);
        let mut line = text.message;
        line.push_str(&text.fields);
        line.truncate(line.floor_char_boundary(LONGEST_KEPT));
        self.problems.note(LoggedProblem {
            at: homeagent_types::now(),
            level: event.metadata().level().as_str().to_lowercase(),
            origin: event.metadata().target().to_owned(),
            text: line,
            run: run_of(event, &context),
        });
    }
}

/// The run that an event names itself, or else that of the turn it happened in.
fn run_of<S: Subscriber + for<'a> LookupSpan<'a>>(event: &Event<'_>, context: &Context<'_, S>) -> Option<String> {
    let mut own = Run::default();
    event.record(&mut own);
    own.0.or_else(|| {
        let mut spans = context.event_scope(event)?;
        spans.find_map(|span| span.extensions().get::<RunOf>().map(|run| run.0.clone()))
    })
}

/// The value of the field that names a run.
#[derive(Default)]
struct Run(Option<String>);

impl Visit for Run {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == RUN && !value.is_empty() {
            self.0 = Some(value.to_owned());
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}
}

/// An event's message, and its other fields as they stand in a log file.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a String does not fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    fn secrets() -> (tempfile::TempDir, Secrets) {
        let folder = tempfile::tempdir().expect("a folder");
        let database = homeagent_settings::Database::open(folder.path().join("homeagent.db")).expect("it opens");
        let secrets = Secrets::open(&database, folder.path()).expect("there are none");
        (folder, secrets)
    }

    #[test]
    fn the_last_twenty_are_kept_with_their_fields() {
        let problems = Problems::default();
        let subscriber = tracing_subscriber::registry().with(problems.layer());
        crate::logging::alone_with(subscriber, || {
            for number in 0..25 {
                tracing::warn!(number, name = "calc", "it failed");
            }
        });
        let kept = problems.list(&secrets().1);
        assert_eq!(kept.len(), KEPT);
        assert_eq!(kept[0].text, "it failed number=5 name=\"calc\"");
        assert_eq!((kept[19].level.as_str(), kept[19].origin.as_str()), ("warn", module_path!()));
        assert_eq!(kept[19].run, None);
    }

    #[test]
    fn what_happens_in_a_turn_names_its_run() {
        let problems = Problems::default();
        let subscriber = tracing_subscriber::registry().with(problems.layer());
        crate::logging::alone_with(subscriber, || {
            let turn = tracing::error_span!("turn", run = "run-1", role = "owner");
            turn.in_scope(|| {
                tracing::info_span!("tool", name = "add").in_scope(|| tracing::warn!("deep inside"));
                tracing::warn!(run = "run-2", "of another");
            });
            tracing::warn!("outside");
        });
        let runs: Vec<_> = problems.list(&secrets().1).into_iter().map(|problem| problem.run).collect();
        assert_eq!(runs, [Some("run-1".to_owned()), Some("run-2".to_owned()), None]);
    }

    #[test]
    fn a_secret_across_the_end_of_what_is_shown_is_taken_out() {
        let (_folder, secrets) = secrets();
        secrets.set("main", "sk-marked-0123456789".into()).expect("it is kept");
        let problems = Problems::default();
        for before in LONGEST - 25..LONGEST + 5 {
            let line = format!("{}sk-marked-0123456789 and more", "x".repeat(before));
            crate::logging::alone_with(tracing_subscriber::registry().with(problems.layer()), || {
                tracing::warn!("{line}");
            });
            let kept = problems.list(&secrets);
            let text = &kept.last().expect("it is kept").text;
            assert!(!text.contains("sk-") && text.len() <= LONGEST, "{before}: {text}");
        }
    }
}
