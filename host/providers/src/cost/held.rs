//! What is set aside for one call, until it is known what it took.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use homeagent_settings::{CallState, CallUsage, Charge, Reserved};
use homeagent_types::model::{Failure, FailureClass, ModelDelta, Usage};
use homeagent_types::tokens;

use super::{Costs, Tariff};

/// A vendor that counts more tokens than this, in one call, counts wrongly.
const MOST_TOKENS: u64 = 1 << 40;

/// What has come of an answer so far. Whoever reads the answer tells it each piece.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// The request is on its way.
    asked: AtomicBool,
    /// Tokens, estimated.
    received: AtomicU64,
    /// What the vendor counted last.
    counted: Mutex<Option<Usage>>,
}

impl Tally {
    /// The request is sent at this moment. Before it, a call costs nothing.
    pub(crate) fn asks(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }

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

    fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
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
            // No prompt is without a token: that is how vendors count that do not count.
            None => match counted.filter(|usage| usage.input > 0) {
                Some(usage) => self.close(state, class, true, from_vendor(usage)),
                None => self.close(state, class, false, self.estimated(counted, received)),
            },
            Some(_) if !self.tally.asked() => self.close(state, class, true, CallUsage::default()),
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
            Some(usage) => {
                let input = if usage.input == 0 { self.sent } else { usage.input };
                CallUsage { input, output: usage.output.max(received), ..usage }
            }
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
        let asked = self.tally.asked();
        let estimated = || self.estimated(self.tally.counted(), self.tally.received.load(Ordering::Relaxed));
        let usage = if asked { estimated() } else { CallUsage::default() };
        self.close(CallState::Cancelled, "", !asked, usage);
    }
}

fn from_vendor(usage: Usage) -> CallUsage {
    CallUsage {
        input: usage.input.min(MOST_TOKENS),
        cached: usage.cached.unwrap_or(0).min(MOST_TOKENS),
        written: usage.cache_written.unwrap_or(0).min(MOST_TOKENS),
        output: usage.output.min(MOST_TOKENS),
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
