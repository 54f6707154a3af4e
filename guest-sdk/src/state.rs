//! What an instance remembers between calls.

use std::sync::{Mutex, OnceLock, PoisonError};

/// A value that lives as long as the instance, made on first use.
///
/// It is reached through a closure, so it can't be held while a call awaits and other calls run.
///
/// ```
/// use homeagent_sdk::State;
///
/// static CALLS: State<u64> = State::new(|| 0);
///
/// let calls = CALLS.with(|calls| {
///     *calls += 1;
///     *calls
/// });
/// assert_eq!(calls, 1);
/// ```
pub struct State<T> {
    value: OnceLock<Mutex<T>>,
    first: fn() -> T,
}

impl<T> State<T> {
    /// A state whose first value `first` makes.
    pub const fn new(first: fn() -> T) -> Self {
        Self { value: OnceLock::new(), first }
    }

    /// Reads or changes the value. `work` must not come back to the same state.
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let value = self.value.get_or_init(|| Mutex::new((self.first)()));
        // A panic ends a component; where a native test survives one, the value is as good as the panic left it.
        work(&mut value.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
