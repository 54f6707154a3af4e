//! `timers`: what the host reminds the plugin of.

use homeagent_settings::TimerRow;
use homeagent_types::CallError;
use wasmtime::component::Accessor;

use super::Call;
use crate::bindings::{timers, types};
use crate::instance::{HostData, InstanceState};
use crate::wants::timers::TimersWant;

/// The longest name, in bytes.
const LONGEST_NAME: usize = 128;
/// The largest payload, in bytes.
const LARGEST_PAYLOAD: usize = 4 << 10;
/// In milliseconds.
const SHORTEST_INTERVAL: u64 = 1_000;
/// The end of the year 9999, in milliseconds; an interval is no longer, either.
const LATEST: u64 = 253_402_300_799_999;

impl<T: Send + 'static> timers::HostWithStore<T> for HostData {
    async fn set(
        accessor: &Accessor<T, Self>,
        name: String,
        schedule: timers::Schedule,
        payload: String,
    ) -> Result<timers::Timer, types::Error> {
        let (attempt, mut most) = (attempt("setting", &name), None);
        let call = Call::new(accessor, |state| {
            most = state.granted::<TimersWant>(&attempt)?.most;
            Ok(())
        })?;
        let when = check(&name, schedule, &payload)?;
        let most = most.map_or_else(|| call.services.number("core.plugin.timers", 64), u64::from);
        let _turn = call.slot.disk.enter(name.len() + payload.len()).await?;
        let set = call.services.local.timers.set(&call.slot.grants.keeps_under(), name, when, payload, most).await;
        let set = set.map_err(|error| match error {
            CallError::Conflict(_) | CallError::NotStored(_) => call.slot.refused(&attempt, error),
            error => error,
        });
        Ok(set?.into())
    }

    async fn cancel(accessor: &Accessor<T, Self>, name: String) -> Result<bool, types::Error> {
        let call = Call::new(accessor, |state| state.may("timers", &attempt("cancelling", &name)))?;
        let _turn = call.slot.disk.enter(name.len()).await?;
        Ok(call.services.local.timers.cancel(&call.slot.grants.keeps_under(), name).await?)
    }

    async fn list(accessor: &Accessor<T, Self>) -> Result<Vec<timers::Timer>, types::Error> {
        let call = Call::new(accessor, |state| state.may("timers", "listing its timers"))?;
        let _turn = call.slot.disk.enter(0).await?;
        let own = call.services.local.timers.list(&call.slot.grants.keeps_under()).await?;
        Ok(own.into_iter().map(Into::into).collect())
    }
}

fn attempt(doing: &str, name: &str) -> String {
    let name: String = name.escape_debug().take(LONGEST_NAME).collect();
    format!("{doing} the timer {name}")
}

/// When it is due first, and how often again.
fn check(name: &str, schedule: timers::Schedule, payload: &str) -> Result<(u64, Option<u64>), CallError> {
    if name.is_empty() || name.len() > LONGEST_NAME {
        let length = name.len();
        return Err(CallError::Invalid(format!("a timer's name has 1 to {LONGEST_NAME} bytes; this one has {length}")));
    }
    if payload.len() > LARGEST_PAYLOAD {
        let length = payload.len();
        return Err(CallError::Invalid(format!(
            "a payload has at most {LARGEST_PAYLOAD} bytes; this one has {length}"
        )));
    }
    if let Err(error) = homeagent_types::check_json(payload) {
        return Err(CallError::Invalid(format!("the payload is {error}")));
    }
    match schedule {
        timers::Schedule::At(due) if due <= LATEST => Ok((due, None)),
        timers::Schedule::At(_) => Err(CallError::Invalid("the time is not before the year 10000".to_owned())),
        timers::Schedule::Every(every) if (SHORTEST_INTERVAL..=LATEST).contains(&every) => {
            Ok((homeagent_types::now().saturating_add(every), Some(every)))
        }
        timers::Schedule::Every(every) => {
            let least = SHORTEST_INTERVAL;
            Err(CallError::Invalid(format!("an interval has at least {least} milliseconds; this one has {every}")))
        }
    }
}

impl From<TimerRow> for timers::Timer {
    fn from(row: TimerRow) -> Self {
        Self { name: row.name, due: row.due, every: row.every, payload: row.payload }
    }
}

impl timers::Host for &mut InstanceState {}
