//! Compiling in a process of its own.
//!
//! A compiler needs many times the memory of what it compiles, and an allocator keeps much of that for the rest of a
//! process's life. A daemon has no such rest to spare, so it has a child compile: the component goes in through the
//! child's standard input, the code comes out of its standard output. What a component can do to a compiler, by size or
//! by a fault of the compiler's, ends with the child too.

use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Resource, Rlimit, Signal, setrlimit};

use crate::engine;

/// The argument by which the child knows what it is for.
pub const COMPILE: &str = "compile";
/// The most memory the child may have, in bytes: a Python interpreter, the largest component known, takes 330 MB.
const MEMORY: u64 = 2 << 30;
/// The most processor time, in seconds; the compiler works on all processors at once.
const PROCESSOR_TIME: u64 = 240;
/// How much the compiler gives way to the daemon.
const NICENESS: i32 = 10;
/// As much is read of what the child says when it fails, in bytes.
const LONGEST_SENTENCE: u64 = 4096;

/// Why a component was not compiled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// The engine can't be had.
    #[error("the engine can't be had: {0}")]
    Engine(String),
    /// The compiler does not take it.
    #[error("{0}")]
    Refused(String),
    /// It can't be read, or the code not be written.
    #[error("reading the component or writing its code failed: {0}")]
    Pipe(#[from] io::Error),
}

/// What the child does: compiles the component that comes in to the code that goes out, within bounds that it sets for
/// its own process, which is to do nothing else.
///
/// # Errors
/// As [`CompileError`] says.
pub fn compile(mut component: impl Read, mut code: impl Write) -> Result<(), CompileError> {
    confine();
    let engine = engine::compiling().map_err(|error| CompileError::Engine(error.to_string()))?;
    let mut bytes = Vec::new();
    component.read_to_end(&mut bytes)?;
    let compiled = engine.precompile_component(&bytes);
    code.write_all(&compiled.map_err(|error| CompileError::Refused(crate::package::one_line(&error)))?)?;
    Ok(code.flush()?)
}

/// Each bound that can't be set is one the daemon does without, as if it compiled by itself.
fn confine() {
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    let _ = rustix::process::nice(NICENESS);
    for (resource, most) in [(Resource::Data, MEMORY), (Resource::Cpu, PROCESSOR_TIME), (Resource::Core, 0)] {
        let _ = setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
    }
}

/// The program that the daemon has compile: itself, as a child.
pub(crate) struct Compiler {
    program: PathBuf,
}

impl Compiler {
    pub(crate) fn new(program: PathBuf) -> Self {
        Self { program }
    }

    /// The code of a component; `None` where there is no child to be had.
    pub(crate) fn compile(&self, component: &[u8]) -> Option<Result<Vec<u8>, wasmtime::Error>> {
        let child = match start(&self.program) {
            Ok(child) => child,
            Err(error) => {
                tracing::warn!(%error, "no process can be had that compiles; the daemon does it by itself");
                return None;
            }
        };
        Some(finish(child, component).map_err(wasmtime::Error::msg))
    }
}

/// In a process group of its own: a Ctrl-C in the daemon's terminal is not meant for it.
fn start(program: &Path) -> io::Result<Child> {
    Command::new(program)
        .arg(COMPILE)
        .env_clear()
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

fn finish(mut child: Child, component: &[u8]) -> Result<Vec<u8>, String> {
    let lost = |error: io::Error| format!("the process that compiles it can't be talked to: {error}");
    // The child reads all before it writes. One that ended early says why by itself.
    let _ = child.stdin.take().map(|mut pipe| pipe.write_all(component));
    let mut code = Vec::new();
    let read = child.stdout.take().map(|mut pipe| pipe.read_to_end(&mut code));
    let mut said = String::new();
    if let Some(pipe) = child.stderr.take() {
        let _ = pipe.take(LONGEST_SENTENCE).read_to_string(&mut said);
    }
    let status = child.wait().map_err(lost)?;
    if status.success() {
        return read.unwrap_or(Ok(0)).map(|_| code).map_err(lost);
    }
    let said = said.trim();
    Err(match status.signal() {
        _ if !said.is_empty() => said.to_owned(),
        Some(signal) => format!(
            "the process that compiled it was ended by signal {signal}; it may have wanted more than {} MiB of memory \
             or {PROCESSOR_TIME} s of processor time, or somebody ended it: then `waiter plugin reload` tries again",
            MEMORY >> 20
        ),
        None => format!("the process that compiles it failed ({status})"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_leaves_the_work_to_the_daemon() {
        assert!(Compiler::new("/nonexistent/homed".into()).compile(b"").is_none());
    }

    #[test]
    fn a_child_that_fails_without_a_word_is_an_error_all_the_same() {
        let component = vec![0; 1 << 20];
        let failed = Compiler::new("/bin/false".into()).compile(&component).expect("it starts");
        let words = failed.expect_err("it fails").to_string();
        assert!(words.contains("exit status: 1"), "{words}");
    }
}
