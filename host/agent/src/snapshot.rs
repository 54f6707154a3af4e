//! What the process and the agent hold, in a line of the log: by it one sees which turn the memory went to.

use homeagent_types::ProcessFigures;
use tracing::Level;

use crate::core::Core;

/// Writes the line, if lines of its level are written. `after` says what has just happened.
pub(crate) fn log(core: &Core, after: &'static str) {
    if !tracing::enabled!(Level::DEBUG) {
        return;
    }
    let ProcessFigures { resident_bytes, open_files, threads } = ProcessFigures::read();
    let (windows, window_bytes) = core.contexts.held();
    tracing::debug!(
        after,
        resident_bytes,
        open_files,
        threads,
        windows,
        window_bytes,
        inputs_waiting = core.queue().len(),
        turns_running = core.turns().len(),
        "memory"
    );
}
