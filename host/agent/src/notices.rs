//! Messages that are no answer: what the host itself has to say to somebody.

use std::sync::Arc;
use std::time::Duration;

use homeagent_types::OutputKind;

use crate::core::{self, Core};
use crate::outputs::{self, Route};
use crate::record::Record;

/// How long the delivery may take.
const DEADLINE: Duration = Duration::from_secs(10);

/// Sends a notice, outside of any turn's run. A failure is in the journal and the log.
pub(crate) async fn send(core: &Core, place: &Route, run: Option<String>, code: &str, text: String) {
    if core.plugins.offers().channel(&place.conversation.channel).is_none() {
        return;
    }
    let (conversation, audience) = (place.conversation.to_string(), place.conversation.audience());
    let output = place.output(run.as_deref(), OutputKind::Notice(code.to_owned()), text);
    let principal = core::host_principal();
    let cause = core::cause(None, &place.conversation, &audience, principal, DEADLINE);
    match Record::beside(&core.journal, &conversation, &audience, None).await {
        Ok(record) => drop(outputs::deliver(core, &record, output, &cause).await),
        Err(error) => tracing::error!(%error, code, "a notice could not be recorded, and is not sent"),
    }
}

/// Tells the owner something where they can be spoken to in private, without waiting for it.
pub(crate) fn tell_owner(core: &Arc<Core>, code: &'static str, text: String) {
    let Some(place) = outputs::to_owner(core, "") else {
        tracing::warn!(code, "the owner can be spoken to nowhere: {text}");
        return;
    };
    let (core, tasks) = (Arc::clone(core), core.tasks.clone());
    tasks.spawn(async move { send(&core, &place, None, code, text).await });
}
