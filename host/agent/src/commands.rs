//! What people say to the agent itself: `/new`, `/status`, `/model`, `/help` and `/stop` do not reach the model.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use homeagent_journal::{EventKind, INPUT_ID, JournalError, RunStatus};
use homeagent_types::{Input, OutputKind, Payload, Role};
use serde_json::json;

use crate::arrears;
use crate::core::{self, Core};
use crate::intake;
use crate::interrupt::{Control, Stop, may_stop};
use crate::outputs::{self, Route};
use crate::queue::Queued;
use crate::record::Record;
use crate::result::{TurnError, TurnResult};
use crate::rights::own_words;
use crate::watch::Watcher;

/// How long a command's answer may take to be delivered.
const DEADLINE: Duration = Duration::from_secs(10);

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Begins a session: what was said before is not shown to the model any more.
    New,
    /// How the agent is.
    Status,
    /// Which model answers.
    Model,
    /// What commands there are.
    Help,
    /// Ends the turn that runs here.
    Stop,
}

impl Command {
    const ALL: [(Command, &str, Role, &str); 5] = [
        (Command::New, "/new", Role::Member, "begin anew: what was said before is not looked at any more"),
        (Command::Status, "/status", Role::Member, "what I am doing"),
        (Command::Model, "/model", Role::Member, "which model answers"),
        (Command::Help, "/help", Role::Guest, "this list"),
        (Command::Stop, "/stop", Role::Guest, "stop what I am doing here"),
    ];

    fn row(self) -> (Command, &'static str, Role, &'static str) {
        Self::ALL.into_iter().find(|(command, ..)| *command == self).unwrap_or(Self::ALL[3])
    }
}

/// The command in a text that is nothing but a command.
pub(crate) fn parse(text: &str) -> Option<Command> {
    let word = text.trim();
    Command::ALL.into_iter().find(|(_, name, ..)| word.eq_ignore_ascii_case(name)).map(|(command, ..)| command)
}

/// The command that an input is. What others wrote is none.
pub(crate) fn of(input: &Input) -> Option<Command> {
    match &input.payload {
        Payload::Text(text) if input.kind == "message" && input.media.is_empty() => {
            parse(text).filter(|_| own_words(input).is_some())
        }
        _ => None,
    }
}

/// Carries a command out and answers it. The input is taken by a run of its own.
pub(crate) async fn run(core: &Arc<Core>, item: Queued) {
    let Queued { input, watcher, permit, .. } = item;
    drop(permit);
    let Some(command) = of(&input) else { return };
    if let Err(error) = carry_out(core, command, &input, watcher).await {
        tracing::error!(%error, "a command could not be carried out");
    }
}

async fn carry_out(
    core: &Arc<Core>,
    command: Command,
    input: &Input,
    watcher: Option<Watcher>,
) -> Result<(), JournalError> {
    let conversation = input.conversation.to_string();
    let principal = input.principal.to_string();
    let ids = [input.id.clone()];
    let (_, name, least, _) = command.row();
    let allowed = input.principal.role >= least;
    // Before all else: what runs away is to be stopped on a full disk too. A turn that has not begun has nothing to stop:
    // what it is to work on waits still.
    let running = core.turn_in(&conversation).filter(|turn| !turn.run().is_empty());
    let stopped = running.filter(|_| allowed && command == Command::Stop).map(|turn| stop(&turn, input));
    let record = match Record::begin(&core.journal, &conversation, &input.audience, &principal, &ids).await {
        Ok(record) => record,
        Err(error) => {
            let done = stopped.map_or_else(|| "nothing was done".to_owned(), |(_, text)| text);
            let text = format!("I can't write my journal; {name}: {done} ({error})");
            unrecorded(core, input, watcher, text).await;
            return Err(error);
        }
    };
    let mut silent = false;
    let mut failed = false;
    let text = if !allowed {
        format!("{name} needs the role {}.", least.as_str())
    } else {
        match command {
            Command::Help => help(input.principal.role),
            Command::Status => report(core),
            Command::Model => model(core),
            Command::New => {
                match core.journal.new_session(&conversation).await {
                    Ok(_) => {
                        // Only now: as long as the session goes on, so does what is known of it.
                        core.contexts.take(&conversation);
                        "A new beginning: I no longer look at what was said here before.".to_owned()
                    }
                    Err(error) => {
                        tracing::error!(%error, "a session could not be begun");
                        failed = true;
                        format!("I can't begin anew, so I go on as before: {error}")
                    }
                }
            }
            Command::Stop => {
                match stopped {
                    Some((stopped, text)) => {
                        // The turn itself says that it was stopped.
                        silent = stopped;
                        text
                    }
                    None => match withdraw(core, &record, input).await {
                        Ok(text) => text,
                        Err(error) => {
                            failed = true;
                            format!("I can't write my journal, so nothing was withdrawn: {error}")
                        }
                    },
                }
            }
        }
    };
    tracing::info!(command = name, principal, allowed, "command");
    let reply = Reply { text, refused: !allowed, failed, silent };
    conclude(core, &record, input, watcher, reply).await
}

/// What the host itself says to an input, in the place of a turn.
#[derive(Default)]
pub(crate) struct Reply {
    pub(crate) text: String,
    /// What was asked for was not allowed.
    pub(crate) refused: bool,
    /// The journal kept it from being done.
    pub(crate) failed: bool,
    /// Somebody else says it.
    pub(crate) silent: bool,
}

/// Answers an input, in a run of its own that takes it.
pub(crate) async fn answer(
    core: &Arc<Core>,
    input: &Input,
    watcher: Option<Watcher>,
    reply: Reply,
) -> Result<(), JournalError> {
    let (conversation, principal) = (input.conversation.to_string(), input.principal.to_string());
    let ids = [input.id.clone()];
    match Record::begin(&core.journal, &conversation, &input.audience, &principal, &ids).await {
        Ok(record) => conclude(core, &record, input, watcher, reply).await,
        Err(error) => {
            unrecorded(core, input, watcher, reply.text).await;
            Err(error)
        }
    }
}

/// Answers although the journal can't record it.
async fn unrecorded(core: &Core, input: &Input, watcher: Option<Watcher>, text: String) {
    match watcher {
        Some(watcher) => {
            let error = TurnError { code: "journal".to_owned(), text };
            let finish = "failed".to_owned();
            watcher.finish(TurnResult { finish, error: Some(error), ..TurnResult::default() });
        }
        None => intake::tell_unrecorded(core, input, "failed", text).await,
    }
}

/// Sends the answer and ends the run.
async fn conclude(
    core: &Arc<Core>,
    record: &Record,
    input: &Input,
    watcher: Option<Watcher>,
    reply: Reply,
) -> Result<(), JournalError> {
    let Reply { text, refused, failed, silent } = reply;
    let mut result = TurnResult {
        session: record.session.clone(),
        run: record.run.clone().unwrap_or_default(),
        reply: text.clone(),
        finish: "command".to_owned(),
        ..TurnResult::default()
    };
    if failed {
        result.finish = "failed".to_owned();
        result.error = Some(TurnError { code: "journal".to_owned(), text: text.clone() });
    }
    if refused {
        result.error = Some(TurnError { code: "refused".to_owned(), text: text.clone() });
    }
    if !silent && core.plugins.offers().channel(&input.conversation.channel).is_some() {
        let route = Route { conversation: input.conversation.clone(), reply_route: input.reply_route.clone() };
        let run = record.run.clone();
        let output = route.output(run.as_deref(), OutputKind::Reply, text);
        let cause = core::cause(run, &input.conversation, &input.audience, input.principal.clone(), DEADLINE);
        if let Err(error) = outputs::deliver(core, record, output, &cause).await {
            result.error = Some(TurnError { code: "not-delivered".to_owned(), text: error.to_string() });
        }
    }
    let status = if failed { RunStatus::Failed } else { RunStatus::Completed };
    let finished = arrears::finish(core, record, status, &result).await;
    if let Some(watcher) = watcher {
        watcher.finish(result);
    }
    finished
}

fn help(role: Role) -> String {
    let rows = Command::ALL.into_iter().filter(|(_, _, least, _)| role >= *least);
    let lines: Vec<String> = rows.map(|(_, name, _, what)| format!("{name} - {what}")).collect();
    format!("Just write to me. I also know these words:\n{}", lines.join("\n"))
}

fn report(core: &Core) -> String {
    let queued = core.queue().len();
    let running = core.turns().len();
    let ended = core.turns_ended.load(Ordering::Relaxed);
    let tools = core.plugins.offers().tools.len();
    format!(
        "Turns running: {running}. Inputs waiting: {queued}. Turns since the start: {ended}. Tools of plugins: {tools}. \
         {}",
        model(core)
    )
}

fn model(core: &Core) -> String {
    match core.last_model() {
        Some((source, model)) => format!("The last answer came from the model {model} of the source {source}."),
        None => "No model has answered since the start.".to_owned(),
    }
}

/// Takes back what the sender has waiting in the conversation; says what came of it.
async fn withdraw(core: &Arc<Core>, record: &Record, input: &Input) -> Result<String, JournalError> {
    let items = core.queue().withdraw(&input.conversation.to_string(), &input.principal);
    if items.is_empty() {
        return Ok("Nothing is running here.".to_owned());
    }
    let by = input.principal.to_string();
    let event = |item: &Queued| {
        let payload = json!({ INPUT_ID: item.input.id, "code": "stopped", "by": by });
        record.about(EventKind::InputRefused, payload)
    };
    if let Err(error) = core.journal.append_all(items.iter().map(event).collect()).await {
        intake::requeue(core, items);
        core.stir();
        return Err(error);
    }
    let text = format!("Nothing was running here. Withdrawn before I began: {} of yours that waited.", items.len());
    for watcher in items.into_iter().filter_map(|item| item.watcher) {
        let error = TurnError { code: "stopped".to_owned(), text: "Withdrawn before I began.".to_owned() };
        watcher.finish(TurnResult {
            session: record.session.clone(),
            finish: "stopped".to_owned(),
            error: Some(error),
            ..TurnResult::default()
        });
    }
    Ok(text)
}

/// Ends a turn, if the input's sender may; says what came of it.
fn stop(turn: &Control, input: &Input) -> (bool, String) {
    if !may_stop(&input.principal, &turn.principal()) {
        return (false, "This was asked by somebody else; a guest may only stop their own.".to_owned());
    }
    let by = input.principal.display_name.clone().unwrap_or_else(|| input.principal.to_string());
    turn.stop(Stop::Asked { by });
    (true, format!("Stopped the turn {}.", turn.run()))
}
