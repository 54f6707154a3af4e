//! Doing what is to be done: the only place that asks anything of the host, besides settings and the log.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::StreamExt as _;
use futures::channel::mpsc;
use futures::lock::Mutex;
use homeagent_sdk::connect::{self, Target};
use homeagent_sdk::http::Request;
use homeagent_sdk::inputs::Submission;
use homeagent_sdk::sockets::{self, Frame};
use homeagent_sdk::{Error, State, background, bus, inputs, kv, log, registry};
use serde_json::Value;

use crate::account::Offer;
use crate::actions;
use crate::desk::{Question, Silence};
use crate::effect::Effect;
use crate::failure::Failure;
use crate::fetch::{self, Fetched};
use crate::forward;
use crate::speaking::Begun;
use crate::state::Qq;
use crate::waiting::{self, Changes};
use crate::{QQ, now, settings};

/// The calls that wait, by the ticket of what they wait for. A call that ends takes its receiver with it.
static WAITING: State<BTreeMap<u64, mpsc::UnboundedSender<News>>> = State::new(BTreeMap::new);

/// What became of something.
pub(crate) type Outcome = Result<Value, Failure>;

/// What a call that waits is told.
enum News {
    /// It is its turn to ask this.
    Ask(Question),
    /// What it waits for has come to its end.
    Ended(Outcome),
}

/// Does what was begun, and waits until it has come to its end.
pub(crate) async fn wait(begun: Begun) -> Outcome {
    let (sender, mut news) = mpsc::unbounded();
    WAITING.with(|waiting| waiting.insert(begun.ticket, sender));
    perform(begun.effects).await;
    while let Some(news) = news.next().await {
        match news {
            News::Ask(question) => ask(question).await,
            News::Ended(outcome) => return outcome,
        }
    }
    Err(Failure::Lost { action: "a request".to_owned() })
}

/// Does what is to be done, in order. What a call waits for it asks itself, so that nobody else waits with it.
pub(crate) async fn perform(effects: Vec<Effect>) {
    let mut effects = kept(effects);
    while let Some(effect) = effects.pop_front() {
        match effect {
            Effect::Submit(_) => offer_again().await,
            Effect::Ask { question, ticket } => {
                let left = match ticket {
                    Some(ticket) => hand_over(ticket, question),
                    None => Some(question),
                };
                if let Some(question) = left {
                    effects.extend(kept(send(question).await));
                }
            }
            Effect::Fetch { draft, url, address } => begin(Errand { draft, url, address }),
            Effect::Connect { address, token } => reach(&address, token).await,
            Effect::Disconnect { address } => {
                if let Err(error) = connect::close(&forward::name(&address)) {
                    log::debug(format!("the connection to {address} was not ended: {}", error.message()));
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
            Effect::Settle { ticket, outcome } => settle(ticket, outcome),
        }
    }
}

/// Gives a question to the call that waits for it; back, where none does.
fn hand_over(ticket: u64, question: Question) -> Option<Question> {
    let waiting = WAITING.with(|waiting| waiting.get(&ticket).cloned());
    let Some(waiting) = waiting else { return Some(question) };
    match waiting.unbounded_send(News::Ask(question)).map_err(mpsc::TrySendError::into_inner) {
        Err(News::Ask(question)) => Some(question),
        _ => None,
    }
}

fn settle(ticket: u64, outcome: Outcome) {
    match (WAITING.with(|waiting| waiting.remove(&ticket)), outcome) {
        // Its call may have ended meanwhile.
        (Some(waiting), outcome) => drop(waiting.unbounded_send(News::Ended(outcome))),
        // Nobody waits for what is shown of an answer.
        (None, Err(failure)) => log::warn(format!("a piece of an answer was not shown: {}", failure.message())),
        (None, Ok(_)) => {}
    }
}

/// Asks, and waits for the answer.
async fn ask(question: Question) {
    let Question { connection, echo, text, time } = question;
    let time = Duration::from_millis(time);
    let answer = sockets::request(connection, Frame::Text(text), "/echo", &echo, time).await;
    let settings = settings();
    let silence = match answer {
        Ok(Frame::Text(text)) => {
            perform(QQ.with(|qq| qq.frame(connection, &text, &settings, now()))).await;
            // Of a connection that another one has replaced, even an answer is not heard.
            Silence::Lost
        }
        Ok(Frame::Binary(_)) => Silence::Lost,
        Err(error) => silence(&error),
    };
    // Nothing, where the answer was heard.
    perform(QQ.with(|qq| qq.unanswered(connection, &echo, silence, &settings, now()))).await;
}

/// Asks, and lets the answer come as a frame like any other.
async fn send(question: Question) -> Vec<Effect> {
    let Question { connection, echo, text, .. } = question;
    match sockets::send(connection, Frame::Text(text)).await {
        Ok(()) => Vec::new(),
        Err(error) => {
            let settings = settings();
            QQ.with(|qq| qq.unanswered(connection, &echo, silence(&error), &settings, now()))
        }
    }
}

fn silence(error: &Error) -> Silence {
    match error {
        Error::Timeout => Silence::TimedOut,
        Error::Busy => Silence::NotSent("too many requests are under way; nothing was sent, try again".to_owned()),
        Error::Denied(_) | Error::Invalid(_) | Error::NotLive => Silence::NotSent(error.message()),
        Error::NotFound(_) | Error::Retryable | Error::Other(_) => Silence::Lost,
    }
}

/// A picture that is to be fetched for a message that waits.
struct Errand {
    draft: u64,
    url: String,
    address: String,
}

/// Pictures that are being fetched, and those that wait for their turn.
#[derive(Default)]
struct Errands {
    under_way: usize,
    waiting: VecDeque<Errand>,
}

impl Errands {
    fn next(&mut self) -> Option<Errand> {
        let next = self.waiting.pop_front();
        self.under_way -= usize::from(next.is_none());
        next
    }
}

static ERRANDS: State<Errands> = State::new(Errands::default);

/// As many pictures are fetched at a time: the host sends 8 requests at a time for a plugin.
const MOST_ERRANDS: usize = 6;

/// Fetches a picture while frames go on. The message waits, in what is handed on; the next instance fetches it anew.
fn begin(errand: Errand) {
    let is_room = ERRANDS.with(|errands| {
        errands.waiting.push_back(errand);
        let is_room = errands.under_way < MOST_ERRANDS;
        errands.under_way += usize::from(is_room);
        is_room
    });
    if is_room {
        background::spawn(async {
            while let Some(Errand { draft, url, address }) = ERRANDS.with(Errands::next) {
                let is_wanted = QQ.with(|qq| qq.wants_picture(draft, now()));
                let fetched = if is_wanted { get(&address).await } else { Fetched::Unknown };
                let settings = settings();
                perform(QQ.with(|qq| qq.fetched(draft, url, fetched, &settings, now()))).await;
                keep_waiting().await;
            }
        });
    }
}

async fn get(address: &str) -> Fetched {
    let time = u32::try_from(fetch::TIME).unwrap_or(u32::MAX);
    // One byte more than is taken along says that it is too large; beyond that nothing more is read.
    match Request::get(address).timeout_ms(time).at_most(fetch::LARGEST + 1).send().await {
        Ok(answer) => Fetched::answered(answer.status, answer.body),
        Err(error) => {
            log::debug(format!("a picture was not fetched: {}", error.message()));
            Fetched::Unknown
        }
    }
}

/// Has the disk hold the messages that wait, and no others.
pub(crate) async fn keep_waiting() {
    let changes = QQ.with(Qq::unwritten);
    if changes == Changes::default() {
        return;
    }
    // With what puts them in order again: keys come in the order of their bytes.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
    let now = u64::try_from(now).unwrap_or(u64::MAX);
    let row = |(place, (key, frame)): (usize, &(String, Value))| {
        kv::Change::set_to(key, serde_json::json!([now, place, frame]).to_string())
    };
    let kept = changes.kept.iter().enumerate().map(row);
    let gone = changes.gone.iter().map(|key| kv::Change::Delete(key.clone()));
    if let Err(error) = kv::batch(kept.chain(gone).collect()).await {
        log::debug(format!("the messages that wait are not on the disk: {}", error.message()));
        QQ.with(|qq| qq.not_written(changes));
    }
}

/// Takes up what waited when an instance ended that handed nothing on.
pub(crate) async fn recall_waiting() {
    let mut rows = Vec::new();
    for key in kv::list(waiting::PREFIX, None).await.unwrap_or_default() {
        let row = kv::get(&key).await.ok().flatten();
        let row = row.and_then(|row| serde_json::from_slice::<(u64, usize, Value)>(&row).ok());
        let (at, frame) = row.map_or((None, None), |(now, place, frame)| (Some((now, place)), Some(frame)));
        rows.push((at, key, frame));
    }
    rows.sort_by_key(|(at, ..)| *at);
    QQ.with(|qq| qq.recall(rows.into_iter().map(|(_, key, frame)| (key, frame)).collect()));
}

/// Makes a connection to a client that is the server; the host makes it again where it is lost.
async fn reach(address: &str, token: bool) {
    let target = Target {
        meta: vec![
            ("x-client-role".to_owned(), forward::role(address).to_owned()),
            (forward::META.to_owned(), address.to_owned()),
        ],
        ..Target::new(forward::name(address), address)
    };
    let target = if token { target.secret("access_token") } else { target };
    if let Err(error) = target.open().await {
        log::warn(format!("the QQ client at {address} can't be connected to: {}", error.message()));
    }
}

/// The tools that the agent was offered last; at first those of the description.
static OFFERED: State<Offer> = State::new(|| Offer::All);

/// Offers the agent the tools that make sense now.
pub(crate) async fn offer_tools() {
    let offer = QQ.with(|qq| qq.accounts.offer());
    if OFFERED.with(|offered| std::mem::replace(offered, offer)) == offer {
        return;
    }
    if let Err(error) = registry::replace_tools(actions::offered(offer)).await {
        log::debug(format!("the tools stay as they were: {}", error.message()));
    }
}

/// Puts inputs behind those that the agent has not taken yet, before anything is waited for: meanwhile others are made.
fn kept(effects: Vec<Effect>) -> VecDeque<Effect> {
    for effect in &effects {
        let Effect::Submit(submission) = effect else { continue };
        let (user, id) = (&submission.user, submission.platform_id.as_deref());
        if !QQ.with(|qq| qq.kept.push(Submission::clone(submission))) {
            log::error(format!("a message of {user} on QQ is lost: the agent takes none"));
            QQ.with(|qq| qq.passed(id));
        }
    }
    effects.into()
}

/// Inputs are offered by one call at a time, so that they come in order and each once.
static OFFERING: Mutex<()> = Mutex::new(());

/// Offers what the agent has not taken yet, until it has no room.
pub(crate) async fn offer_again() {
    // Who waits for the others knows that the agent has theirs, too, when it is its turn.
    let _turn = OFFERING.lock().await;
    while let Some(submission) = QQ.with(|qq| qq.kept.first().cloned()) {
        let id = submission.platform_id.clone();
        match inputs::submit(submission).await {
            Ok(_) => {}
            Err(Error::Busy | Error::Retryable | Error::NotLive) => return,
            Err(error) => log::error(format!("a message from QQ did not reach the agent: {}", error.message())),
        }
        QQ.with(|qq| {
            qq.kept.pop();
            qq.passed(id.as_deref());
        });
    }
}
