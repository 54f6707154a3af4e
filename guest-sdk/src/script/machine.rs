//! What a script keeps and touches on the machine. Bytes are texts to it.

use serde::Deserialize;
use serde_json::{Value, json};

use super::incoming::read;
use crate::process::{self, Command, Ending};
use crate::{Error, files, kv};

/// A key, perhaps with a value; a beginning of keys, and the one behind which to go on.
#[derive(Deserialize)]
struct Key {
    #[serde(default)]
    key: String,
    #[serde(default)]
    value: String,
    #[serde(default)]
    prefix: String,
    after: Option<String>,
}

/// A file, and what is to be done with it.
#[derive(Deserialize)]
struct File {
    folder: String,
    #[serde(default)]
    path: String,
    #[serde(default)]
    content: String,
    #[serde(default)]
    to: String,
    #[serde(default)]
    offset: u64,
    length: Option<u64>,
    after: Option<String>,
}

/// A program.
#[derive(Deserialize)]
struct Run {
    program: String,
    #[serde(default, deserialize_with = "super::incoming::list")]
    arguments: Vec<String>,
    folder: Option<String>,
    #[serde(default)]
    input: String,
    timeout_ms: Option<u64>,
}

/// Does what the host's functions of this name do; nothing where there is none.
pub(super) async fn wait(function: &str, argument: Value) -> Option<Result<Value, Error>> {
    Some(match function {
        "kv-get" | "kv-set" | "kv-delete" | "kv-list" => keys(function, argument).await,
        "timers-set" | "timers-cancel" | "timers-list" => super::errands::own_timers(function, argument).await,
        "run" => run(argument).await,
        _ => match function.strip_prefix("files-") {
            Some(what) => own_files(what, argument).await?,
            None => return None,
        },
    })
}

async fn keys(function: &str, argument: Value) -> Result<Value, Error> {
    let Key { key, value, prefix, after } = read(function, argument)?;
    match function {
        "kv-get" => kv::get(&key).await?.map_or(Ok(Value::Null), text),
        "kv-set" => kv::set(&key, value).await.map(|()| Value::Null),
        "kv-delete" => kv::delete(&key).await.map(Value::from),
        _ => kv::list(&prefix, after.as_deref()).await.map(Value::from),
    }
}

async fn own_files(what: &str, argument: Value) -> Option<Result<Value, Error>> {
    let File { folder, path, content, to, offset, length, after } = match read("files", argument) {
        Ok(file) => file,
        Err(error) => return Some(Err(error)),
    };
    let done = |()| Value::Null;
    Some(match what {
        "read" => files::read(&folder, &path, offset, length.unwrap_or(u64::MAX)).await.and_then(text),
        "write" => files::write(&folder, &path, content).await.map(done),
        "append" => files::append(&folder, &path, content).await.map(done),
        "list" => files::list(&folder, &path, after.as_deref()).await.map(|entries| {
            let entry = |entry: files::Entry| json!({ "name": entry.name, "kind": kind(entry.kind) });
            entries.into_iter().map(entry).collect()
        }),
        "stat" => files::stat(&folder, &path)
            .await
            .map(|about| json!({ "kind": kind(about.kind), "size": about.size, "modified": about.modified })),
        "make-folder" => files::make_folder(&folder, &path).await.map(done),
        "remove" => files::remove(&folder, &path).await.map(done),
        "rename" => files::rename(&folder, &path, &to).await.map(done),
        _ => return None,
    })
}

async fn run(argument: Value) -> Result<Value, Error> {
    let Run { program, arguments, folder, input, timeout_ms } = read("run", argument)?;
    let command = Command { arguments, folder, timeout_ms, ..Command::new(program).input(input) };
    let outcome = process::run(command).await?;
    let (ending, code) = match outcome.ending {
        Ending::Exited(code) => ("exited", Some(code)),
        Ending::Killed(signal) => ("killed", Some(signal)),
        Ending::Timeout => ("timeout", None),
        Ending::Overflow => ("overflow", None),
    };
    // What a program writes may be anything; what is no text is shown as well as it can be.
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (output, errors) = (shown(&outcome.output), shown(&outcome.errors));
    Ok(json!({ "ending": ending, "code": code, "output": output, "errors": errors }))
}

fn text(content: Vec<u8>) -> Result<Value, Error> {
    let text = String::from_utf8(content);
    text.map(Value::from).map_err(|_| Error::invalid("what is there is no text; scripts read UTF-8 alone"))
}

fn kind(kind: files::Kind) -> &'static str {
    match kind {
        files::Kind::File => "file",
        files::Kind::Folder => "folder",
        files::Kind::Link => "link",
        files::Kind::Other => "other",
    }
}
