//! Ends of runs that the journal did not take, kept until it does: otherwise such a run would stay open until the next
//! start.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use homeagent_journal::{JournalError, RunStatus, Seq};
use tokio::sync::{Notify, watch};

use crate::core::Core;
use crate::lifecycle::Phase;
use crate::record::Record;
use crate::result::TurnResult;

/// How long to wait before the journal is asked again, unless it takes something else before.
const PAUSE: Duration = Duration::from_secs(20);

/// How many are kept. Of more the oldest is left to the next start, which closes its run as failed.
const MOST: usize = 256;

/// The ends that are owed, the oldest first.
#[derive(Default)]
pub(crate) struct Arrears {
    owed: Mutex<VecDeque<Owed>>,
    added: Notify,
    /// Held while they are written: what one at it has taken out and can't write is there again for the next.
    paying: tokio::sync::Mutex<()>,
}

struct Owed {
    record: Record,
    status: RunStatus,
    result: TurnResult,
}

impl Arrears {
    fn owed(&self) -> MutexGuard<'_, VecDeque<Owed>> {
        self.owed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, owed: Owed) {
        let mut all = self.owed();
        if all.len() == MOST {
            all.pop_front();
        }
        all.push_back(owed);
        self.added.notify_one();
    }

    /// Waits until something is owed and it may be time to ask the journal again.
    async fn due(&self, tip: &mut watch::Receiver<Seq>) {
        while self.owed().is_empty() {
            self.added.notified().await;
        }
        let written = async {
            if tip.changed().await.is_err() {
                // The journal is closed, and takes nothing any more.
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = written => {}
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
}

/// Ends a run. Where the database does not take it, it is owed from then on.
pub(crate) async fn finish(
    core: &Core,
    record: &Record,
    status: RunStatus,
    result: &TurnResult,
) -> Result<(), JournalError> {
    let finished = record.finish(status, result).await;
    if matches!(finished, Err(JournalError::Database(_))) {
        core.arrears.add(Owed { record: record.clone(), status, result: result.clone() });
    }
    finished
}

/// Writes what is owed whenever the journal may take it, until the agent has stopped.
pub(crate) async fn settle(core: Arc<Core>) {
    let mut phase = core.phase.subscribe();
    let mut tip = core.journal.tip();
    loop {
        tokio::select! {
            () = core.arrears.due(&mut tip) => {}
            stopped = phase.wait_for(|phase| *phase == Phase::Stopped) => {
                drop(stopped);
                return;
            }
        }
        pay(&core).await;
    }
}

/// Writes what is owed, as far as the journal takes it now.
pub(crate) async fn pay(core: &Core) {
    let _alone = core.arrears.paying.lock().await;
    loop {
        let Some(owed) = core.arrears.owed().pop_front() else { return };
        let run = owed.record.run.as_deref().unwrap_or_default();
        match owed.record.finish(owed.status, &owed.result).await {
            Ok(()) => tracing::info!(run, "the end of a run is recorded, later than it came"),
            Err(error @ JournalError::Database(_)) => {
                tracing::debug!(run, %error, "the end of a run can't be recorded yet");
                core.arrears.owed().push_front(owed);
                return;
            }
            Err(error) => tracing::warn!(run, %error, "the end of a run could not be recorded"),
        }
    }
}
