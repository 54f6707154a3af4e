//! Reading a setting as the type its reader needs.

use std::time::Duration;

use homeagent_types::money::Amount;

use super::{Entry, Kind, Settings, SettingsError};

impl Settings {
    /// The value of a [`Kind::Integer`], or the count of a [`Kind::Duration`] in its own unit.
    ///
    /// # Errors
    ///
    /// [`SettingsError::UnknownKey`] and [`SettingsError::WrongKind`].
    pub fn integer(&self, key: &str) -> Result<i64, SettingsError> {
        self.typed(key, "an integer", |entry| entry.value.as_i64())
    }

    /// The value of a [`Kind::Number`] (or [`Kind::Integer`]).
    ///
    /// # Errors
    ///
    /// As for [`Settings::integer`].
    pub fn number(&self, key: &str) -> Result<f64, SettingsError> {
        self.typed(key, "a number", |entry| entry.value.as_f64())
    }

    /// The value of a [`Kind::Bool`].
    ///
    /// # Errors
    ///
    /// As for [`Settings::integer`].
    pub fn boolean(&self, key: &str) -> Result<bool, SettingsError> {
        self.typed(key, "a boolean", |entry| entry.value.as_bool())
    }

    /// The value of a [`Kind::Text`], [`Kind::Choice`], [`Kind::TimeZone`], [`Kind::Address`] or [`Kind::Url`].
    ///
    /// # Errors
    ///
    /// As for [`Settings::integer`].
    pub fn text(&self, key: &str) -> Result<String, SettingsError> {
        self.typed(key, "a text", |entry| match entry.declaration.kind {
            Kind::Secret => None,
            _ => entry.value.as_str().map(str::to_owned),
        })
    }

    /// The value of a [`Kind::List`] or [`Kind::Rules`].
    ///
    /// # Errors
    ///
    /// As for [`Settings::integer`].
    pub fn texts(&self, key: &str) -> Result<Vec<String>, SettingsError> {
        let text = |item: &serde_json::Value| item.as_str().map(str::to_owned);
        self.typed(key, "a list of texts", |entry| entry.value.as_array()?.iter().map(text).collect())
    }

    /// The value of a [`Kind::Amounts`].
    ///
    /// # Errors
    ///
    /// As for [`Settings::integer`].
    pub fn amounts(&self, key: &str) -> Result<Vec<Amount>, SettingsError> {
        let amount = |item: &serde_json::Value| item.as_str()?.parse().ok();
        self.typed(key, "amounts", |entry| entry.value.as_array()?.iter().map(amount).collect())
    }

    /// The value of a [`Kind::Duration`].
    ///
    /// # Errors
    ///
    /// As for [`Settings::integer`].
    pub fn duration(&self, key: &str) -> Result<Duration, SettingsError> {
        self.typed(key, "a duration", |entry| match entry.declaration.kind {
            Kind::Duration { unit, .. } => entry.value.as_u64().map(|count| unit.span(count)),
            _ => None,
        })
    }

    fn typed<T>(
        &self,
        key: &str,
        asked: &'static str,
        read: impl FnOnce(&Entry) -> Option<T>,
    ) -> Result<T, SettingsError> {
        self.with(key, |entry| {
            let kind = entry.declaration.kind.name();
            read(entry).ok_or_else(|| SettingsError::WrongKind { key: key.to_owned(), kind, asked })
        })
    }
}
