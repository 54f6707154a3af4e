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

use crate::client::Client;
use crate::failure::Failure;
use crate::terminal;

use self::line::Line;

/// A chat on a terminal, or with whatever stdin is; returns the exit code.
pub(crate) async fn run(home: &Path, conversation: Option<String>, json: bool) -> Result<u8, Failure> {
    if terminal::is_terminal() {
        if json {
            return Err(Failure::Usage(
                "a chat on a terminal can't be one JSON document; use `waiter --json send TEXT`, or pipe lines in"
                    .to_owned(),
            ));
        }
        return on_terminal(home, conversation).await.map(|()| 0);
    }
    let client = Client::new(home);
    let line = Line::open(client.clone(), conversation).await?;
    piped::run(&client, line, json).await
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
