//! `registry`: sets of tools that change while a plugin runs.

use homeagent_types::CallError;
use wasmtime::component::Accessor;

use crate::bindings::{registry, types};
use crate::convert;
use crate::instance::{HostData, InstanceState};

impl<T: Send + 'static> registry::HostWithStore<T> for HostData {
    async fn replace_tools(
        accessor: &Accessor<T, Self>,
        tools: Vec<types::ToolDefinition>,
    ) -> Result<(), types::Error> {
        accessor.with(|mut access| {
            let state = access.get();
            state.may_while_serving("tools", "replacing the set of tools")?;
            let tools = convert::checked_tools(tools).map_err(CallError::Invalid)?;
            state.services.registrations.replace_tools(&state.slot.name, tools).map_err(CallError::Invalid)?;
            Ok(())
        })
    }
}

impl registry::Host for &mut InstanceState {}
