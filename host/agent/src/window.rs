//! The windows of conversations that run no turn.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use homeagent_memory::context::Window;

/// Idle windows that are kept; others are made anew when their conversation goes on.
const IDLE_WINDOWS: usize = 64;

/// The bytes that idle windows may hold together.
const IDLE_BYTES: usize = 64 << 20;

/// What is kept of a conversation between its turns.
#[derive(Debug, Default)]
pub(crate) struct Context {
    pub(crate) session: String,
    pub(crate) window: Window,
    /// Digests of what was snapshotted last in this session.
    pub(crate) prompt_digest: String,
    pub(crate) tools_digest: String,
}

/// The contexts of conversations that run no turn. A turn takes its own out and gives it back: so each has one writer,
/// and what a panic leaves half-written is lost with it and rebuilt.
#[derive(Default)]
pub(crate) struct Contexts {
    /// The one used last stands at the end.
    idle: Mutex<VecDeque<(String, Context)>>,
}

impl Contexts {
    pub(crate) fn take(&self, conversation: &str) -> Option<Context> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let at = idle.iter().position(|(name, _)| name == conversation)?;
        idle.remove(at).map(|(_, context)| context)
    }

    pub(crate) fn give(&self, conversation: &str, context: Context) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push_back((conversation.to_owned(), context));
        let mut bytes: usize = idle.iter().map(|(_, context)| context.window.bytes()).sum();
        while idle.len() > IDLE_WINDOWS || (bytes > IDLE_BYTES && idle.len() > 1) {
            let Some((_, oldest)) = idle.pop_front() else { return };
            bytes -= oldest.window.bytes();
        }
    }

    /// How many there are, and the bytes of their windows.
    pub(crate) fn held(&self) -> (usize, usize) {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        (idle.len(), idle.iter().map(|(_, context)| context.window.bytes()).sum())
    }
}
