//! A model that is the test: each call waits until the test has answered it, or sees that it was dropped.

use std::sync::Arc;

use async_trait::async_trait;
use homeagent_types::model::{
    AssistantAnswer, Completion, ContentPart, Failure, FailureClass, FinishReason, Message, ModelDelta, Prompt, Usage,
};
use homeagent_types::ports::{LineRequest, Models, ModelsFailure, Progress, Sight};
use homeagent_types::{MediaKind, ToolCall};
use tokio::sync::{Mutex, mpsc, oneshot};

enum Move {
    Piece(ModelDelta),
    Restart,
    Panic,
    End(Result<Box<AssistantAnswer>, ModelsFailure>),
}

/// A call of the model that waits for the test.
pub(crate) struct Asked {
    pub(crate) prompt: Prompt,
    moves: mpsc::UnboundedSender<Move>,
    /// Ends when the call is gone.
    gone: oneshot::Receiver<()>,
}

impl Asked {
    pub(crate) fn piece(&self, text: &str) {
        let _ = self.moves.send(Move::Piece(ModelDelta::Text(text.to_owned())));
    }

    pub(crate) fn restart(&self) {
        let _ = self.moves.send(Move::Restart);
    }

    pub(crate) fn panic(self) {
        let _ = self.moves.send(Move::Panic);
    }

    pub(crate) fn end(self, answer: AssistantAnswer) {
        let _ = self.moves.send(Move::End(Ok(Box::new(answer))));
    }

    pub(crate) fn fail(self, failure: ModelsFailure) {
        let _ = self.moves.send(Move::End(Err(failure)));
    }

    /// Returns when the agent has dropped the call.
    pub(crate) async fn cancelled(self) {
        let _moves = self.moves;
        let _ = self.gone.await;
    }

    /// All that people said, as the model is shown it.
    pub(crate) fn said(&self) -> Vec<String> {
        let users = self.prompt.messages.iter().filter_map(|message| match message {
            Message::User(parts) => Some(parts),
            _ => None,
        });
        users.map(|parts| text(parts)).collect()
    }

    /// All results of tools, as the model is shown them.
    pub(crate) fn results(&self) -> Vec<String> {
        let results = self.prompt.messages.iter().filter_map(|message| match message {
            Message::Tool { content, .. } => Some(content),
            _ => None,
        });
        results.map(|parts| text(parts)).collect()
    }

    /// The addresses of what it is shown from the store.
    pub(crate) fn shown(&self) -> Vec<String> {
        let parts = self.prompt.messages.iter().flat_map(|message| match message {
            Message::User(parts) | Message::Tool { content: parts, .. } => parts.as_slice(),
            Message::System(_) | Message::Assistant { .. } => &[],
        });
        parts.filter_map(|part| Some(part.as_medium()?.in_store()?.to_owned())).collect()
    }

    /// Whether it is shown anything, from the store or from elsewhere.
    pub(crate) fn shows_any(&self) -> bool {
        let parts = self.prompt.messages.iter().flat_map(|message| match message {
            Message::User(parts) | Message::Tool { content: parts, .. } => parts.as_slice(),
            Message::System(_) | Message::Assistant { .. } => &[],
        });
        parts.into_iter().any(|part| part.as_medium().is_some())
    }

    /// The last system message.
    pub(crate) fn last_system(&self) -> &str {
        match self.prompt.messages.last() {
            Some(Message::System(text)) => text,
            other => panic!("the last message is no system message: {other:?}"),
        }
    }

    /// The names of the tools it may call.
    pub(crate) fn tools(&self) -> Vec<&str> {
        self.prompt.tools.iter().map(|tool| tool.name.as_str()).collect()
    }
}

fn text(parts: &[ContentPart]) -> String {
    parts
        .iter()
        .filter_map(|part| if let ContentPart::Text(text) = part { Some(text.as_str()) } else { None })
        .collect()
}

pub(crate) struct FakeModels {
    asked: mpsc::UnboundedSender<Asked>,
    calls: Mutex<mpsc::UnboundedReceiver<Asked>>,
    sight: std::sync::Mutex<Sight>,
}

impl FakeModels {
    pub(crate) fn new() -> Arc<Self> {
        let (asked, calls) = mpsc::unbounded_channel();
        Arc::new(Self { asked, calls: Mutex::new(calls), sight: std::sync::Mutex::default() })
    }

    /// From now on, the first source takes in these kinds of media, and all of them together those.
    pub(crate) fn take_in(&self, first: &[MediaKind], any: &[MediaKind]) {
        let sight = Sight { first: first.iter().copied().collect(), any: any.iter().copied().collect() };
        *self.sight.lock().unwrap() = sight;
    }

    /// The next call.
    pub(crate) async fn next(&self) -> Asked {
        self.calls.lock().await.recv().await.expect("the model is asked")
    }

    /// The next call, if there is one already.
    pub(crate) async fn try_next(&self) -> Option<Asked> {
        self.calls.lock().await.try_recv().ok()
    }
}

#[async_trait]
impl Models for FakeModels {
    fn sight(&self) -> Sight {
        self.sight.lock().unwrap().clone()
    }

    async fn complete(&self, request: LineRequest<'_>, pieces: &dyn Progress) -> Result<Completion, ModelsFailure> {
        let (moves, mut told) = mpsc::unbounded_channel();
        let (_here, gone) = oneshot::channel();
        let _ = self.asked.send(Asked { prompt: request.prompt.clone(), moves, gone });
        loop {
            match told.recv().await {
                Some(Move::Piece(delta)) => pieces.piece(&delta),
                Some(Move::Restart) => pieces.restart(),
                Some(Move::Panic) => panic!("the model panics, as the test wants"),
                Some(Move::End(Err(failure))) => return Err(failure),
                Some(Move::End(Ok(answer))) => {
                    return Ok(Completion {
                        source: "main".to_owned(),
                        adapter: "fake".to_owned(),
                        model: "fake-1".to_owned(),
                        answer: *answer,
                    });
                }
                None => panic!("the test dropped a call of the model without an answer"),
            }
        }
    }
}

/// An answer that is a text.
pub(crate) fn answer(text: &str) -> AssistantAnswer {
    AssistantAnswer {
        text: text.to_owned(),
        finish: Some(FinishReason::Stop),
        usage: Some(Usage { input: 10, output: 2, cached: None, cache_written: None }),
        ..AssistantAnswer::default()
    }
}

/// An answer that calls a tool.
pub(crate) fn call(name: &str, arguments: &str) -> AssistantAnswer {
    calls(&[(name, arguments)])
}

/// An answer that calls several tools.
pub(crate) fn calls(wanted: &[(&str, &str)]) -> AssistantAnswer {
    let calls = wanted.iter().enumerate().map(|(at, (name, arguments))| ToolCall {
        id: format!("c{at}"),
        name: (*name).to_owned(),
        arguments: (*arguments).to_owned(),
    });
    AssistantAnswer { tool_calls: calls.collect(), finish: Some(FinishReason::ToolCalls), ..answer("") }
}

/// No source could answer.
pub(crate) fn failure(sentence: &str, class: FailureClass) -> ModelsFailure {
    let failure = Failure { class, message: "it failed".to_owned(), retry_after_ms: None };
    ModelsFailure { sentence: sentence.to_owned(), tried: vec![("main".to_owned(), failure)], partial: None }
}
