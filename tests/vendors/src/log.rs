//! Reads along with everything that is logged by any test, at the finest level.

use std::io::Write;
use std::sync::{Mutex, Once, PoisonError};

use crate::vendor::MARK;

static SEEN: Mutex<Seen> = Mutex::new(Seen { failures: 0, leaks: Vec::new() });

struct Seen {
    /// Lines that tell of a source that failed.
    failures: usize,
    /// Lines with a key in them.
    leaks: Vec<String>,
}

struct Reader;

impl Write for Reader {
    /// One line: the formatter writes each at once.
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let line = String::from_utf8_lossy(bytes);
        let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
        seen.failures += usize::from(line.contains("model source failed"));
        if line.contains(MARK) {
            seen.leaks.push(line.into_owned());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Begins to read along.
pub fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(|| Reader).init();
    });
}

/// The lines with a key in them so far.
#[must_use]
pub fn leaks() -> Vec<String> {
    SEEN.lock().unwrap_or_else(PoisonError::into_inner).leaks.clone()
}

/// How many failures of sources were logged so far.
#[must_use]
pub fn failures() -> usize {
    SEEN.lock().unwrap_or_else(PoisonError::into_inner).failures
}
