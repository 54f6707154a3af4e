//! What a slot keeps whatever instance is in it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use homeagent_settings::Secrets;
use homeagent_types::{CallError, Cause, Denial};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tracing::Level;
use wasmtime::component::GuestTaskId;

use super::dialled::Dialled;
use super::disk::DiskShare;
use super::job::{ON_TIMER, Verdict};
use super::sockets::Sockets;
use crate::grants::GrantTable;
use crate::meters::SlotMeters;
use crate::services::Services;

/// The key under which a call's number travels in the meta of its cause, so that a guest that hands the cause back is
/// believed for what the host knows of that call, not for what it says.
pub(crate) const CALL_KEY: &str = "homeagent.call";

/// How deep a chain of calls may come back to one slot.
const DEEPEST_REENTRY: usize = 4;

/// How much of a guest's standard error is kept for the report of its trap, in bytes.
const LONGEST_LAST_WORDS: usize = 1_000;

/// A longer line of a guest's log is cut, in bytes.
const LONGEST_LINE: usize = 4096;

/// What a plugin may have under way through the host at one time, in KiB: inputs on their way into the journal, frames on
/// their way to peers that are slow, arguments of tools.
const IN_TRANSIT: usize = 16 << 10;

/// Requests to the model that a plugin may have under way at one time.
const QUESTIONS: usize = 4;

/// Calls of tools that a plugin may have under way through the host at one time.
const CALLS_OUT: usize = 64;

/// The seat's own state. Shared by the handle, the supervisor and the running instances.
pub(crate) struct SlotCore {
    pub(crate) name: String,
    pub(crate) grants: GrantTable,
    pub(crate) sockets: Sockets,
    /// The connections that the host makes for it.
    pub(crate) dialled: Dialled,
    pub(crate) calls: AtomicU64,
    pub(crate) meters: SlotMeters,
    /// A place for each call that the plugin makes through the host.
    pub(crate) calls_out: Arc<Semaphore>,
    /// A place for each request it makes to the model.
    pub(crate) questions: Arc<Semaphore>,
    /// A place for each KiB that it hands over in calls which wait.
    in_transit: Arc<Semaphore>,
    pub(crate) disk: DiskShare,
    /// How many programs of the plugin's run.
    pub(crate) programs: AtomicU64,
    /// Requests over the network under way.
    requests: AtomicUsize,
    running: Mutex<HashMap<u64, Running>>,
    /// Changes whenever a job ends; drains wait on it.
    ended: watch::Sender<u64>,
    next_job: AtomicU64,
    last_error: Mutex<Option<String>>,
    log: Mutex<LogBudget>,
    pub(crate) secrets: Secrets,
    killers: Mutex<HashMap<u64, Killer>>,
}

/// Ends one generation, and says why.
struct Killer {
    token: CancellationToken,
    reason: Option<String>,
}

/// A job that an instance has begun.
pub(crate) struct Running {
    pub(crate) generation: u64,
    pub(crate) export: &'static str,
    /// When its caller stops waiting.
    pub(crate) deadline: Instant,
    pub(crate) kill_at: Instant,
    /// What the call comes from, as the host knows it.
    pub(crate) cause: Option<Cause>,
    /// The guest's task that runs it.
    pub(crate) task: Option<GuestTaskId>,
    pub(crate) verdict: Verdict,
}

/// A job that outlived its deadline and its grace.
pub(crate) struct Overdue {
    pub(crate) generation: u64,
    pub(crate) export: &'static str,
}

struct LogBudget {
    second: Instant,
    lines: u32,
    dropped: u64,
    per_second: u32,
    /// What the guest last wrote to its standard error: for a Rust guest, the message of its panic.
    last_words: String,
}

impl SlotCore {
    pub(crate) fn new(name: String, grants: GrantTable, services: &Services) -> Self {
        Self {
            meters: SlotMeters::new(&name),
            name,
            grants,
            sockets: Sockets::default(),
            dialled: Dialled::default(),
            calls: AtomicU64::new(0),
            calls_out: Arc::new(Semaphore::new(CALLS_OUT)),
            questions: Arc::new(Semaphore::new(QUESTIONS)),
            in_transit: Arc::new(Semaphore::new(IN_TRANSIT)),
            disk: DiskShare::default(),
            programs: AtomicU64::new(0),
            requests: AtomicUsize::new(0),
            running: Mutex::default(),
            ended: watch::Sender::new(0),
            next_job: AtomicU64::new(1),
            last_error: Mutex::default(),
            log: Mutex::new(LogBudget {
                second: Instant::now(),
                lines: 0,
                dropped: 0,
                per_second: services.log_lines_per_second(),
                last_words: String::new(),
            }),
            killers: Mutex::default(),
            secrets: services.secrets.clone(),
        }
    }

    /// Room for what the plugin hands over in a call that may wait, until what is returned is dropped. `busy` where it has
    /// too much under way: what waits is in the host's memory, not in its own.
    pub(crate) fn carry(&self, bytes: usize) -> Result<OwnedSemaphorePermit, CallError> {
        let kib = u32::try_from(bytes / 1024 + 1).unwrap_or(u32::MAX);
        Arc::clone(&self.in_transit).try_acquire_many_owned(kib).map_err(|_| CallError::Busy)
    }

    /// From now on [`SlotCore::kill`] ends this generation.
    pub(crate) fn may_be_killed(&self, generation: u64, token: CancellationToken) {
        lock(&self.killers).insert(generation, Killer { token, reason: None });
    }

    pub(crate) fn is_over(&self, generation: u64) {
        lock(&self.killers).remove(&generation);
        self.say_dropped(&mut lock(&self.log));
    }

    pub(crate) fn kill(&self, generation: u64, reason: String) {
        if let Some(killer) = lock(&self.killers).get_mut(&generation) {
            killer.reason.get_or_insert(reason);
            killer.token.cancel();
        }
    }

    /// Ends every instance of the slot.
    pub(crate) fn kill_all(&self, reason: &str) {
        for killer in lock(&self.killers).values_mut() {
            killer.reason.get_or_insert_with(|| reason.to_owned());
            killer.token.cancel();
        }
    }

    pub(crate) fn kill_reason(&self, generation: u64) -> Option<String> {
        lock(&self.killers).get(&generation)?.reason.clone()
    }

    pub(crate) fn next_job(&self) -> u64 {
        self.next_job.fetch_add(1, Ordering::Relaxed)
    }

    /// Checks a capability at the moment of a call.
    pub(crate) fn allow(&self, capability: &str, attempt: impl Into<String>) -> Result<(), CallError> {
        if self.grants.allows(capability) { Ok(()) } else { Err(self.denial(capability, attempt)) }
    }

    /// What a plugin is told that lacks a grant.
    pub(crate) fn denial(&self, capability: &str, attempt: impl Into<String>) -> CallError {
        let remedy = format!("the owner can allow it: waiter plugin grant {} {capability}", self.name);
        CallError::Denied(Denial { capability: capability.to_owned(), attempt: attempt.into(), remedy })
    }

    /// Marks a cause as handed to this slot: the chain grows by the slot, unless it has come back here too often.
    pub(crate) fn enter(&self, cause: &mut Cause, job: u64) -> Result<(), CallError> {
        if cause.chain.iter().filter(|slot| **slot == self.name).count() >= DEEPEST_REENTRY {
            return Err(CallError::Busy);
        }
        cause.chain.push(self.name.clone());
        cause.meta.retain(|(key, _)| key != CALL_KEY);
        cause.meta.push((CALL_KEY.into(), job.to_string()));
        Ok(())
    }

    /// Whether others may have written what one of the calls under way is made for.
    pub(crate) fn works_on_foreign(&self) -> bool {
        lock(&self.running).values().any(|job: &Running| job.cause.as_ref().is_some_and(Cause::is_foreign))
    }

    /// What the host itself knows of the call whose cause a guest hands back.
    pub(crate) fn believed(&self, given: &[(String, String)]) -> Option<Cause> {
        let job = given.iter().find(|(key, _)| key == CALL_KEY)?.1.parse().ok()?;
        let running = lock(&self.running);
        let entry: &Running = running.get(&job)?;
        let mut cause = entry.cause.clone()?;
        let left = entry.kill_at.saturating_duration_since(Instant::now()).as_millis();
        cause.deadline_ms = cause.deadline_ms.min(u64::try_from(left).unwrap_or(u64::MAX));
        Some(cause)
    }

    /// Notes that the call whose cause a guest hands back was told what others may have written: what it does from here on,
    /// and what it answers, may be theirs. Without a cause that holds for all calls that are under way.
    pub(crate) fn told_foreign(&self, given: Option<&[(String, String)]>) {
        let job = |given: &[(String, String)]| given.iter().find(|(key, _)| key == CALL_KEY)?.1.parse::<u64>().ok();
        let only = given.map(job);
        for (job, running) in lock(&self.running).iter_mut() {
            if only.is_none_or(|only| only == Some(*job))
                && let Some(cause) = &mut running.cause
            {
                cause.mark_foreign();
            }
        }
    }

    /// Whether others may have written what a call under way is made for, or was told.
    pub(crate) fn is_foreign(&self, job: u64) -> bool {
        lock(&self.running).get(&job).is_some_and(|running| running.cause.as_ref().is_some_and(Cause::is_foreign))
    }

    /// What the host itself knows of a call, as [`Self::believed`], where that call is a timer's firing.
    pub(crate) fn believed_firing(&self, given: &[(String, String)]) -> Option<Cause> {
        let job = given.iter().find(|(key, _)| key == CALL_KEY)?.1.parse().ok()?;
        lock(&self.running).get(&job).filter(|running: &&Running| running.export == ON_TIMER)?;
        self.believed(given)
    }

    /// How long the call has in which the guest does something, by the guest's tasks that are on the stack; nothing where it
    /// is none of the calls under way.
    pub(crate) fn time_left(&self, stack: &[GuestTaskId]) -> Option<Duration> {
        let running = lock(&self.running);
        let on_stack = running.values().filter(|job| job.task.is_some_and(|task| stack.contains(&task)));
        // Of two instances beside each other both may have a task of the same number.
        let deadline = on_stack.map(|job| job.deadline).max()?;
        Some(deadline.saturating_duration_since(Instant::now()))
    }

    /// A place among the requests under way, if there are fewer than `most`. It is free again when the place is dropped.
    pub(crate) fn request(self: &Arc<Self>, most: usize) -> Result<RequestPlace, CallError> {
        let more = |requests: usize| (requests < most).then_some(requests + 1);
        match self.requests.fetch_update(Ordering::AcqRel, Ordering::Acquire, more) {
            Ok(_) => Ok(RequestPlace(Arc::clone(self))),
            Err(_) => Err(CallError::Busy),
        }
    }

    /// Tells the owner what of a plugin's was refused or went wrong: in the log, within the plugin's rate, and in its
    /// status.
    pub(crate) fn tell_owner(&self, what: &str) {
        self.log(Level::WARN, what);
        let clean = self.secrets.redact(what);
        self.note_error(&clean[..clean.floor_char_boundary(LONGEST_LINE)]);
    }

    /// Counts a job as under way until the guard goes.
    pub(crate) fn begin(self: &Arc<Self>, job: u64, running: Running) -> JobGuard {
        lock(&self.running).insert(job, running);
        JobGuard { core: Arc::clone(self), job }
    }

    pub(crate) fn note_task(&self, job: u64, task: GuestTaskId) {
        if let Some(running) = lock(&self.running).get_mut(&job) {
            running.task = Some(task);
        }
    }

    /// Finds the call in which a generation trapped, by the guest's tasks that were on the stack, and tells its caller
    /// the reason that `describe` makes of the export's name. The others in flight learn nothing: nothing is known of
    /// what they did.
    pub(crate) fn blame(
        &self,
        generation: u64,
        stack: &[GuestTaskId],
        describe: impl FnOnce(&str) -> String,
    ) -> String {
        let running = lock(&self.running);
        let mut own = running.values().filter(|job| job.generation == generation);
        let on_stack = own.clone().find(|job| job.task.is_some_and(|task| stack.contains(&task)));
        // Where the engine does not tell, a call that ran alone is the one.
        let culprit = on_stack.or_else(|| own.next().filter(|_| own.next().is_none()));
        let Some(culprit) = culprit else { return describe("a call") };
        let reason = describe(culprit.export);
        culprit.verdict.reason.get_or_init(|| reason.clone());
        reason
    }

    /// The first job that should have ended by now.
    pub(crate) fn overdue(&self) -> Option<Overdue> {
        let now = Instant::now();
        let running = lock(&self.running);
        let late = running.values().find(|job| job.kill_at <= now)?;
        Some(Overdue { generation: late.generation, export: late.export })
    }

    /// Waits until the generation has fewer jobs than this.
    pub(crate) async fn room(&self, generation: u64, most: usize) {
        let mut ended = self.ended.subscribe();
        while self.under_way(generation) >= most {
            if ended.changed().await.is_err() {
                return;
            }
        }
    }

    /// Waits until the generation has no job left.
    pub(crate) async fn idle(&self, generation: u64) {
        let mut ended = self.ended.subscribe();
        while self.under_way(generation) > 0 {
            if ended.changed().await.is_err() {
                return;
            }
        }
    }

    /// How many jobs the generation has under way.
    pub(crate) fn under_way(&self, generation: u64) -> usize {
        lock(&self.running).values().filter(|job| job.generation == generation).count()
    }

    /// Tells the callers of a generation's jobs that nothing more comes of them, whatever the jobs still do.
    pub(crate) fn give_up(&self, generation: u64) {
        for job in lock(&self.running).values().filter(|job| job.generation == generation) {
            job.verdict.given_up.notify_one();
        }
    }

    pub(crate) fn note_error(&self, error: impl Into<String>) {
        *lock(&self.last_error) = Some(error.into());
    }

    pub(crate) fn last_error(&self) -> Option<String> {
        lock(&self.last_error).clone()
    }

    /// Tells the owner what the plugin was refused: in the log, within the plugin's rate, and as its last failure. Says it
    /// again, for the guest.
    pub(crate) fn refused(&self, attempt: &str, error: CallError) -> CallError {
        self.tell_owner(&format!("{attempt} was refused: {error}"));
        error
    }

    /// Tells the owner that what the plugin writes holds a known secret in clear. It is written all the same: nothing leaves
    /// this machine by it, and whoever writes it may have made it.
    pub(crate) fn warn_of_secrets(&self, attempt: &str, content: &[u8]) {
        if let Some(name) = self.secrets.named_in(content) {
            self.tell_owner(&format!("{attempt}: it holds the secret {name} in clear, and is written all the same"));
        }
    }

    /// Writes a line of the guest's into the log, within its rate.
    pub(crate) fn log(&self, level: Level, line: &str) {
        {
            let mut budget = lock(&self.log);
            if budget.second.elapsed().as_secs() >= 1 {
                self.say_dropped(&mut budget);
                budget.second = Instant::now();
                budget.lines = 0;
            }
            if budget.lines >= budget.per_second {
                budget.dropped += 1;
                return;
            }
            budget.lines += 1;
        }
        let line = &line[..line.floor_char_boundary(LONGEST_LINE)];
        let line = self.secrets.redact(line).replace(['\n', '\r'], " ");
        match level {
            Level::ERROR => tracing::error!(target: "plugin", plugin = %self.name, "{line}"),
            Level::WARN => tracing::warn!(target: "plugin", plugin = %self.name, "{line}"),
            Level::INFO => tracing::info!(target: "plugin", plugin = %self.name, "{line}"),
            Level::DEBUG => tracing::debug!(target: "plugin", plugin = %self.name, "{line}"),
            Level::TRACE => tracing::trace!(target: "plugin", plugin = %self.name, "{line}"),
        }
    }

    fn say_dropped(&self, budget: &mut LogBudget) {
        let lines = std::mem::take(&mut budget.dropped);
        if lines > 0 {
            tracing::warn!(target: "plugin", plugin = %self.name, lines, "log lines dropped");
        }
    }

    pub(crate) fn note_last_words(&self, words: &str) {
        let words = self.secrets.redact(words);
        let mut budget = lock(&self.log);
        let kept = &mut budget.last_words;
        kept.push_str(&words);
        kept.push(' ');
        // The end is kept: a panic comes last.
        let surplus = kept.len().saturating_sub(LONGEST_LAST_WORDS);
        kept.drain(..kept.ceil_char_boundary(surplus));
    }

    /// What the guest last wrote to its standard error since this was asked before, without known secrets.
    pub(crate) fn take_last_words(&self) -> String {
        std::mem::take(&mut lock(&self.log).last_words).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Forgets what an instance before this one wrote.
    pub(crate) fn forget_last_words(&self) {
        lock(&self.log).last_words.clear();
    }
}

/// A plugin's request over the network, as it is counted.
pub(crate) struct RequestPlace(Arc<SlotCore>);

impl Drop for RequestPlace {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Ends a job's bookkeeping, also when the store is dropped under it.
pub(crate) struct JobGuard {
    core: Arc<SlotCore>,
    job: u64,
}

impl Drop for JobGuard {
    fn drop(&mut self) {
        lock(&self.core.running).remove(&self.job);
        self.core.ended.send_modify(|count| *count += 1);
    }
}

/// A panic while one of these short locks is held leaves nothing half done, so poisoning is no reason to stop.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::io;

    use homeagent_network::Network;
    use homeagent_settings::{Database, Grants, PluginData, Settings, Spending};

    use super::*;
    use crate::local::Local;
    use crate::timers::TimerKeeper;

    /// What was written into the log.
    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            lock(&self.0).extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn lines_that_were_dropped_at_the_end_of_an_instance_are_counted_in_the_log() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = Database::open(folder.path().join("db")).expect("a new database");
        let secrets = Secrets::open(&database, folder.path()).expect("new secrets");
        let settings = Settings::open(&database, &secrets).expect("new settings");
        settings.set("core.plugin.log_lines_per_second", 1).expect("a valid number");
        let grants = Grants::open(&database).expect("new grants");
        let data = PluginData::open(&database).expect("nothing is kept yet");
        let local = Local {
            timers: Arc::new(TimerKeeper::new(
                data.timers.clone(),
                tokio::runtime::Handle::current(),
                Arc::new(homeagent_types::now),
            )),
            data,
            home: folder.path().to_owned(),
            host: tokio::runtime::Handle::current(),
        };
        let spending = Spending::open(&database).expect("a new table");
        let network = Network::system().expect("the system has certificates");
        let services = Services::new(settings, grants.clone(), secrets, spending, network, local);
        let core = SlotCore::new("loud".into(), GrantTable::new("loud".into(), grants), &services);
        let written = Written::default();
        let writer = written.clone();
        let log = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        tracing::subscriber::with_default(log, || {
            for _ in 0..100 {
                core.log(Level::INFO, "much to say");
            }
            core.is_over(1);
        });
        let written = String::from_utf8_lossy(&lock(&written.0)).into_owned();
        assert!(written.contains("log lines dropped"), "{written}");
    }
}
