//! `kv`: the plugin's own keys and values.

use std::sync::Arc;

use homeagent_settings::{Change, KeyError};
use homeagent_types::CallError;
use wasmtime::component::Accessor;

use super::Call;
use crate::bindings::{kv, types};
use crate::instance::{HostData, InstanceState};

impl Call {
    async fn change(self, changes: Vec<Change>) -> Result<Vec<bool>, CallError> {
        let most = self.services.number("core.plugin.kv_mib", 16) << 20;
        let bytes = changes.iter().map(|change| match change {
            Change::Set(key, value) => key.len() + value.len() + size_of::<Change>(),
            Change::Delete(key) => key.len() + size_of::<Change>(),
        });
        let bytes = bytes.sum();
        let (keys, slot) = (self.services.local.data.keys.clone(), Arc::clone(&self.slot));
        let work = move || {
            for change in &changes {
                if let Change::Set(_, value) = change {
                    slot.warn_of_secrets("keeping a value", value);
                }
            }
            keys.apply(&slot.grants.keeps_under(), &changes, most).map_err(refusal)
        };
        let changed = self.slot.disk.run(&self.services.local.host, bytes, work).await;
        changed.map_err(|error| match error {
            CallError::Conflict(_) | CallError::NotStored(_) => self.slot.refused("keeping a value", error),
            error => error,
        })
    }
}

impl<T: Send + 'static> kv::HostWithStore<T> for HostData {
    async fn get(accessor: &Accessor<T, Self>, key: String) -> Result<Option<Vec<u8>>, types::Error> {
        let call = Call::new(accessor, |_| Ok(()))?;
        let (keys, plugin) = (call.services.local.data.keys.clone(), call.slot.grants.keeps_under());
        let bytes = key.len();
        let work = move || keys.get(&plugin, &key).map_err(refusal);
        Ok(call.slot.disk.run(&call.services.local.host, bytes, work).await?)
    }

    async fn set(accessor: &Accessor<T, Self>, key: String, value: Vec<u8>) -> Result<(), types::Error> {
        Call::new(accessor, InstanceState::has_served)?.change(vec![Change::Set(key, value)]).await?;
        Ok(())
    }

    async fn delete(accessor: &Accessor<T, Self>, key: String) -> Result<bool, types::Error> {
        let known = Call::new(accessor, InstanceState::has_served)?.change(vec![Change::Delete(key)]).await?;
        Ok(known == [true])
    }

    async fn list(
        accessor: &Accessor<T, Self>,
        prefix: String,
        after: Option<String>,
    ) -> Result<Vec<String>, types::Error> {
        let call = Call::new(accessor, |_| Ok(()))?;
        let (keys, plugin) = (call.services.local.data.keys.clone(), call.slot.grants.keeps_under());
        let bytes = prefix.len() + after.as_ref().map_or(0, String::len);
        let work = move || keys.list(&plugin, &prefix, after.as_deref()).map_err(refusal);
        Ok(call.slot.disk.run(&call.services.local.host, bytes, work).await?)
    }

    async fn batch(accessor: &Accessor<T, Self>, changes: Vec<kv::Change>) -> Result<(), types::Error> {
        let call = Call::new(accessor, InstanceState::has_served)?;
        let changes = changes.into_iter().map(|change| match change {
            kv::Change::Set(kv::Pair { key, value }) => Change::Set(key, value),
            kv::Change::Delete(key) => Change::Delete(key),
        });
        call.change(changes.collect()).await?;
        Ok(())
    }
}

fn refusal(error: KeyError) -> CallError {
    match error {
        KeyError::Database(error) => CallError::NotStored(error.to_string()),
        KeyError::Full { .. } | KeyError::Keys => CallError::Conflict(error.to_string()),
        error => CallError::Invalid(error.to_string()),
    }
}

impl kv::Host for &mut InstanceState {}
