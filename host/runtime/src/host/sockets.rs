//! `sockets`: the connections the host holds for the plugin.

use std::sync::Arc;
use std::time::Duration;

use homeagent_types::CallError;
use homeagent_types::ports;
use wasmtime::component::Accessor;

use crate::bindings::{sockets, types};
use crate::instance::{HostData, InstanceState};
use crate::slot::core::SlotCore;

/// The largest frame, in bytes, both ways.
pub(crate) const LARGEST_FRAME: usize = 1 << 20;

/// How long an answer is waited for at most.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

impl<T: Send + 'static> sockets::HostWithStore<T> for HostData {
    async fn send(accessor: &Accessor<T, Self>, connection: u64, frame: sockets::Frame) -> Result<(), types::Error> {
        let slot = allowed(accessor, connection, "sending a frame")?;
        let (frame, length) = sendable(&slot, frame)?;
        let _room = slot.carry(length)?;
        Ok(slot.sockets.send(connection, frame).await?)
    }

    async fn request(
        accessor: &Accessor<T, Self>,
        connection: u64,
        frame: sockets::Frame,
        answer: sockets::AnswerMark,
        timeout_ms: u32,
    ) -> Result<sockets::Frame, types::Error> {
        let slot = allowed(accessor, connection, "asking over a connection")?;
        let (frame, length) = sendable(&slot, frame)?;
        // Held until the answer is there: the mark waits as long.
        let room = slot.carry(length + answer.pointer.len() + answer.value.len())?;
        let place = Arc::clone(&slot.calls_out).try_acquire_owned().map_err(|_| CallError::Busy)?;
        let wait = Duration::from_millis(timeout_ms.into()).min(LONGEST_WAIT);
        // First, so that an answer that is quicker than this finds who waits for it.
        let waiting = slot.sockets.expect(connection, answer.pointer, answer.value)?;
        slot.sockets.send(connection, frame).await?;
        let answered = tokio::time::timeout(wait, waiting).await;
        drop((place, room));
        match answered {
            Ok(Some(ports::Frame::Text(text))) => Ok(sockets::Frame::Text(text)),
            Ok(Some(ports::Frame::Binary(bytes))) => Ok(sockets::Frame::Binary(bytes)),
            Ok(None) => {
                Err(CallError::NotFound(format!("connection {connection} is gone; nobody knows whether it was done"))
                    .into())
            }
            Err(_) => Err(CallError::Timeout.into()),
        }
    }
}

fn allowed<T: 'static>(
    accessor: &Accessor<T, HostData>,
    connection: u64,
    attempt: &str,
) -> Result<Arc<SlotCore>, CallError> {
    accessor.with(|mut access| {
        let state = access.get();
        let capability = state.slot.sockets.capability(connection)?;
        state.may(capability, attempt).map(|()| Arc::clone(&state.slot))
    })
}

/// A frame that may be sent, and its length. Whoever is at the other end, known secrets are none of theirs.
fn sendable(slot: &SlotCore, frame: sockets::Frame) -> Result<(ports::Frame, usize), CallError> {
    let (length, frame) = match frame {
        sockets::Frame::Text(text) => {
            let text = slot.secrets.redact(&text).into_owned();
            (text.len(), ports::Frame::Text(text))
        }
        sockets::Frame::Binary(bytes) => {
            let bytes = slot.secrets.redact_bytes(&bytes).into_owned();
            (bytes.len(), ports::Frame::Binary(bytes))
        }
    };
    if length > LARGEST_FRAME {
        return Err(CallError::Invalid(format!("the frame has {length} bytes; {LARGEST_FRAME} are the most")));
    }
    Ok((frame, length))
}

impl sockets::Host for &mut InstanceState {
    fn close(&mut self, connection: u64, reason: String) -> Result<(), types::Error> {
        self.may(self.slot.sockets.capability(connection)?, "closing a connection")?;
        Ok(self.slot.sockets.close(connection, reason)?)
    }

    fn open(&mut self) -> Vec<u64> {
        let sockets = &self.slot.sockets;
        let may = |id: &u64| sockets.capability(*id).and_then(|it| self.may(it, "listing connections")).is_ok();
        sockets.ids().into_iter().filter(may).collect()
    }
}
