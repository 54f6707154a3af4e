//! Reading one answer: the events of a stream, or a whole document.

use serde_json::Value;

use crate::errors::{self, VendorError, Verdict};
use crate::lenient::items;
use homeagent_sdk::adapter::{
    Delta, Failure, FailureClass, FinishReason, HttpResponse, Opaque, StreamEvent, ToolCallDelta, Usage,
};

/// A vendor's protocol: what its JSON says.
pub trait Protocol: Default {
    /// Reads a document of the stream. `event` is the name of the event it came in, where it has one.
    fn chunk(&mut self, event: &str, value: &Value, answer: &mut Answer);

    /// Reads a whole answer. One that is none has to be said to have failed.
    fn whole(&mut self, value: &Value, answer: &mut Answer);

    /// The stream has ended.
    fn end(&mut self, answer: &mut Answer) {
        let _ = answer;
    }
}

/// What an answer consists of so far, and whether more is to be read.
#[derive(Debug, Default)]
pub struct Answer {
    deltas: Vec<Delta>,
    /// The vendor has said why the model stopped.
    finished: bool,
    /// The end or an error came: what follows is not read.
    over: bool,
}

impl Answer {
    /// A piece of the text.
    pub fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.deltas.push(Delta::Text(text.to_owned()));
        }
    }

    /// A piece of what the model thinks.
    pub fn reasoning(&mut self, text: &str) {
        if !text.is_empty() {
            self.deltas.push(Delta::Reasoning(text.to_owned()));
        }
    }

    /// A piece of a tool call.
    pub fn tool_call(&mut self, piece: ToolCallDelta) {
        self.deltas.push(Delta::ToolCall(piece));
    }

    /// What it cost so far.
    pub fn usage(&mut self, usage: Usage) {
        self.deltas.push(Delta::Usage(usage));
    }

    /// Something that has to be sent back as it is.
    pub fn opaque(&mut self, kind: impl Into<String>, value: impl Into<String>) {
        self.deltas.push(Delta::Opaque(Opaque { kind: kind.into(), value: value.into() }));
    }

    /// Why the model stopped.
    pub fn finish(&mut self, reason: FinishReason) {
        self.finished = true;
        self.deltas.push(Delta::Finish(reason));
    }

    /// Whether the vendor has said why the model stopped.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Nothing more is to be read.
    pub fn close(&mut self) {
        self.over = true;
    }

    /// Whether nothing more is to be read.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// The vendor tells of an error in the answer.
    pub fn error(&mut self, error: &VendorError) {
        match errors::verdict(error, None) {
            Verdict::Failed(failure) => {
                self.over = true;
                self.deltas.push(Delta::Error(failure));
            }
            Verdict::Filtered => self.finish(FinishReason::ContentFilter),
        }
    }

    /// What has come since it was last asked.
    pub(crate) fn take(&mut self) -> Vec<Delta> {
        std::mem::take(&mut self.deltas)
    }

    /// The answer has failed.
    pub fn fail(&mut self, class: FailureClass, message: impl Into<String>) {
        self.failed(Failure { class, message: message.into(), retry_after_ms: None });
    }

    /// The same with all that is known of it.
    pub fn failed(&mut self, failure: Failure) {
        self.over = true;
        self.deltas.push(Delta::Error(failure));
    }
}

/// Reads the answer to one call, as a stream or as a whole. What adapters hand to tests that link several of them.
pub trait Reading: Send {
    /// Reads the next events of a stream.
    fn step(&mut self, events: &[StreamEvent]) -> Vec<Delta>;
    /// Reads a whole answer.
    fn whole(&mut self, response: &HttpResponse) -> Vec<Delta>;
    /// The stream has ended.
    fn end(&mut self) -> Vec<Delta>;
}

/// Reads one answer by a protocol; keeps what has to be known between events.
#[derive(Debug, Default)]
pub struct Reader<P> {
    protocol: P,
    answer: Answer,
}

impl<P: Protocol> Reader<P> {
    /// A reader for one answer.
    #[must_use]
    pub fn new() -> Self {
        Reader::default()
    }

    /// Reads the next events of a stream.
    pub fn step(&mut self, events: &[StreamEvent]) -> Vec<Delta> {
        for event in events {
            self.event(event);
        }
        std::mem::take(&mut self.answer.deltas)
    }

    /// Reads a whole answer.
    pub fn whole(&mut self, response: &HttpResponse) -> Vec<Delta> {
        match serde_json::from_slice::<Value>(&response.body) {
            Ok(value) => self.protocol.whole(&value, &mut self.answer),
            Err(_) => self.mislabelled(&String::from_utf8_lossy(&response.body)),
        }
        std::mem::take(&mut self.answer.deltas)
    }

    /// The stream has ended.
    pub fn end(&mut self) -> Vec<Delta> {
        if !self.answer.over {
            self.protocol.end(&mut self.answer);
        }
        std::mem::take(&mut self.answer.deltas)
    }

    /// Some servers call a stream of events, or of lines, a JSON document.
    fn mislabelled(&mut self, body: &str) {
        let mut any = false;
        for line in body.lines() {
            let data = line.strip_prefix("data:").or_else(|| Some(line).filter(|line| line.starts_with('{')));
            if let Some(data) = data {
                any = true;
                self.event(&StreamEvent { event: String::new(), data: data.trim().to_owned() });
            }
        }
        if !any {
            let fault = if body.trim().is_empty() { "the answer is empty" } else { "the answer is not JSON" };
            self.answer.fail(FailureClass::Protocol, fault);
        }
    }

    fn event(&mut self, event: &StreamEvent) {
        let data = event.data.trim();
        if self.answer.over || data.is_empty() {
            return;
        }
        if data == "[DONE]" {
            if !self.answer.finished {
                self.answer.finish(FinishReason::Stop);
            }
            self.answer.over = true;
            return;
        }
        match serde_json::from_str::<Value>(data) {
            Ok(value) if event.event == "error" => self.answer.error(&errors::force(&value)),
            Ok(value) => {
                for document in items(&value) {
                    if !self.answer.over {
                        self.protocol.chunk(&event.event, document, &mut self.answer);
                    }
                }
            }
            Err(_) if event.event == "error" => {
                self.answer.error(&errors::force(&Value::String(data.to_owned())));
            }
            Err(error) => {
                self.answer.fail(FailureClass::Protocol, format!("an event of the stream is not JSON: {error}"));
            }
        }
    }
}

impl<P: Protocol + Send> Reading for Reader<P> {
    fn step(&mut self, events: &[StreamEvent]) -> Vec<Delta> {
        Reader::step(self, events)
    }

    fn whole(&mut self, response: &HttpResponse) -> Vec<Delta> {
        Reader::whole(self, response)
    }

    fn end(&mut self) -> Vec<Delta> {
        Reader::end(self)
    }
}
