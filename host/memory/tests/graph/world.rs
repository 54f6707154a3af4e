//! A home with a graph, and short ways to tell it things.

use homeagent_memory::Audiences;
use homeagent_memory::graph::{Author, Claim, Committed, EntityKind, Graph, Node, Relation, Source};
use homeagent_settings::{Bindings, Database};
use homeagent_types::{Audience, Principal, Role, Viewer};

/// A day, in milliseconds.
pub(crate) const DAY: i64 = 86_400_000;

/// Private talk with 小李, whose account is `qq:1`.
pub(crate) const LI: &str = "person:qq:1";

/// Private talk with 小王, whose account is `qq:2`.
pub(crate) const WANG: &str = "person:qq:2";

/// A group in which both are.
pub(crate) const GROUP: &str = "group:qq:7";

pub(crate) struct World {
    pub(crate) home: tempfile::TempDir,
    pub(crate) graph: Graph,
    pub(crate) audiences: Audiences,
}

impl World {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let database = Database::open(home.path().join("memory.db")).expect("a new database");
        let bindings = Bindings::open(&database).expect("new bindings");
        let audiences = Audiences::open(&database, bindings).expect("new audiences");
        for user in ["1", "2"] {
            audiences.heard(&somebody(user, Role::Member), &Audience::parse(GROUP)).expect("noted");
        }
        let graph = Graph::open(&database, audiences.clone()).expect("a new graph");
        Self { home, graph, audiences }
    }

    /// What readers of an audience see.
    pub(crate) fn viewer(&self, audience: &str) -> Viewer {
        self.audiences.viewer(&Audience::parse(audience))
    }

    /// Tells one claim on a day, as a member says it whose account is `qq:<user>`.
    pub(crate) fn tell(&self, user: &str, audience: &str, day: i64, claim: Claim) -> Committed {
        self.graph.commit(&source(user, Role::Member, audience, day), &[claim]).expect("committed")
    }

    /// The id of the only entity of this name.
    pub(crate) fn id(&self, name: &str, viewer: &Viewer) -> i64 {
        let found = self.graph.named(name, viewer).expect("found");
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        found[0].id
    }

    /// What is known of the entity of this name and holds, as short sentences, sorted.
    pub(crate) fn known(&self, name: &str, viewer: &Viewer) -> Vec<String> {
        let mut known: Vec<String> = self
            .graph
            .named(name, viewer)
            .expect("found")
            .iter()
            .flat_map(|entity| self.graph.relations_of(entity.id, 1000, viewer).expect("read"))
            .filter(Relation::is_current)
            .map(|relation| relation.text)
            .collect();
        known.sort();
        known.dedup();
        known
    }
}

pub(crate) fn somebody(user: &str, role: Role) -> Principal {
    Principal { namespace: "qq".into(), user: user.into(), role, display_name: None, attested: false }
}

pub(crate) fn source(user: &str, role: Role, audience: &str, day: i64) -> Source {
    Source {
        audience: Audience::parse(audience),
        speaker: Some(somebody(user, role)),
        origin: format!("journal:{day}"),
        at_ms: day * DAY,
        undoable: false,
    }
}

pub(crate) fn person(name: &str) -> Node {
    Node::Named(name.into(), EntityKind::Person)
}

pub(crate) fn value(text: &str) -> Node {
    Node::Literal(text.into())
}

pub(crate) fn claim(subject: Node, predicate: &str, object: Node) -> Claim {
    Claim::new(subject, predicate, object)
}

pub(crate) fn author<'a>(audience: &'a Audience, viewer: &'a Viewer, day: i64) -> Author<'a> {
    Author { actor: "qq:1", audience, viewer, at_ms: day * DAY }
}
