//! `settings`: the plugin's own settings, and no others.

use homeagent_settings::Kind;
use homeagent_types::CallError;

use crate::bindings::{settings, types};
use crate::instance::InstanceState;

impl settings::Host for &mut InstanceState {
    fn get(&mut self, key: String) -> Result<String, types::Error> {
        let full = format!("{}{key}", homeagent_settings::plugin_prefix(&self.slot.name));
        Ok(self.services.setting(&full)?.to_string())
    }

    fn set(&mut self, key: String, value: String) -> Result<(), types::Error> {
        self.may("settings", &format!("setting {key}"))?;
        let full = format!("{}{key}", homeagent_settings::plugin_prefix(&self.slot.name));
        if self.services.settings.entry(&full).is_ok_and(|entry| entry.declaration.kind == Kind::Secret) {
            return Err(CallError::Invalid(format!("{key} is a secret, which the owner alone sets")).into());
        }
        if self.slot.grants.owners_settings().contains(&key) {
            return Err(
                CallError::Invalid(format!("{key} says where the plugin may go, which the owner alone sets")).into()
            );
        }
        let value: serde_json::Value = serde_json::from_str(&value)
            .map_err(|error| CallError::Invalid(format!("the value is not JSON: {error}")))?;
        self.services.settings.set(&full, value).map_err(|error| CallError::Invalid(error.to_string()))?;
        Ok(())
    }
}
