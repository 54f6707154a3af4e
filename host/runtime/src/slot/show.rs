//! Pieces of answers on their way to a channel that may be slow.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use homeagent_settings::Secrets;
use homeagent_types::{OutputDelta, Shown};
use tokio::sync::{Notify, watch};

use super::core::lock;

/// Pieces that wait; beyond it new ones are dropped, since the final text carries everything.
const WAITING: usize = 4096;
/// Pieces handed over in one call.
const BATCH: usize = 256;
/// Ends of texts that are held back; beyond it the oldest is let go, since the final text carries everything.
const HELD: usize = 64;

/// The queue of a slot.
pub(crate) struct ShowQueue {
    deltas: Mutex<VecDeque<OutputDelta>>,
    /// Ends of texts in which a known secret may have begun, at most one of each turn and addressee. Each goes out with
    /// the next piece.
    held: Mutex<VecDeque<OutputDelta>>,
    secrets: Secrets,
    arrived: Notify,
    /// Pieces that have not been shown yet, those in a running call among them.
    pending: watch::Sender<usize>,
}

impl ShowQueue {
    pub(crate) fn new(secrets: Secrets) -> Self {
        let pending = watch::Sender::new(0);
        Self { deltas: Mutex::default(), held: Mutex::default(), secrets, arrived: Notify::new(), pending }
    }

    pub(crate) fn push(&self, new: Vec<OutputDelta>) {
        let new: Vec<_> = {
            let mut held = lock(&self.held);
            new.into_iter().flat_map(|delta| self.without_secrets(&mut held, delta)).collect()
        };
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

    /// What can go out now, of what was held back and of what is new.
    fn without_secrets(&self, held: &mut VecDeque<OutputDelta>, mut delta: OutputDelta) -> Vec<OutputDelta> {
        let mut out = Vec::new();
        let before = held.iter().position(|it| same_answer(it, &delta)).and_then(|at| held.remove(at));
        if let Some(mut before) = before {
            if join(&mut before, &delta) {
                delta = before;
            } else if delta.content != Shown::Void {
                // It is the end of its text: something else follows.
                self.redact(&mut before);
                out.push(before);
            }
        }
        if let Some(text) = text(&mut delta) {
            let settled = self.secrets.settled(text);
            let rest = text.split_off(settled);
            let said = !text.is_empty();
            if !rest.is_empty() {
                let mut later = delta.clone();
                if let Some(text) = self::text(&mut later) {
                    *text = rest;
                }
                if held.len() >= HELD {
                    held.pop_front();
                }
                held.push_back(later);
            }
            if !said {
                return out;
            }
            self.redact(&mut delta);
        }
        out.push(delta);
        out
    }

    fn redact(&self, delta: &mut OutputDelta) {
        if let Some(text) = text(delta)
            && let Cow::Owned(redacted) = self.secrets.redact(text)
        {
            *text = redacted;
        }
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

/// The text of a piece that has one.
fn text(delta: &mut OutputDelta) -> Option<&mut String> {
    match &mut delta.content {
        Shown::Text(text) | Shown::Reasoning(text) => Some(text),
        Shown::ToolStarted(_) | Shown::ToolEnded(_) | Shown::Void => None,
    }
}

fn same_answer(one: &OutputDelta, other: &OutputDelta) -> bool {
    one.run == other.run && one.reply_route == other.reply_route && one.conversation == other.conversation
}

/// Joins a piece to the one that waits before it, when both are text of one turn.
fn join(last: &mut OutputDelta, next: &OutputDelta) -> bool {
    if !same_answer(last, next) {
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

#[cfg(test)]
mod tests {
    use homeagent_settings::Database;
    use homeagent_types::Conversation;

    use super::*;

    fn delta(run: &str, content: Shown) -> OutputDelta {
        OutputDelta { run: run.into(), conversation: Conversation::person("cli", "me"), reply_route: None, content }
    }

    #[tokio::test]
    async fn a_secret_that_comes_in_pieces_is_not_shown_in_pieces() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = Database::open(folder.path().join("db")).expect("a new database");
        let secrets = Secrets::open(&database, folder.path()).expect("new secrets");
        secrets.set("key", "sk-marked-0123".into()).expect("a secret");
        let queue = ShowQueue::new(secrets);
        for piece in ["the key is s", "k-mar", "ked-01", "23, keep it as"] {
            queue.push(vec![delta("1", Shown::Text(piece.into()))]);
            queue.push(vec![delta("2", Shown::Reasoning("s".into()))]);
        }
        queue.push(vec![delta("1", Shown::ToolStarted("look".into()))]);
        let shown = queue.next().await;
        let of_one: Vec<_> = shown.iter().filter(|it| it.run == "1").map(|it| it.content.clone()).collect();
        let text = of_one.iter().filter_map(|it| if let Shown::Text(text) = it { Some(text.as_str()) } else { None });
        assert_eq!(text.collect::<String>(), "the key is [secret key], keep it as");
        assert_eq!(of_one.last(), Some(&Shown::ToolStarted("look".into())), "after the text before it");
        let of_two = shown.iter().filter(|it| it.run == "2");
        let text =
            of_two.filter_map(|it| if let Shown::Reasoning(text) = &it.content { Some(text.as_str()) } else { None });
        assert_eq!(text.collect::<String>(), "sss", "the fourth waits");
    }
}
