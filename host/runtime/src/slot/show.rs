//! Pieces of answers on their way to a channel that may be slow.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use homeagent_types::{OutputDelta, Shown};
use tokio::sync::{Notify, watch};

use super::core::lock;

/// Pieces that wait; beyond it new ones are dropped, since the final text carries everything.
const WAITING: usize = 4096;
/// Pieces handed over in one call.
const BATCH: usize = 256;

/// The queue of a slot.
pub(crate) struct ShowQueue {
    deltas: Mutex<VecDeque<OutputDelta>>,
    arrived: Notify,
    /// Pieces that have not been shown yet, those in a running call among them.
    pending: watch::Sender<usize>,
}

impl ShowQueue {
    pub(crate) fn new() -> Self {
        Self { deltas: Mutex::default(), arrived: Notify::new(), pending: watch::Sender::new(0) }
    }

    pub(crate) fn push(&self, new: Vec<OutputDelta>) {
        let mut deltas = lock(&self.deltas);
        let mut added = 0;
        for delta in new {
            if deltas.back_mut().is_some_and(|last| join(last, &delta)) {
                continue;
            }
            if deltas.len() < WAITING {
                deltas.push_back(delta);
                added += 1;
            }
        }
        self.pending.send_modify(|count| *count += added);
        drop(deltas);
        self.arrived.notify_one();
    }

    /// The next pieces; [`ShowQueue::done`] is to be called when they have been shown. Cancel-safe.
    pub(crate) async fn next(&self) -> Vec<OutputDelta> {
        loop {
            {
                let mut deltas = lock(&self.deltas);
                if !deltas.is_empty() {
                    let count = deltas.len().min(BATCH);
                    return deltas.drain(..count).collect();
                }
            }
            self.arrived.notified().await;
        }
    }

    pub(crate) fn done(&self, count: usize) {
        self.pending.send_modify(|pending| *pending = pending.saturating_sub(count));
    }

    pub(crate) async fn empty(&self, longest: Duration) {
        let mut pending = self.pending.subscribe();
        drop(tokio::time::timeout(longest, pending.wait_for(|count| *count == 0)).await);
    }
}

/// Joins a piece to the one that waits before it, when both are text of one turn.
fn join(last: &mut OutputDelta, next: &OutputDelta) -> bool {
    if last.run != next.run || last.reply_route != next.reply_route || last.conversation != next.conversation {
        return false;
    }
    match (&mut last.content, &next.content) {
        (Shown::Text(text), Shown::Text(more)) | (Shown::Reasoning(text), Shown::Reasoning(more)) => {
            text.push_str(more);
            true
        }
        _ => false,
    }
}
