//! The program `homed`: its command line, its signals, and the chat it opens in a terminal.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use homeagent_homed::{Daemon, Launch, StartError, complain};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The program that runs, even after another has taken its place on the disk.
const ITSELF: &str = "/proc/self/exe";

/// One companion agent for a home.
#[derive(Parser)]
#[command(name = "homed", version)]
struct CommandLine {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: Run,
}

#[derive(Subcommand)]
enum Command {
    /// Runs the daemon; without a subcommand it also opens a chat when the terminal is one.
    Run(Run),
    /// Compiles the component on the standard input, for the daemon that started it.
    #[command(name = homeagent_runtime::COMPILE, hide = true)]
    Compile,
}

#[derive(Args, Clone, Default)]
struct Run {
    /// The data folder [default: $HOMEAGENT_HOME, else homeagent in the XDG data folder]
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,
    /// Where the API listens, in place of core.gateway.listen; port 0 takes any free one
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
}

fn main() -> ExitCode {
    let line = CommandLine::parse();
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let (run, chat) = match line.command {
        Some(Command::Run(run)) => (merged(run, line.run), false),
        Some(Command::Compile) => return compile(),
        None => (line.run, terminal),
    };
    raise_file_limit();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            complain(&format!("homed can't start: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let outcome = runtime.block_on(serve(run, chat));
    // A thread that still waits for the terminal is not waited for.
    runtime.shutdown_background();
    match outcome {
        Ok(code) => code,
        Err(error) => {
            complain(&format!("homed can't start: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// The daemon's child that compiles.
fn compile() -> ExitCode {
    match homeagent_runtime::compile(std::io::stdin().lock(), std::io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

/// As many open files as the system allows: each connection is one, and the usual soft limit is below what the settings
/// permit.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Where it can't be raised, further connections wait until others have ended.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// `homed --home X run` means the same as `homed run --home X`.
fn merged(inner: Run, outer: Run) -> Run {
    Run { home: inner.home.or(outer.home), listen: inner.listen.or(outer.listen) }
}

async fn serve(run: Run, chat: bool) -> Result<ExitCode, StartError> {
    let home = run.home.or_else(homeagent_home::default_home).ok_or(StartError::NoHome)?;
    let mut signals = Signals::catch();
    let launch = Launch { listen: run.listen, quiet: chat, compiler: Some(ITSELF.into()) };
    let mut starting = std::pin::pin!(Daemon::start(&home, launch));
    let daemon = tokio::select! {
        started = &mut starting => started?,
        () = signals.any() => {
            // What has begun is taken apart in order, so it is waited for.
            return tokio::select! {
                started = &mut starting => Ok(stop(started?, &mut signals).await),
                () = signals.any() => Ok(at_once()),
            };
        }
    };
    let mut stdout = std::io::stdout();
    // Whoever waits for the line may have gone; the daemon serves all the same.
    let _ = writeln!(stdout, "homed ready http://{}", daemon.address()).and_then(|()| stdout.flush());
    if chat {
        tokio::select! {
            talked = homeagent_waiter::chat(&home) => {
                if let Err(failure) = talked {
                    complain(&failure.sentence());
                }
            }
            // Ctrl-C is the chat's now: it stops a turn.
            () = signals.other_than_interrupt() => {}
        }
    } else {
        tokio::select! {
            () = daemon.adopt_source() => signals.any().await,
            () = signals.any() => {}
        }
    }
    Ok(stop(daemon, &mut signals).await)
}

/// Stops in order, or at the next signal at once.
async fn stop(daemon: Daemon, signals: &mut Signals) -> ExitCode {
    tokio::select! {
        () = daemon.stop() => ExitCode::SUCCESS,
        () = signals.any() => at_once(),
    }
}

/// The end that a second signal asks for. Nothing that was acknowledged is lost: it is as if the daemon had been killed.
fn at_once() -> ExitCode {
    complain("homed ends at once, without waiting for what it was doing");
    ExitCode::FAILURE
}

/// The signals that end the daemon. They are caught from the beginning on, so that none is missed meanwhile.
struct Signals {
    terminate: Option<Signal>,
    hangup: Option<Signal>,
    interrupt: Option<Signal>,
}

impl Signals {
    fn catch() -> Self {
        let one = |kind| {
            let caught = signal(kind);
            caught.inspect_err(|error| complain(&format!("a signal can't be caught: {error}"))).ok()
        };
        // Caught once it stays so: a file beyond the limit is then an error of the write, as a full disk is, and not the
        // daemon's end.
        drop(one(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())));
        Self {
            terminate: one(SignalKind::terminate()),
            hangup: one(SignalKind::hangup()),
            interrupt: one(SignalKind::interrupt()),
        }
    }

    /// The next of them. Cancel-safe.
    async fn any(&mut self) {
        tokio::select! {
            () = next(&mut self.terminate) => {}
            () = next(&mut self.hangup) => {}
            () = next(&mut self.interrupt) => {}
        }
    }

    /// The same, where Ctrl-C means something else. What came of it meanwhile is forgotten.
    async fn other_than_interrupt(&mut self) {
        loop {
            tokio::select! {
                () = next(&mut self.terminate) => return,
                () = next(&mut self.hangup) => return,
                () = next(&mut self.interrupt) => {}
            }
        }
    }
}

async fn next(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}
