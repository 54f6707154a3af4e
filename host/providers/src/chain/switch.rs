//! Choosing among the sources in the midst of a turn: the next call is made as it says.

use std::collections::BTreeMap;

use homeagent_settings::{SourceChange, SourceError, Sources};
use homeagent_types::CallError;
use homeagent_types::lines::{SourceChoice, SourceOrder};
use homeagent_types::model::SourceLine;

use super::{Providers, SourceState};

impl Providers {
    /// All sources, in the order in which they are tried.
    pub(super) fn all_choices(&self) -> Vec<SourceChoice> {
        self.states().into_iter().map(|state| self.choice(state)).collect()
    }

    /// Changes a source; its owner asked for it.
    ///
    /// # Errors
    ///
    /// `invalid` and `not-found` for what can't be; `not-stored` where the disk fails.
    pub(super) async fn obey(&self, order: SourceOrder) -> Result<SourceChoice, CallError> {
        let sources = self.sources.clone();
        let name = order.source.clone();
        let work = tokio::task::spawn_blocking(move || carry_out(&sources, &order));
        work.await.map_err(|lost| CallError::Other(lost.to_string()))?.map_err(|error| match &error {
            SourceError::Unknown { .. } => CallError::NotFound(error.to_string()),
            SourceError::Database(_) => CallError::NotStored(error.to_string()),
            _ => CallError::Invalid(error.to_string()),
        })?;
        let state = self.states().into_iter().find(|state| state.name == name);
        state.map(|state| self.choice(state)).ok_or_else(|| CallError::NotFound(format!("{name} is gone")))
    }

    fn choice(&self, state: SourceState) -> SourceChoice {
        let option = |name: &str| self.sources.get(&state.name)?.options.get(name).cloned();
        SourceChoice {
            temperature: option("temperature"),
            thinking: option("thinking"),
            source: state.name,
            line: SourceLine::from_name(state.line).unwrap_or(SourceLine::Main),
            model: state.model,
            standing: state.standing.as_str(),
            reason: state.reason,
        }
    }
}

fn carry_out(sources: &Sources, order: &SourceOrder) -> Result<(), SourceError> {
    let mut options = BTreeMap::new();
    if let Some(temperature) = order.temperature {
        options.insert("temperature".to_owned(), Some(temperature.to_string()));
    }
    if let Some(thinking) = order.thinking {
        options.insert("thinking".to_owned(), Some(if thinking { "on" } else { "off" }.to_owned()));
    }
    // First what may be refused: then nothing is done.
    sources.edit(&order.source, &SourceChange { model: order.model.clone(), options, ..SourceChange::default() })?;
    if order.first { sources.use_first(&order.source) } else { Ok(()) }
}
