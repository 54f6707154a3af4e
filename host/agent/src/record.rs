//! What the agent writes into the journal, in its own words.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use homeagent_journal::{EFFECT, EventKind, Journal, JournalError, NewEvent, OUTPUT_ID, RunStatus};
use homeagent_memory::context::{AT, CLEANER, Entry, FOREIGN, NO_MEMORY, NUMBER, numbered};
use homeagent_types::model::Message;
use homeagent_types::{Audience, Effect, Output, now};
use serde_json::{Value, json};

use crate::result::TurnResult;

/// The journal, as one run sees it.
///
/// What is [noted](Self::note) is written together with the next event that has to be on the disk before the turn goes
/// on, so that they share a commit. Whoever asks something outside the host - a plugin, a channel - [settles](Self::settle)
/// first or writes an event that is waited for.
#[derive(Clone)]
pub(crate) struct Record {
    journal: Journal,
    pub(crate) session: String,
    /// None: it happens outside turns.
    pub(crate) run: Option<String>,
    conversation: String,
    audience: String,
    /// Not written yet, oldest first. Clones share it: whoever writes next takes them along.
    noted: Arc<Mutex<Vec<NewEvent>>>,
    /// Something was begun that is not to be done twice.
    acted: Arc<AtomicBool>,
    /// How many messages went into the window.
    messages: Arc<AtomicU64>,
}

impl Record {
    /// Begins a run in the conversation's current session; it takes the inputs.
    pub(crate) async fn begin(
        journal: &Journal,
        conversation: &str,
        audience: &Audience,
        principal: &str,
        inputs: &[String],
    ) -> Result<Self, JournalError> {
        let started = journal.start_run(conversation, principal, inputs).await?;
        Ok(Self {
            journal: journal.clone(),
            session: started.session,
            run: Some(started.run),
            conversation: conversation.to_owned(),
            audience: audience.to_string(),
            noted: Arc::default(),
            acted: Arc::default(),
            messages: Arc::default(),
        })
    }

    /// What happens in a conversation outside its turns, or beside the turn `run`.
    pub(crate) async fn beside(
        journal: &Journal,
        conversation: &str,
        audience: &Audience,
        run: Option<String>,
    ) -> Result<Self, JournalError> {
        Ok(Self {
            journal: journal.clone(),
            session: journal.current_session(conversation).await?,
            run,
            conversation: conversation.to_owned(),
            audience: audience.to_string(),
            noted: Arc::default(),
            acted: Arc::default(),
            messages: Arc::default(),
        })
    }

    /// Appends an event of this run, after what was noted.
    pub(crate) async fn event(&self, kind: EventKind, payload: Value) -> Result<(), JournalError> {
        self.note(kind, payload);
        self.settle().await
    }

    /// Notes an event of this run: the next one that is appended takes it along.
    pub(crate) fn note(&self, kind: EventKind, payload: Value) {
        let acts = match kind {
            EventKind::OutputQueued => true,
            EventKind::ToolStarted => payload[EFFECT] != json!(Effect::Read),
            _ => false,
        };
        if acts {
            self.acted.store(true, Ordering::Release);
        }
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).push(self.about(kind, payload));
    }

    /// Writes what was noted. What can't be written is not noted any longer.
    pub(crate) async fn settle(&self) -> Result<(), JournalError> {
        if !self.unwritten() {
            return Ok(());
        }
        // What is dropped while it waits for a place leaves the notes to the next.
        self.journal.append_gathered(|| self.take_noted()).await.map(drop)
    }

    /// Takes an input into the run, together with what was noted: all of it is recorded, or nothing.
    pub(crate) async fn join(&self, input: &str) -> Result<(), JournalError> {
        let run = self.run.as_deref().unwrap_or_default();
        self.journal.join_run(run, input, self.take_noted()).await
    }

    /// Whether the run did more than look and think: such a run is not taken again after a crash, either.
    pub(crate) fn has_acted(&self) -> bool {
        self.acted.load(Ordering::Acquire)
    }

    /// Whether something is noted that is not written yet.
    pub(crate) fn unwritten(&self) -> bool {
        !self.noted.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    fn take_noted(&self) -> Vec<NewEvent> {
        std::mem::take(&mut *self.noted.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// An event of this run, not appended yet.
    pub(crate) fn about(&self, kind: EventKind, payload: Value) -> NewEvent {
        NewEvent {
            session: self.session.clone(),
            run: self.run.clone(),
            conversation: self.conversation.clone(),
            kind,
            audience: self.audience.clone(),
            payload,
        }
    }

    /// Notes that a message goes into the window; returns it as it stands there.
    pub(crate) fn message(&self, message: Message, mut about: Value) -> Entry {
        let kind = match &message {
            Message::System(_) | Message::User(_) => EventKind::UserMessageAdded,
            Message::Assistant { .. } => EventKind::AssistantMessageAdded,
            Message::Tool { .. } => EventKind::ToolResultRecorded,
        };
        let number = self.messages.fetch_add(1, Ordering::Relaxed) + 1;
        about[NUMBER] = json!(number);
        let entry = Entry {
            id: numbered(self.run.as_deref().unwrap_or_default(), number),
            conversation: self.conversation.clone(),
            audience: self.audience.clone(),
            at_ms: i64::try_from(now()).unwrap_or(i64::MAX),
            foreign: about[FOREIGN] == true,
            time: about[AT].as_str().map(str::to_owned),
            no_memory: about[NO_MEMORY] == true,
            cleaner: about[CLEANER].as_str().map(str::to_owned),
            document: None,
            message,
        };
        about["message"] = serde_json::to_value(&entry.message).unwrap_or_default();
        self.note(kind, about);
        entry
    }

    /// An output is about to be handed to a channel.
    pub(crate) async fn queued(&self, output: &Output) -> Result<(), JournalError> {
        let payload = json!({
            OUTPUT_ID: output.id,
            "conversation": output.conversation.to_string(),
            "kind": output.kind,
            "text": output.text,
            "media": output.media.len(),
            "structured": output.structured,
        });
        self.event(EventKind::OutputQueued, payload).await
    }

    /// Ends the run, after what was noted: all of it is recorded, or nothing.
    pub(crate) async fn finish(&self, status: RunStatus, result: &TurnResult) -> Result<(), JournalError> {
        let Some(run) = &self.run else { return Ok(()) };
        let error = result.error.as_ref().map(|error| error.text.as_str());
        let payload = serde_json::to_value(result).unwrap_or_default();
        let noted = self.take_noted();
        self.journal.finish_run(run, noted, status, Some(&result.finish), error, payload).await.map(drop)
    }
}
