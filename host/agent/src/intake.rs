//! The way of an input into the agent: journaled first, then queued; and the way out for those that no turn takes.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use homeagent_journal::{Acceptance, EventKind, INPUT_ID, JournalError, NewEvent, PendingInput};
use homeagent_types::{
    Accepted, CallError, Cause, Conversation, Input, MediaSource, Output, OutputKind, Principal, Role, Submission, now,
};
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::commands::{self, Command};
use crate::core::{self, Core};
use crate::ending::SHUTTING_DOWN;
use crate::errands;
use crate::lifecycle::{self, Phase};
use crate::media;
use crate::outputs::{self, Route};
use crate::pairing::{self, Attempt, Verdict};
use crate::questions;
use crate::queue::Queued;
use crate::record::Record;
use crate::result::{TurnError, TurnResult};
use crate::rights::{refresh, role_now};
use crate::watch::Watcher;

/// How long an input waits for a place in a full queue before it is told that the agent is busy.
const PATIENCE: Duration = Duration::from_secs(1);

/// What one place in a queue is for; a larger input takes several.
const PLACE_BYTES: usize = 64 << 10;

/// How often an input is taken again after a crash: it may be what the daemon dies of.
const MOST_RETURNS: u32 = 2;

/// How many characters of a message are repeated to say which is meant.
const EXCERPT: usize = 60;

/// How long a notice may take.
const NOTICE_DEADLINE: Duration = Duration::from_secs(10);

/// Whether an input waits its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// It does.
    Waits,
    /// It joins the turn that runs in its conversation.
    Interrupts,
}

/// Completes a submission with what the host alone may say.
pub(crate) fn input(core: &Core, source: &str, attested: Option<Principal>, submission: Submission) -> Input {
    let principal = attested.unwrap_or_else(|| principal(core, source, &submission));
    let conversation = Conversation { channel: source.to_owned(), peer: submission.peer };
    Input {
        id: uuid::Uuid::now_v7().to_string(),
        source: source.to_owned(),
        audience: conversation.audience(),
        conversation,
        principal,
        kind: submission.kind,
        payload: submission.payload,
        media: submission.media,
        reply_route: submission.reply_route,
        received_at: submission.received_at.unwrap_or_else(now),
        meta: errands::without_marks(submission.meta),
    }
}

/// Who speaks.
pub(crate) fn principal(core: &Core, source: &str, submission: &Submission) -> Principal {
    Principal {
        namespace: source.to_owned(),
        user: submission.user.clone(),
        role: role_now(&core.bindings, source, &submission.user),
        display_name: submission.display_name.clone(),
        attested: false,
    }
}

/// Journals an input and queues it. Once this has begun it is finished even if the caller goes away.
pub(crate) async fn admit(
    core: &Arc<Core>,
    mut input: Input,
    platform_id: Option<String>,
    watcher: Option<Watcher>,
    manner: Manner,
) -> Result<Accepted, CallError> {
    if *core.phase.borrow() != Phase::Running {
        return Err(CallError::NotLive);
    }
    let permit = place(core, &input).await?;
    // Before all else: what is a code is in nothing that is kept.
    let attempt = core.pairing.look(&mut input);
    questions::mark(core, &mut input);
    media::receive(&mut input.media);
    // Whoever is said to speak, what a plugin hands in comes from the plugin.
    let is_the_hosts = input.source == outputs::API || input.source == outputs::TERMINAL.0;
    if !is_the_hosts && !core.plugins.offers().outward.contains(&input.source) {
        media::forbid(&mut input.media, |_| false);
    }
    // The journal has the addresses of media, not their bytes.
    media::keep(&core.media, &mut input.media).await;
    let payload = serde_json::to_value(&input).map_err(|error| CallError::Invalid(error.to_string()))?;
    let core = Arc::clone(core);
    let tasks = core.tasks.clone();
    let item = Queued {
        patient: false,
        urgent: false,
        watcher,
        permit: Some(permit),
        arrived: Instant::now(),
        alone: false,
        input,
    };
    let task = tasks.spawn(async move { take(&core, item, payload, platform_id, manner, attempt).await });
    task.await.unwrap_or_else(|_| Err(CallError::Other("the agent broke while it took this".to_owned())))
}

fn weight(input: &Input) -> usize {
    let media = input.media.iter().map(|media| match &media.source {
        MediaSource::Inline(bytes) => bytes.len(),
        MediaSource::Url(text) | MediaSource::Stored(text) => text.len(),
    });
    input.payload.text().len() + media.sum::<usize>()
}

/// A place in the queue of its channel; more than one for an input that is large, so that a full queue is no danger to the
/// memory of the host.
async fn place(core: &Core, input: &Input) -> Result<OwnedSemaphorePermit, CallError> {
    let channel = input.source.as_str();
    let most = core.settings.integer("core.agent.input_queue").unwrap_or(1);
    let places = core.places(channel, usize::try_from(most).unwrap_or(1));
    let wanted = i64::try_from(1 + weight(input) / PLACE_BYTES).unwrap_or(most).min(most);
    let wanted = u32::try_from(wanted).unwrap_or(1).max(1);
    match tokio::time::timeout(PATIENCE, places.acquire_many_owned(wanted)).await {
        Ok(Ok(permit)) => Ok(permit),
        _ => {
            tracing::warn!(channel, "an input is turned away: its channel's queue is full");
            Err(CallError::Busy)
        }
    }
}

async fn take(
    core: &Arc<Core>,
    mut item: Queued,
    payload: Value,
    platform_id: Option<String>,
    manner: Manner,
    attempt: Option<Attempt>,
) -> Result<Accepted, CallError> {
    let input = &item.input;
    let conversation = input.conversation.to_string();
    let key = platform_id.as_deref().map(|id| (input.source.as_str(), id));
    let audience = input.audience.to_string();
    let accepted = core.journal.accept_input(&conversation, &input.id, key, payload, &audience).await;
    match accepted {
        Err(error) => {
            tracing::error!(%error, "an input could not be journaled, so it was not taken");
            let text = format!("the input was not taken: {error}");
            return Err(match error {
                JournalError::Database(_) => CallError::NotStored(text),
                _ => CallError::Other(text),
            });
        }
        Ok(Acceptance::Duplicate { input_id }) => return Ok(Accepted { input: input_id, duplicate: true }),
        Ok(Acceptance::Accepted { .. }) => {}
    }
    let accepted = Accepted { input: input.id.clone(), duplicate: false };
    let verdict = attempt.map_or(Verdict::Pass, |attempt| core.pairing.judge(attempt, input));
    if verdict != Verdict::Pass {
        let inner = Arc::clone(core);
        core.tasks.spawn(Box::pin(async move { pairing::run(&inner, item, verdict).await }));
        return Ok(accepted);
    }
    if let Some(reading) = core.questions.read(input) {
        let inner = Arc::clone(core);
        core.tasks.spawn(Box::pin(async move { questions::answered(&inner, item, reading).await }));
        return Ok(accepted);
    }
    item.urgent = errands::is_urgent(input) || (manner == Manner::Interrupts && input.principal.role == Role::Owner);
    item.patient = manner == Manner::Waits && patient(core, input);
    item.arrived = Instant::now();
    let command = commands::of(&item.input);
    if command.is_some_and(|command| command != Command::New) {
        // These do not wait for the turn that runs: they are about it.
        let inner = Arc::clone(core);
        core.tasks.spawn(Box::pin(async move { commands::run(&inner, item).await }));
        return Ok(accepted);
    }
    // What begins with the call of a tool is a turn of its own.
    let joins = manner == Manner::Interrupts && command.is_none() && errands::order(&item.input).is_none();
    let item = match core.turn_in(&conversation).filter(|_| joins) {
        Some(turn) => match turn.offer(item) {
            Ok(()) => return Ok(accepted),
            Err(item) => *item,
        },
        None => item,
    };
    let pushed = core.queue().push(item);
    match pushed {
        Ok(()) => core.stir(),
        Err(item) => flush(core, vec![*item]).await,
    }
    Ok(accepted)
}

/// Whether the channel wants quick messages in a row to be waited for.
fn patient(core: &Core, input: &Input) -> bool {
    core.plugins
        .offers()
        .channel(&input.conversation.channel)
        .is_some_and(|offer| offer.item.meta.iter().any(|(key, value)| key == "merge" && value == "wait"))
}

/// Queues what the last stop left behind. A command is not carried out so late: whoever gave it has gone on. What the
/// daemon died of again and again is closed, and its conversation told.
pub(crate) async fn recovered(core: &Arc<Core>, pending: Vec<PendingInput>) {
    for pending in pending {
        let returned = pending.returned;
        let Some((input, refusal)) = read_pending(core, pending) else { continue };
        if commands::of(&input).is_some() || pairing::was_code(&input) || questions::was_answer(&input) {
            let payload = json!({ INPUT_ID: input.id, "code": "stopped", "by": "the daemon's stop" });
            if let Err(error) = core.journal.append(NewEvent { payload, ..refusal }).await {
                tracing::error!(input = input.id, %error, "a command of an earlier start is left waiting");
            }
            continue;
        }
        if returned > MOST_RETURNS {
            give_up(core, input, refusal, returned).await;
            continue;
        }
        let urgent = errands::is_urgent(&input);
        let arrived = Instant::now();
        let alone = returned > 0;
        let item = Queued { input, watcher: None, permit: None, arrived, patient: false, urgent, alone };
        // The queue is open: the agent has not begun yet.
        let _ = core.queue().push(item);
    }
}

/// An input that the journal kept, and the event, but for its details, that would refuse it.
fn read_pending(core: &Core, pending: PendingInput) -> Option<(Input, NewEvent)> {
    let mut input = serde_json::from_value::<Input>(pending.payload)
        .inspect_err(|error| {
            tracing::error!(input = pending.input_id, %error, "a waiting input in the journal can't be read");
        })
        .ok()?;
    refresh(&core.bindings, &mut input);
    let refusal = NewEvent {
        session: pending.session,
        run: None,
        conversation: pending.conversation,
        kind: EventKind::InputRefused,
        audience: pending.audience,
        payload: Value::Null,
    };
    Some((input, refusal))
}

/// Closes an input with which the daemon stopped too often, and says so where it came from.
async fn give_up(core: &Arc<Core>, input: Input, refusal: NewEvent, returned: u32) {
    tracing::error!(input = input.id, returned, "the daemon stopped each time it worked on an input; it is closed");
    let payload = json!({ INPUT_ID: input.id, "code": "crashed", "returned": returned });
    // First of all it is recorded: whoever waits to be told must not bring it back.
    if let Err(error) = core.journal.append(NewEvent { payload, ..refusal }).await {
        tracing::error!(input = input.id, %error, "an input can't be closed, and is left to the next start");
        return;
    }
    let text = format!(
        "I stopped unexpectedly {returned} times while I worked on a message of yours, so I leave it: {}",
        excerpt(input.payload.text())
    );
    let told = Arc::clone(core);
    core.tasks.spawn(async move { tell(&told, &input, "crashed", &text).await });
}

/// Enough of a text to know which it was.
fn excerpt(text: &str) -> String {
    let mut line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() > EXCERPT {
        line = line.chars().take(EXCERPT).chain(['\u{2026}']).collect();
    }
    format!("\"{line}\"")
}

/// Puts interrupts that a turn did not take before what waits in their conversation.
pub(crate) fn requeue(core: &Arc<Core>, items: Vec<Queued>) {
    if items.is_empty() {
        return;
    }
    let pushed = core.queue().push_front(items);
    if let Err(items) = pushed {
        let inner = Arc::clone(core);
        core.tasks.spawn(async move { flush(&inner, items).await });
    }
}

/// Ends the waiting of inputs because the agent stops; their senders are told, all at once and only once: what is left
/// of the agent's time is for the turns that run.
///
/// What a timer is due for stays in the journal, and the next start takes it: its time comes once, and nobody sends it
/// again.
pub(crate) async fn flush(core: &Core, mut items: Vec<Queued>) {
    items.retain(|item| !errands::is_errand(&item.input));
    if items.is_empty() {
        return;
    }
    let code = SHUTTING_DOWN;
    let text = "I am shutting down and did not get to this. Please send it again later.";
    let records = join_all(items.iter().map(|item| {
        let input = &item.input;
        async move { Record::beside(&core.journal, &input.conversation.to_string(), &input.audience, None).await }
    }))
    .await;
    let event = |(item, record): (&Queued, &Result<Record, JournalError>)| {
        let record = record.as_ref().ok()?;
        Some(record.about(EventKind::InputFlushed, json!({ INPUT_ID: item.input.id, "code": code })))
    };
    // First of all it is recorded: what is not is taken again at the next start.
    let events = items.iter().zip(&records).filter_map(event).collect();
    if let Err(error) = core.journal.append_all(events).await {
        tracing::error!(%error, "flushed inputs could not be recorded; they are taken again");
    }
    let mut notices = Vec::new();
    for (item, record) in items.into_iter().zip(records) {
        let Queued { input, watcher, .. } = item;
        let record =
            record.inspect_err(|error| tracing::error!(input = input.id, %error, "an input could not be flushed"));
        if let Some(watcher) = watcher {
            watcher.finish(TurnResult {
                session: record.as_ref().map(|record| record.session.clone()).unwrap_or_default(),
                finish: code.to_owned(),
                error: Some(TurnError { code: code.to_owned(), text: text.to_owned() }),
                ..TurnResult::default()
            });
        }
        if let Ok(record) = record
            && core.plugins.offers().channel(&input.conversation.channel).is_some()
        {
            let (output, cause) = notice(&input, code, text.to_owned());
            notices.push(async move { outputs::deliver_at_once(core, &record, output, &cause).await });
        }
    }
    if tokio::time::timeout(lifecycle::patience(core), join_all(notices)).await.is_err() {
        tracing::warn!("not all whose inputs were flushed could be told in time");
    }
}

/// A notice for where an input came from.
fn notice(input: &Input, code: &str, text: String) -> (Output, Cause) {
    let route = Route { conversation: input.conversation.clone(), reply_route: input.reply_route.clone() };
    let cause = core::cause(None, &input.conversation, &input.audience, input.principal.clone(), NOTICE_DEADLINE);
    (route.output(None, OutputKind::Notice(code.to_owned()), text), cause)
}

/// Sends a notice to where an input came from, where a plugin offers that channel.
pub(crate) async fn tell(core: &Core, input: &Input, code: &str, text: &str) {
    if core.plugins.offers().channel(&input.conversation.channel).is_none() {
        return;
    }
    let conversation = input.conversation.to_string();
    let (output, cause) = notice(input, code, text.to_owned());
    match Record::beside(&core.journal, &conversation, &input.audience, None).await {
        // A failure is in the journal and the log.
        Ok(record) => drop(outputs::deliver(core, &record, output, &cause).await),
        Err(error) => tracing::error!(%error, code, "a notice could not be recorded, and is not sent"),
    }
}

/// Sends a notice once, although the journal can't record it.
pub(crate) async fn tell_unrecorded(core: &Core, input: &Input, code: &str, text: String) {
    let offers = core.plugins.offers();
    let Some(offer) = offers.channel(&input.conversation.channel) else { return };
    let (output, cause) = notice(input, code, text);
    let sent = core.plugins.deliver(&offer.plugin, output, cause);
    if !matches!(tokio::time::timeout(NOTICE_DEADLINE, sent).await, Ok(Ok(_))) {
        tracing::warn!(code, "a notice was not delivered");
    }
}
