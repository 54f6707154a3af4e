//! Handing messages to channels: journaled before and after, never twice.

use std::sync::Arc;
use std::time::Duration;

use homeagent_journal::{EventKind, JournalError, OUTPUT_ID};
use homeagent_media::Store;
use homeagent_types::ports::Plugins;
use homeagent_types::{CallError, Cause, Conversation, Input, Output, OutputKind, Receipt, Role};
use serde_json::json;
use tracing::Instrument as _;

use crate::core::Core;
use crate::errands;
use crate::media;
use crate::record::Record;

/// How long to wait before each further try, when a channel says that nothing has happened: a swap passes quickly.
const RETRIES: [Duration; 4] =
    [Duration::from_millis(100), Duration::from_millis(400), Duration::from_secs(1), Duration::from_secs(2)];

/// The source of what comes over the API.
pub(crate) const API: &str = "api";

/// Where the owner is who has no account anywhere: the chat of `waiter` at a terminal.
pub(crate) const TERMINAL: (&str, &str) = ("cli", "owner");

/// Where a message goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) conversation: Conversation,
    pub(crate) reply_route: Option<String>,
}

impl Route {
    /// An output on this route.
    pub(crate) fn output(&self, run: Option<&str>, kind: OutputKind, text: String) -> Output {
        Output {
            id: uuid::Uuid::now_v7().to_string(),
            run: run.map(str::to_owned),
            conversation: self.conversation.clone(),
            reply_route: self.reply_route.clone(),
            kind,
            text,
            media: Vec::new(),
            structured: None,
            meta: Vec::new(),
        }
    }
}

/// Where the answer to an input goes: to where it came from. What a timer of the owner has to say goes to them elsewhere,
/// if it was set where nobody can be spoken to, as by a command or over the API.
pub(crate) fn home(core: &Core, input: &Input) -> Route {
    let own = Route { conversation: input.conversation.clone(), reply_route: input.reply_route.clone() };
    let channel = &own.conversation.channel;
    let is_mute = || core.plugins.offers().channel(channel).is_none();
    let elsewhere = errands::is_errand(input) && input.principal.role == Role::Owner && is_mute();
    elsewhere.then(|| to_owner(core, channel)).flatten().unwrap_or(own)
}

/// Where the owner can be spoken to in private: where they are bound, first of all on the channel `near`; else at the
/// terminal.
pub(crate) fn to_owner(core: &Core, near: &str) -> Option<Route> {
    let offers = core.plugins.offers();
    let mut owners = core.bindings.list();
    owners.retain(|binding| binding.role == Role::Owner.as_str() && offers.channel(&binding.namespace).is_some());
    owners.sort_by_key(|binding| binding.namespace != near);
    let bound = owners.into_iter().next().map(|binding| Conversation::person(binding.namespace, binding.user));
    let (channel, user) = TERMINAL;
    let conversation = bound.or_else(|| offers.channel(channel).map(|_| Conversation::person(channel, user)))?;
    Some(Route { conversation, reply_route: None })
}

/// Why a message did not go out, or may not have.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DeliveryError {
    /// No plugin offers the channel.
    #[error("no plugin offers the channel \"{0}\"")]
    NoChannel(String),
    /// The channel failed.
    #[error("the channel \"{channel}\" failed: {source}")]
    Channel {
        /// Its name.
        channel: String,
        /// What it said.
        source: CallError,
    },
    /// What is not in the journal is not sent.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// Sends a message once and records what became of it, even if the caller goes away meanwhile.
pub(crate) async fn deliver(
    core: &Core,
    record: &Record,
    output: Output,
    cause: &Cause,
) -> Result<Receipt, DeliveryError> {
    apart(core, record, output, cause, &RETRIES).await
}

/// As [`deliver`], but a channel that can't take it now is not asked again.
pub(crate) async fn deliver_at_once(
    core: &Core,
    record: &Record,
    output: Output,
    cause: &Cause,
) -> Result<Receipt, DeliveryError> {
    apart(core, record, output, cause, &[]).await
}

/// In a task of its own: a turn that is stopped in the middle would leave a message of which nobody knows whether it
/// was sent.
async fn apart(
    core: &Core,
    record: &Record,
    output: Output,
    cause: &Cause,
    pauses: &'static [Duration],
) -> Result<Receipt, DeliveryError> {
    let (plugins, store, record, cause) =
        (Arc::clone(&core.plugins), core.media.clone(), record.clone(), cause.clone());
    let work = async move { carry(&*plugins, &store, &record, output, &cause, pauses).await };
    let task = core.tasks.spawn(work.in_current_span());
    match task.await {
        Ok(answer) => answer,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime itself is ending.
            Err(_) => Err(JournalError::Closed.into()),
        },
    }
}

async fn carry(
    plugins: &dyn Plugins,
    store: &Store,
    record: &Record,
    mut output: Output,
    cause: &Cause,
    pauses: &[Duration],
) -> Result<Receipt, DeliveryError> {
    let channel = output.conversation.channel.clone();
    if let Some(offer) = plugins.offers().channel(&channel) {
        media::fit(store, &mut output, &offer.item);
    }
    record.queued(&output).await?;
    media::load(store, &mut output).await;
    let answer = match plugins.offers().channel(&channel).map(|offer| offer.plugin.clone()) {
        Some(plugin) => hand_over(plugins, &plugin, &output, cause, pauses)
            .await
            .map_err(|source| DeliveryError::Channel { channel: channel.clone(), source }),
        None => Err(DeliveryError::NoChannel(channel.clone())),
    };
    match &answer {
        Ok(receipt) => {
            let payload = json!({ OUTPUT_ID: output.id, "platform_id": receipt.platform_id });
            record.event(EventKind::OutputSent, payload).await?;
        }
        Err(error) => {
            tracing::warn!(channel, output = output.id, %error, "an output was not delivered; its text is in the history");
            let code = match error {
                DeliveryError::Channel { source, .. } => source.code(),
                _ => "not-found",
            };
            let payload = json!({ OUTPUT_ID: output.id, "code": code, "reason": error.to_string() });
            record.event(EventKind::OutputUnknown, payload).await?;
        }
    }
    answer
}

/// Tries again only where the channel says that nothing has happened.
async fn hand_over(
    plugins: &dyn Plugins,
    plugin: &str,
    output: &Output,
    cause: &Cause,
    pauses: &[Duration],
) -> Result<Receipt, CallError> {
    let mut pauses = pauses.iter();
    loop {
        let answer = plugins.deliver(plugin, output.clone(), cause.clone()).await;
        let again = matches!(answer, Err(CallError::Retryable | CallError::NotLive | CallError::Busy));
        match pauses.next() {
            Some(pause) if again => tokio::time::sleep(*pause).await,
            _ => return answer,
        }
    }
}
