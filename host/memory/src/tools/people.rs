//! Asking and telling of people.

use homeagent_types::{CallError, ToolOutput};
use serde_json::{Value, json};

use super::arguments::{needed, text};
use super::reading::{is_foreign, marked, short};
use super::{Asked, Inner};
use crate::graph::{Claim, Node};
use crate::social::{SOCIAL, TRAIT};

/// People that are listed.
const PEOPLE: u32 = 50;

impl Inner {
    pub(super) fn person_query(&self, arguments: &Value, asked: &Asked<'_>) -> Result<ToolOutput, CallError> {
        let Some(name) = text(arguments, "person") else {
            let people = self.social.people(PEOPLE, &asked.viewer)?;
            return Ok(marked(&json!({ "people": people }), true));
        };
        let person = self.social.person(self.entity(name, asked)?, &asked.viewer)?;
        let is_foreign = person.people.iter().chain(&person.facts).any(is_foreign);
        let traits: Vec<Value> = person
            .traits
            .iter()
            .map(|one| json!({ "key": one.key, "value": one.value, "relation": one.relation }))
            .collect();
        let answer = json!({
            "person": person.entity,
            "traits": traits,
            "people": person.people.iter().map(short).collect::<Vec<_>>(),
            "facts": person.facts.iter().map(short).collect::<Vec<_>>(),
        });
        Ok(marked(&answer, is_foreign))
    }

    pub(super) fn person_set_trait(&self, arguments: &Value, asked: &Asked<'_>) -> Result<ToolOutput, CallError> {
        let person = self.person_node(needed(arguments, "person")?, asked)?;
        let value = Node::Literal(needed(arguments, "value")?.to_owned());
        self.tell(Claim::new(person, needed(arguments, "key")?, value), TRAIT, asked)
    }

    pub(super) fn person_relate(&self, arguments: &Value, asked: &Asked<'_>) -> Result<ToolOutput, CallError> {
        let person = self.person_node(needed(arguments, "person")?, asked)?;
        let other = self.person_node(needed(arguments, "other")?, asked)?;
        self.tell(Claim::new(person, needed(arguments, "relation")?, other), SOCIAL, asked)
    }

    fn tell(&self, mut claim: Claim, label: &str, asked: &Asked<'_>) -> Result<ToolOutput, CallError> {
        claim.kinds.push(label.to_owned());
        super::telling::weaken(&mut claim, asked);
        let told = self.graph.commit(&asked.source(), &[claim])?;
        if let Some(Err(refusal)) = told.relations.first() {
            return Err(CallError::Invalid(refusal.to_string()));
        }
        Ok(ToolOutput::json(&self.told(&told, asked)?))
    }
}
