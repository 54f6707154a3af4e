//! What stands and what is over, as it is kept, against what it means: over random histories of telling, merging, taking
//! back, undoing and deleting.

use homeagent_settings::{Bindings, Database};
use homeagent_types::{Audience, Principal, Role, Viewer};
use proptest::prelude::*;
use rusqlite::{Row, params};

use super::commit::Told;
use super::error::Stop;
use super::resolve::{Context, End};
use super::writing::Writing;
use super::{Author, Claim, EntityKind, Graph, Holding, Node, Source};
use crate::Audiences;

const AUDIENCES: [&str; 3] = ["person:qq:1", "person:qq:2", "group:qq:7"];
const NAMES: [&str; 3] = ["小明", "王小明", "Ann"];
const PREDICATES: [&str; 3] = ["job", "age", "likes"];
const VALUES: [&str; 3] = ["a", "b", "c"];

/// The last day on which something is said.
const LAST: i64 = 9;

#[derive(Clone, Debug)]
enum Step {
    Tell { audience: usize, name: usize, predicate: usize, value: usize, day: i64, confidence: f32, holding: Holding },
    Merge(i64, i64),
    Retract(i64),
    Undo(i64),
    DeleteRelation(i64),
    DeleteEntity(i64),
    ForgetOrigin(i64),
}

fn step() -> impl Strategy<Value = Step> {
    let day = 1..=LAST;
    let holding = prop_oneof![8 => Just(Holding::Now), 1 => Just(Holding::Ended), 1 => Just(Holding::Denied)];
    let confidence = prop_oneof![Just(0.4_f32), Just(0.6), Just(0.9)];
    let tell = (0..3_usize, 0..3_usize, 0..3_usize, 0..3_usize, day.clone(), confidence, holding).prop_map(
        |(audience, name, predicate, value, day, confidence, holding)| Step::Tell {
            audience,
            name,
            predicate,
            value,
            day,
            confidence,
            holding,
        },
    );
    let row = 1..30_i64;
    prop_oneof![
        12 => tell,
        1 => (1..7_i64, 1..7_i64).prop_map(|(from, into)| Step::Merge(from, into)),
        2 => row.clone().prop_map(Step::Retract),
        3 => row.clone().prop_map(Step::Undo),
        1 => row.prop_map(Step::DeleteRelation),
        1 => (1..7_i64).prop_map(Step::DeleteEntity),
        1 => day.prop_map(Step::ForgetOrigin),
    ]
}

fn graph(home: &std::path::Path) -> Graph {
    let database = Database::open(home.join("memory.db")).expect("a database");
    let bindings = Bindings::open(&database).expect("bindings");
    let audiences = Audiences::open(&database, bindings).expect("audiences");
    for user in ["1", "2"] {
        audiences.heard(&speaker(user), &Audience::parse(AUDIENCES[2])).expect("noted");
    }
    Graph::open(&database, audiences).expect("a graph")
}

fn speaker(user: &str) -> Principal {
    Principal { namespace: "qq".into(), user: user.into(), role: Role::Owner, display_name: None, attested: false }
}

fn source(audience: &str, day: i64) -> Source {
    Source {
        audience: Audience::parse(audience),
        speaker: Some(speaker("1")),
        origin: format!("journal:{day}"),
        at_ms: day,
        undoable: true,
    }
}

/// Does a step; what can't be done is left.
fn apply(graph: &Graph, step: &Step, now: i64) {
    let author = Author { actor: "qq:1", audience: &Audience::Agent, viewer: &Viewer::Everything, at_ms: now };
    match step {
        Step::Tell { audience, name, predicate, value, day, confidence, holding } => {
            let subject = Node::Named(NAMES[*name].into(), EntityKind::Person);
            let mut claim = Claim::new(subject, PREDICATES[*predicate], Node::Literal(VALUES[*value].into()));
            (claim.confidence, claim.holding) = (*confidence, *holding);
            graph.commit(&source(AUDIENCES[*audience], *day), &[claim]).expect("committed");
        }
        Step::Merge(from, into) => drop(graph.merge(*from, *into, author)),
        Step::Retract(relation) => drop(graph.retract(*relation, author)),
        Step::Undo(change) => drop(graph.undo(*change, author)),
        Step::DeleteRelation(relation) => drop(graph.delete_relations(&[*relation], author)),
        Step::DeleteEntity(entity) => drop(graph.delete_entity(*entity, author)),
        Step::ForgetOrigin(day) => drop(graph.forget_origins(&[format!("journal:{day}")])),
    }
}

/// What is in force, by the definition: neither taken back nor ended nor closed by something that is not older and that all
/// know who know it.
fn in_force(writing: &Writing<'_>, subject: i64, key: &str) -> rusqlite::Result<Vec<i64>> {
    let sql = "SELECT id FROM relations AS told
               WHERE subject = ?1 AND predicate = ?2 AND retracted_at IS NULL AND valid_to IS NULL
               AND NOT EXISTS (
                   SELECT 1 FROM closings JOIN relations AS closer ON closer.id = by_relation
                   WHERE relation = told.id AND undone = 0 AND closer.retracted_at IS NULL
                   AND closer.audience = told.audience AND closer.last_at >= told.last_at)";
    let mut statement = writing.connection.prepare_cached(sql)?;
    let mut all = Vec::new();
    for subject in writing.merged.cluster(subject) {
        for id in statement.query_map(params![subject, key], |row| row.get(0))? {
            all.push(id?);
        }
    }
    Ok(all)
}

/// To which row a claim is another mention, by the definition: the newest that stands or did when it was said. `Err` where one
/// was taken back since.
fn standing(
    writing: &Writing<'_>,
    context: &Context<'_>,
    told: &Told<'_>,
) -> rusqlite::Result<Result<Option<i64>, ()>> {
    let sql = format!(
        "SELECT id, retracted_at, valid_to IS NOT NULL, last_at, (SELECT max(closer.last_at) FROM {})
         FROM relations WHERE subject = ?1 AND predicate = ?2 AND object_key = ?3 AND audience = ?4 ORDER BY id DESC",
        context.seen.closer("relations")
    );
    let read = |row: &Row<'_>| {
        let (id, retracted, ended) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (last_at, closed) = (row.get(3)?, row.get(4)?);
        Ok((id, retracted, ended, last_at, closed))
    };
    let mut statement = writing.connection.prepare_cached(&sql)?;
    let row = params![told.subject, told.key, told.object_key, context.audience];
    type Stretch = (i64, Option<i64>, bool, i64, Option<i64>);
    let rows: Vec<Stretch> = statement.query_map(row, read)?.collect::<Result<_, _>>()?;
    let at = context.source.at_ms;
    for (id, retracted, ended, last_at, closed) in rows {
        let joins = match (retracted, told.valid_to.is_some(), ended) {
            (Some(retracted), ..) if at <= retracted => return Ok(Err(())),
            (Some(_), ..) => false,
            (None, true, ended) => ended,
            (None, false, true) => at <= last_at,
            (None, false, false) => closed.is_none_or(|closed| at <= closed),
        };
        if joins {
            return Ok(Ok(Some(id)));
        }
    }
    Ok(Ok(None))
}

fn check(graph: &Graph, writing: &mut Writing<'_>) -> Result<(), Stop> {
    let subjects: Vec<i64> = writing
        .connection
        .prepare("SELECT DISTINCT subject FROM relations")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for subject in &subjects {
        for key in PREDICATES {
            let mut kept: Vec<i64> = writing.in_force(*subject, key)?.into_iter().map(|other| other.id).collect();
            let mut meant = in_force(writing, *subject, key)?;
            kept.sort_unstable();
            meant.sort_unstable();
            assert_eq!(kept, meant, "{key} of {subject}");
        }
    }
    for audience in AUDIENCES {
        for day in (1..=LAST).step_by(2) {
            let source = source(audience, day);
            let context = Context::new(writing, graph, &source)?;
            for subject in &subjects {
                for (key, value) in PREDICATES.iter().flat_map(|key| VALUES.iter().map(move |value| (key, value))) {
                    let literal = Node::Literal((*value).to_owned());
                    for holding in [Holding::Now, Holding::Ended] {
                        let claim = Claim { holding, ..Claim::new(Node::Entity(*subject), *key, literal.clone()) };
                        let object = End::Literal((*value).to_owned());
                        let told = Told::new(&context, &claim, (*key).to_owned(), *subject, &object);
                        let kept = writing.standing(&context, &told).map_err(drop);
                        let meant = standing(writing, &context, &told)?;
                        assert_eq!(kept, meant, "{holding:?} {key} {value} of {subject} on {day} before {audience}");
                    }
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn what_stands_is_found_as_if_all_that_was_ever_said_were_looked_at(
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let home = tempfile::tempdir().expect("a folder");
        let graph = graph(home.path());
        for (at, step) in steps.iter().enumerate() {
            apply(&graph, step, LAST / 2 + at as i64 % 8);
            if at % 3 > 0 && at + 1 < steps.len() {
                continue;
            }
            graph.write("checking", |writing| check(&graph, writing)).expect("read");
        }
    }
}
