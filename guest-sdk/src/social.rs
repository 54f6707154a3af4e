//! The people that the agent knows of. Needs the grant `social`; nothing is changed here. The cause is as for
//! [`crate::memory`].

use crate::bindings::plugin::homeagent::plugin::social as host;
use crate::{Cause, Error};

pub use host::{Person, TraitOf};

/// The people of this name, or all that may be shown where it is empty; at most 100.
pub async fn people(name: &str, cause: Option<&Cause>) -> Result<Vec<Person>, Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::people(name.to_owned(), cause.cloned()).await
}
