//! Bad input from every side: what the user reads says what is wrong, where, and what to do, and the daemon goes on.
//!
//! Each module holds the rows of one side in a table: what is done, what has to be read, and - after every row - that
//! the daemon still answers a turn.

mod clock;
mod home;
mod manifests;
mod plugins;
mod stdin;
mod vendors;
mod wire;

use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;

use crate::daemon::Daemon;
use crate::vendor::Vendor;

/// Asserts that a text has each of these parts and was not left to a panic.
#[track_caller]
pub(super) fn assert_reads(row: &str, text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{row}: {part:?} is missing in: {text}");
    }
    assert!(!text.contains("panicked"), "{row}: {text}");
}

/// Asserts that a turn is still answered.
pub(super) async fn assert_answers(row: &str, daemon: &Daemon, vendor: &Vendor) {
    vendor.always("All is well.");
    let question = json!({ "text": "are you well?", "conversation": "health" });
    let (status, result) = daemon.post("/api/v1/chat", &question).await;
    assert_eq!(status, 200, "after {row}: {result}");
    assert_eq!(result["reply"], "All is well.", "after {row}: {result}");
}

/// Makes a pipe, from which reading never ends.
pub(super) fn fifo(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("the folder takes pipes");
}
