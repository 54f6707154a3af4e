//! One run of a program, from its start to its end.

use std::collections::BTreeMap;
use std::os::fd::AsRawFd as _;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use cap_std::fs::Dir;
use homeagent_types::CallError;
use rustix::process::Pid;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::leftover::{self, Mark, VARIABLE};
use super::limits::ProcessLimits;

/// The most that is taken of each output, in bytes.
const LARGEST_OUTPUT: usize = 1 << 20;
/// How long the rest of the output is waited for when the program has ended.
const REST: Duration = Duration::from_secs(1);

/// What is to be run.
pub(crate) struct Order {
    pub(crate) program: String,
    pub(crate) arguments: Vec<String>,
    /// All that is in its environment.
    pub(crate) environment: BTreeMap<String, String>,
    /// Where it runs.
    pub(crate) folder: Dir,
    pub(crate) input: Vec<u8>,
    pub(crate) limits: ProcessLimits,
    pub(crate) mark: Mark,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Exited(i32),
    Killed(i32),
    Timeout,
    Overflow,
}

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) ending: Ending,
    pub(crate) output: Vec<u8>,
    pub(crate) errors: Vec<u8>,
}

/// Ends everything that belongs to a run, wherever the run is given up.
struct Guard {
    leader: Pid,
    mark: Mark,
    host: Handle,
}

impl Drop for Guard {
    fn drop(&mut self) {
        leftover::end_group(self.leader);
        let mark = self.mark.clone();
        // Looking through all processes takes a moment.
        self.host.spawn_blocking(move || mark.end_all());
    }
}

/// More was written than is taken.
struct Overflow;

impl Order {
    /// Runs it to its end. Dropped before, it ends what it started.
    pub(crate) async fn run(self) -> Result<Outcome, CallError> {
        let mut child = self.start()?;
        let gone = || CallError::Other(format!("{} was lost as soon as it was started", self.program));
        let leader = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)).ok_or_else(gone)?;
        let guard = Guard { leader, mark: self.mark, host: Handle::current() };
        self.limits.set(leader);
        let deadline = Instant::now() + self.limits.time;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (mut output, mut errors) = (Vec::new(), Vec::new());
        let ending = {
            let feed = async {
                if let Some(mut stdin) = stdin {
                    // A program that reads no more of it has enough.
                    let _ = stdin.write_all(&self.input).await;
                }
                Ok(())
            };
            let talk = async { tokio::try_join!(feed, take(stdout, &mut output), take(stderr, &mut errors)).map(drop) };
            tokio::pin!(talk);
            let mut said_all = false;
            let ending = loop {
                tokio::select! {
                    biased;
                    said = &mut talk, if !said_all => match said {
                        Ok(()) => said_all = true,
                        Err(Overflow) => break Ending::Overflow,
                    },
                    ended = child.wait() => break of(ended)?,
                    () = tokio::time::sleep_until(deadline) => break Ending::Timeout,
                }
            };
            leftover::end_group(leader);
            let is_over = matches!(ending, Ending::Exited(_) | Ending::Killed(_));
            // What left the group may hold the other end of the output, and is ended after this at the latest.
            let rest = if is_over && !said_all { tokio::time::timeout(REST, talk).await.ok() } else { None };
            if matches!(rest, Some(Err(Overflow))) { Ending::Overflow } else { ending }
        };
        let mark = guard.mark.clone();
        // Waited for, so that nothing is left when the guest has its answer.
        drop(tokio::task::spawn_blocking(move || mark.end_all()).await);
        drop(child.wait().await);
        Ok(Outcome { ending, output, errors })
    }

    fn start(&self) -> Result<Child, CallError> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env_clear().envs(&self.environment).env(VARIABLE, self.mark.text());
        // By the open folder rather than by its path, which may stand for another one by now.
        command.current_dir(format!("/proc/self/fd/{}", self.folder.as_raw_fd()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0).kill_on_drop(true);
        command.spawn().map_err(|error| CallError::Other(format!("{} can't be run: {error}", self.program)))
    }
}

fn of(ended: std::io::Result<ExitStatus>) -> Result<Ending, CallError> {
    use std::os::unix::process::ExitStatusExt as _;
    let status = ended.map_err(|error| CallError::Other(format!("its end could not be waited for: {error}")))?;
    Ok(match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exited(code),
        (None, signal) => Ending::Killed(signal.unwrap_or_default()),
    })
}

/// Takes what is written, up to its end or [`LARGEST_OUTPUT`].
async fn take(from: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>) -> Result<(), Overflow> {
    let Some(from) = from else { return Ok(()) };
    // One byte more shows that there is more.
    let most = LARGEST_OUTPUT as u64 + 1;
    // A pipe that breaks ends what is written.
    let _ = from.take(most).read_to_end(into).await;
    if into.len() > LARGEST_OUTPUT {
        into.truncate(LARGEST_OUTPUT);
        return Err(Overflow);
    }
    Ok(())
}
