//! People: who they are, what they are like and what they are to each other. A view of the graph, in which a person is an
//! entity, a trait a relation to a value that is labelled so, and everything has its audience.

use homeagent_types::Viewer;
use serde::Serialize;

use crate::graph::{Entity, EntityKind, Graph, GraphError, Relation};

/// The label of a trait: of each a person has one value.
pub const TRAIT: &str = "trait";

/// The label of what people are to each other.
pub const SOCIAL: &str = "social";

/// Relations that are read of a person.
const RELATIONS: u32 = 200;

/// A person, as far as a reader may know him.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Person {
    /// Names, accounts, and how often he was spoken of.
    #[serde(flatten)]
    pub entity: Entity,
    /// What he is like: key, value, and the relation's id.
    pub traits: Vec<Trait>,
    /// What is said of him and other people, as it holds now.
    pub people: Vec<Relation>,
    /// What else is said of him and holds now.
    pub facts: Vec<Relation>,
}

/// Something that a person is like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trait {
    /// What it is about.
    pub key: String,
    /// What he is like in it.
    pub value: String,
    /// The relation that says so.
    pub relation: i64,
    /// When that was said last, in milliseconds since 1970 UTC.
    pub at: i64,
}

/// The people of the graph. Clones share it.
#[derive(Clone)]
pub struct Social {
    graph: Graph,
}

impl Social {
    /// Over a graph.
    #[must_use]
    pub fn new(graph: Graph) -> Self {
        Self { graph }
    }

    /// The people a viewer may know of, the most spoken of first.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn people(&self, limit: u32, viewer: &Viewer) -> Result<Vec<Entity>, GraphError> {
        self.graph.of_kind(EntityKind::Person, limit, viewer)
    }

    /// A person.
    ///
    /// # Errors
    ///
    /// [`GraphError::NoEntity`] when there is none of this id, or the viewer may see nothing of it.
    pub fn person(&self, id: i64, viewer: &Viewer) -> Result<Person, GraphError> {
        let entity = self.graph.entity(id, viewer)?;
        let mut person = Person { entity, traits: Vec::new(), people: Vec::new(), facts: Vec::new() };
        for relation in self.graph.relations_of(id, RELATIONS, viewer)? {
            if !relation.is_current() {
                continue;
            }
            let has = |label: &str| relation.kinds.iter().any(|kind| kind == label);
            let is_of_him = relation.subject.0 == person.entity.id;
            if has(TRAIT) && is_of_him {
                let (key, value) = (relation.predicate, relation.object);
                person.traits.push(Trait { key, value, relation: relation.id, at: relation.last_at });
            } else if has(SOCIAL) || self.is_between_people(&relation, viewer)? {
                person.people.push(relation);
            } else {
                person.facts.push(relation);
            }
        }
        Ok(person)
    }

    fn is_between_people(&self, relation: &Relation, viewer: &Viewer) -> Result<bool, GraphError> {
        let Some(object) = relation.object_entity else { return Ok(false) };
        for end in [relation.subject.0, object] {
            match self.graph.entity(end, viewer) {
                Ok(entity) if entity.kind == EntityKind::Person => {}
                Ok(_) | Err(GraphError::NoEntity(_)) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}
