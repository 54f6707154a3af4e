//! What a program may use.

use std::time::Duration;

/// The limits of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessLimits {
    /// Address space, in bytes.
    pub(crate) memory: u64,
    /// The largest file it may write, in bytes.
    pub(crate) file: u64,
    /// How long it may take.
    pub(crate) time: Duration,
}

/// Files that are open at one time.
#[cfg(target_os = "linux")]
const OPEN_FILES: u64 = 256;
/// Processes and threads, beside those that the user has already.
#[cfg(target_os = "linux")]
const PROCESSES: u64 = 128;

impl ProcessLimits {
    /// Sets them for a program that has just been started. What it started itself before this came has them not; there is
    /// no way to set them sooner without code that the language can't check.
    #[cfg(target_os = "linux")]
    pub(super) fn set(self, pid: rustix::process::Pid) {
        use rustix::process::{Resource, Rlimit, prlimit};
        let mut limits = vec![
            (Resource::As, self.memory),
            (Resource::Fsize, self.file),
            (Resource::Cpu, self.time.as_secs() + 1),
            (Resource::Nofile, OPEN_FILES),
            (Resource::Core, 0),
        ];
        // The system counts all processes of the user, whoever started them.
        limits.extend(processes_of_user().map(|count| (Resource::Nproc, count + PROCESSES)));
        for (resource, most) in limits {
            let limit = Rlimit { current: Some(most), maximum: Some(most) };
            if let Err(error) = prlimit(Some(pid), resource, limit) {
                // It has ended already, or the daemon's own limit is lower.
                tracing::debug!(?resource, %error, "a limit was not set");
            }
        }
    }

    /// Only Linux sets limits of other processes.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn set(self, _: rustix::process::Pid) {}
}

/// Processes and threads of the daemon's user.
#[cfg(target_os = "linux")]
fn processes_of_user() -> Option<u64> {
    use std::os::unix::fs::MetadataExt as _;
    let user = rustix::process::getuid().as_raw();
    let mut count = 0;
    for entry in std::fs::read_dir("/proc").ok()?.filter_map(Result::ok) {
        let is_process = entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit());
        if !is_process || entry.metadata().is_ok_and(|about| about.uid() != user) {
            continue;
        }
        // The name in parentheses may hold anything; the number of threads is the 18th field behind it.
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let threads = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(17)?.parse().ok());
        count += threads.unwrap_or(1_u64);
    }
    Some(count)
}
