//! The contract's imports, one module each, all of one shape: the guest's call is checked against the grants, then
//! handed to the part of the host that does it.

mod bus;
mod connect;
mod errands;
mod files;
mod http;
mod inputs;
mod kv;
mod llm;
mod log;
mod memory;
mod outbound;
mod process;
mod registry;
mod secrets;
mod settings;
mod sockets;
pub(crate) mod timers;
mod tools;

use std::sync::Arc;

use homeagent_types::{Audience, CallError, Cause, Principal, Role};
use wasmtime::component::Accessor;

pub(crate) use self::http::told;
pub(crate) use self::outbound::Outbound;
pub(crate) use self::sockets::LARGEST_FRAME;

use crate::bindings::types;
use crate::instance::{HostData, InstanceState};
use crate::services::Services;
use crate::slot::core::SlotCore;

impl types::Host for &mut InstanceState {}

/// A call of a guest's whose right to be made has been checked.
struct Call {
    slot: Arc<SlotCore>,
    services: Arc<Services>,
}

impl Call {
    fn new<T>(
        accessor: &Accessor<T, HostData>,
        check: impl FnOnce(&InstanceState) -> Result<(), CallError>,
    ) -> Result<Self, CallError> {
        accessor.with(|mut access| {
            let state = access.get();
            check(state)?;
            Ok(Self { slot: Arc::clone(&state.slot), services: Arc::clone(&state.services) })
        })
    }
}

/// The cause of what a plugin does by itself: its own principal, and nobody else's rights.
pub(crate) fn own_cause(slot: &SlotCore, deadline_ms: u64) -> Cause {
    Cause {
        run: None,
        conversation: None,
        principal: Principal {
            namespace: "plugin".into(),
            user: slot.name.clone(),
            role: Role::Plugin,
            display_name: None,
            attested: false,
        },
        audience: Audience::Agent,
        deadline_ms,
        chain: vec![slot.name.clone()],
        meta: Vec::new(),
    }
}
