//! Which turn is waited for. A turn whose answer a tool has sent already ends without a word on the line; the journal
//! knows that it has ended.

use serde::Deserialize;

use super::frames::FromServer;
use crate::client::{Client, part, read};

/// The turn that is waited for, as far as it is known.
#[derive(Default)]
pub(crate) struct TurnWatch {
    run: Option<String>,
}

#[derive(Deserialize)]
struct Run {
    status: String,
}

impl TurnWatch {
    /// Takes notice of a frame.
    pub(crate) fn saw(&mut self, frame: &FromServer) {
        if let Some(run) = frame.run() {
            self.run = Some(run.to_owned());
        }
    }

    /// Whether the journal says that the turn has ended. To be asked when the line has been silent for a while.
    pub(crate) async fn is_over(&self, client: &Client) -> bool {
        let Some(run) = &self.run else { return false };
        match client.get(&format!("runs/{}", part(run))).await {
            Ok(answer) => read::<Run>(&answer).is_ok_and(|run| run.status != "open"),
            Err(_) => false,
        }
    }
}
