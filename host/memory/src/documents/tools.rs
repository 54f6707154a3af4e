//! The model's tools for documents: to have what was said come back, and to write something down.

use std::time::Duration;

use async_trait::async_trait;
use homeagent_language::embed::{CurrentEmbedder, Purpose};
use homeagent_types::ports::Toolbox;
use homeagent_types::{CallError, Cause, Effect, Role, ToolDefinition, ToolOutput, Viewer};
use serde_json::{Value, json};

use super::document::{Consumed, Document, Kind};
use super::store::{DocumentError, Documents};
use super::vectorise::DocumentVector;
use crate::Audiences;
use crate::context::{Entry, RelevanceContext, now_ms};

const QUERY: &str = "doc_query";
const COMMIT: &str = "doc_commit";

/// How many documents one question brings, where it does not say, and at most.
const USUAL: usize = 2;
const MOST: usize = 5;

/// The most that comes back into a conversation at one time, in bytes; of a larger document an excerpt is shown.
const MOST_BYTES: usize = 48 << 10;

/// The longest excerpt, in characters.
const EXCERPT: usize = 4_000;

/// The longest note, in characters.
const LONGEST_NOTE: usize = 64_000;

/// How long the vector of a question is waited for.
const PATIENCE: Duration = Duration::from_millis(400);

/// `doc_query` and `doc_commit`.
pub struct DocumentTools {
    context: RelevanceContext,
    audiences: Audiences,
    embedder: CurrentEmbedder,
}

impl DocumentTools {
    /// The tools for the documents of these contexts.
    #[must_use]
    pub fn new(context: RelevanceContext, audiences: Audiences, embedder: CurrentEmbedder) -> Self {
        Self { context, audiences, embedder }
    }

    async fn query(&self, arguments: &Value, cause: &Cause) -> Result<ToolOutput, CallError> {
        let question = arguments["query"].as_str().unwrap_or_default().to_owned();
        let limit = arguments["limit"].as_u64().and_then(|limit| usize::try_from(limit).ok()).unwrap_or(USUAL);
        let vector = self.vector(&question).await;
        let viewer = self.audiences.viewer_of(cause);
        let asked = Asked { question, limit: limit.min(MOST), viewer, taker: taker(cause) };
        let (documents, context) = (self.context.documents().clone(), self.context.clone());
        let work = move || {
            let brought = asked.bring(&documents, vector.as_ref())?;
            if let Some((run, _)) = &asked.taker {
                context.give_back(run, brought.entries);
            }
            Ok::<_, DocumentError>((brought.told, brought.foreign))
        };
        let (told, foreign) = blocking(work).await?;
        if told.is_empty() {
            return Ok(ToolOutput::text("There is no document about this. Other words may find one."));
        }
        let mut output = ToolOutput::json(&json!({ "documents": told }));
        if foreign {
            output.mark_foreign();
        }
        Ok(output)
    }

    async fn commit(&self, arguments: &Value, cause: &Cause) -> Result<ToolOutput, CallError> {
        let text = arguments["text"].as_str().unwrap_or_default().trim().to_owned();
        if text.is_empty() {
            return Err(CallError::Invalid("there is no text to write down".to_owned()));
        }
        let title = arguments["title"].as_str().map(|title| title.trim().to_owned()).filter(|title| !title.is_empty());
        let conversation = cause.conversation.as_ref().map(ToString::to_string).unwrap_or_default();
        let mut note = Document::note(title, text, conversation, &cause.audience, now_ms());
        note.foreign = cause.is_foreign();
        let id = note.id.clone();
        let documents = self.context.documents().clone();
        blocking(move || documents.put(&note, None)).await?;
        Ok(ToolOutput::json(&json!({ "document": id, "kept": true })))
    }

    async fn vector(&self, question: &str) -> Option<DocumentVector> {
        let embedder = self.embedder.borrow().clone()?;
        let work = embedder.embed(Purpose::Query, vec![question.to_owned()]);
        let vector = tokio::time::timeout(PATIENCE, work).await.ok()?.ok()?.pop()?;
        Some(DocumentVector { model: embedder.identity().clone(), vector })
    }
}

#[async_trait]
impl Toolbox for DocumentTools {
    fn tools(&self) -> Vec<ToolDefinition> {
        let query = json!({
            "query": { "type": "string", "minLength": 1, "description": "What it is about, in the words that were used" },
            "limit": { "type": "integer", "minimum": 1, "maximum": MOST, "description": "How many documents, 2 if not said" },
        });
        let commit = json!({
            "text": { "type": "string", "minLength": 1, "maxLength": LONGEST_NOTE, "description": "What is to be kept, in full sentences" },
            "title": { "type": "string", "maxLength": 200, "description": "What it is about, in a few words" },
        });
        let find = "Brings back what was said earlier and has left this conversation's view: the exchanges stand among the \
            messages again, at their times. Notes are shown as they are.";
        let keep = "Writes something down for later, such as a decision, a list or a summary: whoever reads along here may \
            find it again.";
        vec![
            // What it finds goes from the documents into the conversation, and nothing is lost.
            ToolDefinition { no_memory: true, ..definition(QUERY, find, &query, "query", Effect::Read) },
            definition(COMMIT, keep, &commit, "text", Effect::Own),
        ]
    }

    async fn call(&self, name: &str, arguments: Value, cause: &Cause) -> Result<ToolOutput, CallError> {
        match name {
            QUERY => self.query(&arguments, cause).await,
            COMMIT => self.commit(&arguments, cause).await,
            _ => Err(CallError::NotFound(format!("there is no tool {name}"))),
        }
    }
}

/// The run and the conversation into which documents come back: a turn in a conversation. Others only read.
fn taker(cause: &Cause) -> Option<(String, String)> {
    Some((cause.run.clone()?, cause.conversation.as_ref()?.to_string()))
}

/// A question, and who asks it.
struct Asked {
    question: String,
    limit: usize,
    viewer: Viewer,
    taker: Option<(String, String)>,
}

/// What a question brought.
#[derive(Default)]
struct Brought {
    /// What the model is told.
    told: Vec<Value>,
    /// What comes back into the conversation.
    entries: Vec<Entry>,
    foreign: bool,
}

impl Asked {
    fn bring(&self, documents: &Documents, vector: Option<&DocumentVector>) -> Result<Brought, DocumentError> {
        let mut brought = Brought::default();
        let mut room = MOST_BYTES;
        for found in documents.find(&self.question, vector, &self.viewer, self.limit)? {
            let mut document = match documents.read(&found.listed.id) {
                Ok(document) => document,
                // It was set aside, and said; the others are there.
                Err(DocumentError::Missing(_)) => continue,
                Err(error) => return Err(error),
            };
            let fits = document.kind == Kind::Talk && document.bytes() <= room;
            match &self.taker {
                // What was said elsewhere stays there: its exchanges would stand here as if they had been said here.
                Some((run, conversation)) if fits && document.conversation == *conversation => {
                    let consumed = Consumed { run: run.clone(), conversation: conversation.clone(), at_ms: now_ms() };
                    if !documents.consume(&mut document, consumed)? {
                        continue;
                    }
                    room -= document.bytes();
                    brought.told.push(told(&document, "back in this conversation, at its time"));
                    let id = document.id;
                    let marked = document.events.into_iter().map(|event| Entry { document: Some(id.clone()), ..event });
                    brought.entries.extend(marked);
                }
                _ => {
                    documents.accessed(&mut document, now_ms())?;
                    brought.foreign |= document.foreign;
                    let text: String = document.texts().join("\n").chars().take(EXCERPT).collect();
                    brought.told.push(told(&document, &text));
                }
            }
        }
        Ok(brought)
    }
}

fn told(document: &Document, what: &str) -> Value {
    let time = |ms| jiff::Timestamp::from_millisecond(ms).map_or_else(|_| String::new(), |at| at.to_string());
    let mut told = json!({
        "document": document.id,
        "kind": document.kind,
        "from": time(document.from_ms),
        "to": time(document.to_ms),
        "events": document.events.len(),
        "text": what,
    });
    if let Some(title) = &document.title {
        told["title"] = json!(title);
    }
    told
}

fn definition(name: &str, description: &str, properties: &Value, required: &str, effect: Effect) -> ToolDefinition {
    let tool = ToolDefinition::of_host(name, description, effect, properties, &[required]);
    ToolDefinition { min_role: Some(Role::Member), no_memory: false, ..tool }
}

/// Runs on a thread that may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, DocumentError> + Send + 'static,
) -> Result<T, CallError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| match error {
            DocumentError::Missing(_) => CallError::NotFound(error.to_string()),
            error => CallError::NotStored(error.to_string()),
        }),
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(CallError::NotLive),
    }
}
