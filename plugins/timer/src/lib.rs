//! Timers that survive everything: reminders and tools to call, once or again and again, for the agent and for people.
//!
//! All that is known of a timer is the payload of the host's own, which is written in one step with the time it is due;
//! nothing is in memory. A run is an errand that the journal takes once for each timer and time.

mod entry;
mod firing;
mod house;
mod requests;
mod schedule;
mod tools;
mod words;

use homeagent_sdk::inputs::Submission;
use homeagent_sdk::{
    Again, Arguments, Cause, Descriptor, Error, Firing, Peer, Plugin, Role, Timers, ToolOutput, Tools, errands, log,
    timers,
};

use entry::{Entry, Work};
use firing::{Run, decide};
use schedule::Here;

struct Timer;

impl Plugin for Timer {
    fn describe() -> Descriptor {
        let described =
            Descriptor::new("timer", env!("CARGO_PKG_VERSION")).summary("Timers, reminders and repeated tasks.");
        tools::definitions().into_iter().fold(described, Descriptor::tool)
    }
}

impl Tools for Timer {
    async fn call(name: &str, arguments: Arguments, cause: Cause) -> Result<ToolOutput, Error> {
        tools::call(name, arguments, &cause).await
    }
}

impl Timers for Timer {
    async fn on_timer(timer: Firing, cause: Cause) -> Result<Option<Again>, Error> {
        // It may have been cancelled or changed while the firing waited.
        let Some(current) = timers::get(&timer.name).await? else { return Ok(None) };
        let entry: Entry = current.parse()?;
        if !matches!(cause.principal.role, Role::Owner | Role::Member) && !entry.paused {
            log::warn(format!("{} may have no timers any more; {:?} is paused", entry.by, entry.name));
            let paused = Entry { paused: true, ..entry };
            return Again::with(paused.due(), &paused).map(Some);
        }
        let here = house::here()?;
        let quiet_hours = house::quiet_hours().unwrap_or_else(|error| {
            // Whoever waits for a timer is worse off without it than with it at night.
            log::error(format!("{}; no hours are quiet", error.message()));
            None
        });
        let decision = decide(&entry, timer.due, timer.now(), &here, quiet_hours).map_err(Error::invalid)?;
        for run in &decision.runs {
            match submit(&entry, run, &here, &cause).await {
                // Whoever set it is no owner any more: it is not theirs to have, and not for others to lose.
                Err(Error::Denied(denial)) if denial.capability == "role owner" => {
                    log::warn(format!("{}; it is paused", denial.attempt));
                    let paused = Entry { paused: true, ..entry };
                    return Again::with(paused.due(), &paused).map(Some);
                }
                submitted => submitted?,
            }
        }
        decision.again.map(|(due, entry)| Again::with(due, &entry)).transpose()
    }
}

/// Hands a run over. One that stands for others, and was handed over before them, leaves the rest to the next.
async fn submit(entry: &Entry, run: &Run, here: &Here, cause: &Cause) -> Result<(), Error> {
    let mut run = run.clone();
    loop {
        let to = entry.to.as_deref().and_then(tools::target);
        let accepted = errands::submit(submission(entry, &run, here), to, entry.urgent, cause).await?;
        if !accepted.duplicate {
            return Ok(());
        }
        log::debug(format!("{} was told already", entry.claim(run.time)));
        match run.rest(entry, here).map_err(Error::invalid)? {
            Some(rest) => run = rest,
            None => return Ok(()),
        }
    }
}

/// A run as an input.
fn submission(entry: &Entry, run: &Run, here: &Here) -> Submission {
    let due = here.written(run.time);
    let missed = match run.missed {
        0 => String::new(),
        missed => format!(", and stands for {missed} later times that were missed"),
    };
    let head = format!("The timer {:?} of {} was due at {due}{missed}.", entry.name, entry.by);
    let mut meta = vec![("timer".to_owned(), entry.name.clone())];
    let text = match &entry.work {
        Work::Message(message) => format!("{head} It says: {message}"),
        Work::Tool { name, arguments, report } => {
            meta.push(("tool".to_owned(), name.clone()));
            meta.push(("arguments".to_owned(), arguments.clone()));
            if !report {
                meta.push(("report".to_owned(), "result".to_owned()));
            }
            format!("{head} It calls the tool {name}: say what came of it.")
        }
    };
    if entry.urgent {
        meta.push(("urgent".to_owned(), "true".to_owned()));
    }
    let submission = Submission::text(Peer::Other(String::new()), "", text).platform_id(entry.claim(run.time));
    Submission { kind: "timer".to_owned(), meta, ..submission }
}

homeagent_sdk::export!(Timer: Tools, Timers);

#[cfg(test)]
mod tests;
