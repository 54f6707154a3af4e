//! Lives of the memory in processes of their own, which can be killed, or put where the disk is small.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// In which folder a life of its own takes place.
const HOME: &str = "HOMEAGENT_FAULTS_HOME";

/// Which of several lives it is.
const LIFE: &str = "HOMEAGENT_FAULTS_LIFE";

/// The folder of a life of its own, and which life it is; none where a test was started by a person.
pub(crate) fn life() -> Option<(PathBuf, u32)> {
    let home = std::env::var_os(HOME)?;
    Some((home.into(), std::env::var(LIFE).ok()?.parse().ok()?))
}

/// A test of this program, alone, in a process of its own.
pub(crate) fn alone(test: &str, home: &Path, life: u32) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]);
    command.env(HOME, home).env(LIFE, life.to_string());
    command
}

/// Says that something is on the disk. What can't be told any more nobody counts on.
pub(crate) fn acknowledge(kind: &str, what: &str) {
    // One write: many threads tell.
    println!("{kind}\t{what}");
}

/// Lets a life go on until it has told of so many things, kills it at that moment with `SIGKILL`, and returns all it told.
pub(crate) fn killed_after(mut command: Command, count: usize) -> Vec<(String, String)> {
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("its words")).lines();
    let mut told = Vec::new();
    while told.len() < count {
        let line = lines.next().expect("it lives until it is killed").expect("text");
        told.extend(line.split_once('\t').map(|(kind, what)| (kind.to_owned(), what.to_owned())));
    }
    child.kill().expect("it is ours");
    // What it told meanwhile was acknowledged, too. The last line may have been cut.
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    told.extend(
        rest.iter().filter_map(|line| line.split_once('\t')).map(|(kind, what)| (kind.to_owned(), what.to_owned())),
    );
    child.wait().expect("it ended");
    told
}
