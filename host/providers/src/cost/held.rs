//! What is set aside for one call, until it is known what it took.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use homeagent_settings::{CallState, CallUsage, Charge, Reserved};
use homeagent_types::model::{Failure, FailureClass, ModelDelta, Usage};
use homeagent_types::tokens;

use super::{Costs, Tariff};

/// What has come of an answer so far. Whoever reads the answer tells it each piece.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Tokens, estimated.
    received: AtomicU64,
    /// What the vendor counted last.
    counted: Mutex<Option<Usage>>,
}

impl Tally {
    pub(crate) fn piece(&self, delta: &ModelDelta) {
        let tokens = match delta {
            ModelDelta::Text(text) | ModelDelta::Reasoning(text) => tokens::of_text(text),
            ModelDelta::ToolCall(call) => {
                tokens::of_text(&call.arguments) + call.name.as_deref().map_or(0, tokens::of_text)
            }
            ModelDelta::Usage(usage) => {
                *self.counted.lock().unwrap_or_else(PoisonError::into_inner) = Some(*usage);
                return;
            }
            ModelDelta::Finish(_) | ModelDelta::Opaque(_) | ModelDelta::Error(_) => return,
        };
        self.received.fetch_add(tokens, Ordering::Relaxed);
    }

    fn counted(&self) -> Option<Usage> {
        *self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is set aside for a call. Dropped before the call's end, it is settled by what was sent and has come.
pub(crate) struct Held {
    costs: Costs,
    reserved: Option<Reserved>,
    tariff: Tariff,
    /// Tokens of the prompt, estimated.
    sent: u64,
    tally: Arc<Tally>,
}

impl Held {
    pub(super) fn new(costs: Costs, reserved: Reserved, tariff: Tariff, sent: u64) -> Self {
        Self { costs, reserved: Some(reserved), tariff, sent, tally: Arc::default() }
    }

    /// What is to be told the pieces of the answer.
    pub(crate) fn tally(&self) -> Arc<Tally> {
        Arc::clone(&self.tally)
    }

    /// The call has come to its end. `counted` is what the vendor says it took, beside what came as a piece.
    pub(crate) fn settle(mut self, counted: Option<Usage>, failure: Option<&Failure>) {
        let counted = counted.or_else(|| self.tally.counted());
        let received = self.tally.received.load(Ordering::Relaxed);
        let state = CallState::Settled;
        let class = failure.map_or("", |failure| failure.class.as_str());
        match failure {
            None => match counted {
                Some(usage) => self.close(state, class, true, from_vendor(usage)),
                None => self.close(state, class, false, self.estimated(None, received)),
            },
            Some(failure) if counted.is_none() && received == 0 && !may_be_charged(failure.class) => {
                self.close(state, class, true, CallUsage::default());
            }
            Some(_) => self.close(state, class, false, self.estimated(counted, received)),
        }
    }

    /// What is known, and for the rest what was sent and has come.
    fn estimated(&self, counted: Option<Usage>, received: u64) -> CallUsage {
        match counted.map(from_vendor) {
            // Vendors that count as they go begin with a token or none of the answer.
            Some(usage) => CallUsage { output: usage.output.max(received), ..usage },
            None => CallUsage { input: self.sent, output: received, ..CallUsage::default() },
        }
    }

    fn close(&mut self, state: CallState, failure: &str, counted: bool, usage: CallUsage) {
        let Some(reserved) = self.reserved.take() else { return };
        let charge = Charge { usage, money: self.tariff.cost(usage).into_iter().collect() };
        self.costs.inner.ledger.settle(reserved, state, failure, counted, charge);
        self.costs.warn();
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let usage = self.estimated(self.tally.counted(), self.tally.received.load(Ordering::Relaxed));
        self.close(CallState::Cancelled, "", false, usage);
    }
}

fn from_vendor(usage: Usage) -> CallUsage {
    CallUsage {
        input: usage.input,
        cached: usage.cached.unwrap_or(0),
        written: usage.cache_written.unwrap_or(0),
        output: usage.output,
    }
}

/// Whether a vendor may charge for a prompt of whose answer nothing came. What it refused, or never got, it does not.
fn may_be_charged(class: FailureClass) -> bool {
    match class {
        FailureClass::Timeout | FailureClass::StreamEndedEarly | FailureClass::Protocol => true,
        FailureClass::Auth
        | FailureClass::Permission
        | FailureClass::Unfunded
        | FailureClass::RateLimited
        | FailureClass::Overloaded
        | FailureClass::BadRequest
        | FailureClass::ContextOverflow
        | FailureClass::ContentFilter
        | FailureClass::Network => false,
    }
}
