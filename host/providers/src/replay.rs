//! Feeding a recorded answer through an adapter.

use homeagent_types::CallError;
use homeagent_types::model::{AssistantAnswer, Failure, FailureClass, Framing, HttpResponse};
use homeagent_types::ports::Adapters;

use crate::assembler::{AnswerLimits, Assembler};
use crate::framing::{EVENT_LIMIT, Framer};

/// Puts together the answer whose bytes were recorded, fed `chunk` bytes at a time (0: all at once) as the network might
/// bring them. A recorded JSON document is read as a whole answer where the adapter streams by server-sent events.
///
/// # Errors
///
/// There is no such adapter, or it failed.
pub async fn try_adapter(
    adapters: &dyn Adapters,
    adapter: &str,
    bytes: &[u8],
    chunk: usize,
) -> Result<AssistantAnswer, CallError> {
    let descriptor = adapters.descriptor(adapter).ok_or_else(|| {
        let known = adapters.names().join(", ");
        CallError::NotFound(format!("there is no adapter `{adapter}`; at hand are: {known}"))
    })?;
    let mut session = adapters.open(adapter).await?;
    let mut assembler = Assembler::new(AnswerLimits::default());
    if descriptor.framing == Framing::Sse && bytes.trim_ascii_start().starts_with(b"{") {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        let response = HttpResponse { status: 200, headers, body: bytes.to_vec() };
        for delta in session.parse_response(response).await? {
            assembler.push(delta);
        }
        return Ok(assembler.finish());
    }
    let mut framer = Framer::new(descriptor.framing, EVENT_LIMIT);
    let mut framed = Ok(());
    for piece in bytes.chunks(if chunk == 0 { bytes.len().max(1) } else { chunk }) {
        let mut events = Vec::new();
        framed = framer.push(piece, &mut events);
        if !events.is_empty() {
            for delta in session.step(events).await? {
                assembler.push(delta);
            }
        }
        if framed.is_err() {
            break;
        }
    }
    let mut events = Vec::new();
    if let Err(error) = framed.and_then(|()| framer.finish(&mut events)) {
        assembler.fail(Failure { class: FailureClass::Protocol, message: error.to_string(), retry_after_ms: None });
        return Ok(assembler.finish());
    }
    if !events.is_empty() {
        for delta in session.step(events).await? {
            assembler.push(delta);
        }
    }
    for delta in session.end().await? {
        assembler.push(delta);
    }
    Ok(assembler.finish())
}
