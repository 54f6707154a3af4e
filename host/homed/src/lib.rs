//! The daemon's parts put together: [`Daemon`] starts them in the order in which they need each other, and takes them
//! apart again. The program `homed` is its command line; a test can run one inside its own process.

mod daemon;
mod keeper;
mod knowing;
mod lock;
mod logging;
mod meters;
mod monitor;
mod plugin_memory;
mod stores;

use std::io::Write as _;

pub use crate::daemon::{Daemon, Launch, StartError};
pub use crate::keeper::AgentError;
pub use crate::lock::LockError;

/// Says a sentence on the standard error. Whoever has closed it does not get it.
pub fn complain(sentence: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{sentence}");
}
