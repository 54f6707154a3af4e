//! `errands`: what a plugin does later for those who ask for it now.

use homeagent_types::{CallError, Denial, Errand};
use wasmtime::component::Accessor;

use super::Call;
use super::inputs::{accepted, received};
use super::timers::attempt;
use crate::bindings::{errands, inputs, timers, types};
use crate::instance::{HostData, InstanceState};
use crate::manifest::RESERVED;
use crate::timers::{Creator, Setting};
use crate::wants::timers::TimersWant;

const CAPABILITY: &str = "errands";

impl<T: Send + 'static> errands::HostWithStore<T> for HostData {
    async fn set_timer(
        accessor: &Accessor<T, Self>,
        name: String,
        schedule: timers::Schedule,
        payload: String,
        cause: types::Cause,
    ) -> Result<timers::Timer, types::Error> {
        let (mut most, mut creator) = (None, None);
        let call = Call::new(accessor, |state| {
            let attempt = attempt("setting for somebody", &name);
            state.may(CAPABILITY, &attempt)?;
            most = state.granted::<TimersWant>(&attempt)?.most;
            // What the guest says of the cause is not believed, only which of its own calls it stands for.
            let known = state.slot.believed(&cause.meta).ok_or_else(unknown_cause)?;
            // A timer outlasts the call, and so would the rights that another plugin has for as long as its own runs.
            let is_plugin = |slot: &&String| **slot != state.slot.name && !RESERVED.contains(&slot.as_str());
            if let Some(other) = known.chain.iter().find(is_plugin) {
                return Err(CallError::Denied(Denial {
                    capability: CAPABILITY.to_owned(),
                    attempt: format!("{attempt}, for the plugin {other}"),
                    remedy: "a plugin sets timers of its own with the grant `timers`; people ask the agent".to_owned(),
                }));
            }
            creator = Some(Creator::from(known));
            Ok(())
        })?;
        Ok(call.set_timer(name, schedule, payload, creator, most).await?.into())
    }

    async fn change_timer(
        accessor: &Accessor<T, Self>,
        name: String,
        schedule: timers::Schedule,
        payload: String,
    ) -> Result<Option<timers::Timer>, types::Error> {
        let mut foreign = false;
        let call = Call::new(accessor, |state| {
            let attempt = attempt("changing", &name);
            state.may(CAPABILITY, &attempt)?;
            // Which of the plugin's calls wants this is not said, so that each of them counts.
            foreign = state.slot.works_on_foreign();
            state.may("timers", &attempt)
        })?;
        let times = call.check(&name, schedule, &payload)?;
        let _turn = call.slot.disk.enter(name.len() + payload.len()).await?;
        let setting = Setting { name, times, payload, creator: None };
        let changed = call.services.local.timers.change(&call.slot.grants.keeps_under(), setting, foreign).await?;
        Ok(changed.map(Into::into))
    }

    async fn submit(
        accessor: &Accessor<T, Self>,
        submission: inputs::Submission,
        to: Option<types::Conversation>,
        interrupts: bool,
        cause: types::Cause,
    ) -> Result<inputs::Accepted, types::Error> {
        let attempt = "having something done for whoever set a timer";
        let (mind, slot, errand, _room) = accessor.with(|mut access| {
            let state = access.get();
            state.may(CAPABILITY, attempt)?;
            let cause = state.slot.believed_firing(&cause.meta).ok_or_else(unknown_cause)?;
            let (submission, room) = received(state, submission)?;
            let errand = Errand { cause, to: to.map(Into::into), interrupts, submission };
            Ok::<_, CallError>((state.services.mind()?, state.slot.name.clone(), errand, room))
        })?;
        Ok(accepted(mind.errand(&slot, errand).await?))
    }
}

fn unknown_cause() -> CallError {
    CallError::Invalid("the cause is that of no call of this plugin's that is under way".to_owned())
}

impl errands::Host for &mut InstanceState {}
