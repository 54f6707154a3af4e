//! Putting new code in the place of what runs.
//!
//! The new instance is started beside the old one. Then the old one takes no more jobs - they wait in the slot -, and,
//! where both versions can hand on their state, ends those it has, saves, and the new one loads. Only when the new one
//! serves is the old one let go; until then it can always serve on, and every failure says why it does.

use std::sync::Arc;
use std::time::Duration;

use homeagent_types::ports::Haste;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout, timeout_at};

use super::Control;
use super::generation::{Exit, Generation};
use super::probation::Probation;
use super::supervisor::{DRAIN, Supervisor, drain, ended, register, replaced};
use crate::package::{PackageInfo, Prepared};

/// How long an instance that can't save may take to serve on.
const RESUME: Duration = Duration::from_secs(1);

/// Why what ran runs on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SwapError {
    /// Calls took too long.
    #[error("{0}")]
    Busy(String),
    /// Anything else.
    #[error("{0}")]
    Refused(String),
}

impl SwapError {
    fn refused(reason: impl Into<String>) -> Self {
        Self::Refused(reason.into())
    }
}

/// What runs takes no more jobs.
#[derive(Default)]
struct Closed {
    /// What it knows, where that is handed on.
    state: Option<Vec<u8>>,
    /// Its callers were told that nothing comes of their calls.
    gave_up: bool,
}

/// What becomes of the slot when a replacement was asked for.
pub(super) enum Outcome {
    Done(Result<(), SwapError>),
    /// The slot is to end; the replacement is dropped.
    Stop(Option<oneshot::Sender<()>>),
}

impl Supervisor {
    /// Replaces what runs, unless the slot is told to end meanwhile: that waits for no new code.
    pub(super) async fn replace_or_stop(
        &mut self,
        prepared: Arc<Prepared>,
        haste: Haste,
        control: &mut mpsc::Receiver<Control>,
    ) -> Outcome {
        tokio::select! {
            biased;
            stop = told_to_stop(control) => Outcome::Stop(stop),
            done = self.replace(prepared, haste) => Outcome::Done(done),
        }
    }

    async fn replace(&mut self, prepared: Arc<Prepared>, haste: Haste) -> Result<(), SwapError> {
        let services = Arc::clone(&self.seat.services);
        let core = &self.seat.core;
        let free = services.registrations.check(&core.name, &prepared.descriptor, &core.grants);
        free.map_err(SwapError::Refused)?;
        let number = self.take_number();
        let mut next = Generation::start(&self.seat, &prepared, number).await.map_err(SwapError::Refused)?;
        let begun = Instant::now();
        let closed = match self.close(&prepared, haste).await {
            Ok(closed) => closed,
            Err(error) => return Err(self.serve_on(error).await),
        };
        if let Some(state) = &closed.state
            && let Err(reason) = load(&mut next, state.clone(), self.state_time()).await
        {
            return Err(self.serve_on(SwapError::Refused(reason)).await);
        }
        if let Err(reason) = self.switch(&prepared, &mut next).await {
            return Err(self.serve_on(SwapError::Refused(reason)).await);
        }
        let closed_us = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        let state_bytes = closed.state.as_ref().map_or(0, Vec::len);
        let (plugin, version) = (&self.seat.core.name, &prepared.package.manifest.version);
        tracing::info!(plugin, version, generation = number, state_bytes, closed_us, "new code serves");
        let patience = patience(haste, closed.gave_up);
        self.settle(prepared, next, closed, patience);
        Ok(())
    }

    /// Closes the admission to what runs, and fetches its state where there is one to hand on.
    async fn close(&mut self, prepared: &Prepared, haste: Haste) -> Result<Closed, SwapError> {
        let Some(old) = &self.current else { return Ok(Closed::default()) };
        let (number, orders, core) = (old.number, old.orders(), Arc::clone(&self.seat.core));
        let saves = self.prepared.indices.has_snapshot();
        // What a publisher's code knows is for nobody else.
        let publisher = self.prepared.package.publisher;
        let is_theirs = publisher.is_none() || publisher == prepared.package.publisher;
        let keeps_state = saves && is_theirs && prepared.indices.has_snapshot();
        if saves && !is_theirs {
            tracing::warn!(plugin = %core.name, "the new version is by somebody else; what the old one knows is lost");
        } else if saves && !keeps_state {
            tracing::warn!(plugin = %core.name, "the new version takes over no state; what the old one knows is lost");
        }
        let wait = haste.wait.unwrap_or(DRAIN);
        let until = Instant::now() + wait;
        // However little patience there is for calls, an instance that waits gets the time to say so. One that is lost says
        // nothing; then its exit tells.
        let pause = async || match timeout(wait.max(DRAIN), orders.pause()).await {
            Ok(Some(())) => true,
            Ok(None) => std::future::pending().await,
            Err(_) => false,
        };
        let quiet = async {
            if !pause().await {
                return (false, false);
            }
            if !keeps_state {
                return (true, true);
            }
            let idle = timeout_at(until, core.idle(number)).await.is_ok();
            // Calls end with their instance, too: whether it is still there shows when it is asked again.
            (pause().await, idle)
        };
        let (paused, quiet) = tokio::select! {
            biased;
            exit = ended(&mut self.current) => {
                // Whatever it knew is lost whichever version follows it, so the new one may as well. Should that fail, the
                // restart that is due now happens.
                self.lost(&exit);
                return Ok(Closed::default());
            }
            quiet = quiet => quiet,
        };
        let quiet = paused && quiet;
        if !quiet && (!haste.force || (keeps_state && !paused)) {
            return Err(SwapError::Busy(busy(&core.name, core.under_way(number), paused, wait)));
        }
        if !quiet {
            core.give_up(number);
        }
        if keeps_state {
            return Ok(Closed { state: Some(self.save().await?), gave_up: !quiet });
        }
        if !quiet {
            // It has not let go of the queue, and does so only with its end.
            core.kill(number, replaced(&core.name));
            let exit = ended(&mut self.current).await;
            self.lost(&exit);
        }
        Ok(Closed::default())
    }

    /// How long an instance may take to save its state, and another to load it.
    pub(super) fn state_time(&self) -> Duration {
        self.seat.services.milliseconds("core.plugin.state_timeout_ms", 5_000)
    }

    async fn save(&mut self) -> Result<Vec<u8>, SwapError> {
        let Some(old) = &self.current else {
            return Err(SwapError::refused("nothing runs whose state could be saved"));
        };
        let orders = old.orders();
        let (name, patience) = (self.seat.core.name.clone(), self.state_time());
        let saved = tokio::select! {
            biased;
            exit = ended(&mut self.current) => Err(exit),
            saved = timeout(patience, orders.save()) => Ok(saved),
        };
        let state = match saved {
            Ok(Ok(Some(state))) => state,
            Ok(Err(_)) => {
                return Err(SwapError::Refused(format!("{name} did not save its state within {patience:?}")));
            }
            // It has no more to say than that it is gone; its exit tells why.
            Ok(Ok(None)) => {
                let exit = ended(&mut self.current).await;
                return Err(self.lost_in_save(&exit));
            }
            Err(exit) => return Err(self.lost_in_save(&exit)),
        };
        let most = self.seat.services.number("core.plugin.state_mib", 64);
        if state.len() as u64 > most << 20 {
            return Err(SwapError::Refused(format!(
                "the state of {name} has {} bytes, and core.plugin.state_mib allows {most} MiB, so what ran runs \
                 on",
                state.len()
            )));
        }
        Ok(state)
    }

    /// The old instance is gone, and its state with it; its code is started again at once.
    fn lost_in_save(&mut self, exit: &Exit) -> SwapError {
        let reason = exit.reason();
        self.lost(exit);
        // At once, unless it has failed too often.
        self.restart_at = self.restart_at.map(|_| std::time::Instant::now());
        SwapError::Refused(format!("its state could not be saved: {reason}. The version that ran is started again"))
    }

    /// Lets the new instance serve. On failure the registrations are what they were.
    async fn switch(&mut self, prepared: &Prepared, next: &mut Generation) -> Result<(), String> {
        let (services, core) = (&self.seat.services, &self.seat.core);
        let before = services.registrations.descriptor(&core.name);
        register(services, core, &prepared.package, &prepared.descriptor)?;
        if prepared.package.author() != self.prepared.package.author() {
            // What was opened for one author, with their grants and perhaps their secrets, is not another's.
            core.dialled.close_all();
            core.sockets.close_all();
        } else if reach(&prepared.package) != reach(&self.prepared.package) {
            core.dialled.close_all();
        }
        let serves = next.serve().await;
        if serves.is_err() {
            let before = before.unwrap_or_else(|| Arc::clone(&self.prepared.descriptor));
            register(services, core, &self.prepared.package, &before)?;
            core.sockets.untell(next.number);
        }
        serves
    }

    /// The new instance serves; the old one is let go, at the latest when its calls had so long to end.
    fn settle(&mut self, prepared: Arc<Prepared>, next: Generation, closed: Closed, patience: Duration) {
        let good = Arc::clone(&self.prepared);
        if let Some(old) = self.current.replace(next) {
            old.retire();
            tokio::spawn(drain(old, Arc::clone(&self.seat.core), patience));
            self.probation = Some(Probation::after(self.probation.take(), good, closed.state));
        } else {
            self.probation = None;
        }
        self.prepared = prepared;
        self.restart_at = None;
        self.restarts.clear();
        self.inherited = None;
        self.remark = None;
        self.serves_now();
    }

    /// Lets what ran serve on after a replacement failed.
    async fn serve_on(&mut self, error: SwapError) -> SwapError {
        let Some(old) = &self.current else { return error };
        let (number, orders) = (old.number, old.orders());
        if matches!(error, SwapError::Busy(_)) {
            orders.resume_in_time();
        } else if timeout(RESUME, orders.resume()).await.ok().flatten().is_none() {
            // It has no call under way and does not give way, or it is gone: only another instance can serve.
            let reason = format!("the plugin {} did not go on after a replacement that failed", self.seat.core.name);
            self.seat.core.kill(number, reason);
        }
        error
    }
}

/// What a package says of where it connects.
fn reach(package: &PackageInfo) -> [Option<&toml::Table>; 3] {
    ["connect", "private-network", "secrets"].map(|capability| package.manifest.wants.get(capability))
}

/// How long the calls of an instance that was replaced may still take.
fn patience(haste: Haste, gave_up: bool) -> Duration {
    if gave_up {
        // Its callers were told that nothing comes of their calls; what it still did the new one would not know.
        return Duration::ZERO;
    }
    haste.wait.map_or(DRAIN, |wait| wait.max(DRAIN))
}

/// Hands a state to an instance that does not serve yet.
pub(super) async fn load(next: &mut Generation, state: Vec<u8>, patience: Duration) -> Result<(), String> {
    let orders = next.orders();
    match timeout(patience, orders.load(state)).await {
        Ok(Some(Ok(()))) => Ok(()),
        Ok(Some(Err(reason))) => Err(format!("it does not take the state over: {reason}")),
        Ok(None) => Err(next.ended().await.reason()),
        Err(_) => Err(format!("loading the state took longer than {patience:?}")),
    }
}

/// Waits for the word to end. A second replacement is refused meanwhile.
async fn told_to_stop(control: &mut mpsc::Receiver<Control>) -> Option<oneshot::Sender<()>> {
    loop {
        match control.recv().await {
            Some(Control::Stop(reply)) => return Some(reply),
            Some(Control::Replace(_, _, reply)) => {
                let reason = "another replacement is under way; try again when it is done".to_owned();
                drop(reply.send(Err(SwapError::Busy(reason))));
            }
            None => return None,
        }
    }
}

fn busy(name: &str, calls: usize, paused: bool, wait: Duration) -> String {
    let seconds = wait.as_secs_f32();
    if !paused {
        let seconds = wait.max(DRAIN).as_secs_f32();
        return format!(
            "{name} is busy: it has computed for {seconds} s without a pause, so what ran runs on. Try again, or wait \
             longer (waiter plugin reload {name} --wait SECONDS); unload and load start it without what it knows"
        );
    }
    let calls = if calls == 1 { "a call is".to_owned() } else { format!("{calls} calls are") };
    format!(
        "{name} is busy: {calls} still under way after {seconds} s, so what ran runs on. Try again, wait longer (waiter \
         plugin reload {name} --wait SECONDS), or let the callers go (--force)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_beside_the_new_code_have_as_long_as_the_owner_waits_and_the_usual_time_at_least() {
        let waits = |seconds| Haste { wait: Some(Duration::from_secs(seconds)), force: false };
        assert_eq!(patience(waits(60), false), Duration::from_secs(60));
        assert_eq!((patience(waits(0), false), patience(Haste::default(), false)), (DRAIN, DRAIN));
        assert_eq!(patience(waits(60), true), Duration::ZERO, "nobody waits for them");
    }
}
