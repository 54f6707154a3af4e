//! Putting the pieces of an answer together.

mod calls;

use homeagent_types::ToolCall;
use homeagent_types::model::{AssistantAnswer, Failure, FailureClass, FinishReason, ModelDelta, Opaque, Usage};

use self::calls::Calls;

/// How large an answer may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerLimits {
    /// Bytes of its text.
    pub text: usize,
    /// Bytes of what it thinks.
    pub reasoning: usize,
    /// Bytes of all its calls' names, ids and arguments together.
    pub arguments: usize,
    /// How many tools it may call.
    pub calls: usize,
    /// Bytes of the vendor's own blobs.
    pub opaque: usize,
}

impl Default for AnswerLimits {
    /// 16 MiB of each, 128 calls: far beyond what models write and beyond what the agent takes, so that the agent's own
    /// limits, which are settings, are those that are met.
    fn default() -> Self {
        AnswerLimits { text: 16 << 20, reasoning: 16 << 20, arguments: 16 << 20, calls: 128, opaque: 16 << 20 }
    }
}

/// Joins [`ModelDelta`]s to an [`AssistantAnswer`].
///
/// Pieces of a tool call belong together by their index, else by their id, else to the last call; another id, another
/// name or a second set of arguments under the same index is another call. Work is linear in what is pushed.
#[derive(Debug)]
pub struct Assembler {
    limits: AnswerLimits,
    text: String,
    reasoning: String,
    calls: Calls,
    opaque: Vec<Opaque>,
    opaque_bytes: usize,
    finish: Option<FinishReason>,
    usage: Option<Usage>,
    error: Option<Failure>,
}

impl Assembler {
    /// An empty answer.
    pub fn new(limits: AnswerLimits) -> Self {
        Assembler {
            limits,
            text: String::new(),
            reasoning: String::new(),
            calls: Calls::default(),
            opaque: Vec::new(),
            opaque_bytes: 0,
            finish: None,
            usage: None,
            error: None,
        }
    }

    /// Takes the next piece. False: the answer has failed, and more pieces of text or calls are not taken.
    pub fn push(&mut self, delta: ModelDelta) -> bool {
        match delta {
            ModelDelta::Usage(usage) => self.usage = Some(usage),
            ModelDelta::Error(failure) => self.fail(failure),
            _ if self.error.is_some() => {}
            ModelDelta::Text(piece) => {
                if self.fits("text", self.text.len() + piece.len(), self.limits.text) {
                    append(&mut self.text, piece);
                }
            }
            ModelDelta::Reasoning(piece) => {
                if self.fits("reasoning", self.reasoning.len() + piece.len(), self.limits.reasoning) {
                    append(&mut self.reasoning, piece);
                }
            }
            ModelDelta::ToolCall(piece) => {
                let size = self.calls.bytes() + calls::size(&piece);
                if self.fits("tool calls", size, self.limits.arguments) {
                    self.calls.push(piece);
                    self.fits("number of tool calls", self.calls.len(), self.limits.calls);
                }
            }
            ModelDelta::Opaque(blob) => {
                self.opaque_bytes += blob.kind.len() + blob.value.len();
                if self.fits("vendor's own data", self.opaque_bytes, self.limits.opaque) {
                    self.opaque.push(blob);
                }
            }
            ModelDelta::Finish(reason) => self.finish = Some(reason),
        }
        self.error.is_none()
    }

    /// Records why no more pieces come. The first failure counts.
    pub fn fail(&mut self, failure: Failure) {
        self.error.get_or_insert(failure);
    }

    /// The vendor has said why the model stopped, and nothing went wrong: what is left of the stream may be lost.
    pub fn is_finished(&self) -> bool {
        self.finish.is_some() && self.error.is_none()
    }

    /// Nothing has come: no word, no call, no failure, and no reason why there is none.
    pub fn is_untouched(&self) -> bool {
        let silent = self.text.is_empty() && self.reasoning.is_empty() && self.calls.len() == 0;
        silent && self.finish.is_none() && self.error.is_none()
    }

    /// The answer as it is, at the end of the stream.
    pub fn finish(mut self) -> AssistantAnswer {
        if self.error.is_none() && self.finish.is_none() {
            let message = if self.text.is_empty() && self.reasoning.is_empty() && self.calls.len() == 0 {
                "the stream ended before the answer began"
            } else {
                "the stream ended before the answer was complete"
            };
            self.fail(failure(FailureClass::StreamEndedEarly, message));
        }
        let tool_calls: Vec<ToolCall> = self.calls.finish();
        let finish = match self.finish {
            _ if self.error.is_some() => None,
            Some(FinishReason::Stop) if !tool_calls.is_empty() => Some(FinishReason::ToolCalls),
            reason => reason,
        };
        AssistantAnswer {
            text: self.text,
            reasoning: self.reasoning,
            tool_calls,
            opaque: self.opaque,
            finish,
            usage: self.usage,
            error: self.error,
        }
    }

    fn fits(&mut self, what: &str, size: usize, limit: usize) -> bool {
        let fits = size <= limit;
        if !fits {
            self.fail(failure(FailureClass::Protocol, &format!("the answer's {what} went over the limit of {limit}")));
        }
        fits
    }
}

/// Takes the first piece over instead of copying it: a whole answer comes as one.
fn append(text: &mut String, piece: String) {
    if text.is_empty() {
        *text = piece;
    } else {
        text.push_str(&piece);
    }
}

fn failure(class: FailureClass, message: &str) -> Failure {
    Failure { class, message: message.to_owned(), retry_after_ms: None }
}
