//! The tools: timers are set, listed, changed, paused and cancelled.

use homeagent_sdk::{
    Arguments, Cause, Conversation, Effect, Error, Peer, Role, Tool, ToolOutput, errands, log, timers,
};
use serde_json::{Value, json};

use crate::entry::{Entry, OWNERS, account, of_member, prefix};
use crate::house;
use crate::requests::{Change, List, Named, Set, check_name, made_name};
use crate::schedule::Here;
use crate::words;

/// The most timers that a member has.
const MOST_OF_A_MEMBER: usize = 100;
const MOST_LISTED: usize = 1_000;
const USUALLY_LISTED: usize = 100;
/// How many names are tried for a timer that was given none.
const MOST_NAMES: u32 = 1_000;

pub(crate) fn definitions() -> Vec<Tool> {
    let own = |tool: Tool| tool.effect(Effect::Own).min_role(Role::Member);
    vec![
        own(Tool::new::<Set>(
            "timer_set",
            "Sets a timer that survives restarts: a reminder, or a tool to call, once or again and again. When it is due you \
             are told its message in this conversation, and then speak or act as it says. The answer says when it is due: \
             tell the user.",
        )),
        own(Tool::new::<Change>(
            "timer_change",
            "Changes a timer: when it is due, or what it does. What is left out stays.",
        )),
        own(Tool::new::<Named>("timer_pause", "Has a timer wait until it is resumed.")),
        own(Tool::new::<Named>("timer_resume", "Has a paused timer go on; times that passed meanwhile are left out.")),
        own(Tool::new::<Named>("timer_cancel", "Takes a timer away.")),
        Tool::new::<List>("timer_list", "Lists the timers, with the times they are due next.")
            .effect(Effect::Read)
            .min_role(Role::Member),
    ]
}

pub(crate) async fn call(name: &str, arguments: Arguments, cause: &Cause) -> Result<ToolOutput, Error> {
    let here = house::here()?;
    let mut answer = match name {
        "timer_set" => set(arguments.parse()?, cause, &here).await?,
        "timer_change" => change(arguments.parse()?, cause, &here).await?,
        "timer_pause" => pause(arguments.parse()?, cause, &here).await?,
        "timer_resume" => resume(arguments.parse()?, cause, &here).await?,
        "timer_cancel" => cancel(arguments.parse()?, cause).await?,
        "timer_list" => list(arguments.parse()?, cause, &here).await?,
        _ => return Err(Error::no_tool(name)),
    };
    if let Err(wrong) = house::quiet_hours() {
        answer["note"] = json!(format!("{}; no hours are quiet. Tell the owner", wrong.message()));
    }
    ToolOutput::json(&answer)
}

/// What the clock says.
fn now() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or_default()
}

async fn set(request: Set, cause: &Cause, here: &Here) -> Result<Value, Error> {
    let now = now();
    let schedule = words::parse(&request.when, now, here).map_err(Error::invalid)?;
    let work = request.rest.work()?.ok_or_else(|| Error::invalid("give a `message`, or a `tool` to call"))?;
    let next = schedule.next(now, here).map_err(Error::invalid)?;
    let next = next.ok_or_else(|| Error::invalid(format!("{:?} is never due: that has passed", request.when)))?;
    let prefix = prefix(cause);
    let name = match &request.name {
        Some(name) => check_name(name)?,
        None => free_name(&prefix, &made_name(&work)).await?,
    };
    let key = key(&prefix, &name)?;
    if timers::get(&key).await?.is_some() {
        return Err(Error::invalid(format!(
            "there is a timer {name:?} already; nothing was set. Choose another name, or call timer_change"
        )));
    }
    if cause.principal.role != Role::Owner {
        let own = timers::list().await?.iter().filter(|timer| timer.name.starts_with(&prefix)).count();
        if own >= MOST_OF_A_MEMBER {
            return Err(Error::other(format!(
                "{MOST_OF_A_MEMBER} timers are the most that one person has; cancel some"
            )));
        }
    }
    let mut entry = Entry {
        uid: uid(&key, now),
        name,
        by: account(cause),
        work,
        schedule,
        next,
        missed: crate::entry::Missed::default(),
        urgent: false,
        to: None,
        paused: false,
    };
    request.rest.apply(&mut entry)?;
    check_target(&entry, &prefix)?;
    errands::set_timer(&key, timers::calendar(entry.due()), &entry, cause).await?;
    Ok(shown(&entry, &prefix, here))
}

/// What tells a timer from all that were and will be of the same name: no clock is set to the same millisecond twice for it
/// while random numbers differ.
fn uid(key: &str, now: u64) -> String {
    use std::hash::{BuildHasher as _, RandomState};
    format!("{:016x}{:016x}", RandomState::new().hash_one((key, now)), RandomState::new().hash_one((now, key)))
}

async fn free_name(prefix: &str, base: &str) -> Result<String, Error> {
    for number in 1..=MOST_NAMES {
        let name = if number == 1 { base.to_owned() } else { format!("{base} {number}") };
        if timers::get(&key(prefix, &name)?).await?.is_none() {
            return Ok(name);
        }
    }
    Err(Error::invalid(format!("there are {MOST_NAMES} timers called {base:?}; give a name")))
}

/// What the host calls a timer.
fn key(prefix: &str, name: &str) -> Result<String, Error> {
    let key = format!("{prefix}{name}");
    match key.len() {
        0..=128 => Ok(key),
        _ => Err(Error::invalid(format!("the name {name:?} is too long for this account; choose a shorter one"))),
    }
}

/// `prefix`: of whoever's timer it is.
fn check_target(entry: &Entry, prefix: &str) -> Result<(), Error> {
    let Some(to) = &entry.to else { return Ok(()) };
    if prefix != OWNERS {
        return Err(Error::invalid("`to` is for timers of the owner; a member's speaks where it was set"));
    }
    target(to).map(drop).ok_or_else(|| Error::invalid(format!("`to`: {to:?} is not such as qq:12345 or qq:group/678")))
}

/// Reads `channel:person`, `channel:group/<id>`.
pub(crate) fn target(text: &str) -> Option<Conversation> {
    let (channel, peer) = text.split_once(':').filter(|(channel, peer)| !channel.is_empty() && !peer.is_empty())?;
    let peer = match peer.split_once('/') {
        Some(("group", id)) => Peer::Group(id.to_owned()),
        Some(("other", id)) => Peer::Other(id.to_owned()),
        Some(_) => return None,
        None => Peer::Person(peer.replace("%2F", "/").replace("%25", "%")),
    };
    Some(Conversation { channel: channel.to_owned(), peer })
}

/// The timer that somebody means, with the host's name of it and when the host is to tell of it.
async fn find(name: &str, of: Option<&str>, cause: &Cause) -> Result<(String, String, Entry, u64), Error> {
    let prefix = match of {
        Some(of) if cause.principal.role == Role::Owner => of_member(of),
        Some(_) => return Err(Error::invalid("`of` is for the owner")),
        None => prefix(cause),
    };
    let key = key(&prefix, name.trim())?;
    let missing = || Error::NotFound(format!("there is no timer {name:?}; timer_list shows those there are"));
    let timer = timers::get(&key).await?.ok_or_else(missing)?;
    let entry = timer.parse()?;
    Ok((key, prefix, entry, timer.due))
}

/// Writes a changed timer down; `due`: when the host is to tell of it.
async fn write(key: &str, entry: &Entry, due: u64) -> Result<(), Error> {
    match errands::change_timer(key, timers::calendar(due), entry).await? {
        Some(_) => Ok(()),
        None => Err(Error::NotFound(format!("the timer {:?} has just ended", entry.name))),
    }
}

async fn change(request: Change, cause: &Cause, here: &Here) -> Result<Value, Error> {
    let (key, prefix, mut entry, mut due) = find(&request.name, request.of.as_deref(), cause).await?;
    if let Some(when) = &request.when {
        let now = now();
        entry.schedule = words::parse(when, now, here).map_err(Error::invalid)?;
        let next = entry.schedule.next(now, here).map_err(Error::invalid)?;
        entry.next = next.ok_or_else(|| Error::invalid(format!("{when:?} is never due: that has passed")))?;
        due = entry.due();
    }
    request.rest.apply(&mut entry)?;
    check_target(&entry, &prefix)?;
    // A time that is due right now keeps its claim, so that it is neither lost nor done twice.
    write(&key, &entry, due).await?;
    Ok(shown(&entry, &prefix, here))
}

async fn pause(request: Named, cause: &Cause, here: &Here) -> Result<Value, Error> {
    let (key, prefix, mut entry, _) = find(&request.name, request.of.as_deref(), cause).await?;
    entry.paused = true;
    write(&key, &entry, entry.due()).await?;
    Ok(shown(&entry, &prefix, here))
}

async fn resume(request: Named, cause: &Cause, here: &Here) -> Result<Value, Error> {
    let (key, prefix, mut entry, due) = find(&request.name, request.of.as_deref(), cause).await?;
    if !entry.paused {
        write(&key, &entry, due).await?;
        return Ok(shown(&entry, &prefix, here));
    }
    entry.paused = false;
    let now = now();
    if entry.next <= now {
        let next = entry.schedule.next(now, here).map_err(Error::invalid)?;
        entry.next = next.ok_or_else(|| {
            Error::invalid(format!("the time of {:?} has passed; give it another with timer_change", entry.name))
        })?;
    }
    write(&key, &entry, entry.due()).await?;
    Ok(shown(&entry, &prefix, here))
}

async fn cancel(request: Named, cause: &Cause) -> Result<Value, Error> {
    let (key, _, entry, _) = find(&request.name, request.of.as_deref(), cause).await?;
    timers::cancel(&key).await?;
    Ok(json!({ "cancelled": entry.name }))
}

async fn list(request: List, cause: &Cause, here: &Here) -> Result<Value, Error> {
    let prefix = prefix(cause);
    let limit = request.limit.unwrap_or(USUALLY_LISTED).clamp(1, MOST_LISTED);
    let after = request.after.unwrap_or_default();
    let all = timers::list().await?;
    let visible = |name: &str| cause.principal.role == Role::Owner || name.starts_with(&prefix);
    let own: Vec<_> = all.iter().filter(|timer| visible(&timer.name)).collect();
    let key_after = if after.contains('/') { after } else { format!("{prefix}{after}") };
    let begins = if key_after == prefix { "" } else { key_after.as_str() };
    let behind: Vec<_> = own.iter().filter(|timer| timer.name.as_str() > begins).collect();
    let timers: Vec<Value> = behind
        .iter()
        .take(limit)
        .filter_map(|timer| match timer.parse::<Entry>() {
            Ok(entry) => {
                let prefix = timer.name.strip_suffix(&entry.name).unwrap_or_default();
                Some(shown(&entry, prefix, here))
            }
            Err(error) => {
                log::warn(format!("the timer {} can't be read: {}", timer.name, error.message()));
                None
            }
        })
        .collect();
    // The host's name, by which one goes on.
    let next = behind.get(limit.saturating_sub(1)).filter(|_| behind.len() > limit).map(|timer| timer.name.clone());
    let zone = here.zone.iana_name().unwrap_or("UTC");
    Ok(json!({ "timers": timers, "total": own.len(), "next": next, "time_zone": zone }))
}

/// A timer for the model and for people.
fn shown(entry: &Entry, prefix: &str, here: &Here) -> Value {
    use crate::entry::Work;
    let mut shown = json!({
        "name": entry.name,
        "when": entry.schedule.written(here),
        "next": (!entry.paused).then(|| here.written(entry.next)),
        "paused": entry.paused,
        "urgent": entry.urgent,
        "missed": entry.missed,
        "by": entry.by,
    });
    // Whose it is, where it is not the owners'.
    if prefix != OWNERS {
        shown["of"] = json!(entry.by);
    }
    match &entry.work {
        Work::Message(message) => shown["message"] = json!(message),
        Work::Tool { name, arguments, report } => {
            shown["tool"] = json!(name);
            shown["arguments"] = serde_json::from_str(arguments).unwrap_or(Value::Null);
            shown["report"] = json!(report);
        }
    }
    if let Some(to) = &entry.to {
        shown["to"] = json!(to);
    }
    shown
}
