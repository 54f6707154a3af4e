//! Timers, and a list of what was told of them, which is kept.

use homeagent_sdk::inputs::Submission;
use homeagent_sdk::{Again, Cause, Error, Firing, Peer, errands, kv, process, timers, tools};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const HOUR: u64 = 3_600_000;

/// The payload of an errand.
#[derive(Serialize, Deserialize)]
struct Errand {
    times: u64,
    at: u64,
}

async fn run_errand(timer: &Firing, errand: Errand, cause: &Cause) -> Result<Option<Again>, Error> {
    if timer.now() < errand.at {
        return Ok(Some(Again::at(errand.at)));
    }
    let submission = Submission::text(Peer::Other(String::new()), "", timer.name.as_str());
    errands::submit(submission.platform_id(format!("{}@{}", timer.name, errand.at)), None, false, cause).await?;
    match errand.times.checked_sub(1) {
        None => Ok(None),
        Some(times) => Again::with(errand.at + HOUR, &Errand { times, at: errand.at + HOUR }).map(Some),
    }
}

const TOLD: &str = "told";

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub(crate) enum Act {
    Set {
        name: String,
        at: Option<u64>,
        every: Option<u64>,
        #[serde(default)]
        payload: Value,
    },
    /// A calendar for whoever calls, which fires when it is due and so many times more, an hour apart.
    Errand {
        name: String,
        at: u64,
        times: u64,
    },
    /// An errand for whoever makes the call of this number.
    ErrandOf {
        job: u64,
    },
    /// Has something done though no timer fires.
    SubmitNow,
    /// Puts another time into the place of an errand's.
    Change {
        name: String,
        at: u64,
    },
    Cancel {
        name: String,
    },
    List,
    /// What was told, in order: id, name, missed, role of the cause.
    Told,
    /// So many timers, due long ago.
    Flood {
        times: usize,
    },
}

pub(crate) async fn run(act: Act, cause: &Cause) -> Result<Value, Error> {
    match act {
        Act::Set { name, at, every, payload } => {
            let schedule = match every {
                Some(every) => timers::Schedule::Every(every),
                None => timers::at(at.unwrap_or_default()),
            };
            timers::set(&name, schedule, &payload).await.map(|timer| json!(timer.name))
        }
        Act::Errand { name, at, times } => {
            let set = errands::set_timer(&name, timers::calendar(at), &Errand { times, at }, cause).await;
            set.map(|timer| json!(timer.name))
        }
        Act::ErrandOf { job } => {
            let mut other = cause.clone();
            other.meta = vec![("homeagent.call".to_owned(), (job + 1_000_000).to_string())];
            let set = errands::set_timer("x", timers::calendar(1), &Errand { times: 0, at: 1 }, &other).await;
            set.map(|timer| json!(timer.name))
        }
        Act::SubmitNow => {
            let submission = Submission::text(Peer::Other(String::new()), "", "now").platform_id("now");
            errands::submit(submission, None, true, cause).await.map(|accepted| json!(accepted.input))
        }
        Act::Change { name, at } => {
            let changed = errands::change_timer(&name, timers::calendar(at), &Errand { times: 0, at }).await?;
            Ok(json!(changed.map(|timer| timer.due)))
        }
        Act::Cancel { name } => timers::cancel(&name).await.map(Value::from),
        Act::List => Ok(timers::list().await?.into_iter().map(|timer| json!(timer.name)).collect()),
        Act::Told => Ok(json!(told().await?)),
        Act::Flood { times } => {
            let mut set = 0;
            for number in 0..times {
                match timers::set(&format!("flood {number}"), timers::at(u64::MAX / 100_000), &()).await {
                    Ok(_) => set += 1,
                    Err(error) => return Ok(json!([set, crate::said(&error)])),
                }
            }
            Ok(json!([set, ""]))
        }
    }
}

async fn told() -> Result<Vec<(String, String, u64, String)>, Error> {
    let kept = kv::get(TOLD).await?.unwrap_or_else(|| b"[]".to_vec());
    Ok(serde_json::from_slice(&kept)?)
}

/// Notes the firing, then does what its payload says.
pub(crate) async fn on_timer(timer: Firing, cause: Cause) -> Result<Option<Again>, Error> {
    if let Ok(errand) = timer.parse::<Errand>() {
        return run_errand(&timer, errand, &cause).await;
    }
    let mut told = told().await?;
    let before = told.iter().filter(|(id, ..)| *id == timer.id).count();
    let role = format!("{:?} {}", cause.principal.role, cause.principal.user);
    told.push((timer.id.clone(), timer.name.clone(), timer.missed, role));
    kv::set(TOLD, serde_json::to_vec(&told)?).await?;
    let done = match timer.parse::<Value>()?.as_str() {
        Some("trap") => panic!("the payload says so"),
        Some("trap once") if before == 0 => panic!("the payload says so, once"),
        // A program that stays, whose number is in the plugin's own folder.
        Some("run once") if before == 0 => {
            let script = "echo $$ > pid; exec sleep 1000";
            process::run(process::Command::new("/bin/sh").argument("-c").argument(script)).await.map(drop)
        }
        Some("busy once") if before == 0 => Err(Error::Busy),
        Some("refuse") => Err(Error::invalid("the payload says so")),
        Some("again") => timers::set(&timer.name, timers::at(0), &"again").await.map(drop),
        Some("gate") => tools::call("gate", &json!({}), cause).await.map(drop),
        _ => Ok(()),
    };
    done.map(|()| None)
}
