//! `inputs`: people's words on their way to the agent.

use homeagent_types::{Accepted, CallError, Principal, Submission};
use wasmtime::component::Accessor;

use crate::bindings::{inputs, types};
use crate::convert;
use crate::instance::{HostData, InstanceState};

/// What is needed to hand a submission to the agent, once the guest's right to do so has been checked.
struct Handover {
    mind: std::sync::Arc<dyn homeagent_types::ports::Mind>,
    slot: String,
    attested: Option<Principal>,
    submission: Submission,
}

fn check<T>(
    accessor: &Accessor<T, HostData>,
    submission: inputs::Submission,
    attempt: &str,
) -> Result<Handover, CallError> {
    accessor.with(|mut access| {
        let state = access.get();
        state.may("input", attempt)?;
        let submission = convert::submission(submission);
        let attested = match submission.connection {
            Some(connection) => state.slot.sockets.attested(connection),
            None => None,
        };
        let slot = state.slot.name.clone();
        Ok(Handover { mind: state.services.mind()?, slot, attested, submission })
    })
}

fn accepted(accepted: Accepted) -> inputs::Accepted {
    inputs::Accepted { input: accepted.input, duplicate: accepted.duplicate }
}

impl<T: Send + 'static> inputs::HostWithStore<T> for HostData {
    async fn submit(
        accessor: &Accessor<T, Self>,
        submission: inputs::Submission,
    ) -> Result<inputs::Accepted, types::Error> {
        let it = check(accessor, submission, "submitting an input")?;
        Ok(accepted(it.mind.submit(&it.slot, it.attested, it.submission).await?))
    }

    async fn interrupt(
        accessor: &Accessor<T, Self>,
        submission: inputs::Submission,
    ) -> Result<inputs::Accepted, types::Error> {
        let it = check(accessor, submission, "interrupting a turn")?;
        Ok(accepted(it.mind.interrupt(&it.slot, it.attested, it.submission).await?))
    }

    async fn stop(accessor: &Accessor<T, Self>, submission: inputs::Submission) -> Result<bool, types::Error> {
        let it = check(accessor, submission, "stopping a turn")?;
        Ok(it.mind.stop(&it.slot, it.attested, it.submission).await?)
    }
}

impl inputs::Host for &mut InstanceState {}
