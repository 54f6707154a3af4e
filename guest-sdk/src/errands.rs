//! Having something done later for whoever asks for it now, with at most their rights. Needs the grants `errands` and
//! `timers`, and the trait [`Timers`](crate::Timers), whose `on_timer` is handed the cause that [`submit`] wants.

use serde::Serialize;

use crate::bindings::plugin::homeagent::plugin::errands as host;
use crate::inputs::{Accepted, Submission};
use crate::timers::{Schedule, Timer};
use crate::{Cause, Conversation, Error};

/// Sets a timer for whoever caused the call that `cause` was handed in with. It is on the disk when this returns.
pub async fn set_timer(
    name: &str,
    schedule: Schedule,
    payload: &impl Serialize,
    cause: &Cause,
) -> Result<Timer, Error> {
    let payload = serde_json::to_string(payload)?;
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::set_timer(name.to_owned(), schedule, payload, cause.clone()).await
}

/// Changes a timer; for whom it was set stays. Nothing: there is none of that name.
pub async fn change_timer(name: &str, schedule: Schedule, payload: &impl Serialize) -> Result<Option<Timer>, Error> {
    let payload = serde_json::to_string(payload)?;
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::change_timer(name.to_owned(), schedule, payload).await
}

/// Queues an input in the name of whoever set the timer whose firing `cause` was handed in with. The submission has a
/// `platform_id`; the same is taken once.
pub async fn submit(
    submission: Submission,
    to: Option<Conversation>,
    interrupts: bool,
    cause: &Cause,
) -> Result<Accepted, Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::submit(submission, to, interrupts, cause.clone()).await
}
