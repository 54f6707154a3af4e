//! Changing a source that is at work.

use std::collections::BTreeMap;

use serde::Deserialize;
use utoipa::ToSchema;

use homeagent_types::model::SourceLine;

use crate::sources::{SourceError, SourceRecord};

/// What is to be another of a source; what is not said stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceChange {
    /// The model to ask for.
    #[serde(default)]
    pub model: Option<String>,
    /// What it is asked for. In another line it comes last.
    #[serde(default)]
    pub line: Option<SourceLine>,
    /// Whether it is tried at all.
    #[serde(default)]
    pub enabled: Option<bool>,
    /// Options; one that is `null` is taken away.
    #[serde(default)]
    #[schema(value_type = BTreeMap<String, Option<String>>)]
    pub options: BTreeMap<String, Option<String>>,
}

impl SourceChange {
    /// Changes the record, but not its place.
    pub(crate) fn apply(&self, record: &mut SourceRecord) -> Result<(), SourceError> {
        if let Some(model) = &self.model {
            record.model.clone_from(model);
        }
        record.line = self.line.unwrap_or(record.line);
        record.enabled = self.enabled.unwrap_or(record.enabled);
        for (option, value) in &self.options {
            let Some(value) = value else {
                record.options.remove(option);
                continue;
            };
            if let Err(wanted) = check_option(option, value) {
                return Err(SourceError::BadOption { name: record.name.clone(), option: option.clone(), wanted });
            }
            record.options.insert(option.clone(), value.clone());
        }
        record.check()
    }
}

/// Whether an option that the host itself reads has a value it can take; else what it can. It knows no others.
fn check_option(option: &str, value: &str) -> Result<(), &'static str> {
    let value = value.trim();
    let whole = |least: u64| value.parse().is_ok_and(|number: u64| number >= least);
    let (good, wanted) = match option {
        "temperature" => {
            let good = value.parse().is_ok_and(|number: f64| (0.0..=2.0).contains(&number));
            (good, "a number from 0 to 2")
        }
        "max_tokens" | "batch" | "dimensions" => (whole(1), "a whole number above 0"),
        "concurrent" | "per_minute" => (whole(0), "a whole number, 0 for no limit"),
        "thinking" | "stream" => (matches!(value, "on" | "off" | "true" | "false" | "yes" | "no"), "on or off"),
        _ => (!option.is_empty(), "an option with a name"),
    };
    if good { Ok(()) } else { Err(wanted) }
}
