//! What can be done with a secret without seeing it. Needs the grant `secrets`.
//!
//! To send one along, name it in an [`http::Request`](crate::http::Request).

use crate::Error;
use crate::bindings::plugin::homeagent::plugin::secrets as host;

pub use host::Algorithm;

/// Signs `data` with the secret `name`, whose `[wants.secrets.<name>]` says `sign = true`.
pub fn sign(name: &str, algorithm: &Algorithm, data: &[u8]) -> Result<Vec<u8>, Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::sign(name, algorithm, data)
}
