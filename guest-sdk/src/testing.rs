//! For the unit tests of a component, which run natively and without a host.
//!
//! There, lines of the log go to the standard error, there are no connections, and every other function of the host
//! answers [`Error::NotLive`](crate::Error::NotLive).

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use crate::{Audience, Cause, Principal, Role};

/// A cause as it comes with a call of the owner's.
pub fn cause() -> Cause {
    Cause {
        run: None,
        conversation: None,
        principal: Principal {
            namespace: "test".to_owned(),
            user: "owner".to_owned(),
            role: Role::Owner,
            display_name: None,
        },
        audience: Audience::Person("test:owner".to_owned()),
        deadline_ms: 10_000,
        chain: Vec::new(),
        meta: Vec::new(),
    }
}

/// Runs a handler to its end.
///
/// # Panics
///
/// When the handler waits for something, which without a host would be for ever.
pub fn run<T>(handler: impl Future<Output = T>) -> T {
    run_at_once(handler).expect("the handler waits, and there is no host to wait for")
}

/// What a future comes to without waiting; nothing, when it waits.
pub(crate) fn run_at_once<T>(work: impl Future<Output = T>) -> Option<T> {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}
