//! `log`: the guest's lines in the daemon's log.

use tracing::Level;

use crate::bindings::log;
use crate::instance::InstanceState;

impl log::Host for &mut InstanceState {
    fn write(&mut self, level: log::Level, message: String) {
        let level = match level {
            log::Level::Trace => Level::TRACE,
            log::Level::Debug => Level::DEBUG,
            log::Level::Info => Level::INFO,
            log::Level::Warn => Level::WARN,
            log::Level::Error => Level::ERROR,
        };
        self.slot.log(level, &message);
    }
}
