//! One model call as the turn sees it: the pieces that are shown meanwhile, and the ways it can end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homeagent_types::Shown;
use homeagent_types::model::{AssistantAnswer, Completion, ModelDelta};
use homeagent_types::ports::{LineRequest, Models, ModelsFailure, Progress};
use tokio::sync::Notify;

use crate::config::{Limits, prefix};
use crate::watch::Shower;

/// How a model call ended, seen from the turn.
#[derive(Debug)]
pub(crate) enum Call {
    /// With an answer.
    Answered(Box<Completion>),
    /// No source could answer.
    Failed(ModelsFailure),
    /// It grew beyond a limit, in words, and was cut.
    Overgrown(&'static str),
}

/// Receives the pieces of one call. What it has received survives the call's being dropped.
pub(crate) struct Sink {
    shower: Arc<Shower>,
    /// A rewriter will change the text: nothing of it is shown before.
    hidden: bool,
    limits: Limits,
    partial: Mutex<Partial>,
    overgrown: Notify,
    shown: AtomicBool,
}

#[derive(Default)]
struct Partial {
    text: String,
    reasoning: usize,
    arguments: usize,
    overgrown: Option<&'static str>,
}

/// The answer's text is too long.
pub(crate) const LONG_TEXT: &str = "text";

impl Sink {
    pub(crate) fn new(shower: Arc<Shower>, hidden: bool, limits: Limits) -> Self {
        Self {
            shower,
            hidden,
            limits,
            partial: Mutex::default(),
            overgrown: Notify::new(),
            shown: AtomicBool::new(false),
        }
    }

    /// Asks. Dropping the future cancels the call.
    pub(crate) async fn ask(&self, models: &dyn Models, request: LineRequest<'_>) -> Call {
        let answer = tokio::select! {
            biased;
            () = self.overgrown.notified() => None,
            answer = models.complete(request, self) => Some(answer),
        };
        match answer {
            None => Call::Overgrown(self.partial().overgrown.unwrap_or(LONG_TEXT)),
            Some(Err(failure)) => Call::Failed(failure),
            Some(Ok(completion)) => match completion.answer.error.clone() {
                Some(error) => Call::Failed(ModelsFailure {
                    sentence: format!("the model's answer broke off: {}", error.message),
                    tried: vec![(completion.source.clone(), error)],
                    partial: Some(Box::new(completion)),
                }),
                None => self.bounded(completion),
            },
        }
    }

    /// A source that does not stream is measured at its end.
    fn bounded(&self, mut completion: Completion) -> Call {
        let AssistantAnswer { text, reasoning, .. } = &mut completion.answer;
        if text.len() > self.limits.reply_bytes {
            self.partial().text = std::mem::take(text);
            return Call::Overgrown(LONG_TEXT);
        }
        reasoning.truncate(reasoning.floor_char_boundary(self.limits.reasoning_bytes));
        Call::Answered(Box::new(completion))
    }

    /// The text received so far, within the limit.
    pub(crate) fn text(&self) -> String {
        prefix(&self.partial().text, self.limits.reply_bytes).to_owned()
    }

    /// Tells that what was shown of this call is void.
    pub(crate) fn void(&self) {
        if self.shown.swap(false, Ordering::Relaxed) {
            self.shower.show(Shown::Void);
        }
    }

    fn show(&self, piece: Shown) {
        if !self.hidden {
            self.shown.store(true, Ordering::Relaxed);
            self.shower.show(piece);
        }
    }

    fn partial(&self) -> MutexGuard<'_, Partial> {
        self.partial.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for Sink {
    fn piece(&self, delta: &ModelDelta) {
        let mut partial = self.partial();
        if partial.overgrown.is_some() {
            return;
        }
        let piece = match delta {
            ModelDelta::Text(text) => {
                partial.text.push_str(text);
                Some(Shown::Text(text.clone()))
            }
            ModelDelta::Reasoning(text) => {
                partial.reasoning += text.len();
                Some(Shown::Reasoning(text.clone()))
            }
            ModelDelta::ToolCall(call) => {
                partial.arguments += call.arguments.len();
                None
            }
            _ => None,
        };
        // Some vendors send a hundred calls in one answer; each may be as long as one may be, within reason.
        let most_arguments = self.limits.arguments_bytes.saturating_mul(16);
        partial.overgrown = if partial.text.len() > self.limits.reply_bytes {
            Some(LONG_TEXT)
        } else if partial.reasoning > self.limits.reasoning_bytes {
            Some("reasoning")
        } else if partial.arguments > most_arguments {
            Some("tool arguments")
        } else {
            None
        };
        if partial.overgrown.is_some() {
            self.overgrown.notify_one();
        }
        drop(partial);
        if let Some(piece) = piece {
            self.show(piece);
        }
    }

    fn restart(&self) {
        *self.partial() = Partial::default();
        self.void();
    }
}
