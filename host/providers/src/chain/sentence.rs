//! What the user is told when no source could answer.

use std::time::Duration;

use homeagent_settings::SourceRecord;
use homeagent_types::model::{Completion, Failure, FailureClass};
use homeagent_types::ports::ModelsFailure;

const ADD: &str = "`waiter source add deepseek --adapter deepseek --key-env DEEPSEEK_API_KEY`";

/// There is nothing to ask.
pub(super) fn none(configured: &[SourceRecord]) -> String {
    if configured.is_empty() {
        return format!("No model source is configured. Add one, for example with {ADD}.");
    }
    let names: Vec<&str> = configured.iter().map(|record| record.name.as_str()).collect();
    format!("No model source is switched on. `waiter source use NAME` does it; configured are: {}.", names.join(", "))
}

/// A source of this name does not exist.
pub(super) fn unknown(name: &str, known: &[String]) -> String {
    if known.is_empty() {
        return format!("There is no model source `{name}`; none is configured. Add one, for example with {ADD}.");
    }
    format!("There is no model source `{name}`; configured are: {}.", known.join(", "))
}

/// A source wants an adapter that is not there.
pub(super) fn no_adapter(adapter: &str, known: &[String]) -> String {
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    format!("there is no adapter `{adapter}`; at hand are: {known}")
}

/// A source names a secret that is not there.
pub(super) fn no_key(record: &SourceRecord, secret: &str) -> String {
    format!(
        "its key is missing: no secret `{secret}` is stored. Add the source again with its key: `waiter source add {} \
         --adapter {} --base-url {} --model {} --key-stdin`",
        record.name, record.adapter, record.base_url, record.model
    )
}

/// There is nothing that makes vectors.
pub(super) fn no_vectors() -> String {
    "No model source makes vectors. Add one to the line `embedding`: `waiter source add NAME --line embedding --adapter A \
     --model M`."
        .to_owned()
}

/// There is nothing that makes vectors with this model.
pub(super) fn no_vectors_by(model: &str) -> String {
    format!("No model source that is switched on makes vectors with the model `{model}`.")
}

/// A failure that concerns no source.
pub(super) fn failed(sentence: String) -> ModelsFailure {
    ModelsFailure { sentence, tried: Vec::new(), partial: None }
}

/// Every source failed.
pub(super) fn all_failed(
    tried: Vec<(String, Failure)>,
    again: Option<Duration>,
    partial: Option<Box<Completion>>,
) -> ModelsFailure {
    let mut sentence = match tried.as_slice() {
        [(name, failure)] => format!("The model source `{name}` {}", reason(failure)),
        several => {
            let each: Vec<String> =
                several.iter().map(|(name, failure)| format!("`{name}` {}", reason(failure))).collect();
            format!("No model source could answer: {}", each.join("; "))
        }
    };
    if !sentence.ends_with(['.', '!', '?', '。', '！', '？']) {
        sentence.push('.');
    }
    if let Some(again) = again {
        sentence.push_str(&format!(" It can be asked again in {}.", span(again)));
    }
    ModelsFailure { sentence, tried, partial }
}

fn reason(failure: &Failure) -> String {
    let what = match failure.class {
        FailureClass::Auth => "has no valid key",
        FailureClass::Permission => "does not permit this to its key",
        FailureClass::Unfunded => "has no money left on its account (it is tried again every hour)",
        FailureClass::RateLimited => "gets too many requests",
        FailureClass::Overloaded => "has trouble",
        FailureClass::BadRequest => "refused the request",
        FailureClass::ContentFilter => "does not answer this: its filter refused it",
        FailureClass::ContextOverflow => "can't take a conversation this long",
        FailureClass::Timeout => "took too long",
        FailureClass::Network => "could not be reached",
        FailureClass::StreamEndedEarly => "broke off in the middle",
        FailureClass::Protocol => "gave an answer that can't be used",
    };
    format!("{what}: {}", failure.message)
}

fn span(span: Duration) -> String {
    let seconds = span.as_millis().div_ceil(1000).max(1);
    let (count, unit) = match seconds {
        0..=119 => (seconds, "second"),
        120..=7199 => (seconds.div_ceil(60), "minute"),
        _ => (seconds.div_ceil(3600), "hour"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}
