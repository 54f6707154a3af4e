//! The task that owns a slot's instances: starts them, replaces them, starts them again when they fail.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use homeagent_types::Descriptor;
use tokio::sync::{mpsc, oneshot};

use super::core::{SlotCore, lock};
use super::fresh::FreshInstances;
use super::generation::{Exit, Generation, Seat};
use super::job::{Job, Work};
use super::probation::Probation;
use super::show::ShowQueue;
use super::swap::{self, Outcome};
use super::{Control, Line, Phase, Slot, SlotState};
use crate::bus::EventQueue;
use crate::package::{PackageInfo, Prepared};
use crate::services::Services;

/// The first pause before a restart; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// How long an instance that was replaced may take to end its calls.
pub(super) const DRAIN: Duration = Duration::from_secs(2);

/// Makes a slot and starts the plugin in it. On failure there is no slot, and the error says why.
pub(crate) async fn start(seat: Seat, prepared: Arc<Prepared>, jobs: mpsc::Sender<Job>) -> Result<Slot, String> {
    let mut generation = Generation::start(&seat, &prepared, 1).await?;
    let services = Arc::clone(&seat.services);
    let events = register(&services, &seat.core, &prepared.package, &prepared.descriptor)?;
    if let Err(reason) = generation.serve().await {
        seat.core.dialled.close_all();
        services.registrations.remove(&seat.core.name);
        services.bus.unsubscribe(&seat.core.name);
        return Err(reason);
    }
    let (control, control_rx) = mpsc::channel(8);
    let state = Arc::new(Mutex::new(SlotState {
        phase: Phase::Live,
        reason: None,
        prepared: Arc::clone(&prepared),
        summary: prepared.descriptor.summary.clone(),
        since: Instant::now(),
        restarts: 0,
    }));
    let show = Arc::new(ShowQueue::new(services.secrets.clone()));
    let core = Arc::clone(&seat.core);
    let fresh = Arc::new(FreshInstances::new(&seat));
    let line = Line { core, state: Arc::clone(&state), services, jobs, fresh, show: Arc::clone(&show) };
    line.core.dialled.lead_to(&line);
    let pumps = tokio_util::task::AbortOnDropHandle::new(tokio::spawn(pump(line.clone(), show, events)));
    let supervisor = Supervisor {
        seat,
        prepared,
        state,
        current: Some(generation),
        next_number: 2,
        restarts: VecDeque::new(),
        restart_at: None,
        probation: None,
        inherited: None,
        remark: None,
        _pumps: pumps,
    };
    tokio::spawn(supervisor.run(control_rx));
    Ok(Slot { control, line })
}

/// Puts what a version of the plugin offers in the place of what its slot offered before; on failure nothing changes.
pub(super) fn register(
    services: &Services,
    core: &SlotCore,
    package: &PackageInfo,
    descriptor: &Arc<Descriptor>,
) -> Result<Arc<EventQueue>, String> {
    let before = core.grants.ask(package.manifest.wants.clone(), package.author());
    if let Err(clash) = services.registrations.put(&core.name, Arc::clone(descriptor), core.grants.clone()) {
        core.grants.ask_again(before);
        return Err(clash);
    }
    Ok(services.bus.subscribe(&core.name, descriptor.events.clone(), core.grants.clone()))
}

pub(super) struct Supervisor {
    pub(super) seat: Seat,
    pub(super) prepared: Arc<Prepared>,
    state: Arc<Mutex<SlotState>>,
    pub(super) current: Option<Generation>,
    next_number: u64,
    /// When the recent restarts happened.
    pub(super) restarts: VecDeque<Instant>,
    pub(super) restart_at: Option<Instant>,
    pub(super) probation: Option<Probation>,
    /// What the next instance is to load, after code that failed was taken back.
    pub(super) inherited: Option<Vec<u8>>,
    /// What is to be known of the code that serves: why it is not the newest.
    pub(super) remark: Option<String>,
    /// Hands events and pieces of answers to the slot for as long as there is a supervisor.
    _pumps: tokio_util::task::AbortOnDropHandle<()>,
}

impl Supervisor {
    async fn run(mut self, mut control: mpsc::Receiver<Control>) {
        loop {
            let (restart_at, proven_at) = (self.restart_at, self.probation.as_ref().map(|probation| probation.until));
            tokio::select! {
                asked = control.recv() => match asked {
                    Some(Control::Replace(prepared, haste, reply)) => {
                        match self.replace_or_stop(prepared, haste, &mut control).await {
                            Outcome::Done(done) => drop(reply.send(done)),
                            Outcome::Stop(stopped) => return self.stop(stopped).await,
                        }
                    }
                    Some(Control::Stop(reply)) => return self.stop(Some(reply)).await,
                    None => return self.stop(None).await,
                },
                exit = ended(&mut self.current) => self.lost(&exit),
                () = until(restart_at) => self.restart().await,
                () = until(proven_at) => self.probation = None,
            }
        }
    }

    /// Says that the slot serves.
    pub(super) fn serves_now(&mut self) {
        let mut state = lock(&self.state);
        state.prepared = Arc::clone(&self.prepared);
        state.summary.clone_from(&self.prepared.descriptor.summary);
        (state.phase, state.reason, state.since) = (Phase::Live, self.remark.clone(), Instant::now());
    }

    pub(super) fn take_number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number - 1
    }

    /// The instance is gone by itself.
    pub(super) fn lost(&mut self, exit: &Exit) {
        self.current = None;
        self.note_exit(exit);
        self.failed(exit.reason());
    }

    fn note_exit(&self, exit: &Exit) {
        self.seat.core.note_error(exit.reason());
    }

    /// What serves has failed: it is started again, or, where it is new and fails too often, the code before it is.
    fn failed(&mut self, reason: String) {
        if self.probation.as_mut().is_some_and(Probation::fails) {
            self.roll_back(&reason);
        } else {
            self.schedule_restart(reason);
        }
    }

    /// Puts the code before the new one back.
    fn roll_back(&mut self, reason: &str) {
        let Some(Probation { good, state, .. }) = self.probation.take() else { return };
        let (name, failed) = (&self.seat.core.name, &self.prepared.package.manifest.version);
        let remark = format!(
            "version {failed} failed again and again and was taken back, version {} serves; the file on the disk is still \
             the one that failed: {reason}",
            good.package.manifest.version
        );
        let declared = good.package.manifest.settings.clone();
        if let Err(error) = self.seat.services.settings.declare_plugin(name, declared) {
            tracing::error!(plugin = %name, %error, "the code before can't have the settings it had");
        }
        tracing::error!(plugin = %name, %remark, "rolled back");
        self.seat.core.note_error(remark.clone());
        self.prepared = good;
        self.inherited = state;
        self.remark = Some(remark.clone());
        self.restarts.clear();
        self.restart_at = Some(Instant::now());
        {
            let mut state = lock(&self.state);
            (state.phase, state.reason) = (Phase::BackingOff, Some(remark));
            state.restarts += 1;
        }
        self.seat.services.changed(&self.seat.core.name);
    }

    fn schedule_restart(&mut self, reason: String) {
        let services = &self.seat.services;
        let most = usize::try_from(services.number("core.plugin.restarts", 5)).unwrap_or(usize::MAX);
        let window = Duration::from_secs(services.number("core.plugin.restart_window_seconds", 600));
        let now = Instant::now();
        while self.restarts.front().is_some_and(|at| now.duration_since(*at) > window) {
            self.restarts.pop_front();
        }
        let name = &self.seat.core.name;
        if self.restarts.len() >= most && self.probation.is_some() {
            return self.roll_back(&reason);
        }
        if self.restarts.len() >= most {
            tracing::error!(plugin = %name, %reason, "the plugin failed too often and stays off");
            services.registrations.keep_closed_handlers(name);
            services.bus.silence(name);
            // Nobody is there for what they bring.
            self.seat.core.dialled.close_all();
            self.seat.core.sockets.close_all();
            self.restart_at = None;
            {
                let mut state = lock(&self.state);
                (state.phase, state.reason) = (Phase::Failed, Some(reason));
            }
            services.changed(name);
            // Whoever waits in the queue learns it now rather than at a deadline.
            if let Ok(mut jobs) = self.seat.jobs.try_lock() {
                while jobs.try_recv().is_ok() {}
            }
            return;
        }
        let pause = FIRST_PAUSE * 2_u32.saturating_pow(u32::try_from(self.restarts.len()).unwrap_or(u32::MAX).min(16));
        tracing::warn!(plugin = %name, %reason, ?pause, "the plugin failed; starting it again");
        self.restarts.push_back(now);
        self.restart_at = Some(now + pause);
        {
            let mut state = lock(&self.state);
            (state.phase, state.reason) = (Phase::BackingOff, Some(reason));
            state.restarts += 1;
            self.seat.core.meters.restarted();
        }
        services.changed(name);
    }

    async fn restart(&mut self) {
        self.restart_at = None;
        let mut generation = match self.start_anew().await {
            Ok(generation) => generation,
            Err(reason) => return self.failed(reason),
        };
        // Anew, for the instance before it may have put other tools there, which this one knows nothing of.
        let (core, prepared) = (&self.seat.core, &self.prepared);
        if let Err(clash) = register(&self.seat.services, core, &prepared.package, &prepared.descriptor) {
            tracing::error!(plugin = %core.name, %clash, "the plugin can't offer what it did");
        }
        // Said first: whoever is answered by it finds it live.
        self.serves_now();
        match generation.serve().await {
            Ok(()) => self.current = Some(generation),
            Err(reason) => return self.failed(reason),
        }
        self.seat.services.changed(&self.seat.core.name);
    }

    /// Starts an instance of the code that is to serve, with the state it is to inherit where there is one.
    async fn start_anew(&mut self) -> Result<Generation, String> {
        let prepared = Arc::clone(&self.prepared);
        let number = self.take_number();
        let mut generation = Generation::start(&self.seat, &prepared, number).await?;
        if let Some(state) = self.inherited.take()
            && let Err(reason) = swap::load(&mut generation, state, self.state_time()).await
        {
            tracing::error!(plugin = %self.seat.core.name, %reason, "the state of the last replacement is lost");
            let number = self.take_number();
            generation = Generation::start(&self.seat, &prepared, number).await?;
        }
        Ok(generation)
    }

    async fn stop(mut self, reply: Option<oneshot::Sender<()>>) {
        let core = &self.seat.core;
        self.seat.services.registrations.remove(&core.name);
        self.seat.services.bus.unsubscribe(&core.name);
        {
            let mut state = lock(&self.state);
            (state.phase, state.reason) = (Phase::Unloaded, None);
        }
        if let Some(generation) = self.current.take() {
            generation.retire();
            drain(generation, Arc::clone(core), DRAIN).await;
        }
        core.kill_all(&format!("the plugin {} has been unloaded", core.name));
        core.dialled.end();
        core.sockets.close_all();
        // Whoever still waits in the queue learns that it is gone.
        self.seat.jobs.lock().await.close();
        if let Some(reply) = reply {
            let _ = reply.send(());
        }
    }
}

/// Waits for an instance that was told to retire; ends it when it takes too long.
pub(super) async fn drain(mut generation: Generation, core: Arc<SlotCore>, patience: Duration) {
    if tokio::time::timeout(patience, generation.ended()).await.is_err() {
        let name = &core.name;
        tracing::warn!(plugin = %name, "calls of the instance that was replaced took too long; ending it");
        core.kill(generation.number, replaced(name));
        generation.ended().await;
    }
}

/// Why calls were lost with an instance that was replaced.
pub(super) fn replaced(name: &str) -> String {
    format!("the plugin {name} was replaced while the call ran")
}

/// Waits for the end of what runs. Cancel-safe.
pub(super) async fn ended(current: &mut Option<Generation>) -> Exit {
    match current {
        Some(generation) => generation.ended().await,
        None => std::future::pending().await,
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

/// Hands events and pieces of answers to the slot, each kind in order.
async fn pump(slot: Line, show: Arc<ShowQueue>, events: Arc<EventQueue>) {
    let shows = async {
        loop {
            let deltas = show.next().await;
            let count = deltas.len();
            let deadline = slot.usual_deadline();
            let shown = slot.call(deadline, |reply| Work::Show { deltas, reply }).await;
            if let Err(error) = shown {
                tracing::debug!(plugin = %slot.core.name, %error, "pieces of an answer were not shown");
            }
            show.done(count);
        }
    };
    let handles = async {
        loop {
            let (event, dropped) = events.next().await;
            if dropped > 0 {
                tracing::warn!(plugin = %slot.core.name, dropped, "the plugin is too slow for its events");
            }
            let deadline = slot.usual_deadline();
            let handled = slot.call(deadline, |reply| Work::Event { event: Box::new(event), reply }).await;
            if let Err(error) = handled {
                tracing::warn!(plugin = %slot.core.name, %error, "an event was not handled");
            }
        }
    };
    tokio::join!(shows, handles);
}
