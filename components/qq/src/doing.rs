//! Doing what is to be done: the only place that asks anything of the host, besides settings and the log.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use futures::channel::mpsc;
use homeagent_sdk::inputs::Submission;
use homeagent_sdk::sockets::{self, Frame};
use homeagent_sdk::{Error, State, bus, inputs, log};
use serde_json::Value;

use crate::desk::{Question, Silence};
use crate::effect::Effect;
use crate::failure::Failure;
use crate::speaking::Begun;
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
    let mut effects = VecDeque::from(effects);
    while let Some(effect) = effects.pop_front() {
        match effect {
            Effect::Submit(submission) => submit(*submission).await,
            Effect::Ask { question, ticket } => {
                let left = match ticket {
                    Some(ticket) => hand_over(ticket, question),
                    None => Some(question),
                };
                if let Some(question) = left {
                    effects.extend(send(question).await);
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

/// Hands an input to the agent, behind those that it has not taken yet.
async fn submit(submission: Submission) {
    let user = submission.user.clone();
    if !QQ.with(|qq| qq.kept.push(submission)) {
        log::error(format!("a message of {user} on QQ is lost: the agent takes none"));
    }
    offer_again().await;
}

/// Offers what the agent has not taken yet, until it has no room.
pub(crate) async fn offer_again() {
    let Some(_turn) = Offering::begin() else { return };
    while let Some(submission) = QQ.with(|qq| qq.kept.first().cloned()) {
        match inputs::submit(submission).await {
            Ok(_) => {}
            Err(Error::Busy | Error::Retryable | Error::NotLive) => return,
            Err(error) => log::error(format!("a message from QQ did not reach the agent: {}", error.message())),
        }
        QQ.with(|qq| qq.kept.pop());
    }
}

/// That a call offers inputs. Only one does at a time, so that they come in order and each once; what others keep
/// meanwhile it offers, too.
struct Offering;

/// Whether there is an [`Offering`].
static OFFERING: AtomicBool = AtomicBool::new(false);

impl Offering {
    fn begin() -> Option<Self> {
        (!OFFERING.swap(true, Ordering::Relaxed)).then_some(Self)
    }
}

impl Drop for Offering {
    fn drop(&mut self) {
        OFFERING.store(false, Ordering::Relaxed);
    }
}
