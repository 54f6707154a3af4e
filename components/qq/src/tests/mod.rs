//! What a user notices: frames go in, inputs and frames come out.

mod accounts;
mod corpus;
mod forward;
mod groups;
mod hostile;
mod looking_up;
mod pictures;
mod sending;
mod shell;
mod showing;
mod swap;
mod tools;

use homeagent_sdk::inputs::Submission;
use homeagent_sdk::sockets::ConnectionId;
use homeagent_sdk::{Connection, Conversation, Output, OutputKind, Payload, Peer};
use serde_json::{Value, json};

use crate::effect::Effect;
use crate::failure::Failure;
use crate::samples::ME;
use crate::settings::Settings;
use crate::state::Qq;

/// A channel with one connection, at a time that passes only when a test says so.
struct Bench {
    qq: Qq,
    settings: Settings,
    now: u64,
    inputs: Vec<Submission>,
    /// Whether the agent takes inputs at once.
    agent_takes: bool,
    /// Requests that were sent, with their connection.
    requests: Vec<(ConnectionId, Value)>,
    /// Pictures that are to be fetched: for which message, its address, and where it is asked for.
    fetches: Vec<(u64, String, String)>,
    /// Clients that were connected to, and whether with the token.
    reached: Vec<(String, bool)>,
    /// Clients whose connection was ended.
    left: Vec<String>,
    closed: Vec<ConnectionId>,
    published: Vec<Value>,
    said: Vec<String>,
    outcomes: Vec<(u64, Result<Value, Failure>)>,
}

impl Bench {
    /// With the settings that are given, and the client of one account connected.
    fn with(values: &Value) -> Self {
        let (settings, wrong) = Settings::from(|key| values.get(key).cloned());
        assert!(wrong.is_empty(), "{wrong:?}");
        let mut bench = Self {
            qq: Qq::new("t".to_owned()),
            settings,
            now: 1_000_000,
            inputs: Vec::new(),
            agent_takes: true,
            requests: Vec::new(),
            fetches: Vec::new(),
            reached: Vec::new(),
            left: Vec::new(),
            closed: Vec::new(),
            published: Vec::new(),
            said: Vec::new(),
            outcomes: Vec::new(),
        };
        bench.connect(1, &[("x-self-id", ME), ("x-client-role", "Universal")]);
        bench
    }

    fn new() -> Self {
        Self::with(&json!({}))
    }

    fn connect(&mut self, id: ConnectionId, meta: &[(&str, &str)]) {
        self.open(&connection(id, meta, false));
    }

    fn open(&mut self, connection: &Connection) {
        let effects = self.qq.open(connection, &self.settings, self.now);
        self.take(effects);
    }

    fn disconnect(&mut self, id: ConnectionId) {
        let effects = self.qq.close(id, "gone", &self.settings, self.now);
        self.take(effects);
    }

    fn hear(&mut self, frame: &Value) {
        self.hear_text(1, &frame.to_string());
    }

    fn hear_text(&mut self, from: ConnectionId, text: &str) {
        let effects = self.qq.frame(from, text, &self.settings, self.now);
        self.take(effects);
    }

    fn beat(&mut self, from: ConnectionId) {
        let beat = json!({"post_type": "meta_event", "meta_event_type": "heartbeat", "self_id": ME, "interval": 5_000,
            "status": {"online": true, "good": true}});
        self.hear_text(from, &beat.to_string());
    }

    /// Time passes, and the client says that it is there.
    fn pass(&mut self, milliseconds: u64) {
        self.now += milliseconds;
        self.beat(1);
    }

    /// The next request that was not looked at: its action and parameters.
    fn asked(&mut self) -> (String, Value, Value) {
        assert!(!self.requests.is_empty(), "nothing was asked");
        let (_, mut request) = self.requests.remove(0);
        (request["action"].as_str().expect("an action").to_owned(), request["params"].take(), request["echo"].take())
    }

    fn answer(&mut self, echo: &Value, data: &Value) {
        self.hear(&json!({"status": "ok", "retcode": 0, "data": data, "echo": echo}));
    }

    fn refuse(&mut self, echo: &Value, retcode: i64, words: &str) {
        self.hear(&json!({"status": "failed", "retcode": retcode, "data": null, "wording": words, "echo": echo}));
    }

    /// Begins to send; the ticket.
    fn send(&mut self, output: &Output) -> u64 {
        let begun = self.qq.deliver(output, &self.settings, self.now, 30_000).expect("it is begun").expect("something");
        self.take(begun.effects);
        begun.ticket
    }

    fn outcome(&mut self, ticket: u64) -> Option<Result<Value, Failure>> {
        let at = self.outcomes.iter().position(|(other, _)| *other == ticket)?;
        Some(self.outcomes.remove(at).1)
    }

    fn take(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Submit(submission) => {
                    if self.agent_takes {
                        self.qq.passed(submission.platform_id.as_deref());
                    }
                    self.inputs.push(*submission);
                }
                Effect::Ask { question, .. } => {
                    let frame = serde_json::from_str(&question.text).expect("a frame is JSON");
                    self.requests.push((question.connection, frame));
                }
                Effect::Fetch { draft, url, address } => self.fetches.push((draft, url, address)),
                Effect::Connect { address, token } => self.reached.push((address, token)),
                Effect::Disconnect { address } => self.left.push(address),
                Effect::Close { connection, .. } => self.closed.push(connection),
                Effect::Publish { payload, .. } => self.published.push(payload),
                Effect::Log(_, text) => self.said.push(text),
                Effect::Settle { ticket, outcome } => self.outcomes.push((ticket, outcome)),
            }
        }
    }

    /// The texts of all inputs so far.
    fn heard(&self) -> Vec<&str> {
        self.inputs.iter().map(text_of).collect()
    }

    /// The only input so far.
    fn input(&self) -> &Submission {
        assert_eq!(self.inputs.len(), 1, "{:?}", self.inputs);
        &self.inputs[0]
    }
}

fn connection(id: ConnectionId, meta: &[(&str, &str)], resumed: bool) -> Connection {
    let meta = meta.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Connection { id, listener: "onebot".to_owned(), resumed, meta }
}

fn text_of(submission: &Submission) -> &str {
    let (Payload::Text(text) | Payload::Structured(text)) = &submission.payload;
    text
}

fn meta<'a>(submission: &'a Submission, name: &str) -> Option<&'a str> {
    submission.meta.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

/// The agent's answer to an input.
fn reply(input: &Submission, text: &str) -> Output {
    Output { reply_route: input.reply_route.clone(), ..output(input.peer.clone(), text) }
}

fn output(peer: Peer, text: &str) -> Output {
    Output {
        id: "o1".to_owned(),
        run: Some("r1".to_owned()),
        conversation: Conversation { channel: "qq".to_owned(), peer },
        reply_route: None,
        kind: OutputKind::Reply,
        text: text.to_owned(),
        media: Vec::new(),
        structured: None,
        meta: Vec::new(),
    }
}
