//! What all the tests' runtimes write into the log. A test looks for words of its own.

use std::io;
use std::sync::{Arc, Mutex, OnceLock};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

static LINES: OnceLock<Lines> = OnceLock::new();

/// Keeps what is logged from now on.
pub(crate) fn keep() {
    LINES.get_or_init(|| {
        let lines = Lines::default();
        let writer = lines.clone();
        let log = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        tracing::subscriber::set_global_default(log).expect("nobody else keeps the log");
        lines
    });
}

/// The lines with this word in them.
pub(crate) fn with(word: &str) -> Vec<String> {
    let lines = LINES.get().expect("it is kept").0.lock().expect("no panic").clone();
    String::from_utf8_lossy(&lines).lines().filter(|line| line.contains(word)).map(str::to_owned).collect()
}
