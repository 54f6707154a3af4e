//! How a turn that runs is reached from outside: interrupts and stops.
//!
//! An interrupt takes one of three paths. While the model is asked it cancels that call; in either case it is put
//! before the next model call as a message that begins with [`MARK`]; and where no turn runs, it starts one.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use homeagent_settings::Bindings;
use homeagent_types::{Conversation, Input, Principal, Role, Timestamp, now};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::errands;
use crate::queue::Queued;
use crate::rights::{refresh, standing};
use crate::sending::Reply;

/// What the model reads before the text of an interrupt.
pub(crate) const MARK: &str = homeagent_types::fit::INTERRUPT;

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
    bindings: Bindings,
    /// For people; the clock may be set meanwhile.
    pub(crate) started_at: Timestamp,
    /// What turns are ordered by.
    pub(crate) began: Instant,
    /// Set once.
    stop: watch::Sender<Option<Stop>>,
    inner: Mutex<Inner>,
    /// Only the turn waits for it.
    mail_arrived: Notify,
    /// How the turn's time goes.
    clock: watch::Sender<Clock>,
    /// Others may have written something that the model reads.
    foreign: AtomicBool,
    /// Others may have written something that a tool was told by another, in its own call.
    told_foreign: AtomicBool,
}

/// The time for which a turn waited for the owner: it is not the turn's own.
#[derive(Clone, Copy, Default)]
struct Clock {
    waited: Duration,
    /// Since when it waits, and for how many answers.
    waiting: Option<(Instant, u32)>,
}

/// The turn's time stands still as long as this is there.
pub(crate) struct Pause<'a>(&'a Control);

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        self.0.clock.send_modify(|clock| match clock.waiting {
            Some((since, 1)) => {
                clock.waited += since.elapsed();
                clock.waiting = None;
            }
            Some((since, others)) => clock.waiting = Some((since, others - 1)),
            None => {}
        });
    }
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
    pub(crate) fn new(bindings: Bindings, first: &Queued) -> Self {
        let (conversation, principal) = (first.input.conversation.clone(), first.input.principal.clone());
        let mail = VecDeque::new();
        let inner = Inner { principal, mail, wants_cancel: false, cancels: 0, closed: false };
        Self {
            run: OnceLock::new(),
            reply: OnceLock::new(),
            conversation,
            bindings,
            started_at: now(),
            began: Instant::now(),
            stop: watch::Sender::new(None),
            inner: Mutex::new(inner),
            mail_arrived: Notify::new(),
            clock: watch::Sender::default(),
            foreign: AtomicBool::new(false),
            told_foreign: AtomicBool::new(false),
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
        let first = inner.mail.front()?;
        let mut input = first.input.clone();
        refresh(&self.bindings, &mut input);
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

    /// Stops the turn's time.
    pub(crate) fn pause(&self) -> Pause<'_> {
        self.clock.send_modify(|clock| {
            let (since, others) = clock.waiting.unwrap_or((Instant::now(), 0));
            clock.waiting = Some((since, others + 1));
        });
        Pause(self)
    }

    /// Whether the turn waits for the owner's word.
    pub(crate) fn is_paused(&self) -> bool {
        self.clock.borrow().waiting.is_some()
    }

    /// Ends when the turn's time is over, which was to be at `deadline` if it did not wait for the owner.
    pub(crate) async fn expired(&self, deadline: Instant) {
        let mut clock = self.clock.subscribe();
        loop {
            let Clock { waited, waiting } = *clock.borrow_and_update();
            let over = async {
                match waiting {
                    Some(_) => std::future::pending().await,
                    None => tokio::time::sleep_until(deadline + waited).await,
                }
            };
            tokio::select! {
                () = over => return,
                // The other end is here.
                _ = clock.changed() => {}
            }
        }
    }

    /// Says whether others may have written something that the model reads now.
    pub(crate) fn reads_foreign(&self, foreign: bool) {
        self.foreign.store(foreign, Ordering::Relaxed);
    }

    /// A tool that another called in this turn returned what others may have written.
    pub(crate) fn was_told_foreign(&self) {
        self.told_foreign.store(true, Ordering::Relaxed);
    }

    /// Whether a tool of this turn may have been told what others wrote.
    pub(crate) fn told_foreign(&self) -> bool {
        self.told_foreign.load(Ordering::Relaxed)
    }

    /// Whether others may have written something that the turn works on.
    pub(crate) fn is_foreign(&self) -> bool {
        self.foreign.load(Ordering::Relaxed) || self.told_foreign()
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

    /// With whose rights the turn runs: what the owner takes from somebody, their turn has no more.
    pub(crate) fn principal(&self) -> Principal {
        let principal = self.inner().principal.clone();
        Principal { role: standing(&self.bindings, &principal), ..principal }
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

#[cfg(test)]
mod tests {
    use homeagent_settings::Database;
    use homeagent_types::Payload;

    use super::*;

    fn control() -> (tempfile::TempDir, Control) {
        let folder = tempfile::tempdir().expect("a folder");
        let database = Database::open(folder.path().join("homeagent.db")).expect("it opens");
        let conversation = Conversation::person("cli", "me");
        let principal = Principal {
            namespace: "cli".into(),
            user: "me".into(),
            role: Role::Owner,
            display_name: None,
            attested: true,
        };
        let input = Input {
            id: "1".into(),
            source: "cli".into(),
            audience: conversation.audience(),
            conversation,
            principal,
            kind: "message".into(),
            payload: Payload::Text("go".into()),
            media: Vec::new(),
            reply_route: None,
            received_at: 0,
            meta: Vec::new(),
        };
        let first = Queued {
            input,
            watcher: None,
            permit: None,
            arrived: Instant::now(),
            patient: false,
            urgent: false,
            alone: false,
        };
        let control = Control::new(Bindings::open(&database).expect("they open"), &first);
        (folder, control)
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_for_which_the_owner_is_waited_for_is_not_the_turns() {
        let (_folder, control) = control();
        let begun = Instant::now();
        let deadline = begun + Duration::from_secs(10);
        let waiting = async {
            tokio::time::sleep(Duration::from_secs(4)).await;
            let (one, other) = (control.pause(), control.pause());
            tokio::time::sleep(Duration::from_secs(60)).await;
            drop(one);
            tokio::time::sleep(Duration::from_secs(40)).await;
            drop(other);
        };
        tokio::join!(waiting, async {
            control.expired(deadline).await;
            assert_eq!(begun.elapsed().as_secs(), 110);
        });
    }
}
