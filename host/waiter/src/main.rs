//! The command-line client of `homed`.

use std::process::ExitCode;

use clap::Parser as _;
use homeagent_waiter::Args;

fn main() -> ExitCode {
    let args = Args::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("the program could not be started: {error}");
            return ExitCode::FAILURE;
        }
    };
    let code = runtime.block_on(homeagent_waiter::run(args));
    // A thread that still waits for stdin is not waited for.
    runtime.shutdown_background();
    ExitCode::from(code)
}
