//! Timers, and a list of what was told of them, which is kept.

use homeagent_sdk::{Cause, Error, Firing, kv, process, timers, tools};
use serde::Deserialize;
use serde_json::{Value, json};

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

pub(crate) async fn run(act: Act) -> Result<Value, Error> {
    match act {
        Act::Set { name, at, every, payload } => {
            let schedule = match every {
                Some(every) => timers::Schedule::Every(every),
                None => timers::at(at.unwrap_or_default()),
            };
            timers::set(&name, schedule, &payload).await.map(|timer| json!(timer.name))
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
pub(crate) async fn on_timer(timer: Firing, cause: Cause) -> Result<(), Error> {
    let mut told = told().await?;
    let before = told.iter().filter(|(id, ..)| *id == timer.id).count();
    let role = format!("{:?} {}", cause.principal.role, cause.principal.user);
    told.push((timer.id.clone(), timer.name.clone(), timer.missed, role));
    kv::set(TOLD, serde_json::to_vec(&told)?).await?;
    match timer.parse::<Value>()?.as_str() {
        Some("trap") => panic!("the payload says so"),
        Some("trap once") if before == 0 => panic!("the payload says so, once"),
        // A program that stays, whose number is in the plugin's own folder.
        Some("run once") if before == 0 => {
            let script = "echo $$ > pid; exec sleep 1000";
            process::run(process::Command::new("/bin/sh").argument("-c").argument(script)).await.map(drop)
        }
        Some("again") => timers::set(&timer.name, timers::at(0), &"again").await.map(drop),
        Some("gate") => tools::call("gate", &json!({}), cause).await.map(drop),
        _ => Ok(()),
    }
}
