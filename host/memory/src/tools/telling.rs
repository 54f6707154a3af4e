//! Telling the graph something.

use homeagent_types::{CallError, ToolOutput};
use serde_json::{Value, json};

use super::arguments::{day, is_set, kind, needed, node, text};
use super::{Asked, Inner};
use crate::graph::{Claim, Closing, Committed, FOREIGN_LABEL, Holding, Node};

/// How sure that is which others may have written: too little to take the place of anything.
const FOREIGN: f32 = 0.45;

impl Inner {
    pub(super) fn commit(&self, arguments: &Value, asked: &Asked<'_>) -> Result<ToolOutput, CallError> {
        let facts = arguments.get("facts").and_then(Value::as_array).cloned().unwrap_or_default();
        if facts.is_empty() {
            return Err(CallError::Invalid("\"facts\" is missing or empty".into()));
        }
        let claims: Vec<Claim> = facts.iter().map(|fact| claim(fact, asked)).collect::<Result<_, _>>()?;
        let told = self.graph.commit(&asked.source(), &claims)?;
        Ok(ToolOutput::json(&self.told(&told, asked)?))
    }

    /// What came of telling: for each claim the relation, or why it was refused, and what no longer holds.
    pub(super) fn told(&self, told: &Committed, asked: &Asked<'_>) -> Result<Value, CallError> {
        let mut facts = Vec::new();
        for relation in &told.relations {
            facts.push(match relation {
                Ok(id) => json!({ "relation": id, "text": self.graph.relation(*id, &asked.viewer)?.text }),
                Err(refusal) => json!({ "refused": refusal.to_string() }),
            });
        }
        let mut answer = json!({ "facts": facts });
        if let Some(change) = told.change {
            answer["undo"] = json!(change);
        }
        if !told.closed.is_empty() {
            answer["no_longer"] = self.no_longer(&told.closed, asked)?;
        }
        Ok(answer)
    }

    /// What was closed, with the number by which that is undone.
    pub(super) fn no_longer(&self, closed: &[Closing], asked: &Asked<'_>) -> Result<Value, CallError> {
        let mut listed = Vec::new();
        for closing in closed {
            let relation = self.graph.relation(closing.relation, &asked.viewer)?;
            listed.push(json!({ "relation": relation.id, "text": relation.text, "undo": closing.change }));
        }
        Ok(Value::Array(listed))
    }
}

/// The object of what is told.
pub(super) fn object(arguments: &Value) -> Result<Node, CallError> {
    let given = needed(arguments, "object")?;
    if is_set(arguments, "is_value") {
        return Ok(Node::Literal(given.to_owned()));
    }
    Ok(node(given, kind(arguments, "object_kind")))
}

fn claim(fact: &Value, asked: &Asked<'_>) -> Result<Claim, CallError> {
    let subject = node(needed(fact, "subject")?, kind(fact, "subject_kind"));
    let holding = match text(fact, "holds") {
        Some("no-longer") => Holding::Ended,
        Some("not") => Holding::Denied,
        _ => Holding::Now,
    };
    let mut claim = Claim {
        holding,
        valid_from: day(fact, "since")?,
        valid_to: day(fact, "until")?,
        sentence: text(fact, "sentence").map(str::to_owned),
        ..Claim::new(subject, needed(fact, "predicate")?, object(fact)?)
    };
    weaken(&mut claim, asked);
    Ok(claim)
}

/// What others may have written in somebody's name is kept as such.
pub(super) fn weaken(claim: &mut Claim, asked: &Asked<'_>) {
    if asked.cause.is_foreign() {
        claim.confidence = claim.confidence.min(FOREIGN);
        claim.kinds.push(FOREIGN_LABEL.to_owned());
    }
}
