//! The plugin's log. Lines above the plugin's rate are counted and dropped by the host.
//!
//! Where there is no host (a unit test), lines go to the standard error.

use crate::bindings::plugin::homeagent::plugin::log as host;

pub use host::Level;

/// Writes a line.
pub fn write(level: Level, message: impl AsRef<str>) {
    if cfg!(target_arch = "wasm32") {
        host::write(level, message.as_ref());
    } else {
        eprintln!("{level:?}: {}", message.as_ref());
    }
}

/// What only whoever debugs the plugin wants, step by step.
pub fn trace(message: impl AsRef<str>) {
    write(Level::Trace, message);
}

/// What only whoever debugs the plugin wants.
pub fn debug(message: impl AsRef<str>) {
    write(Level::Debug, message);
}

/// What happened.
pub fn info(message: impl AsRef<str>) {
    write(Level::Info, message);
}

/// Something is wrong, and the plugin goes on.
pub fn warn(message: impl AsRef<str>) {
    write(Level::Warn, message);
}

/// Something did not work.
pub fn error(message: impl AsRef<str>) {
    write(Level::Error, message);
}
