//! A call of a model, as the ledger has it.

use std::collections::BTreeMap;

use homeagent_types::money::{Amount, Nano};
use homeagent_types::{Role, Timestamp};
use jiff::civil::Date;

/// Tokens of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Of the prompt, the next two among them.
    pub input: u64,
    /// Of the prompt, found in the vendor's cache.
    pub cached: u64,
    /// Of the prompt, put into the vendor's cache.
    pub written: u64,
    /// Of the answer.
    pub output: u64,
}

/// What a call takes, or some together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Charge {
    /// Tokens.
    pub usage: Usage,
    /// Money, by its currency; none where no price is known.
    pub money: BTreeMap<String, Nano>,
}

impl Charge {
    /// Its part in the unit of an amount: billionths of that currency, or tokens. `None` where it has nothing to do with it.
    pub(super) fn of(&self, unit: &Amount) -> Option<u64> {
        match unit {
            Amount::Tokens(_) => Some(self.usage.input.saturating_add(self.usage.output)),
            Amount::Money(_, currency) => self.money.get(currency).map(|nano| nano.0),
        }
    }
}

/// A call that is about to be made, with what it may take.
#[derive(Clone, Debug)]
pub struct Call {
    /// When.
    pub at: Timestamp,
    /// The user's day.
    pub day: Date,
    /// The source.
    pub source: String,
    /// Its model.
    pub model: String,
    /// The line that was asked.
    pub line: &'static str,
    /// The turn it is for.
    pub run: Option<String>,
    /// The conversation it is for.
    pub conversation: Option<String>,
    /// Who caused it.
    pub principal: String,
    /// With what role.
    pub role: Role,
    /// The plugin that asks.
    pub plugin: Option<String>,
    /// It costs nothing, and counts for no limit.
    pub local: bool,
    /// What it may take.
    pub charge: Charge,
}

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallState {
    /// It ended, well or not.
    Settled,
    /// Nobody waited for its end; what it took is estimated.
    Cancelled,
}

impl CallState {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Settled => "settled",
            Self::Cancelled => "cancelled",
        }
    }
}
