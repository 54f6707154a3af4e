//! The last warnings and errors, kept for whoever asks how the daemon is.

use std::collections::VecDeque;
use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use homeagent_gateway::LoggedProblem;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

/// How many are kept.
const KEPT: usize = 20;

/// The longest text that is kept of one, in bytes.
const LONGEST: usize = 1000;

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

    /// What it holds, the oldest first.
    pub(crate) fn list(&self) -> Vec<LoggedProblem> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
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

impl<S: Subscriber> Layer<S> for ProblemLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut text = Text::default();
        event.record(&mut text);
        let mut line = text.message;
        line.push_str(&text.fields);
        line.truncate(line.floor_char_boundary(LONGEST));
        self.problems.note(LoggedProblem {
            at: homeagent_types::now(),
            level: event.metadata().level().as_str().to_lowercase(),
            origin: event.metadata().target().to_owned(),
            text: line,
        });
    }
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

    #[test]
    fn the_last_twenty_are_kept_with_their_fields() {
        let problems = Problems::default();
        let subscriber = tracing_subscriber::registry().with(problems.layer());
        tracing::subscriber::with_default(subscriber, || {
            for number in 0..25 {
                tracing::warn!(number, name = "calc", "it failed");
            }
        });
        let kept = problems.list();
        assert_eq!(kept.len(), KEPT);
        assert_eq!(kept[0].text, "it failed number=5 name=\"calc\"");
        assert_eq!((kept[19].level.as_str(), kept[19].origin.as_str()), ("warn", module_path!()));
    }
}
