//! Mending what is known.

use homeagent_types::{CallError, ToolOutput};
use serde_json::{Value, json};

use super::arguments::{is_set, needed, number, text};
use super::telling::{object, weaken};
use super::{Asked, Inner};
use crate::graph::{Changed, Claim, Node, Question};

/// Relations that are listed before they are deleted.
const LISTED: usize = 30;

/// What follows for what can't be undone.
const DELETES_NOTHING: &str = "nothing is deleted for it; it can be asked for where nobody else's words stand";

/// Refuses what lasts where others may have written what the call is made for; `so` says what follows.
fn only_own_words(asked: &Asked<'_>, so: &str) -> Result<(), CallError> {
    if asked.cause.is_foreign() {
        return Err(CallError::Conflict(format!("others may have written what stands in this conversation, so {so}")));
    }
    Ok(())
}

impl Inner {
    pub(super) fn merge(&self, arguments: &Value, asked: &Asked<'_>) -> Result<ToolOutput, CallError> {
        let from = self.entity(needed(arguments, "from")?, asked)?;
        let into = self.entity(needed(arguments, "into")?, asked)?;
        let merged = self.graph.merge(from, into, asked.author())?;
        self.changed(&merged, json!({ "merged": format!("#{from} into #{into}") }), asked)
    }

    pub(super) fn purge(&self, arguments: &Value, asked: &Asked<'_>) -> Result<ToolOutput, CallError> {
        let listed = arguments.get("relations").and_then(Value::as_array);
        if let Some(relations) = listed {
            only_own_words(asked, DELETES_NOTHING)?;
            let ids: Vec<i64> = relations.iter().filter_map(Value::as_i64).collect();
            let deleted = self.graph.delete_relations(&ids, asked.author())?;
            return Ok(ToolOutput::json(&json!({ "deleted": deleted })));
        }
        let matching = text(arguments, "matching")
            .ok_or_else(|| CallError::Invalid("give \"relations\", or \"matching\" to list them".into()))?;
        let question = Question {
            text: matching,
            alike: &[],
            asker: Some(&asked.account),
            viewer: &asked.viewer,
            limit: LISTED,
            unless_shown_in: None,
        };
        let found = self.graph.recall(&question)?;
        let listed: Vec<Value> =
            found.iter().map(|found| json!({ "relation": found.relation.id, "text": found.relation.text })).collect();
        Ok(ToolOutput::json(&json!({ "deleted": 0, "would_go": listed })))
    }

    pub(super) fn edit(&self, arguments: &Value, asked: &Asked<'_>) -> Result<ToolOutput, CallError> {
        if let Some(change) = number(arguments, "undo") {
            self.graph.undo(change, asked.author())?;
            return Ok(ToolOutput::json(&json!({ "undone": change })));
        }
        if let Some(relation) = number(arguments, "relation") {
            return self.edit_relation(relation, arguments, asked);
        }
        let Some(entity) = text(arguments, "entity") else {
            let text = "say what to change: \"undo\", \"relation\" with \"retract\" or \"object\", or \"entity\" with \
                \"alias\" or \"name\"";
            return Err(CallError::Invalid(text.into()));
        };
        let id = self.entity(entity, asked)?;
        let changed = match (text(arguments, "alias"), text(arguments, "name")) {
            (Some(alias), _) => self.graph.add_name(id, alias, asked.author())?,
            (None, Some(name)) => self.graph.prefer(id, name, asked.author())?,
            (None, None) => return Err(CallError::Invalid("give the \"alias\" or the \"name\"".into())),
        };
        self.changed(&changed, json!({ "entity": self.graph.entity(id, &asked.viewer)? }), asked)
    }

    fn edit_relation(&self, id: i64, arguments: &Value, asked: &Asked<'_>) -> Result<ToolOutput, CallError> {
        let relation = self.graph.relation(id, &asked.viewer)?;
        if is_set(arguments, "retract") {
            let changed = self.graph.retract(id, asked.author())?;
            return self.changed(&changed, json!({ "taken_back": relation.text }), asked);
        }
        let predicate = text(arguments, "predicate").unwrap_or(&relation.predicate);
        let object = match (text(arguments, "object"), relation.object_entity) {
            (Some(_), _) => object(arguments)?,
            (None, Some(object)) => Node::Entity(object),
            (None, None) => Node::Literal(relation.object.clone()),
        };
        if text(arguments, "object").is_none() && text(arguments, "predicate").is_none() {
            return Err(CallError::Invalid("give \"retract\", or what is to be said instead: \"object\"".into()));
        }
        let mut claim = Claim {
            kinds: relation.kinds.clone(),
            valid_from: relation.valid_from,
            ..Claim::new(Node::Entity(relation.subject.0), predicate, object)
        };
        weaken(&mut claim, asked);
        let (made, changed) = self.graph.replace(id, &claim, &asked.source(), asked.author())?;
        let text = self.graph.relation(made, &asked.viewer)?.text;
        self.changed(&changed, json!({ "relation": made, "text": text, "was": relation.text }), asked)
    }

    pub(super) fn delete_entity(&self, arguments: &Value, asked: &Asked<'_>) -> Result<ToolOutput, CallError> {
        only_own_words(asked, DELETES_NOTHING)?;
        let entity = self.entity(needed(arguments, "entity")?, asked)?;
        let deleted = self.graph.delete_entity(entity, asked.author())?;
        Ok(ToolOutput::json(&json!({ "deleted": deleted })))
    }

    fn changed(&self, changed: &Changed, mut answer: Value, asked: &Asked<'_>) -> Result<ToolOutput, CallError> {
        answer["undo"] = json!(changed.change);
        if !changed.closed.is_empty() {
            answer["no_longer"] = self.no_longer(&changed.closed, asked)?;
        }
        Ok(ToolOutput::json(&answer))
    }

    pub(super) fn curated_add(&self, arguments: &Value, asked: &Asked<'_>) -> Result<ToolOutput, CallError> {
        only_own_words(asked, "nothing is kept in the list from it; the owner can write it into memory.md")?;
        self.curated.add(&asked.cause.audience, needed(arguments, "line")?)?;
        Ok(ToolOutput::text("Kept; you will see it from the next turn on."))
    }

    pub(super) fn curated_remove(&self, arguments: &Value, asked: &Asked<'_>) -> Result<ToolOutput, CallError> {
        only_own_words(asked, "nothing is removed from the list for it; the owner can take it out of memory.md")?;
        self.curated.remove(&asked.viewer, needed(arguments, "line")?)?;
        Ok(ToolOutput::text("Removed."))
    }
}
