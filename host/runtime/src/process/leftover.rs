//! What a program leaves behind: everything it started ends with it.
//!
//! A program leads a process group, which is ended as a whole. What left the group - a service that made itself one -
//! still has the mark in its environment that it was started with, and is found by that. Only what wipes its environment,
//! too, gets away.

use std::path::Path;

use homeagent_types::CallError;
use rustix::process::{Pid, Signal};
use sha2::{Digest as _, Sha256};

/// The variable that holds the mark.
pub(super) const VARIABLE: &str = "HOMEAGENT_RUN";
/// A program that starts others faster than they are ended is given up on after so many rounds.
const ROUNDS: usize = 100;

/// What tells a run, and all that belongs to it, from everything else.
#[derive(Clone, Debug)]
pub(crate) struct Mark(String);

impl Mark {
    /// The mark of a run of the daemon with this folder.
    pub(crate) fn new(home: &Path) -> Result<Self, CallError> {
        let number = getrandom::u64();
        let number = number.map_err(|error| CallError::Other(format!("the system has no random numbers: {error}")))?;
        Ok(Self(format!("{}{number:016x}", beginning(home))))
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }

    /// Ends whatever has this mark.
    pub(super) fn end_all(&self) {
        end(&self.0);
    }
}

/// Ends what a daemon with this folder left behind that was killed.
pub(crate) fn end_those_of(home: &Path) {
    let ended = end(&beginning(home));
    if ended > 0 {
        tracing::warn!(processes = ended, "programs of plugins were left by a daemon that was killed; they are ended");
    }
}

/// Ends a program and its group.
pub(super) fn end_group(leader: Pid) {
    // An error says that nobody is left in it. The number is not given to another group while anyone is.
    let _ = rustix::process::kill_process_group(leader, Signal::KILL);
}

fn beginning(home: &Path) -> String {
    let home = std::fs::canonicalize(home).unwrap_or_else(|_| home.to_owned());
    let digest = Sha256::digest(home.as_os_str().as_encoded_bytes());
    let hex: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{hex}.")
}

/// Ends every process whose mark begins so, until there is none; how many there were.
fn end(mark: &str) -> usize {
    let wanted = format!("{VARIABLE}={mark}");
    let mut ended = 0;
    for _ in 0..ROUNDS {
        let found = marked(wanted.as_bytes());
        if found.is_empty() {
            break;
        }
        for pid in &found {
            let _ = rustix::process::kill_process(*pid, Signal::KILL);
        }
        ended += found.len();
        // One that was ended has no environment any more, but may take a moment to lose it.
        std::thread::yield_now();
    }
    ended
}

/// The processes with such a variable; none where the system shows no environments.
fn marked(wanted: &[u8]) -> Vec<Pid> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let has_mark = |pid: &i32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable.starts_with(wanted))
    };
    pids.filter(has_mark).filter_map(Pid::from_raw).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn what_a_daemon_left_is_ended_by_the_next_one_with_its_folder_and_by_no_other() {
        let (home, other) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let mark = Mark::new(home.path()).expect("random numbers");
        let mut left = Command::new("/bin/sleep").arg("1000").env(VARIABLE, mark.text()).spawn().expect("it starts");
        end_those_of(other.path());
        assert!(left.try_wait().expect("it can be asked").is_none(), "it is not theirs");
        end_those_of(home.path());
        assert!(!left.wait().expect("it ends").success());
    }
}
