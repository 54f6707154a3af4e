//! The QQ channel: OneBot v11 over a reverse WebSocket, as NapCat, Lagrange, LLOneBot and go-cqhttp speak it.
//!
//! Everything that decides is in `state::Qq` and knows neither host nor clock: it is told what happened and answers
//! with what is to be done. This file tells it, and does that.

mod account;
mod actions;
mod content;
mod cq;
mod desk;
mod draft;
mod effect;
mod event;
mod failure;
mod field;
mod group;
mod inbound;
mod listening;
mod lookup;
mod markdown;
mod notice;
mod outbound;
mod outbox;
mod rate;
mod ring;
#[cfg(test)]
mod samples;
mod saved;
mod segment;
mod settings;
mod show;
mod speaking;
mod split;
mod state;

use std::collections::{BTreeMap, VecDeque};
use std::time::{SystemTime, UNIX_EPOCH};

use futures::channel::oneshot;
use homeagent_sdk::inputs::Submission;
use homeagent_sdk::sockets::{self, ConnectionId, Frame};
use homeagent_sdk::{
    Arguments, Cause, Channel, ChannelDefinition, Connection, Delta, Descriptor, Error, Output, OutputCapabilities,
    Plugin, Receipt, Snapshot, Sockets, State, ToolOutput, Tools, bus, inputs, log,
};
use serde_json::Value;

use effect::Effect;
use failure::Failure;
use settings::Settings;
use speaking::Begun;
use state::Qq;

const HELP: &str = "Sends to QQ: to a person as qq:<account number>, to a group as qq:group/<group number>. Text may be \
    Markdown and is shown as plain text; text beyond 2,000 characters is split at the ends of sentences, very long text \
    becomes a list of messages that can be opened. With `meta`: `at` (account numbers joined by commas, or all) mentions \
    people, `reply_to` (a message's id) quotes a message, `account` chooses one of several own accounts. Images, audio \
    (as a voice message) and files are sent by their https:// address. Structured: a list of OneBot v11 segments such as \
    [{\"type\": \"text\", \"data\": {\"text\": \"...\"}}, {\"type\": \"face\", \"data\": {\"id\": \"14\"}}], or \
    {\"forward\": [{\"name\": \"...\", \"content\": \"...\"}]} for a list of messages.";

/// A submission that the agent had no room for is offered again; so many are kept.
const MOST_KEPT: usize = 256;

/// How much of its deadline a call leaves for the way back, in milliseconds.
const MARGIN: u64 = 1_000;

static QQ: State<Qq> = State::new(|| Qq::new(format!("{:x}", now())));

/// Who waits for which ticket.
static WAITING: State<BTreeMap<u64, oneshot::Sender<Outcome>>> = State::new(BTreeMap::new);

/// What the agent had no room for, in order.
static KEPT: State<VecDeque<Submission>> = State::new(VecDeque::new);

/// What of the settings was complained about last.
static WRONG: State<Vec<String>> = State::new(Vec::new);

type Outcome = Result<Value, Failure>;

struct QqChannel;

impl Plugin for QqChannel {
    fn describe() -> Descriptor {
        let carries = OutputCapabilities::TEXT
            | OutputCapabilities::FILE
            | OutputCapabilities::IMAGE
            | OutputCapabilities::AUDIO
            | OutputCapabilities::STRUCTURED;
        let mut channel = ChannelDefinition::new("qq", "People and groups on QQ.").capabilities(carries).help(HELP);
        channel = channel.streaming();
        channel.meta.push(("merge".to_owned(), "wait".to_owned()));
        let descriptor = Descriptor::new("qq", env!("CARGO_PKG_VERSION"))
            .summary("Talks with people and groups on QQ, through a OneBot v11 client.")
            .listener("onebot")
            .channel(channel);
        actions::tools().into_iter().fold(descriptor, Descriptor::tool)
    }
}

impl Sockets for QqChannel {
    async fn on_open(connection: Connection) {
        let settings = settings();
        perform(QQ.with(|qq| qq.open(&connection, &settings, now()))).await;
    }

    async fn on_frames(connection: ConnectionId, frames: Vec<Frame>) {
        let settings = settings();
        offer_again().await;
        for frame in frames {
            let text = match frame {
                Frame::Text(text) => text,
                // Some clients send their text in binary frames.
                Frame::Binary(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            };
            perform(QQ.with(|qq| qq.frame(connection, &text, &settings, now()))).await;
        }
    }

    async fn on_close(connection: ConnectionId, reason: String) {
        let settings = settings();
        perform(QQ.with(|qq| qq.close(connection, &reason, &settings, now()))).await;
    }
}

impl Channel for QqChannel {
    async fn deliver(output: Output, cause: Cause) -> Result<Receipt, Error> {
        let settings = settings();
        perform(QQ.with(|qq| qq.sweep(&settings, now()))).await;
        let time = cause.deadline_ms.saturating_sub(MARGIN).max(MARGIN);
        let Some(begun) = QQ.with(|qq| qq.deliver(&output, &settings, now(), time))? else {
            return Ok(Receipt::sent());
        };
        let outcome = outcome(begun).await?;
        let ids: Vec<&str> =
            outcome["message_ids"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut receipt = ids.first().map_or_else(Receipt::sent, |id| Receipt::with_id(*id));
        if ids.len() > 1 {
            receipt.meta.push(("message_ids".to_owned(), ids.join(",")));
        }
        Ok(receipt)
    }

    async fn show(deltas: Vec<Delta>) {
        let settings = settings();
        if settings.stream {
            perform(QQ.with(|qq| qq.show(&deltas, &settings, now()))).await;
        }
    }
}

impl Tools for QqChannel {
    async fn call(name: &str, arguments: Arguments, cause: Cause) -> Result<ToolOutput, Error> {
        let settings = settings();
        perform(QQ.with(|qq| qq.sweep(&settings, now()))).await;
        if name == actions::ACCOUNTS {
            return ToolOutput::json(&QQ.with(|qq| qq.accounts(now())));
        }
        let (asked, begun) = QQ.with(|qq| qq.call(name, &arguments, &cause, &settings, now()))?;
        match wait(begun).await {
            Ok(mut outcome) => ToolOutput::json(&asked.shown(outcome["data"].take())),
            Err(failure) => Ok(ToolOutput::failed(failure.message())),
        }
    }
}

impl Snapshot for QqChannel {
    async fn save() -> Vec<u8> {
        QQ.with(Qq::save)
    }

    async fn load(state: Vec<u8>) -> Result<(), Error> {
        QQ.with(|qq| qq.load(&state))
    }
}

/// Does what is to be done, in order, and what comes of it.
async fn perform(effects: Vec<Effect>) {
    let mut effects = VecDeque::from(effects);
    while let Some(effect) = effects.pop_front() {
        match effect {
            Effect::Submit(submission) => submit(*submission).await,
            Effect::Send { connection, text } => {
                if let Err(error) = sockets::send(connection, Frame::Text(text)).await {
                    let (settings, reason) = (settings(), error.message());
                    effects.extend(QQ.with(|qq| qq.close(connection, &reason, &settings, now())));
                }
            }
            Effect::Close { connection, reason } => {
                if let Err(error) = sockets::close(connection, &reason) {
                    log::debug(format!("connection {connection} was not closed: {}", error.message()));
                }
            }
            Effect::Publish { topic, payload } => {
                if let Err(error) = bus::publish(topic, &payload) {
                    log::debug(format!("the event `{topic}` was not published: {}", error.message()));
                }
            }
            Effect::Log(level, text) => log::write(level, text),
            Effect::Settle { ticket, outcome } => {
                // Nobody waits for what was shown of an answer, nor after a time-out.
                if let Some(waiting) = WAITING.with(|waiting| waiting.remove(&ticket)) {
                    let _ = waiting.send(outcome);
                } else if let Err(failure) = outcome {
                    log::warn(format!("a piece of an answer was not shown on QQ: {}", failure.message()));
                }
            }
        }
    }
}

/// Hands an input to the agent. Where it has no room it is kept, and so are those that come after it.
async fn submit(submission: Submission) {
    if KEPT.with(|kept| !kept.is_empty()) {
        keep(submission, false);
        return;
    }
    match inputs::submit(submission.clone()).await {
        Ok(_) => {}
        Err(Error::Busy | Error::Retryable) => keep(submission, false),
        Err(error) => log::error(format!("a message from QQ did not reach the agent: {}", error.message())),
    }
}

fn keep(submission: Submission, is_first: bool) {
    KEPT.with(|kept| {
        if is_first {
            kept.push_front(submission);
        } else if kept.len() < MOST_KEPT {
            kept.push_back(submission);
        } else {
            log::error(format!("a message of {} on QQ is lost: the agent takes none", submission.user));
        }
    });
}

/// Offers what the agent had no room for once more.
async fn offer_again() {
    while let Some(submission) = KEPT.with(VecDeque::pop_front) {
        match inputs::submit(submission.clone()).await {
            Ok(_) => {}
            Err(Error::Busy | Error::Retryable) => return keep(submission, true),
            Err(error) => log::error(format!("a message from QQ did not reach the agent: {}", error.message())),
        }
    }
}

async fn outcome(begun: Begun) -> Result<Value, Error> {
    wait(begun).await.map_err(|failure| failure.error())
}

/// Does what was begun, and waits until it has come to its end.
async fn wait(begun: Begun) -> Outcome {
    let (end, ended) = oneshot::channel();
    WAITING.with(|waiting| waiting.insert(begun.ticket, end));
    perform(begun.effects).await;
    ended.await.unwrap_or_else(|_| Err(Failure::Lost { action: "a request".to_owned() }))
}

/// The settings as they are now; what is wrong with them is said once.
fn settings() -> Settings {
    let (settings, wrong) = Settings::read();
    let is_known = WRONG.with(|before| std::mem::replace(before, wrong.clone()) == wrong);
    if !is_known {
        wrong.into_iter().for_each(log::warn);
    }
    settings
}

/// Milliseconds since 1970.
fn now() -> u64 {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(passed.as_millis()).unwrap_or(u64::MAX)
}

homeagent_sdk::export!(QqChannel: Tools, Sockets, Channel, Snapshot);

#[cfg(test)]
mod tests;
