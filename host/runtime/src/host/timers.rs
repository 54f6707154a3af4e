//! `timers`: what the host reminds the plugin of.

use homeagent_settings::{TimerRow, Times};
use homeagent_types::CallError;
use wasmtime::component::Accessor;

use super::Call;
use crate::bindings::timer::exports::homeagent::plugin::timer_handler::Again;
use crate::bindings::{timers, types};
use crate::instance::{HostData, InstanceState};
use crate::timers::{Creator, Setting};
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
        let mut most = None;
        let call = Call::new(accessor, |state| {
            most = state.granted::<TimersWant>(&attempt("setting", &name))?.most;
            Ok(())
        })?;
        Ok(call.set_timer(name, schedule, payload, None, most).await?.into())
    }

    async fn get(accessor: &Accessor<T, Self>, name: String) -> Result<Option<timers::Timer>, types::Error> {
        let call = Call::new(accessor, |state| state.may("timers", &attempt("reading", &name)))?;
        let own = call.services.local.timers.get(&call.slot.grants.keeps_under(), &name).await?;
        Ok(own.map(Into::into))
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

impl Call {
    /// Sets a timer for a plugin that may have `most`; nothing: as many as the setting says.
    pub(super) async fn set_timer(
        &self,
        name: String,
        schedule: timers::Schedule,
        payload: String,
        creator: Option<Creator>,
        most: Option<u32>,
    ) -> Result<TimerRow, CallError> {
        let times = self.check(&name, schedule, &payload)?;
        let attempt = attempt("setting", &name);
        let most = most.map_or_else(|| self.services.number("core.plugin.timers", 64), u64::from);
        let _turn = self.slot.disk.enter(name.len() + payload.len()).await?;
        let setting = Setting { name, times, payload, creator };
        let set = self.services.local.timers.set(&self.slot.grants.keeps_under(), setting, most).await;
        set.map_err(|error| match error {
            CallError::Conflict(_) | CallError::NotStored(_) => self.slot.refused(&attempt, error),
            error => error,
        })
    }

    /// When it is due first, and how often again.
    pub(super) fn check(&self, name: &str, schedule: timers::Schedule, payload: &str) -> Result<Times, CallError> {
        check(name, payload)?;
        times(schedule, self.services.local.timers.now())
    }
}

pub(super) fn attempt(doing: &str, name: &str) -> String {
    let name: String = name.escape_debug().take(LONGEST_NAME).collect();
    format!("{doing} the timer {name}")
}

/// Fails where a plugin asks to be told again when nobody can be.
pub(crate) fn check_again(again: &Again) -> Result<(), CallError> {
    again.payload.as_deref().map_or(Ok(()), check_payload)?;
    times(timers::Schedule::At(again.due), 0).map(drop)
}

fn check(name: &str, payload: &str) -> Result<(), CallError> {
    if name.is_empty() || name.len() > LONGEST_NAME {
        let length = name.len();
        return Err(CallError::Invalid(format!("a timer's name has 1 to {LONGEST_NAME} bytes; this one has {length}")));
    }
    check_payload(payload)
}

fn check_payload(payload: &str) -> Result<(), CallError> {
    if payload.len() > LARGEST_PAYLOAD {
        let length = payload.len();
        return Err(CallError::Invalid(format!(
            "a payload has at most {LARGEST_PAYLOAD} bytes; this one has {length}"
        )));
    }
    if let Err(error) = homeagent_types::check_json(payload) {
        return Err(CallError::Invalid(format!("the payload is {error}")));
    }
    Ok(())
}

fn times(schedule: timers::Schedule, now: u64) -> Result<Times, CallError> {
    match schedule {
        timers::Schedule::At(due) if due <= LATEST => Ok(Times::from((due, None))),
        timers::Schedule::Calendar(due) if due <= LATEST => Ok(Times { due, every: None, calendar: true }),
        timers::Schedule::At(_) | timers::Schedule::Calendar(_) => {
            Err(CallError::Invalid("the time is not before the year 10000".to_owned()))
        }
        timers::Schedule::Every(every) if (SHORTEST_INTERVAL..=LATEST).contains(&every) => {
            Ok(Times::from((now.saturating_add(every), Some(every))))
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

impl timers::Host for &mut InstanceState {
    fn zone(&mut self) -> String {
        let set = self.services.settings.text("core.agent.time_zone").unwrap_or_default();
        if set.is_empty() { jiff::tz::TimeZone::system().iana_name().unwrap_or("UTC").to_owned() } else { set }
    }
}
