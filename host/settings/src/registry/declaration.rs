//! How a setting is declared.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::SettingsError;
use super::kind::{DurationUnit, Kind};

/// A setting: its key, what values it takes, and what it is for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = SettingDeclaration)]
pub struct Declaration {
    /// `core.<part>.<name>` or `plugin.<plugin>.<name>`.
    pub key: String,
    /// The type and the limits.
    #[serde(flatten)]
    pub kind: Kind,
    /// What the number counts, as it is shown behind the value: `bytes`, `rounds`. Empty where there is nothing to say.
    #[serde(default)]
    pub unit: Cow<'static, str>,
    /// The value while none is set. `null` for secrets.
    pub default: Value,
    /// One line for people.
    pub description: Cow<'static, str>,
    /// What has to happen before a change takes effect.
    #[serde(default)]
    pub applies: Applies,
}

/// What has to happen before a changed setting takes effect.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Applies {
    /// Nothing: it takes effect at once.
    #[default]
    Live,
    /// This part of the daemon restarts.
    Restart(Cow<'static, str>),
}

/// What the keys of a plugin's settings begin with: `plugin.<name>.`.
#[must_use]
pub fn plugin_prefix(plugin: &str) -> String {
    format!("plugin.{plugin}.")
}

impl Declaration {
    /// A setting that takes effect at once. Durations get their unit from the kind.
    #[must_use]
    pub fn new(
        key: impl Into<String>,
        kind: Kind,
        default: impl Into<Value>,
        description: impl Into<Cow<'static, str>>,
    ) -> Self {
        let unit = match &kind {
            Kind::Duration { unit, .. } => unit.as_str(),
            _ => "",
        };
        Self {
            key: key.into(),
            kind,
            unit: Cow::Borrowed(unit),
            default: default.into(),
            description: description.into(),
            applies: Applies::Live,
        }
    }

    /// The same, with what its number counts.
    #[must_use]
    pub fn counted_in(mut self, unit: impl Into<Cow<'static, str>>) -> Self {
        self.unit = unit.into();
        self
    }

    /// The same, where a change restarts `part`.
    #[must_use]
    pub fn restarting(mut self, part: impl Into<Cow<'static, str>>) -> Self {
        self.applies = Applies::Restart(part.into());
        self
    }

    pub(super) fn check(&self, prefix: &str) -> Result<(), SettingsError> {
        let refuse = |reason| Err(SettingsError::BadDeclaration { key: self.key.clone(), reason });
        let name = self.key.strip_prefix(prefix).unwrap_or_default();
        if name.is_empty() || name.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return refuse(format!("a key here is \"{prefix}\" and a name without spaces"));
        }
        if matches!(&self.kind, Kind::Choice { choices } if choices.is_empty()) {
            return refuse("there is nothing to choose from".to_owned());
        }
        let fits = if self.kind == Kind::Secret { self.default.is_null() } else { self.kind.accepts(&self.default) };
        if !fits {
            let allowed = if self.kind == Kind::Secret { "null".to_owned() } else { self.kind.allowed() };
            return refuse(format!("its default is {}, and allowed is {allowed}", self.default));
        }
        Ok(())
    }
}

/// A whole number from `min` to `max`.
pub(super) fn integer(key: &str, default: i64, (min, max): (i64, i64), description: &'static str) -> Declaration {
    Declaration::new(key, Kind::Integer { min, max }, default, description)
}

/// A span of time in `unit`, from `min` to `max`.
pub(super) fn duration(
    key: &str,
    unit: DurationUnit,
    default: u64,
    (min, max): (u64, u64),
    description: &'static str,
) -> Declaration {
    Declaration::new(key, Kind::Duration { unit, min, max }, default, description)
}
