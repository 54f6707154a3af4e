//! Reading stdin for one request.

use std::io::{self, IsTerminal as _, Read as _};

use crate::client::Client;
use crate::complain;
use crate::failure::Failure;
use crate::terminal::Hush;

/// What stands on stdin, as far as the daemon takes it: of more than that nothing is sent, and nothing more is read.
pub(crate) async fn text(client: &Client) -> Result<String, Failure> {
    let most = client.largest_body().await?;
    let mut text = Vec::new();
    io::stdin().take(most.saturating_add(1)).read_to_end(&mut text).map_err(unreadable)?;
    if u64::try_from(text.len()).is_ok_and(|length| length > most) {
        return Err(Failure::Failed(format!(
            "stdin holds more than the {most} bytes that the daemon takes at once (core.gateway.body_bytes); nothing was \
             sent"
        )));
    }
    String::from_utf8(text).map_err(unreadable)
}

/// One line of stdin, for secrets: a terminal ends it with Enter.
pub(crate) async fn line(client: &Client) -> Result<String, Failure> {
    let line = if io::stdin().is_terminal() { typed().await? } else { text(client).await? };
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// What somebody types. Ctrl-C gives the terminal back as it was: a shell may not do that.
async fn typed() -> Result<String, Failure> {
    let hush = Hush::lines();
    let how = if hush.is_some() { "it is not shown" } else { "this terminal shows it" };
    complain(&format!("type it and press Enter; {how}"));
    let reading = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        io::stdin().read_line(&mut line).map(|_| line)
    });
    tokio::select! {
        read = reading => read.map_err(unreadable)?.map_err(unreadable),
        _ = tokio::signal::ctrl_c() => Err(Failure::Failed("nothing was entered".to_owned())),
    }
}

fn unreadable(error: impl std::fmt::Display) -> Failure {
    Failure::Failed(format!("stdin can't be read: {error}"))
}
