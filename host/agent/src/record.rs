//! What the agent writes into the journal, in its own words.

use homeagent_journal::{EventKind, Journal, JournalError, NewEvent, OUTPUT_ID, RunStatus};
use homeagent_types::model::Message;
use homeagent_types::{Audience, Output};
use serde_json::{Value, json};

use crate::result::TurnResult;

/// An audience as the journal keeps it.
pub(crate) fn audience_text(audience: &Audience) -> String {
    match audience {
        Audience::Person(person) => format!("person:{person}"),
        Audience::Group(group) => format!("group:{group}"),
        Audience::Agent => "agent".to_owned(),
        Audience::Other(other) => format!("other:{other}"),
    }
}

/// The journal, as one run sees it.
#[derive(Clone)]
pub(crate) struct Record {
    journal: Journal,
    pub(crate) session: String,
    /// None: it happens outside turns.
    pub(crate) run: Option<String>,
    conversation: String,
    audience: String,
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
        let session = journal.current_session(conversation).await?;
        let run = journal.start_run(&session, conversation, principal, inputs).await?;
        Ok(Self {
            journal: journal.clone(),
            session,
            run: Some(run),
            conversation: conversation.to_owned(),
            audience: audience_text(audience),
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
            audience: audience_text(audience),
        })
    }

    /// Appends an event of this run.
    pub(crate) async fn event(&self, kind: EventKind, payload: Value) -> Result<(), JournalError> {
        self.journal.append(self.about(kind, payload)).await.map(drop)
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

    /// A message went into the window.
    pub(crate) async fn message(&self, message: &Message, mut about: Value) -> Result<(), JournalError> {
        let kind = match message {
            Message::System(_) | Message::User(_) => EventKind::UserMessageAdded,
            Message::Assistant { .. } => EventKind::AssistantMessageAdded,
            Message::Tool { .. } => EventKind::ToolResultRecorded,
        };
        about["message"] = serde_json::to_value(message).unwrap_or_default();
        self.event(kind, about).await
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

    /// Ends the run.
    pub(crate) async fn finish(&self, status: RunStatus, result: &TurnResult) -> Result<(), JournalError> {
        let Some(run) = &self.run else { return Ok(()) };
        let error = result.error.as_ref().map(|error| error.text.as_str());
        let payload = serde_json::to_value(result).unwrap_or_default();
        self.journal.finish_run(run, status, Some(&result.finish), error, payload).await.map(drop)
    }
}
