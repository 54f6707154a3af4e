//! What the user decided, kept in one SQLite file: settings, secrets, model sources, role bindings, grants, budgets and
//! prices; what plugins keep; and what was spent.
//!
//! [`Database`] is the file itself: other crates keep their own tables in it, each with its own schema version.
//! Everything else here is a small store over it. All stores are cheap to clone, answer reads from memory, and write
//! through to the disk before they return: a write waits for one `fsync` (a few milliseconds), so call it from
//! `spawn_blocking` where that matters.
//!
//! This crate knows no plugin, no model and no network: names of plugins, roles and adapters are text to it.

mod bindings;
mod database;
mod grants;
mod ledger;
mod plugin_data;
mod prices;
mod registry;
mod secrets;
mod source_change;
mod sources;
mod spending;

pub use bindings::{Binding, BindingError, Bindings, ROLES};
pub use database::{Database, DatabaseError};
pub use grants::{Decision, Given, Grants};
pub use homeagent_types::model::SourceLine;
pub use ledger::{
    Call, CallState, Charge, CostKey, CostLimit, CostLine, CostSpan, Ledger, LimitReached, Reserved, Usage as CallUsage,
};
pub use plugin_data::{
    Change, FinishedFiring, KeyError, KeyValues, MOST_KEYS, MOST_LISTED, PluginData, TimerError, TimerRow, TimerStore,
    Times,
};
pub use prices::{Band, ClockTime, PriceError, PriceRecord, Prices, Rates};
pub use registry::{
    Applies, Changed, Declaration, DurationUnit, Entry, Fault, Import, ImportError, Kind, Settings, SettingsError,
    core_declarations, is_base_url, nearest, plugin_prefix,
};
pub use secrets::{Secret, Secrets, SecretsError};
pub use source_change::SourceChange;
pub use sources::{SourceError, SourceRecord, Sources};
pub use spending::Spending;
