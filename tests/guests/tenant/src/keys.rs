//! Keys and values.

use futures::future::join_all;
use homeagent_sdk::{Error, kv};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub(crate) enum Act {
    Get {
        key: String,
    },
    Set {
        key: String,
        value: String,
    },
    /// A value of so many bytes.
    Fill {
        key: String,
        bytes: usize,
    },
    Delete {
        key: String,
    },
    List {
        prefix: String,
        after: Option<String>,
    },
    /// Sets, in order, and deletes what has no value.
    Batch {
        changes: Vec<(String, Option<String>)>,
    },
    /// So many values of so many bytes, asked for at once; says what came of how many.
    Flood {
        times: usize,
        bytes: usize,
    },
}

pub(crate) async fn run(act: Act) -> Result<Value, Error> {
    match act {
        Act::Get { key } => {
            let value = kv::get(&key).await?;
            Ok(json!(value.map(|value| String::from_utf8_lossy(&value).into_owned())))
        }
        Act::Set { key, value } => kv::set(&key, value).await.map(|()| json!("kept")),
        Act::Fill { key, bytes } => kv::set(&key, vec![b'x'; bytes]).await.map(|()| json!("kept")),
        Act::Delete { key } => kv::delete(&key).await.map(Value::from),
        Act::List { prefix, after } => kv::list(&prefix, after.as_deref()).await.map(Value::from),
        Act::Batch { changes } => {
            let changes = changes.into_iter().map(|(key, value)| match value {
                Some(value) => kv::Change::set_to(key, value),
                None => kv::Change::Delete(key),
            });
            kv::batch(changes.collect()).await.map(|()| json!("kept"))
        }
        Act::Flood { times, bytes } => {
            let all =
                (0..times).map(|number| async move { kv::set(&format!("flood/{number}"), vec![b'x'; bytes]).await });
            let outcomes = join_all(all).await;
            let kept = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
            let busy = outcomes.iter().filter(|outcome| **outcome == Err(Error::Busy)).count();
            Ok(json!({ "kept": kept, "busy": busy, "other": times - kept - busy }))
        }
    }
}

/// What is answered before the instance serves.
pub(crate) async fn at_start() -> String {
    let read = kv::get("kept").await.map(|value| value.is_some());
    let written = kv::set("start", "x").await;
    format!("{read:?} {:?}", written.map_err(|error| crate::said(&error)))
}
