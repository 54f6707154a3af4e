//! A guest's standard output and error, as lines of its log.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use tracing::Level;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use crate::slot::core::SlotCore;

/// Longer lines are cut into several.
const LONGEST_LINE: usize = 4096;
/// What a guest may write at once; it is taken at once, too.
const PERMIT: usize = 64 << 10;

/// Standard output or error of one instance.
pub(crate) struct GuestOutput {
    slot: Arc<SlotCore>,
    error: bool,
}

impl GuestOutput {
    pub(crate) fn new(slot: Arc<SlotCore>, error: bool) -> Self {
        Self { slot, error }
    }

    fn lines(&self) -> Lines {
        Lines { slot: Arc::clone(&self.slot), error: self.error, line: Vec::new() }
    }
}

impl IsTerminal for GuestOutput {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for GuestOutput {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.lines())
    }

    // Not the default, which hands the bytes to a task: the words before a trap must be there when it is reported.
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.lines())
    }
}

/// Cuts what is written into lines.
struct Lines {
    slot: Arc<SlotCore>,
    error: bool,
    line: Vec<u8>,
}

impl Lines {
    fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if *byte == b'\n' || self.line.len() >= LONGEST_LINE {
                self.end_line();
            }
            if *byte != b'\n' {
                self.line.push(*byte);
            }
        }
    }

    fn end_line(&mut self) {
        if self.line.is_empty() {
            return;
        }
        let line = String::from_utf8_lossy(&self.line);
        if self.error {
            self.slot.note_last_words(&line);
        }
        self.slot.log(if self.error { Level::WARN } else { Level::INFO }, &line);
        self.line.clear();
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.end_line();
    }
}

impl OutputStream for Lines {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.take(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(PERMIT)
    }
}

#[async_trait::async_trait]
impl Pollable for Lines {
    async fn ready(&mut self) {}
}

impl AsyncWrite for Lines {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        self.take(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
