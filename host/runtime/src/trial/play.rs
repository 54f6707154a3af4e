//! The other side of a channel that is tried.

use std::collections::VecDeque;

use homeagent_types::ports::{Frame, ToPeer};
use homeagent_types::{CallError, RecordedAnswer, Recording};
use serde_json::{Map, Value, json};

use crate::slot::Line;
use crate::slot::job::{Reply, Work};
use crate::slot::sockets::FromSlot;

/// Requests that a channel may make while a recording is played.
const MOST_REQUESTS: usize = 1_000;

/// Plays a recording over a connection of this listener. Returns when the channel has handled all of it, and what it asked
/// meanwhile.
pub(crate) async fn play(slot: &Line, listener: &str, recording: Recording) -> Result<(), CallError> {
    let meta = vec![("trial".to_owned(), "true".to_owned())];
    let (connection, from_slot) = slot.core.sockets.add("listen", listener, None, meta);
    let Recording { frames, answers } = recording;
    let mut side = OtherSide { connection, from_slot, answers, unheard: VecDeque::new(), asked: 0, closed: false };
    side.during(slot, |reply| Work::Open { connection, reply }).await?;
    for frame in frames {
        side.unheard.push_back(frame);
        while let Some(frame) = side.unheard.pop_front().filter(|_| !side.closed) {
            side.during(slot, |reply| Work::Frames { connection, frames: vec![frame], reply }).await?;
        }
    }
    slot.core.sockets.remove(connection);
    side.during(slot, |reply| Work::Closed { connection, reason: "the trial is over".to_owned(), reply }).await
}

struct OtherSide {
    connection: u64,
    from_slot: FromSlot,
    answers: Vec<RecordedAnswer>,
    /// Frames that the channel has yet to be given.
    unheard: VecDeque<Frame>,
    /// Requests so far.
    asked: usize,
    /// The channel has closed the connection.
    closed: bool,
}

impl OtherSide {
    /// Makes a call, and answers what the channel asks before it is over.
    async fn during(&mut self, slot: &Line, work: impl FnOnce(Reply<()>) -> Work) -> Result<(), CallError> {
        let call = slot.call(slot.usual_deadline(), work);
        tokio::pin!(call);
        loop {
            tokio::select! {
                biased;
                Some(said) = self.from_slot.next(), if !self.closed => self.hear(slot, said)?,
                done = &mut call => {
                    while let Some(said) = self.from_slot.sent() {
                        self.hear(slot, said)?;
                    }
                    return done;
                }
            }
        }
    }

    /// The channel has sent something.
    fn hear(&mut self, slot: &Line, said: ToPeer) -> Result<(), CallError> {
        let sockets = &slot.core.sockets;
        match said {
            ToPeer::Frame(frame) => {
                let asked = match &frame {
                    Frame::Text(text) => serde_json::from_str::<Map<String, Value>>(text).ok(),
                    Frame::Binary(_) => None,
                };
                if let Some(request) = asked.filter(|request| request.contains_key("echo")) {
                    self.asked += 1;
                    if self.asked > MOST_REQUESTS {
                        let words = format!("it asks more than {MOST_REQUESTS} times; its other side says no more");
                        return Err(CallError::Other(words));
                    }
                    let answer = Frame::Text(Value::from(self.answer(&request)).to_string());
                    self.unheard.extend(sockets.answered(self.connection, answer));
                }
                // Nothing else comes for whoever still waits.
                sockets.expect_nothing(self.connection);
            }
            ToPeer::Close(_) | ToPeer::GivenUp(_) => self.closed = true,
        }
        Ok(())
    }

    /// What was recorded as the answer to such a request; else, that there is none.
    fn answer(&self, request: &Map<String, Value>) -> Map<String, Value> {
        let fits = |recorded: &&RecordedAnswer| {
            request.get("action").and_then(Value::as_str) == Some(&recorded.action)
                && recorded.params.as_ref().is_none_or(|params| request.get("params") == Some(params))
        };
        let mut answer = self.answers.iter().find(fits).map_or_else(unavailable, |recorded| recorded.answer.clone());
        answer.insert("echo".to_owned(), request.get("echo").cloned().unwrap_or_default());
        answer
    }
}

/// Says no in the way of OneBot, whose channels are tried so.
fn unavailable() -> Map<String, Value> {
    let words = "not available while the channel is tried";
    let answer = json!({ "status": "failed", "retcode": 1404, "data": null, "message": words, "wording": words });
    answer.as_object().cloned().unwrap_or_default()
}
