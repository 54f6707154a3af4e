//! `bus`: events for whoever listens.

use homeagent_types::CallError;

use super::own_cause;
use crate::bindings::{bus, types};
use crate::bus::Event;
use crate::instance::InstanceState;

/// The largest event, in bytes.
const LARGEST: usize = 64 << 10;

impl bus::Host for &mut InstanceState {
    fn publish(&mut self, topic: String, payload: String) -> Result<(), types::Error> {
        self.may("events", &format!("publishing {topic}"))?;
        if topic.len() + payload.len() > LARGEST {
            return Err(CallError::Invalid(format!("an event has at most {LARGEST} bytes")).into());
        }
        if let Err(error) = homeagent_types::check_json(&payload) {
            return Err(CallError::Invalid(format!("the payload is {error}")).into());
        }
        self.services.bus.publish(&Event {
            topic: format!("plugin.{}.{topic}", self.slot.name),
            payload,
            source: self.slot.name.clone(),
            at: homeagent_types::now(),
            cause: own_cause(&self.slot, 0),
        });
        Ok(())
    }
}
