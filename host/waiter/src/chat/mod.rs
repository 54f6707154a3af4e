//! The chat.

pub(crate) mod choice;
mod editor;
mod frames;
mod kept;
mod line;
mod piped;
mod screen;
mod terminal_chat;
mod turn;

use std::path::Path;

use tokio::io::BufReader;
use tokio::signal::unix::{SignalKind, signal};

use crate::client::Client;
use crate::failure::Failure;
use crate::terminal;

use self::line::Line;

/// The exit code of a program that the end of its terminal ended, as shells give it.
const HUNG_UP: i32 = 129;

/// A chat on a terminal, or with whatever stdin is; returns the exit code.
pub(crate) async fn run(home: &Path, conversation: Option<String>, json: bool) -> Result<u8, Failure> {
    if terminal::is_terminal() {
        if json {
            return Err(Failure::Usage(
                "a chat on a terminal can't be one JSON document; use `waiter --json send TEXT`, or pipe lines in"
                    .to_owned(),
            ));
        }
        return tokio::select! {
            ended = on_terminal(home, conversation) => ended.map(|()| 0),
            () = hung_up() => std::process::exit(HUNG_UP),
        };
    }
    let client = Client::new(home);
    let line = Line::open(client.clone(), conversation).await?;
    piped::run(&client, line, json).await
}

/// Waits until the terminal is gone, also where the program was started with that signal ignored (`nohup`): the editor
/// would go on reading from nowhere, without a pause, and nothing is left to be put in order.
async fn hung_up() {
    match signal(SignalKind::hangup()) {
        Ok(mut hangup) => drop(hangup.recv().await),
        Err(_) => std::future::pending().await,
    }
}

/// A chat on a terminal.
pub(crate) async fn on_terminal(home: &Path, conversation: Option<String>) -> Result<(), Failure> {
    let client = Client::new(home);
    let (mut input, mut output) = (BufReader::new(tokio::io::stdin()), std::io::stdout());
    tokio::select! {
        chosen = choice::choose(&client, &mut input, &mut output) => chosen?,
        // Whoever does not want to be asked, now, does not want the chat.
        _ = tokio::signal::ctrl_c() => return Ok(()),
    }
    let line = Line::open(client.clone(), conversation).await?;
    terminal_chat::run(home, client, line).await
}
