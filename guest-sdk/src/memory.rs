//! The agent's memory. Needs the grant `memory`; adding to it needs `write = true` in `[wants.memory]` of `plugin.toml`.
//!
//! With the cause of a call, what is shown is what everybody may know who reads what comes of that call. Without one, of
//! the plugin's own accord, `anytime = true` has to stand there too, and it is what the owner may know in private.

use crate::bindings::plugin::homeagent::plugin::memory as host;
use crate::{Cause, Error};

pub use host::Hit;

/// What fits a question best, best first; at most `limit`, and at most 50.
pub async fn recall(question: &str, limit: u32, cause: Option<&Cause>) -> Result<Vec<Hit>, Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::recall(question.to_owned(), limit, cause.cloned()).await
}

/// Keeps a text of at most 16 KiB, as told by the plugin; answers with its name in the memory.
pub async fn note(text: &str, cause: Option<&Cause>) -> Result<String, Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::note(text.to_owned(), cause.cloned()).await
}
