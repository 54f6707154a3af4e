//! `tools`: calls of other plugins' tools.

use homeagent_types::CallError;
use wasmtime::component::Accessor;

use super::own_cause;
use crate::bindings::{tools, types};
use crate::instance::{HostData, InstanceState};

impl<T: Send + 'static> tools::HostWithStore<T> for HostData {
    async fn call(
        accessor: &Accessor<T, Self>,
        name: String,
        args: String,
        cause: types::Cause,
    ) -> Result<types::ToolOutput, types::Error> {
        let (mind, slot, cause, place) = accessor.with(|mut access| {
            let state = access.get();
            state.may("tools", &format!("calling the tool {name}"))?;
            // What the guest says of the cause is not believed, only which of its own calls it stands for.
            let cause = state.slot.believed(&cause.meta).unwrap_or_else(|| own_cause(&state.slot, cause.deadline_ms));
            // A plugin that calls itself through others runs out of places, not the host out of memory.
            let place =
                std::sync::Arc::clone(&state.slot.calls_out).try_acquire_owned().map_err(|_| CallError::Busy)?;
            let room = state.slot.carry(name.len() + args.len())?;
            Ok::<_, CallError>((state.services.mind()?, state.slot.name.clone(), cause, (place, room)))
        })?;
        let _place = place;
        Ok(mind.call_tool(&slot, &name, args, cause).await?.into())
    }
}

impl tools::Host for &mut InstanceState {}
