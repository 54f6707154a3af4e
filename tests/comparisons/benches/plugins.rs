//! What it costs to have code of others in a program, side by side and in one run. Prints tables in Markdown.
//!
//! ```console
//! $ cd tests/comparisons && cargo bench
//! ```
//!
//! Memory is looked at in a process of its own for each figure: this program, called with `memory NAME PLUGINS FOLDER`, which
//! finds components compiled in the folder.

use std::env;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use homeagent_comparisons::{Components, Contestant, Extism, Libraries, Lua, McpServers, Plugin as _};
use tempfile::TempDir;

/// The lengths of the texts, in bytes.
const SIZES: [usize; 3] = [16, 1 << 10, 64 << 10];
/// How many plugins are loaded where memory is looked at.
const CROWDS: [usize; 3] = [1, 10, 100];
/// How many are loaded at once where the time of a start is looked at.
const START: usize = 50;
/// How long each figure is taken for.
const LONG: Duration = Duration::from_secs(2);
/// At least as many times, however long it takes.
const FEWEST: usize = 20;
/// Calls under way at once where throughput is measured.
const AT_ONCE: usize = 64;
const PIPELINED: usize = 200_000;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["memory", name, plugins, folder] => {
            memory_of(name, plugins.parse().expect("a number"), Path::new(folder));
        }
        _ => tables(),
    }
}

fn tables() {
    println!("| a call, median (p99) | 16 B | 1 KiB | 64 KiB |\n|---|---|---|---|");
    calls::<Components>();
    calls::<Lua>();
    calls::<Libraries>();
    calls::<Extism>();
    calls::<McpServers>();
    println!();
    pipelined();
    println!("\n| median | load to the first answer | replace to the first answer |\n|---|---|---|");
    lives::<Components>();
    lives::<Lua>();
    lives::<Libraries>();
    lives::<Extism>();
    lives::<McpServers>();
    println!();
    start();
    println!("\n| resident memory | 1 plugin | 10 plugins | 100 plugins | each further one |\n|---|---|---|---|---|");
    let folder = TempDir::new().expect("a folder");
    Components::compile(folder.path(), CROWDS[2]);
    for name in [Components::NAME, Lua::NAME, Libraries::NAME, Extism::NAME, McpServers::NAME] {
        memory(name, folder.path());
    }
}

/// Runs it until there are figures enough.
fn measure(mut once: impl FnMut()) -> Vec<Duration> {
    let (mut figures, begun) = (Vec::new(), Instant::now());
    while figures.len() < FEWEST || begun.elapsed() < LONG {
        let at = Instant::now();
        once();
        figures.push(at.elapsed());
    }
    figures.sort_unstable();
    figures
}

fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    sorted[(sorted.len() - 1) * percent / 100]
}

fn shown(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    if micros < 1000.0 { format!("{micros:.2} us") } else { format!("{:.2} ms", micros / 1e3) }
}

fn calls<C: Contestant>() {
    let contestant = C::prepare(1);
    let mut plugin = contestant.load(0);
    let cells = SIZES.map(|size| {
        let text = "x".repeat(size);
        let figures = measure(|| {
            black_box(plugin.call(black_box(&text)));
        });
        format!("{} ({})", shown(percentile(&figures, 50)), shown(percentile(&figures, 99)))
    });
    println!("| {} | {} |", C::NAME, cells.join(" | "));
}

fn pipelined() {
    let components = Components::prepare(1);
    components.load(0);
    let text = "x".repeat(SIZES[0]);
    components.pipelined(0, PIPELINED / 10, AT_ONCE, &text);
    let begun = Instant::now();
    components.pipelined(0, PIPELINED, AT_ONCE, &text);
    let each_second = PIPELINED as f64 / begun.elapsed().as_secs_f64();
    println!("{AT_ONCE} callers of one component: {each_second:.0} calls a second.");
}

fn lives<C: Contestant>() {
    let contestant = C::prepare(1);
    // What was loaded goes outside of what is measured.
    let mut loaded = None;
    let loads: Vec<Duration> = (0..FEWEST)
        .map(|_| {
            drop(loaded.take());
            let at = Instant::now();
            loaded = Some(contestant.load(0));
            at.elapsed()
        })
        .collect();
    let mut loads = loads;
    loads.sort_unstable();
    let mut plugin = loaded.expect("it was loaded");
    let swaps = measure(|| contestant.replace(0, &mut plugin));
    println!("| {} | {} | {} |", C::NAME, shown(percentile(&loads, 50)), shown(percentile(&swaps, 50)));
}

fn start() {
    let components = Components::prepare(START);
    let begun = Instant::now();
    components.load_all();
    println!("{START} components, compiled before, loaded at once: {}.", shown(begun.elapsed()));
}

/// One row, from processes of their own.
fn memory(name: &str, folder: &Path) {
    let figures = CROWDS.map(|plugins| {
        let own = env::current_exe().expect("a program has a path");
        let ran = Command::new(own).args(["memory", name, &plugins.to_string()]).arg(folder).output();
        let ran = ran.expect("it starts");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8_lossy(&ran.stdout).trim().parse::<f64>().expect("it prints a number of KiB")
    });
    let each = (figures[2] - figures[1]) / (CROWDS[2] - CROWDS[1]) as f64;
    let cells = figures.map(|kib| format!("{:.1} MB", kib / 1024.0));
    println!("| {name} | {} | {each:.0} KiB |", cells.join(" | "));
}

fn memory_of(name: &str, plugins: usize, folder: &Path) {
    let kib = match name {
        Components::NAME => crowd(&Components::open(folder), plugins),
        Lua::NAME => crowd(&Lua::prepare(plugins), plugins),
        Libraries::NAME => crowd(&Libraries::prepare(plugins), plugins),
        Extism::NAME => crowd(&Extism::prepare(plugins), plugins),
        McpServers::NAME => crowd(&McpServers::prepare(plugins), plugins),
        other => panic!("nothing is called {other}"),
    };
    println!("{kib}");
}

/// What this process and its children have, with shared pages counted in part, while so many plugins are loaded.
fn crowd<C: Contestant>(contestant: &C, plugins: usize) -> u64 {
    let loaded: Vec<C::Plugin> = (0..plugins).map(|number| contestant.load(number)).collect();
    let own = std::process::id();
    let children = fs::read_to_string(format!("/proc/{own}/task/{own}/children")).unwrap_or_default();
    let all = children.split_whitespace().filter_map(|pid| pid.parse().ok()).chain([own]);
    let kib = all.map(proportional).sum();
    drop(loaded);
    kib
}

/// The proportional set size of a process, in KiB.
fn proportional(pid: u32) -> u64 {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).expect("the process is there");
    let line = rollup.lines().find(|line| line.starts_with("Pss:")).expect("Linux tells it");
    line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
}
