//! The knowledge base. Needs the grant `knowledge`; adding to it needs `write = true` in `[wants.knowledge]` of
//! `plugin.toml`. The cause is as for [`crate::memory`].

use crate::bindings::plugin::homeagent::plugin::knowledge as host;
use crate::{Cause, Error};

pub use host::{Base, Passage};

/// What fits a question best, best first, in one base or in all; at most `limit`, and at most 50.
pub async fn search(
    question: &str,
    base: Option<&str>,
    limit: u32,
    cause: Option<&Cause>,
) -> Result<Vec<Passage>, Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::search(question.to_owned(), base.map(str::to_owned), limit, cause.cloned()).await
}

/// The bases that may be shown, by name.
pub async fn list(cause: Option<&Cause>) -> Result<Vec<Base>, Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::list(cause.cloned()).await
}

/// Adds a text of at most 256 KiB to the end of a base, which is made where there is none of this name.
pub async fn append(base: &str, text: &str) -> Result<(), Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::append(base.to_owned(), text.to_owned()).await
}
