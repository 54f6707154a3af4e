//! Forgetting what plugins keep under keys of their own. It is theirs, so it goes only where that is asked for.

use homeagent_types::CallError;
use homeagent_types::memory::MemoryPluginValue;

use super::plan::Plan;
use crate::memory::Memory;

impl Memory {
    /// The values that hold the words, in the key or the value.
    pub(super) async fn held_by_plugins(&self, plan: &Plan) -> Result<Vec<MemoryPluginValue>, CallError> {
        let (Some(values), words) = (self.plugin_values().cloned(), plan.words()) else { return Ok(Vec::new()) };
        let is_meant =
            move |key: &str, value: &[u8]| words.are_in(key) || words.are_in(&String::from_utf8_lossy(value));
        let found = super::blocking(move || values.holding(&is_meant)).await?;
        Ok(found.into_iter().map(|(plugin, key)| MemoryPluginValue { plugin, key }).collect())
    }

    /// Deletes them, where the plan says so. Their bytes go when the file is rewritten.
    pub(super) async fn forget_in_plugins(&self, plan: &Plan) -> Result<(), CallError> {
        let (Some(values), true) = (self.plugin_values().cloned(), plan.plugins) else { return Ok(()) };
        let words = plan.words();
        let is_meant =
            move |key: &str, value: &[u8]| words.are_in(key) || words.are_in(&String::from_utf8_lossy(value));
        super::blocking(move || values.forget_holding(&is_meant)).await.map(drop)
    }
}
