//! The log: a file a day below `logs/`, and the standard error of a daemon that nobody chats in.

use std::io::IsTerminal as _;
use std::path::Path;

use tracing_appender::rolling::{RollingFileAppender, Rotation};
use tracing_subscriber::filter::EnvFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Days of logs that are kept.
const DAYS: usize = 14;

/// Starts to log at this level, or as `HOMEAGENT_LOG` says. `quiet` keeps the standard error for a chat.
pub(crate) fn start(home: &Path, level: &str, quiet: bool) {
    // The appender complains about a folder that is not there before it makes it; should making fail, it says so itself.
    let _ = std::fs::create_dir_all(home.join("logs"));
    let filter = || EnvFilter::try_from_env("HOMEAGENT_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    let file = RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_prefix("homed")
        .filename_suffix("log")
        .max_log_files(DAYS)
        .build(home.join("logs"));
    let file = file
        .inspect_err(|error| eprintln!("there will be no log files: {error}"))
        .ok()
        .map(|file| tracing_subscriber::fmt::layer().with_ansi(false).with_writer(file));
    let stderr = (!quiet).then(|| {
        tracing_subscriber::fmt::layer().with_ansi(std::io::stderr().is_terminal()).with_writer(std::io::stderr)
    });
    let set = tracing_subscriber::registry().with(filter()).with(file).with(stderr).try_init();
    if let Err(error) = set {
        eprintln!("there will be no log: {error}");
    }
}
