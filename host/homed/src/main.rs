//! The program `homed`: its command line, its signals, and the chat it opens in a terminal.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use homeagent_homed::{Daemon, StartError};
use tokio::signal::unix::{Signal, SignalKind, signal};

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
        None => (line.run, terminal),
    };
    raise_file_limit();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("homed can't start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let outcome = runtime.block_on(serve(run, chat));
    // A thread that still waits for the terminal is not waited for.
    runtime.shutdown_background();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("homed can't start: {error}");
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

async fn serve(run: Run, chat: bool) -> Result<(), StartError> {
    let home = run.home.or_else(homeagent_home::default_home).ok_or(StartError::NoHome)?;
    // In a chat, Ctrl-C is the chat's: it stops a turn.
    let stopped = stop_signal(!chat);
    let mut stopped = std::pin::pin!(stopped);
    let daemon = tokio::select! {
        started = Daemon::start(&home, run.listen, chat) => started?,
        () = &mut stopped => return Ok(()),
    };
    let mut stdout = std::io::stdout();
    // Whoever waits for the line may have gone; the daemon serves all the same.
    let _ = writeln!(stdout, "homed ready http://{}", daemon.address()).and_then(|()| stdout.flush());
    if chat {
        tokio::select! {
            talked = homeagent_waiter::chat(&home) => {
                if let Err(failure) = talked {
                    eprintln!("{}", failure.sentence());
                }
            }
            () = &mut stopped => {}
        }
    } else {
        tokio::select! {
            () = daemon.adopt_source() => stopped.await,
            () = &mut stopped => {}
        }
    }
    daemon.stop().await;
    Ok(())
}

/// Resolves at the first SIGTERM, or SIGINT where that means the daemon. The handlers are set up at once, so that no
/// signal is missed meanwhile.
fn stop_signal(interrupt_too: bool) -> impl Future<Output = ()> {
    let terminate = signal(SignalKind::terminate());
    let interrupt = interrupt_too.then(|| signal(SignalKind::interrupt()));
    async move {
        tokio::select! {
            () = caught(Some(terminate)) => {}
            () = caught(interrupt) => {}
        }
    }
}

async fn caught(signal: Option<std::io::Result<Signal>>) {
    match signal {
        Some(Ok(mut signal)) => {
            signal.recv().await;
        }
        Some(Err(error)) => {
            tracing::warn!(%error, "a signal can't be caught; the daemon has to be killed");
            std::future::pending::<()>().await;
        }
        None => std::future::pending().await,
    }
}
