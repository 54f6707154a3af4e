//! What this process takes of the machine, as the operating system counts it.

use serde::Serialize;

/// The figures of one moment. What a system does not tell is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct ProcessFigures {
    /// Memory that is resident, in bytes.
    pub resident_bytes: Option<u64>,
    /// Open file descriptors.
    pub open_files: Option<u64>,
    /// Threads.
    pub threads: Option<u64>,
}

impl ProcessFigures {
    /// Reads them from `/proc`, which takes some tens of microseconds.
    pub fn read() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        // Listing the folder opens one more.
        let open_files = std::fs::read_dir("/proc/self/fd").ok().map(|entries| entries.count().saturating_sub(1));
        Self {
            resident_bytes: figure(&status, "VmRSS:").map(|kibibytes| kibibytes << 10),
            open_files: open_files.and_then(|count| u64::try_from(count).ok()),
            threads: figure(&status, "Threads:"),
        }
    }
}

/// The number in the line that begins with this name.
fn figure(status: &str, name: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix(name))?;
    value.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_by_their_names() {
        let status = "Name:\thomed\nVmHWM:\t  70000 kB\nVmRSS:\t   61452 kB\nThreads:\t5\n";
        assert_eq!((figure(status, "VmRSS:"), figure(status, "Threads:")), (Some(61_452), Some(5)));
        assert_eq!(figure(status, "VmSwap:"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_memory_files_and_threads() {
        let figures = ProcessFigures::read();
        assert!(figures.resident_bytes > Some(1 << 20), "{figures:?}");
        assert!(figures.open_files > Some(0) && figures.threads > Some(0), "{figures:?}");
    }
}
