//! `waiter`, the command-line client of `homed`: requests and a chat over the daemon's unix socket.
//!
//! [`run`] does what a command line says, [`chat()`] is the chat alone, for `homed` in a terminal of its own.

pub mod args;
mod chat;
mod client;
mod commands;
mod failure;
mod file;
mod forget;
mod knowledge;
mod media;
mod owner;
mod pack;
mod plain;
mod price;
mod show;
mod signing;
mod stdin;
mod table;
mod templates;
mod terminal;

use std::io::{ErrorKind, Write};
use std::path::Path;

use tokio::io::AsyncBufRead;

pub use crate::args::Args;
pub use crate::failure::Failure;

/// Does what the command line says and prints the outcome; returns the exit code.
pub async fn run(args: Args) -> u8 {
    let json = args.json;
    match commands::run(args).await {
        Ok(code) => code,
        Err(failure) => {
            if json {
                // Where that fails too, the sentence says the first of the two.
                let _ = print(&plain::plain_json(&failure.document()));
            }
            complain(&failure.sentence());
            failure.code()
        }
    }
}

/// A chat with the daemon of this data folder, on this process' stdin and stdout. Returns when the user ends it.
///
/// # Errors
///
/// When no daemon can be reached, or it has no chat.
pub async fn chat(home: &Path) -> Result<(), Failure> {
    chat::on_terminal(home, None).await
}

/// Asks which of the sources that the daemon finds is used, where it has none: what a chat on a terminal begins with.
///
/// # Errors
///
/// When no daemon can be reached, or `input` can't be read.
pub async fn choose_source(
    home: &Path,
    input: &mut (impl AsyncBufRead + Unpin),
    output: &mut impl Write,
) -> Result<(), Failure> {
    chat::choice::choose(&client::Client::new(home), input, output).await
}

/// Prints to stdout, with a line end where there is none. Whoever has stopped reading does not get it, and did not want it.
fn print(text: &str) -> Result<(), Failure> {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let mut stdout = std::io::stdout().lock();
    match write!(stdout, "{text}{end}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::Failed(format!("the answer could not be written to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints to stderr.
fn complain(sentence: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{sentence}");
}
