//! Forgetting what plugins keep under keys of their own. It is theirs, so it goes only where that is asked for.

use homeagent_types::CallError;
use homeagent_types::memory::MemoryPluginValue;

use super::plan::Plan;
use crate::memory::Memory;

impl Memory {
    /// The values that hold the words, in the key or the value.
    pub(super) async fn held_by_plugins(&self, plan: &Plan) -> Result<Vec<MemoryPluginValue>, CallError> {
        let (Some(values), is_meant) = (self.plugin_values().cloned(), meant(plan)) else { return Ok(Vec::new()) };
        let found = super::blocking(move || values.holding(&is_meant)).await?;
        Ok(found.into_iter().map(|(plugin, key)| MemoryPluginValue { plugin, key }).collect())
    }

    /// Deletes them, where the plan says so. Their bytes go when the file is rewritten.
    pub(super) async fn forget_in_plugins(&self, plan: &Plan) -> Result<(), CallError> {
        let (Some(values), true) = (self.plugin_values().cloned(), plan.plugins) else { return Ok(()) };
        let is_meant = meant(plan);
        super::blocking(move || values.forget_holding(&is_meant)).await.map(drop)
    }
}

/// Whether a key and its value hold the words, or name the person who goes.
fn meant(plan: &Plan) -> impl Fn(&str, &[u8]) -> bool + Send + Sync + use<> {
    let (words, account) = (plan.words(), plan.account.clone());
    let is_in =
        move |text: &str| words.are_in(text) || account.as_ref().is_some_and(|account| account.renamed(text).is_some());
    move |key, value| is_in(key) || is_in(&String::from_utf8_lossy(value))
}
