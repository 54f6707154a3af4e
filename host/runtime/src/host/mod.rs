//! The contract's imports, one module each, all of one shape: the guest's call is checked against the grants, then
//! handed to the part of the host that does it.

mod bus;
mod connect;
mod http;
mod inputs;
mod log;
mod outbound;
mod registry;
mod secrets;
mod settings;
mod sockets;
mod tools;

use homeagent_types::{Audience, Cause, Principal, Role};

pub(crate) use self::http::told;
pub(crate) use self::outbound::Outbound;
pub(crate) use self::sockets::LARGEST_FRAME;

use crate::bindings::types;
use crate::instance::InstanceState;
use crate::slot::core::SlotCore;

impl types::Host for &mut InstanceState {}

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
        },
        audience: Audience::Agent,
        deadline_ms,
        chain: vec![slot.name.clone()],
        meta: Vec::new(),
    }
}
