//! What a script asks of the agent's memory.

use serde::Deserialize;
use serde_json::{Value, json};

use super::host_functions::lent;
use super::incoming::read;
use crate::{Cause, Error, knowledge, memory, social};

/// Hits of a question where the script does not say how many it wants.
const USUAL: u32 = 10;

#[derive(Deserialize)]
struct Question {
    #[serde(default)]
    text: String,
    limit: Option<u32>,
    base: Option<String>,
    #[serde(default)]
    cause: Value,
}

/// The names of the functions.
pub(super) const FUNCTIONS: [&str; 6] =
    ["memory-recall", "memory-note", "knowledge-search", "knowledge-list", "knowledge-append", "people"];

/// Does what the function of this name does.
pub(super) async fn ask(function: &str, argument: Value) -> Result<Value, Error> {
    let Question { text, limit, base, cause } = read(function, argument)?;
    let cause = if cause.is_null() { None } else { Some(lent(&cause)?) };
    let (cause, limit) = (cause.as_ref(), limit.unwrap_or(USUAL));
    match function {
        "memory-recall" => Ok(memory::recall(&text, limit, cause).await?.iter().map(hit).collect()),
        "memory-note" => memory::note(&text, cause).await.map(Value::from),
        "knowledge-search" => search(&text, base.as_deref(), limit, cause).await,
        "knowledge-list" => {
            let one = |base: &knowledge::Base| json!({ "name": base.name, "size": base.size });
            Ok(knowledge::list(cause).await?.iter().map(one).collect())
        }
        "knowledge-append" => {
            let base = base.ok_or_else(|| Error::invalid("the base to add to is missing"))?;
            knowledge::append(&base, &text).await.map(|()| Value::Null)
        }
        _ => Ok(social::people(&text, cause).await?.iter().map(person).collect()),
    }
}

async fn search(text: &str, base: Option<&str>, limit: u32, cause: Option<&Cause>) -> Result<Value, Error> {
    let one = |passage: &knowledge::Passage| {
        json!({
            "base": passage.base, "headings": passage.headings, "text": passage.text, "line": passage.line,
            "score": passage.score,
        })
    };
    Ok(knowledge::search(text, base, limit, cause).await?.iter().map(one).collect())
}

fn hit(hit: &memory::Hit) -> Value {
    json!({
        "id": hit.id, "kind": hit.kind, "text": hit.text, "speaker": hit.speaker, "conversation": hit.conversation,
        "at": hit.at, "score": hit.score,
    })
}

fn person(person: &social::Person) -> Value {
    let said = |said: &[social::TraitOf]| -> Value {
        said.iter().map(|one| json!({ "name": one.name, "value": one.value })).collect()
    };
    json!({
        "name": person.name, "aliases": person.aliases, "accounts": person.accounts, "traits": said(&person.traits),
        "relations": said(&person.relations),
    })
}
