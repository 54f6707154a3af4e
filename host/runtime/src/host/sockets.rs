//! `sockets`: the connections the host holds for the plugin.

use homeagent_types::CallError;
use homeagent_types::ports;
use wasmtime::component::Accessor;

use crate::bindings::{sockets, types};
use crate::instance::{HostData, InstanceState};

/// The largest frame, in bytes, both ways.
pub(crate) const LARGEST_FRAME: usize = 1 << 20;

impl<T: Send + 'static> sockets::HostWithStore<T> for HostData {
    async fn send(accessor: &Accessor<T, Self>, connection: u64, frame: sockets::Frame) -> Result<(), types::Error> {
        let (slot, secrets) = accessor.with(|mut access| {
            let state = access.get();
            state.may(state.slot.sockets.capability(connection), "sending a frame")?;
            Ok::<_, CallError>((std::sync::Arc::clone(&state.slot), state.services.secrets.clone()))
        })?;
        // Whoever is at the other end, known secrets are none of theirs.
        let frame = match frame {
            sockets::Frame::Text(text) => ports::Frame::Text(secrets.redact(&text).into_owned()),
            sockets::Frame::Binary(bytes) => ports::Frame::Binary(secrets.redact_bytes(&bytes).into_owned()),
        };
        let length = match &frame {
            ports::Frame::Text(text) => text.len(),
            ports::Frame::Binary(bytes) => bytes.len(),
        };
        if length > LARGEST_FRAME {
            return Err(
                CallError::Invalid(format!("the frame has {length} bytes; {LARGEST_FRAME} are the most")).into()
            );
        }
        Ok(slot.sockets.send(connection, frame).await?)
    }
}

impl sockets::Host for &mut InstanceState {
    fn close(&mut self, connection: u64, reason: String) -> Result<(), types::Error> {
        self.may(self.slot.sockets.capability(connection), "closing a connection")?;
        Ok(self.slot.sockets.close(connection, reason)?)
    }

    fn open(&mut self) -> Vec<u64> {
        let sockets = &self.slot.sockets;
        let may = |id: &u64| self.may(sockets.capability(*id), "listing connections").is_ok();
        sockets.ids().into_iter().filter(may).collect()
    }
}
