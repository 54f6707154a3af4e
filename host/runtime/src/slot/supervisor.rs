//! The task that owns a slot's instances: starts them, replaces them, starts them again when they fail.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};

use super::core::{SlotCore, lock};
use super::generation::{Exit, Generation, Seat};
use super::job::{Job, Work};
use super::show::ShowQueue;
use super::{Control, Phase, Slot, SlotState};
use crate::bus::EventQueue;
use crate::package::Prepared;
use crate::services::Services;

/// The first pause before a restart; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// How long an instance that was replaced may take to end its calls.
const DRAIN: Duration = Duration::from_secs(2);

/// Makes a slot and starts the plugin in it. On failure there is no slot, and the error says why.
pub(crate) async fn start(seat: Seat, prepared: Arc<Prepared>, jobs: mpsc::Sender<Job>) -> Result<Slot, String> {
    let mut generation = Generation::start(&seat, &prepared, 1).await?;
    let services = Arc::clone(&seat.services);
    let events = register(&services, &seat.core, &prepared)?;
    generation.go();
    let (control, control_rx) = mpsc::channel(8);
    let state = Arc::new(Mutex::new(SlotState {
        phase: Phase::Live,
        reason: None,
        package: prepared.package.clone(),
        summary: prepared.descriptor.summary.clone(),
        since: Instant::now(),
        restarts: 0,
    }));
    let show = Arc::new(ShowQueue::new());
    let slot = Slot {
        core: Arc::clone(&seat.core),
        control,
        state: Arc::clone(&state),
        services,
        jobs,
        show: Arc::clone(&show),
    };
    let pumps = tokio_util::task::AbortOnDropHandle::new(tokio::spawn(pump(slot.clone(), show, events)));
    let supervisor = Supervisor {
        seat,
        prepared,
        state,
        current: Some(generation),
        next_number: 2,
        restarts: VecDeque::new(),
        restart_at: None,
        _pumps: pumps,
    };
    tokio::spawn(supervisor.run(control_rx));
    Ok(slot)
}

/// Puts what the plugin offers in the place of what its slot offered before.
fn register(services: &Services, core: &SlotCore, prepared: &Prepared) -> Result<Arc<EventQueue>, String> {
    let descriptor = &prepared.descriptor;
    let wants = prepared.package.manifest.wants.keys().cloned();
    core.grants.ask(wants, prepared.package.bundled);
    services.registrations.put(&core.name, Arc::clone(descriptor), core.grants.clone())?;
    Ok(services.bus.subscribe(&core.name, descriptor.events.clone(), core.grants.clone()))
}

struct Supervisor {
    seat: Seat,
    prepared: Arc<Prepared>,
    state: Arc<Mutex<SlotState>>,
    current: Option<Generation>,
    next_number: u64,
    /// When the recent restarts happened.
    restarts: VecDeque<Instant>,
    restart_at: Option<Instant>,
    /// Hands events and pieces of answers to the slot for as long as there is a supervisor.
    _pumps: tokio_util::task::AbortOnDropHandle<()>,
}

impl Supervisor {
    async fn run(mut self, mut control: mpsc::Receiver<Control>) {
        loop {
            let restart_at = self.restart_at;
            tokio::select! {
                asked = control.recv() => match asked {
                    Some(Control::Replace(prepared, reply)) => drop(reply.send(self.replace(prepared).await)),
                    Some(Control::Stop(reply)) => return self.stop(Some(reply)).await,
                    None => return self.stop(None).await,
                },
                exit = ended(&mut self.current) => self.lost(exit),
                () = until(restart_at) => self.restart().await,
            }
        }
    }

    async fn replace(&mut self, prepared: Arc<Prepared>) -> Result<(), String> {
        let services = Arc::clone(&self.seat.services);
        services.registrations.check(&self.seat.core.name, &prepared.descriptor)?;
        let number = self.take_number();
        let mut generation = Generation::start(&self.seat, &prepared, number).await?;
        register(&services, &self.seat.core, &prepared)?;
        if let Some(old) = self.current.take() {
            old.retire();
            tokio::spawn(drain(old, Arc::clone(&self.seat.core)));
        }
        generation.go();
        self.current = Some(generation);
        self.prepared = prepared;
        self.restart_at = None;
        self.restarts.clear();
        let mut state = lock(&self.state);
        state.package = self.prepared.package.clone();
        state.summary.clone_from(&self.prepared.descriptor.summary);
        (state.phase, state.reason, state.since) = (Phase::Live, None, Instant::now());
        Ok(())
    }

    fn take_number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number - 1
    }

    /// The instance is gone by itself.
    fn lost(&mut self, exit: Exit) {
        self.current = None;
        let reason = match exit {
            Exit::Retired => "it ended by itself".to_owned(),
            Exit::Failed(reason) => reason,
        };
        self.seat.core.note_error(reason.clone());
        self.schedule_restart(reason);
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
        if self.restarts.len() >= most {
            tracing::error!(plugin = %name, %reason, "the plugin failed too often and stays off");
            services.registrations.keep_closed_handlers(name);
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
        let prepared = Arc::clone(&self.prepared);
        let number = self.take_number();
        match Generation::start(&self.seat, &prepared, number).await {
            Ok(mut generation) => {
                generation.go();
                self.current = Some(generation);
                {
                    let mut state = lock(&self.state);
                    (state.phase, state.reason, state.since) = (Phase::Live, None, Instant::now());
                }
                self.seat.services.changed(&self.seat.core.name);
            }
            Err(reason) => self.schedule_restart(reason),
        }
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
            drain(generation, Arc::clone(core)).await;
        }
        core.sockets.close_all();
        // Whoever still waits in the queue learns that it is gone.
        self.seat.jobs.lock().await.close();
        if let Some(reply) = reply {
            let _ = reply.send(());
        }
    }
}

/// Waits for an instance that was told to retire; ends it when it takes too long.
async fn drain(mut generation: Generation, core: Arc<SlotCore>) {
    if tokio::time::timeout(DRAIN, generation.ended()).await.is_err() {
        let name = &core.name;
        tracing::warn!(plugin = %name, "calls of the instance that was replaced took too long; ending it");
        core.kill(generation.number, format!("the plugin {name} was replaced while the call ran"));
        generation.ended().await;
    }
}

async fn ended(current: &mut Option<Generation>) -> Exit {
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
async fn pump(slot: Slot, show: Arc<ShowQueue>, events: Arc<EventQueue>) {
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
