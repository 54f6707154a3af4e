//! Which turn is waited for. A turn whose answer a tool has sent already ends without a word on the line, and others
//! may speak in the same conversation; the journal knows which turn took what, and whether it has ended.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::frames::FromServer;
use crate::client::{Client, part, read};
use crate::failure::Failure;

/// How many of the last turns are looked at for the one that took an input.
const LOOKED_AT: u32 = 50;

/// How long the line may be silent before it is asked whether the turn has ended.
pub(crate) const SILENCE: Duration = Duration::from_secs(2);

/// The same where it is likely: the journal has it a moment later.
const MOMENT: Duration = Duration::from_millis(100);

#[derive(Deserialize)]
struct Run {
    id: String,
    status: String,
    #[serde(default)]
    events: Vec<Event>,
}

#[derive(Deserialize)]
struct Event {
    kind: String,
    payload: Value,
}

impl Run {
    async fn of(client: &Client, id: &str) -> Result<Self, Failure> {
        read(&client.get(&format!("runs/{}", part(id))).await?)
    }

    fn is_over(&self) -> bool {
        self.status != "open"
    }

    fn took(&self, input: &str) -> bool {
        let begun = self.events.iter().filter(|event| event.kind == "run_started");
        begun.filter_map(|event| event.payload["inputs"].as_array()).flatten().any(|taken| taken == input)
    }
}

/// The turn that is watched: the one that takes what was said, as far as it is known.
pub(crate) struct TurnWatch {
    /// What the chat called it.
    said: String,
    /// Known once it is accepted.
    taker: Option<Taker>,
    run: Option<String>,
    /// The last frame may have been its last, or may not.
    doubtful: bool,
}

impl TurnWatch {
    /// Watches what becomes of the words that were sent under this id.
    pub(crate) fn of(said: String) -> Self {
        Self { said, taker: None, run: None, doubtful: false }
    }

    /// Takes notice of a frame; returns whether it may be of the turn, and not of another in the same conversation.
    pub(crate) async fn saw(&mut self, frame: &FromServer, client: &Client) -> bool {
        if let FromServer::Accepted { input, id: Some(id) } = frame
            && *id == self.said
        {
            self.taker = Some(Taker::of(input.clone()));
        }
        if let Some(run) = frame.run() {
            if let Some(taker) = &mut self.taker
                && !taker.is(client, run).await
            {
                return false;
            }
            self.run = Some(run.to_owned());
        }
        self.doubtful = frame.may_leave_the_turn();
        true
    }

    /// How long the line may be silent before [`TurnWatch::is_over`] is asked.
    pub(crate) fn patience(&self) -> Duration {
        if self.doubtful { MOMENT } else { SILENCE }
    }

    /// Whether the journal says that the turn has ended. To be asked when the line has been silent for a while.
    pub(crate) async fn is_over(&mut self, client: &Client) -> bool {
        match (&self.run, &mut self.taker) {
            (Some(run), _) => Run::of(client, run).await.is_ok_and(|run| run.is_over()),
            (None, Some(taker)) => taker.is_over(client).await,
            (None, None) => false,
        }
    }
}

/// The turn that took an input.
pub(crate) struct Taker {
    input: String,
    run: Option<String>,
    /// Turns that took others.
    others: BTreeSet<String>,
}

impl Taker {
    pub(crate) fn of(input: String) -> Self {
        Self { input, run: None, others: BTreeSet::new() }
    }

    /// Whether it is this turn. One that can't be told apart is taken for it rather than waited for in vain.
    pub(crate) async fn is(&mut self, client: &Client, run: &str) -> bool {
        self.took(client, run).await.unwrap_or(true)
    }

    async fn took(&mut self, client: &Client, run: &str) -> Option<bool> {
        if let Some(own) = &self.run {
            return Some(own == run);
        }
        if self.others.contains(run) {
            return Some(false);
        }
        let took = Run::of(client, run).await.ok()?.took(&self.input);
        if took {
            self.run = Some(run.to_owned());
        } else {
            self.others.insert(run.to_owned());
        }
        Some(took)
    }

    /// Whether the turn has ended, also one that said nothing. To be asked when the line has been silent for a while.
    pub(crate) async fn is_over(&mut self, client: &Client) -> bool {
        if self.run.is_none() {
            let Ok(listed) = client.get(&format!("runs?limit={LOOKED_AT}")).await else { return false };
            for Run { id, .. } in read::<Vec<Run>>(&listed).unwrap_or_default() {
                if self.took(client, &id).await == Some(true) {
                    break;
                }
            }
        }
        let Some(run) = &self.run else { return false };
        Run::of(client, run).await.is_ok_and(|run| run.is_over())
    }
}
