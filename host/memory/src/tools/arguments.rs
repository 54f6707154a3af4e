//! Arguments, read.

use homeagent_types::{CallError, Viewer};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::{Asked, Inner};
use crate::graph::{EntityKind, GraphError, Node};

pub(super) fn text<'a>(arguments: &'a Value, name: &str) -> Option<&'a str> {
    arguments.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
}

pub(super) fn needed<'a>(arguments: &'a Value, name: &str) -> Result<&'a str, CallError> {
    text(arguments, name).ok_or_else(|| CallError::Invalid(format!("\"{name}\" is missing or empty")))
}

pub(super) fn number(arguments: &Value, name: &str) -> Option<i64> {
    arguments.get(name).and_then(Value::as_i64)
}

pub(super) fn is_set(arguments: &Value, name: &str) -> bool {
    arguments.get(name).and_then(Value::as_bool).unwrap_or(false)
}

pub(super) fn kind(arguments: &Value, name: &str) -> EntityKind {
    text(arguments, name).map_or(EntityKind::Thing, EntityKind::parse)
}

/// A day, a month or a year, as milliseconds since 1970 UTC at its beginning.
pub(super) fn day(arguments: &Value, name: &str) -> Result<Option<i64>, CallError> {
    let Some(given) = text(arguments, name) else { return Ok(None) };
    let whole = match given.split('-').count() {
        1 => format!("{given}-01-01"),
        2 => format!("{given}-01"),
        _ => given.to_owned(),
    };
    let date = whole.parse::<Date>().and_then(|date| date.to_zoned(TimeZone::UTC));
    let date = date.map_err(|_| CallError::Invalid(format!("\"{name}\" is no date: \"{given}\"; write 2024-05-01")))?;
    Ok(Some(date.timestamp().as_millisecond()))
}

/// Whether whoever speaks is meant.
fn is_speaker(name: &str) -> bool {
    matches!(name, "I" | "i" | "me" | "我" | "本人" | "myself" | "我自己")
}

fn id(name: &str) -> Option<i64> {
    name.strip_prefix('#').and_then(|digits| digits.parse().ok())
}

/// An end of what is told.
pub(super) fn node(name: &str, kind: EntityKind) -> Node {
    match (is_speaker(name), id(name)) {
        (true, _) => Node::Speaker,
        (false, Some(id)) => Node::Entity(id),
        (false, None) => Node::Named(name.to_owned(), kind),
    }
}

impl Inner {
    /// The entity that a name or a number means; an error that lists them where it means several.
    pub(super) fn entity(&self, name: &str, asked: &Asked<'_>) -> Result<i64, CallError> {
        let viewer = &asked.viewer;
        if let Some(id) = id(name) {
            return Ok(self.graph.entity(id, viewer)?.id);
        }
        if is_speaker(name) {
            let own = self.graph.of_account(&asked.account, viewer)?;
            return Ok(own.ok_or_else(|| GraphError::NoEntity(format!("\"{name}\"")))?.id);
        }
        let found = self.graph.named(name, viewer)?;
        match found.as_slice() {
            [] => Err(GraphError::NoEntity(format!("\"{name}\"")).into()),
            [one] => Ok(one.id),
            several => {
                let told: Vec<String> = several.iter().map(|entity| self.told_apart(entity, viewer)).collect();
                Err(GraphError::Ambiguous { name: name.to_owned(), candidates: told.join("; ") }.into())
            }
        }
    }

    fn told_apart(&self, entity: &crate::graph::Entity, viewer: &Viewer) -> String {
        let relations = self.graph.relations_of(entity.id, 2, viewer).unwrap_or_default();
        let known: Vec<String> = relations.into_iter().map(|relation| relation.text).collect();
        format!("#{} ({}, {})", entity.id, entity.kind.as_str(), known.join(", "))
    }

    /// A person as something is told of him: whoever speaks, one that is known, or one of this name.
    pub(super) fn person_node(&self, name: &str, asked: &Asked<'_>) -> Result<Node, CallError> {
        if is_speaker(name) || id(name).is_some() {
            return Ok(node(name, EntityKind::Person));
        }
        match self.entity(name, asked) {
            Ok(id) => Ok(Node::Entity(id)),
            Err(CallError::NotFound(_)) => Ok(Node::Named(name.to_owned(), EntityKind::Person)),
            Err(error) => Err(error),
        }
    }
}
