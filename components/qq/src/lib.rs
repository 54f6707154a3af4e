//! The QQ channel: OneBot v11 over WebSockets, reverse and forward, as NapCat, Lagrange, LLOneBot and go-cqhttp speak it.
//!
//! Everything that decides is in `state::Qq` and knows neither host nor clock: it is told what happened and answers
//! with what is to be done. This file tells it, and `doing` does that.

mod account;
mod actions;
mod content;
mod cq;
mod desk;
mod doing;
mod draft;
mod effect;
mod event;
mod failure;
mod fetch;
mod field;
mod forward;
mod group;
mod inbound;
mod kept;
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
mod waiting;

use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use homeagent_sdk::sockets::{self, ConnectionId, Frame};
use homeagent_sdk::{
    Arguments, Cause, Channel, ChannelDefinition, Connection, Delta, Descriptor, Error, Event, Events, Output,
    OutputCapabilities, Plugin, Receipt, Snapshot, Sockets, State, ToolOutput, Tools, log,
};
use serde_json::Value;

use doing::{keep_waiting, offer_again, offer_tools, perform, recall_waiting, wait};
use settings::Settings;
use state::Qq;

const HELP: &str = "Sends to QQ: to a person as qq:<account number>, to a group as qq:group/<group number>. Text may be \
    Markdown and is shown as plain text; text beyond 2,000 characters is split at the ends of sentences, very long text \
    becomes a list of messages that can be opened. With `meta`: `at` (account numbers joined by commas, or all) mentions \
    people, `reply_to` (a message's id) quotes a message, `account` chooses one of several own accounts. Images, audio \
    (as a voice message) and files are sent by their https:// address. Structured: a list of OneBot v11 segments such as \
    [{\"type\": \"text\", \"data\": {\"text\": \"...\"}}, {\"type\": \"face\", \"data\": {\"id\": \"14\"}}], or \
    {\"forward\": [{\"name\": \"...\", \"content\": \"...\"}]} for a list of messages.";

/// The host's word that the owner has changed a setting of ours.
const SETTINGS: &str = "setting.plugin.qq.*";

/// The host's word that the owner has granted us something.
const GRANTS: &str = "grant.plugin.qq.*";

/// How much of its deadline a call leaves for the way back, in milliseconds.
const MARGIN: u64 = 1_000;

static QQ: State<Qq> = State::new(|| Qq::new(prefix()));

/// What of the settings was complained about last.
static WRONG: State<Vec<String>> = State::new(Vec::new);

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
            .event(SETTINGS)
            .event(GRANTS)
            .channel(channel);
        actions::tools().into_iter().fold(descriptor, Descriptor::tool)
    }

    async fn activated() {
        let settings = settings();
        recall_waiting().await;
        perform(QQ.with(|qq| qq.connect(&settings, true))).await;
        // Where connections stand, the accounts are told next, and their tools stay.
        if sockets::open().is_empty() {
            offer_tools().await;
        }
    }
}

impl Sockets for QqChannel {
    async fn on_open(connection: Connection) {
        let settings = settings();
        offer_again().await;
        perform(QQ.with(|qq| qq.open(&connection, &settings, now()))).await;
        keep_waiting().await;
        offer_tools().await;
    }

    async fn on_frames(connection: ConnectionId, frames: Vec<Frame>) {
        let settings = settings();
        offer_again().await;
        QQ.with(|qq| qq.accounts.begin(connection));
        for frame in frames {
            let text = match frame {
                Frame::Text(text) => text,
                // Some clients send their text in binary frames.
                Frame::Binary(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            };
            perform(QQ.with(|qq| qq.frame(connection, &text, &settings, now()))).await;
        }
        // The frames count as taken in when this returns.
        keep_waiting().await;
        QQ.with(|qq| qq.accounts.end(connection, now()));
        offer_tools().await;
    }

    async fn on_close(connection: ConnectionId, reason: String) {
        let settings = settings();
        perform(QQ.with(|qq| qq.close(connection, &reason, &settings, now()))).await;
        offer_tools().await;
    }
}

impl Events for QqChannel {
    /// The owner has changed a setting, or granted something.
    async fn on_event(event: Event) {
        let settings = settings();
        let is_token = event.topic.ends_with(".access_token");
        let is_grant = event.topic.starts_with("grant.");
        perform(QQ.with(|qq| if is_token { qq.connect_again(&settings) } else { qq.connect(&settings, is_grant) }))
            .await;
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
        let outcome = wait(begun).await.map_err(|failure| failure.error())?;
        let ids: Vec<&str> =
            outcome["message_ids"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut receipt = ids.first().map_or_else(Receipt::sent, |id| Receipt::with_id(*id));
        if ids.len() > 1 {
            receipt.meta.push(("message_ids".to_owned(), ids.join(",")));
        }
        Ok(receipt)
    }

    async fn show(deltas: Vec<Delta>) {
        if Settings::streams() {
            let settings = settings();
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

/// The settings as they are now; what is wrong with them is said once.
fn settings() -> Settings {
    let (settings, wrong) = Settings::read();
    let is_known = WRONG.with(|before| std::mem::replace(before, wrong.clone()) == wrong);
    if !is_known {
        wrong.into_iter().for_each(log::warn);
    }
    settings
}

/// Milliseconds since this instance began, by a clock that never jumps: they measure how long things take.
fn now() -> u64 {
    static BEGINNING: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(BEGINNING.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// What no other instance's requests begin with.
fn prefix() -> String {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{:x}", passed.as_micros())
}

homeagent_sdk::export!(QqChannel: Tools, Sockets, Channel, Events, Snapshot);

#[cfg(test)]
mod tests;
