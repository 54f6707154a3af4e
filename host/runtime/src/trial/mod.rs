//! Trying a channel: its code on instances of their own, with a recording in the place of its other side.
//!
//! What such an instance submits is caught, what it asks the other side is answered from the recording or not at all, and
//! of its capabilities it has those that reach nobody else.

mod caught;
mod play;

use std::collections::BTreeMap;

use homeagent_settings::Settings;
use serde_json::Value;

pub(crate) use self::caught::Caught;
pub(crate) use self::play::play;
use crate::manifest::Manifest;

/// What a channel that is tried may do as far as it asks for it. None of it leaves the instance's own slot.
pub(crate) const CAPABILITIES: [&str; 5] = ["events", "input", "listen", "output", "tools"];

/// The settings of a plugin that is tried, by their whole keys: what the owner has set, else what the package says for
/// trials, else the defaults.
pub(crate) fn settings(settings: &Settings, manifest: &Manifest) -> BTreeMap<String, Value> {
    let value = |declared: &homeagent_settings::Declaration| {
        let set = settings.entry(&declared.key).ok().filter(|entry| {
            // Of another version of the package it may be something else.
            !entry.is_default && entry.declaration.kind == declared.kind
        });
        let set = set.map(|entry| entry.value);
        set.or_else(|| manifest.trial.get(&declared.key).cloned()).unwrap_or_else(|| declared.default.clone())
    };
    manifest.settings.iter().map(|declared| (declared.key.clone(), value(declared))).collect()
}
