//! The event loop: starts turns when there are inputs and places, and sees each to its end.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::commands;
use crate::config::Pace;
use crate::core::Core;
use crate::ending;
use crate::intake;
use crate::interrupt::Control;
use crate::lifecycle::Phase;
use crate::queue::{Batch, Next};
use crate::result::{TurnError, TurnResult};
use crate::rights::refresh;
use crate::snapshot;
use crate::turn::{BeginError, Turn};

/// Runs until the agent has stopped.
pub(crate) async fn run(core: Arc<Core>) {
    let mut phase = core.phase.subscribe();
    loop {
        let wake_at = start_turns(&core);
        let timer = async {
            match wake_at {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = core.woken() => {}
            () = timer => {}
            stopped = phase.wait_for(|phase| *phase == Phase::Stopped) => {
                drop(stopped);
                return;
            }
        }
    }
}

/// Starts what can be started; returns when to look again although nothing changes.
fn start_turns(core: &Arc<Core>) -> Option<Instant> {
    let pace = match Pace::read(&core.settings) {
        Ok(pace) => {
            // A turn that waits for the owner's word keeps nobody else from theirs, for as long as they are not too many.
            let paused = core.turns().iter().filter(|turn| turn.is_paused()).count();
            let more = paused.min(MOST_PAUSED);
            Pace { parallel: pace.parallel.saturating_add(more), ..pace }
        }
        Err(error) => {
            tracing::error!(%error, "the agent's settings can't be read; no turn is started");
            return None;
        }
    };
    loop {
        let next = core.queue().next(Instant::now(), pace);
        match next {
            Next::Wait(at) => return at,
            Next::Batch(batch) => seat(core, batch),
        }
    }
}

/// So many turns that wait for the owner's word take no place.
const MOST_PAUSED: usize = 32;

/// Holds a conversation's place; gives it back however its task ends.
struct Seat {
    core: Arc<Core>,
    conversation: String,
    control: Arc<Control>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        intake::requeue(&self.core, self.control.close());
        self.core.turn_ended(&self.conversation);
    }
}

fn seat(core: &Arc<Core>, mut batch: Batch) {
    for item in &mut batch.items {
        refresh(&core.bindings, &mut item.input);
    }
    let Some(first) = batch.items.first() else {
        core.queue().done(&batch.conversation);
        return;
    };
    // They are all of one account, and so have one role.
    let control = Arc::new(Control::new(core.bindings.clone(), first));
    core.turn_began(Arc::clone(&control));
    let seat = Seat { core: Arc::clone(core), conversation: batch.conversation.clone(), control };
    core.tasks.spawn(async move { Box::pin(occupy(&seat, batch)).await });
}

async fn occupy(seat: &Seat, mut batch: Batch) {
    if batch.items.len() == 1
        && let Some(item) = batch.items.pop_if(|item| commands::of(&item.input).is_some())
    {
        commands::run(&seat.core, item).await;
        return;
    }
    let turn = match Turn::begin(&seat.core, &seat.control, batch).await {
        Ok(turn) => turn,
        Err((error, batch)) if error.may_pass() => return hold(seat, batch, &error).await,
        Err((error, batch)) => return give_up(seat, batch, &error).await,
    };
    seat.core.queue().release(&seat.conversation);
    let span = turn.span();
    let closing = turn.closing();
    let begun = turn.result.clone();
    let work = async {
        if AssertUnwindSafe(turn.run()).catch_unwind().await.is_err() {
            tracing::error!("a turn panicked");
            ending::close_panicked(&seat.core, closing, begun).await;
        }
        snapshot::log(&seat.core, "turn");
    };
    work.instrument(span).await;
}

/// Lets a batch wait whose turn could not begin; those who wait for it go on waiting.
async fn hold(seat: &Seat, batch: Batch, error: &BeginError) {
    let core = &seat.core;
    tracing::error!(%error, conversation = seat.conversation, "a turn could not begin; it is tried again");
    let last = batch.items.last().map(|item| item.input.clone());
    // Interrupts that came meanwhile stay behind what they were to interrupt.
    intake::requeue(core, seat.control.close());
    let held = core.queue().hold(batch);
    match (held, last) {
        (Ok(true), Some(input)) => {
            let text = format!("I can't begin to work on this yet, and will try again: {error}");
            intake::tell_unrecorded(core, &input, "waiting", text).await;
        }
        (Ok(_), _) => {}
        (Err(items), _) => intake::requeue(core, items),
    }
}

/// Ends the waiting for a batch whose turn can never begin.
async fn give_up(seat: &Seat, batch: Batch, error: &BeginError) {
    tracing::error!(%error, conversation = seat.conversation, "a turn can't begin");
    let text = format!("I can't begin to work on this: {error}");
    if let Some(last) = batch.items.last() {
        intake::tell(&seat.core, &last.input, "failed", &text).await;
    }
    let error = TurnError { code: "journal".to_owned(), text };
    let result = TurnResult { finish: "failed".to_owned(), error: Some(error), ..TurnResult::default() };
    for watcher in batch.items.into_iter().filter_map(|item| item.watcher) {
        watcher.finish(result.clone());
    }
}
