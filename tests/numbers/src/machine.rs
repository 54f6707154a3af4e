//! The machine that the numbers are from.

/// One line: cores, processor, memory, system.
pub(crate) fn line() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let processor = field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| "unknown processor".to_owned());
    let memory = field(&read("/proc/meminfo"), "MemTotal").unwrap_or_default();
    let memory = memory.trim_end_matches(" kB").parse::<u64>().map_or(0, |kib| kib >> 20);
    let kernel = read("/proc/sys/kernel/osrelease");
    format!("{cores} cores of {processor}, {memory} GiB, Linux {}", kernel.trim())
}
