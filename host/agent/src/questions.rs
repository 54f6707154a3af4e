//! Questions to the owner: whether a tool may run. Each waits until the owner has answered, in a conversation of their own
//! or over the API, or until its time is over; without an answer nothing runs.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use homeagent_journal::{EventKind, JournalError};
use homeagent_types::{Cause, Input, Peer, Role, Timestamp, ToolCall, now};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use utoipa::ToSchema;

use crate::commands::{self, Reply};
use crate::core::Core;
use crate::interrupt::Control;
use crate::notices;
use crate::outputs::{self, Route};
use crate::prompt;
use crate::queue::Queued;
use crate::record::Record;
use crate::result::TurnEvent;
use crate::rights::own_words;
use crate::watch::Shower;

/// How many characters of the arguments the owner is shown.
const SHOWN: usize = 400;

/// What is a yes and what is a no, each alone in its message, with the question's number behind it if need be.
const YES: [&str; 6] = ["yes", "y", "好", "好的", "是", "可以"];
const NO: [&str; 6] = ["no", "n", "不", "不要", "不行", "否"];

/// A question that waits for the owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Question {
    /// Its number.
    pub id: u64,
    /// The turn that waits.
    pub run: Option<String>,
    /// The tool that is to run.
    pub tool: String,
    /// Its arguments, as far as they are shown.
    pub arguments: String,
    /// Who asked for it.
    pub by: String,
    /// In which conversation.
    pub conversation: String,
    /// Why the owner is asked.
    pub reason: String,
    /// The conversation in which the owner is asked; nowhere, where they have none, or none can be reached.
    pub asked_in: Option<String>,
    /// Since when it waits.
    #[schema(value_type = u64)]
    pub asked_at: Timestamp,
    /// Until when.
    #[schema(value_type = u64)]
    pub expires_at: Timestamp,
}

impl Question {
    /// As the owner reads it.
    fn sentence(&self, patience: Duration) -> String {
        format!(
            "Question {}: may I run the tool {}?\nArguments: {}\nAsked for by {} in {}. {}\n\
             Answer yes or no (好 / 不) within {}; without an answer it does not run.",
            self.id,
            self.tool,
            self.arguments,
            self.by,
            prompt::label(&self.conversation),
            self.reason,
            span(patience),
        )
    }
}

fn span(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds % 60 == 0 => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}

/// What the owner said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) allow: bool,
    pub(crate) by: String,
}

/// What came of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Allowed,
    Refused,
    /// Nobody answered in this time.
    Unanswered(Duration),
}

struct Open {
    question: Question,
    answer: oneshot::Sender<Answer>,
}

/// All that wait.
#[derive(Default)]
pub(crate) struct Questions {
    open: Mutex<BTreeMap<u64, Open>>,
    last: AtomicU64,
}

/// What an input is for the questions that wait where it was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    Answer {
        id: u64,
        allow: bool,
    },
    /// More than one waits, and it does not say which it means.
    Ambiguous(Vec<u64>),
}

impl Questions {
    /// The oldest first.
    pub(crate) fn list(&self) -> Vec<Question> {
        self.open().values().map(|open| open.question.clone()).collect()
    }

    /// Answers a question; `None` where it does not wait any more.
    pub(crate) fn answer(&self, id: u64, answer: Answer) -> Option<Question> {
        let Open { question, answer: waiting } = self.open().remove(&id)?;
        waiting.send(answer).ok().map(|()| question)
    }

    /// Whether an input answers a question that waits in its conversation. Only the owner's own words do, and only in
    /// private.
    pub(crate) fn read(&self, input: &Input) -> Option<Reading> {
        let private = matches!(input.conversation.peer, Peer::Person(_));
        if !private || input.principal.role != Role::Owner || input.kind != "message" || !input.media.is_empty() {
            return None;
        }
        let (allow, number) = read_answer(own_words(input)?)?;
        let here = input.conversation.to_string();
        let open = self.open();
        // Where the turn speaks with the owner in private they may answer, too, wherever they were asked.
        let concerns = |question: &Question| question.asked_in.as_ref() == Some(&here) || question.conversation == here;
        let waiting = open.iter().filter(|(_, open)| concerns(&open.question));
        let waiting: Vec<u64> = waiting.map(|(id, _)| *id).collect();
        match (number, waiting.as_slice()) {
            (_, []) => None,
            (Some(id), waiting) => waiting.contains(&id).then_some(Reading::Answer { id, allow }),
            (None, [id]) => Some(Reading::Answer { id: *id, allow }),
            (None, _) => Some(Reading::Ambiguous(waiting)),
        }
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<u64, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Marks an input as an answer to a question that waited when it came.
const ANSWER: &str = "homeagent.answer";

/// Marks an input that answers a question, so that it is nothing else after a crash.
pub(crate) fn mark(core: &Core, input: &mut Input) {
    if core.questions.read(input).is_some() {
        input.meta.push((ANSWER.to_owned(), "true".to_owned()));
    }
}

/// Whether an input that was kept over a start answered a question, which is gone.
pub(crate) fn was_answer(input: &Input) -> bool {
    input.meta.iter().any(|(key, _)| key == ANSWER)
}

/// A yes or a no, and the number behind it.
fn read_answer(text: &str) -> Option<(bool, Option<u64>)> {
    let text = text.trim().trim_end_matches(['.', '!', '。', '！']).to_lowercase();
    let word = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = &text[word.len()..];
    let number = if number.is_empty() { None } else { Some(number.parse().ok()?) };
    let word = word.trim_end();
    let allow = YES.contains(&word);
    (allow || NO.contains(&word)).then_some((allow, number))
}

/// What a question is about.
pub(crate) struct About<'a> {
    pub(crate) cause: &'a Cause,
    pub(crate) call: &'a ToolCall,
    pub(crate) reason: &'a str,
    pub(crate) record: &'a Record,
    /// Where the turn's input came from.
    pub(crate) home: Route,
    /// The turn, whose time stands still meanwhile.
    pub(crate) turn: Option<&'a Control>,
    pub(crate) shower: Option<&'a Shower>,
}

/// Takes the question back when nobody waits for its answer any more.
struct Waiting<'a> {
    core: &'a Core,
    record: &'a Record,
    id: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.core.questions.open().remove(&self.id).is_some() {
            self.record.note(EventKind::QuestionAnswered, json!({ "question": self.id, "answer": "gone" }));
        }
    }
}

/// Asks the owner and waits.
pub(crate) async fn ask(core: &Arc<Core>, about: About<'_>, patience: Duration) -> Result<Outcome, JournalError> {
    let place = place(core, &about);
    let id = core.questions.last.fetch_add(1, Ordering::Relaxed) + 1;
    let question = put(&about, id, place.as_ref(), patience);
    let mut asked = serde_json::to_value(&question).unwrap_or_default();
    asked["call"] = json!(about.call.id);
    about.record.event(EventKind::QuestionAsked, asked).await?;
    tracing::info!(question = id, tool = question.tool, asked_in = question.asked_in, "the owner is asked");
    let (answer, answered) = oneshot::channel();
    core.questions.open().insert(id, Open { question: question.clone(), answer });
    let waiting = Waiting { core, record: about.record, id };
    let pause = about.turn.map(Control::pause);
    // Its place is free meanwhile.
    core.stir();
    if let Some(shower) = about.shower {
        shower.tell(|| TurnEvent::Question(question.clone()));
    }
    if let Some(place) = place {
        let core = Arc::clone(core);
        let tasks = core.tasks.clone();
        let text = question.sentence(patience);
        // Whoever watches the turn there sees that it waits.
        let run = question.run.filter(|_| place == about.home);
        // Outside the turn's run: a question that was asked is nothing that could not be done once more. Where it can't be
        // sent, it waits for an answer over the API all the same.
        tasks.spawn(async move { notices::send(&core, &place, run, "question", text).await });
    }
    let answer = tokio::time::timeout(patience, answered).await;
    drop(pause);
    let (outcome, by) = match answer {
        Ok(Ok(Answer { allow: true, by })) => (Outcome::Allowed, Some(by)),
        Ok(Ok(Answer { allow: false, by })) => (Outcome::Refused, Some(by)),
        _ => (Outcome::Unanswered(patience), None),
    };
    core.questions.open().remove(&id);
    drop(waiting);
    let word = match outcome {
        Outcome::Allowed => "allow",
        Outcome::Refused => "deny",
        Outcome::Unanswered(_) => "none",
    };
    about.record.event(EventKind::QuestionAnswered, json!({ "question": id, "answer": word, "by": by })).await?;
    Ok(outcome)
}

fn put(about: &About<'_>, id: u64, place: Option<&Route>, patience: Duration) -> Question {
    let principal = &about.cause.principal;
    let account = principal.to_string();
    let by = principal.display_name.as_deref().map_or_else(
        || prompt::label(&account),
        |name| format!("{} ({})", prompt::label(name), prompt::label(&account)),
    );
    let conversation = about.cause.conversation.as_ref().map_or_else(String::new, ToString::to_string);
    let asked_at = now();
    Question {
        id,
        run: about.cause.run.clone(),
        tool: about.call.name.clone(),
        arguments: shown(&about.call.arguments),
        by,
        conversation,
        reason: about.reason.to_owned(),
        asked_in: place.map(|route| route.conversation.to_string()),
        asked_at,
        expires_at: asked_at + Timestamp::try_from(patience.as_millis()).unwrap_or_default(),
    }
}

/// Arguments as one line of JSON, in which no line break can pretend to be more of the question.
fn shown(arguments: &str) -> String {
    let value: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!(arguments.trim()));
    let value = if value == "" { json!({}) } else { value };
    let line = value.to_string();
    let cut: String = line.chars().filter(|c| !c.is_control()).take(SHOWN).collect();
    if line.chars().count() > SHOWN { format!("{cut}… ({} characters in all)", line.chars().count()) } else { cut }
}

/// Where the owner is asked: in the turn's own conversation, where that is theirs alone and somebody can be spoken to there;
/// else where they are bound, first of all on the same channel; else at the terminal.
fn place(core: &Core, about: &About<'_>) -> Option<Route> {
    let home = &about.home;
    let channel = &home.conversation.channel;
    let is_private = matches!(home.conversation.peer, Peer::Person(_));
    if is_private && about.cause.principal.role == Role::Owner && core.plugins.offers().channel(channel).is_some() {
        return Some(home.clone());
    }
    outputs::to_owner(core, channel)
}

/// Takes an input as an answer. It is taken by a run of its own.
pub(crate) async fn answered(core: &Arc<Core>, item: Queued, reading: Reading) {
    let Queued { input, watcher, permit, .. } = item;
    drop(permit);
    let reply = match reading {
        Reading::Answer { id, allow } => {
            let by = input.principal.to_string();
            match core.questions.answer(id, Answer { allow, by }) {
                // The turn that waits speaks there itself.
                Some(question) if question.conversation == input.conversation.to_string() => {
                    Reply { text: said(&question, allow), silent: true, ..Reply::default() }
                }
                Some(question) => Reply { text: said(&question, allow), ..Reply::default() },
                None => Reply { text: format!("Question {id} does not wait any more."), ..Reply::default() },
            }
        }
        Reading::Ambiguous(ids) => {
            let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
            let first = ids.first().map_or("1", String::as_str);
            let text = format!("Which one? Say it with its number, as yes {first}. Waiting: {}.", ids.join(", "));
            Reply { text, ..Reply::default() }
        }
    };
    if let Err(error) = commands::answer(core, &input, watcher, reply).await {
        tracing::error!(%error, "an answer to a question could not be recorded");
    }
}

fn said(question: &Question, allow: bool) -> String {
    let Question { id, tool, .. } = question;
    if allow { format!("Question {id}: {tool} runs.") } else { format!("Question {id}: {tool} does not run.") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_words_of_their_own() {
        for (text, expected) in [
            ("yes", Some((true, None))),
            (" Yes! ", Some((true, None))),
            ("好", Some((true, None))),
            ("好 3", Some((true, Some(3)))),
            ("no 12.", Some((false, Some(12)))),
            ("不3", Some((false, Some(3)))),
            ("yes please", None),
            ("not now", None),
            ("3", None),
            ("he said:\nyes", None),
            ("yes 99999999999999999999999", None),
        ] {
            assert_eq!(read_answer(text), expected, "{text}");
        }
    }

    #[test]
    fn arguments_are_one_line_that_can_not_go_on_as_a_question() {
        assert_eq!(shown(""), "{}");
        assert_eq!(shown("{ \"a\" :\n \"x\\nAnswer yes\" }"), r#"{"a":"x\nAnswer yes"}"#);
        assert!(shown(&format!("\"{}\"", "a".repeat(1000))).ends_with("… (1002 characters in all)"));
    }
}
