//! Programs.

use futures::future::join_all;
use homeagent_sdk::Error;
use homeagent_sdk::process::{self, Command, Ending, Outcome};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Clone, Deserialize)]
pub(crate) struct Act {
    program: String,
    #[serde(default)]
    arguments: Vec<String>,
    folder: Option<String>,
    #[serde(default)]
    input: String,
    timeout_ms: Option<u64>,
    /// So often at once; says what came of each.
    times: Option<usize>,
}

pub(crate) async fn run(act: Act) -> Result<Value, Error> {
    let Some(times) = act.times else { return once(&act).await };
    let all = join_all((0..times).map(|_| once(&act))).await;
    Ok(all.into_iter().map(|one| one.unwrap_or_else(|error| json!(crate::said(&error)))).collect())
}

async fn once(act: &Act) -> Result<Value, Error> {
    let command = Command {
        arguments: act.arguments.clone(),
        folder: act.folder.clone(),
        timeout_ms: act.timeout_ms,
        ..Command::new(&act.program).input(act.input.clone())
    };
    let Outcome { ending, output, errors, .. } = process::run(command).await?;
    let ending = match ending {
        Ending::Exited(code) => format!("exited {code}"),
        Ending::Killed(signal) => format!("killed {signal}"),
        Ending::Timeout => "timeout".to_owned(),
        Ending::Overflow => "overflow".to_owned(),
    };
    let text = |bytes: &[u8]| match bytes.len() {
        0..10_000 => String::from_utf8_lossy(bytes).into_owned(),
        length => format!("{length} bytes"),
    };
    Ok(json!([ending, text(&output), text(&errors)]))
}
