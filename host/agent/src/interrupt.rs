//! How a turn that runs is reached from outside: interrupts and stops.
//!
//! An interrupt takes one of three paths. While the model is asked it cancels that call; in either case it is put
//! before the next model call as a message that begins with [`MARK`]; and where no turn runs, it starts one.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use homeagent_types::{Conversation, Input, Principal, Role, Timestamp, now};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::errands;
use crate::queue::Queued;
use crate::sending::Reply;

/// What the model reads before the text of an interrupt.
pub(crate) const MARK: &str = "[打断消息]";

/// How many model calls of one turn may be cancelled.
const MOST_CANCELS: u32 = 2;

/// How many interrupts one turn takes before others wait for the next.
const MOST_MAIL: usize = 64;

/// Why a turn is ended from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Somebody asked for it.
    Asked {
        /// Who.
        by: String,
    },
    /// The daemon stops.
    ShuttingDown,
}

/// The outer side of a turn. The turn holds the same and looks at it between, and during, its steps.
pub(crate) struct Control {
    /// Set once the journal has begun the run.
    run: OnceLock<String>,
    /// What the turn has said, for those who speak in its name.
    reply: OnceLock<Arc<Mutex<Reply>>>,
    pub(crate) conversation: Conversation,
    /// For people; the clock may be set meanwhile.
    pub(crate) started_at: Timestamp,
    /// What turns are ordered by.
    pub(crate) began: Instant,
    /// Set once.
    stop: watch::Sender<Option<Stop>>,
    inner: Mutex<Inner>,
    /// Only the turn waits for it.
    mail_arrived: Notify,
}

struct Inner {
    /// The one with the least rights of all whose words are in the turn.
    principal: Principal,
    mail: VecDeque<Queued>,
    wants_cancel: bool,
    cancels: u32,
    /// The turn takes no more mail.
    closed: bool,
}

/// Whether this input, as an interrupt, may cancel a model call of a turn in its own conversation.
fn may_cancel(input: &Input) -> bool {
    input.principal.role == Role::Owner || input.kind == "message" || errands::is_urgent(input)
}

impl Control {
    pub(crate) fn new(conversation: Conversation, principal: Principal) -> Self {
        let inner = Inner { principal, mail: VecDeque::new(), wants_cancel: false, cancels: 0, closed: false };
        Self {
            run: OnceLock::new(),
            reply: OnceLock::new(),
            conversation,
            started_at: now(),
            began: Instant::now(),
            stop: watch::Sender::new(None),
            inner: Mutex::new(inner),
            mail_arrived: Notify::new(),
        }
    }

    /// The turn's id; empty until the journal has begun the run.
    pub(crate) fn run(&self) -> &str {
        self.run.get().map_or("", String::as_str)
    }

    /// What the turn has said; nothing until it has begun.
    pub(crate) fn reply(&self) -> Option<Arc<Mutex<Reply>>> {
        self.reply.get().cloned()
    }

    pub(crate) fn speaks(&self, reply: Arc<Mutex<Reply>>) {
        // A turn begins once.
        let _ = self.reply.set(reply);
    }

    pub(crate) fn begun(&self, run: String) {
        // It is begun once.
        let _ = self.run.set(run);
    }

    /// Hands an interrupt to the turn; handed back where the turn takes none any more.
    pub(crate) fn offer(&self, item: Queued) -> Result<(), Box<Queued>> {
        let mut inner = self.inner();
        if inner.closed || inner.mail.len() >= MOST_MAIL || !may_cancel(&item.input) {
            return Err(Box::new(item));
        }
        inner.wants_cancel = true;
        inner.mail.push_back(item);
        drop(inner);
        self.mail_arrived.notify_one();
        Ok(())
    }

    /// The first interrupt that has arrived. Its speaker's rights bound the turn's from now on.
    ///
    /// It stays here until [`Control::settle`]: whatever ends the turn before that, it is handed back.
    pub(crate) fn mail(&self) -> Option<Input> {
        let mut inner = self.inner();
        inner.wants_cancel = false;
        let input = inner.mail.front()?.input.clone();
        if input.principal.role < inner.principal.role {
            inner.principal = input.principal.clone();
        }
        Some(input)
    }

    /// The journal says that the first interrupt was taken.
    pub(crate) fn settle(&self) {
        self.inner().mail.pop_front();
    }

    /// Takes no more interrupts; hands back those that were not settled.
    pub(crate) fn close(&self) -> Vec<Queued> {
        let mut inner = self.inner();
        inner.closed = true;
        std::mem::take(&mut inner.mail).into()
    }

    /// Ends when an interrupt cancels the model call in flight; that counts as one of the turn's cancels.
    pub(crate) async fn cancelled(&self) {
        loop {
            {
                let mut inner = self.inner();
                if inner.wants_cancel && inner.cancels < MOST_CANCELS {
                    inner.wants_cancel = false;
                    inner.cancels += 1;
                    return;
                }
            }
            self.mail_arrived.notified().await;
        }
    }

    /// Ends the turn. False: it was being ended already.
    pub(crate) fn stop(&self, why: Stop) -> bool {
        self.stop.send_if_modified(|stop| {
            let first = stop.is_none();
            if first {
                *stop = Some(why);
            }
            first
        })
    }

    /// Ends when the turn is to end.
    pub(crate) async fn stopped(&self) -> Stop {
        let mut stop = self.stop.subscribe();
        loop {
            if let Some(why) = stop.borrow_and_update().clone() {
                return why;
            }
            if stop.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// With whose rights the turn runs.
    pub(crate) fn principal(&self) -> Principal {
        self.inner().principal.clone()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether `asker` may end a turn that runs with the rights of `runner`, in a conversation both can reach.
pub(crate) fn may_stop(asker: &Principal, runner: &Principal) -> bool {
    let same = asker.namespace == runner.namespace && asker.user == runner.user;
    same || (asker.role >= Role::Member && asker.role >= runner.role)
}
