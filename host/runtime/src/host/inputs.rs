//! `inputs`: people's words on their way to the agent.

use homeagent_types::{Accepted, CallError, MediaSource, Principal, Submission};
use tokio::sync::OwnedSemaphorePermit;
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
    /// Its place among what the plugin has under way.
    _room: OwnedSemaphorePermit,
}

fn check<T>(
    accessor: &Accessor<T, HostData>,
    submission: inputs::Submission,
    attempt: &str,
) -> Result<Handover, CallError> {
    accessor.with(|mut access| {
        let state = access.get();
        state.may("input", attempt)?;
        let (submission, room) = received(state, submission)?;
        let attested = match submission.connection {
            Some(connection) => state.slot.sockets.attested(connection),
            None => None,
        };
        let slot = state.slot.name.clone();
        Ok(Handover { mind: state.services.mind()?, slot, attested, submission, _room: room })
    })
}

/// A guest's submission, and its place among what the plugin has under way.
pub(super) fn received(
    state: &InstanceState,
    submission: inputs::Submission,
) -> Result<(Submission, OwnedSemaphorePermit), CallError> {
    let submission = convert::submission(submission);
    let size = weight(&submission);
    if size > LARGEST_INPUT {
        return Err(CallError::Invalid(format!("an input has at most {LARGEST_INPUT} bytes; this one has {size}")));
    }
    let room = state.slot.carry(size)?;
    Ok((submission, room))
}

/// The largest input, with its media, in bytes. Inputs are journaled whole and wait in memory.
const LARGEST_INPUT: usize = 1 << 20;

fn weight(submission: &Submission) -> usize {
    let texts = [&submission.platform_id, &submission.display_name, &submission.reply_route];
    let texts: usize = texts.into_iter().flatten().map(String::len).sum();
    let media = submission.media.iter().map(|media| match &media.source {
        MediaSource::Inline(bytes) => bytes.len(),
        MediaSource::Url(text) | MediaSource::Stored(text) => text.len(),
    });
    let meta = submission.media.iter().flat_map(|media| &media.meta).chain(&submission.meta);
    let meta: usize = meta.map(|(key, value)| key.len() + value.len()).sum();
    submission.payload.text().len() + submission.user.len() + texts + media.sum::<usize>() + meta
}

pub(super) fn accepted(accepted: Accepted) -> inputs::Accepted {
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
