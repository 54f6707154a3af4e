//! What the graph costs as it grows: taking relations in batches, recalling, the index, opening, and the file's size.
//!
//! `HOMEAGENT_GRAPH_RELATIONS` says how many relations, 20,000 by default; a fifth as many entities take part, some far more
//! often than others. What is told is made from a seed, so each run tells the same.

mod clock;

use std::time::Instant;

use homeagent_memory::Audiences;
use homeagent_memory::graph::{Claim, EntityKind, Graph, Node, Question, Source};
use homeagent_memory::recall::EntitySource;
use homeagent_settings::{Bindings, Database};
use homeagent_types::{Audience, Principal, ProcessFigures, Role, Viewer};

use clock::{Begun, Took, spread};

/// Relations of a transaction, as a distiller takes them.
const BATCH: usize = 1000;

/// Questions that are timed.
const QUESTIONS: usize = 1000;

const AUDIENCES: [&str; 4] = ["person:qq:1", "group:qq:7", "person:qq:2", "group:qq:8"];

/// Numbers that look random and are the same each time: SplitMix64, by Steele, Lea and Flood, 2014.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.roll() % bound as u64) as usize
    }

    /// Small numbers far more often than great ones.
    fn skewed(&mut self, bound: usize) -> usize {
        let unit = (self.roll() >> 11) as f64 / (1_u64 << 53) as f64;
        ((unit * unit * unit) * bound as f64) as usize
    }
}

/// The name and the kind of an entity.
fn entity(at: usize) -> (String, EntityKind) {
    const FAMILY: [&str; 12] = ["王", "李", "张", "刘", "陈", "杨", "赵", "黄", "周", "吴", "徐", "孙"];
    const GIVEN: [&str; 16] =
        ["伟", "芳", "娜", "敏", "静", "丽", "强", "磊", "军", "洋", "勇", "艳", "杰", "娟", "涛", "明"];
    const ENGLISH: [&str; 8] = ["Ann", "Melanie", "Caroline", "John", "Grace", "Peter", "Laura", "Oscar"];
    let (a, b, c) = (at % 12, at / 12 % 16, at / 192 % 16);
    match at % 5 {
        0..=2 => (format!("{}{}{}{}", FAMILY[a], GIVEN[b], GIVEN[c], at / 3072), EntityKind::Person),
        3 => (format!("{} Number{}", ENGLISH[at % 8], at / 8), EntityKind::Person),
        _ => (format!("{}{}镇{}", FAMILY[a], GIVEN[b], at / 192), EntityKind::Place),
    }
}

fn told(dice: &mut Dice, entities: usize, at: usize) -> (Source, Vec<Claim>) {
    let speaker =
        Principal { namespace: "qq".into(), user: "1".into(), role: Role::Owner, display_name: None, attested: false };
    let (name, kind) = entity(dice.skewed(entities));
    let (other, other_kind) = entity(dice.below(entities));
    let subject = if dice.below(10) == 0 { Node::Speaker } else { Node::Named(name.clone(), kind) };
    let (predicate, object) = match dice.below(8) {
        0 => ("住在", Node::Named(format!("{name}的家{}", dice.below(3)), EntityKind::Place)),
        1 => ("likes", Node::Named(format!("爱好{}", dice.below(500)), EntityKind::Concept)),
        2 => ("age", Node::Literal((30 + at * 5 / BATCH / 1000).to_string())),
        3 => ("job", Node::Literal(format!("职业{}", (name.len() + dice.below(3)) % 300))),
        4 => ("owns", Node::Named(format!("thing {}", dice.below(entities)), EntityKind::Thing)),
        _ => ("认识", Node::Named(other.clone(), other_kind)),
    };
    let mut claim = Claim::new(subject, predicate, object);
    claim.sentence = Some(format!("第{at}句：{name}和{other}的事，今天说了一些。"));
    let source = Source {
        audience: Audience::parse(AUDIENCES[[0, 0, 0, 0, 0, 1, 1, 2, 3, 3][dice.below(10)]]),
        speaker: Some(speaker),
        origin: format!("journal:{at}"),
        at_ms: 1_700_000_000_000 + at as i64 * 1000,
        undoable: false,
    };
    (source, vec![claim])
}

fn question(dice: &mut Dice, entities: usize) -> String {
    let (name, _) = entity(dice.skewed(entities));
    let (other, _) = entity(dice.below(entities));
    match dice.below(5) {
        0 => format!("{name}住在哪里？"),
        1 => format!("Where does {name} live and what do they like?"),
        2 => format!("{name}认识{other}吗"),
        3 => format!("我和{other}上次说了什么"),
        _ => format!("谁喜欢爱好{}", dice.below(500)),
    }
}

fn open(home: &std::path::Path) -> (Graph, Audiences) {
    let database = Database::open(home.join("memory.db")).expect("a database");
    let bindings = Bindings::open(&database).expect("bindings");
    let audiences = Audiences::open(&database, bindings).expect("audiences");
    (Graph::open(&database, audiences.clone()).expect("a graph"), audiences)
}

fn fill(graph: &Graph, relations: usize, entities: usize) {
    let mut dice = Dice(7);
    let (mut taken, mut begun) = (0, Begun::now());
    let tenth = (relations / 10).max(BATCH);
    while taken < relations {
        let batch: Vec<_> = (taken..(taken + BATCH).min(relations)).map(|at| told(&mut dice, entities, at)).collect();
        let committed = graph.commit_all(&batch).expect("committed");
        assert!(committed.iter().all(|one| one.relations.iter().all(Result::is_ok)));
        taken += batch.len();
        if taken % tenth < BATCH {
            let Took { clock, work } = begun.took();
            let [whole, busy] = [clock, work].map(|took| tenth as f64 / took.as_secs_f64());
            println!("{taken:>9} told, {whole:>8.0} a second, {busy:>8.0} a second of work");
            begun = Begun::now();
        }
    }
}

fn timed<T>(taken: &mut Vec<Took>, work: impl FnOnce() -> T) -> T {
    let begun = Begun::now();
    let answer = work();
    taken.push(begun.took());
    answer
}

/// Recalls relations, and what recalling passages asks of the graph: whom a question names, and where they were spoken of.
fn recall(graph: &Graph, viewer: &Viewer, entities: usize) {
    let mut dice = Dice(11);
    let (mut relations, mut passages, mut found) = (Vec::new(), Vec::new(), 0);
    for _ in 0..QUESTIONS {
        let text = question(&mut dice, entities);
        let asked = Question { text: &text, alike: &[], asker: Some("qq:1"), viewer, limit: 10, unless_shown_in: None };
        found += usize::from(!timed(&mut relations, || graph.recall(&asked)).expect("recalled").is_empty());
        timed(&mut passages, || {
            let named = EntitySource::mentioned(graph, &text, viewer);
            named.into_iter().map(|(entity, _)| graph.passages_of(entity).len()).sum::<usize>()
        });
    }
    println!("relations: {}", spread(&relations));
    println!("passages: {}", spread(&passages));
    println!("{found} of {QUESTIONS} questions found something");
}

/// The index for the prompt: the first time, and when little was told since; which names may be seen; a cleaning.
fn upkeep(graph: &Graph, viewer: &Viewer, relations: usize, entities: usize) {
    let begun = Instant::now();
    let summary = graph.index_summary(viewer).expect("read");
    let first = begun.elapsed();
    graph.commit_all(&[told(&mut Dice(13), entities, relations)]).expect("committed");
    let begun = Instant::now();
    graph.index_summary(viewer).expect("read");
    println!("index: {first:.1?}, after a commit {:.1?}; {} relations seen", begun.elapsed(), summary.relations);
    let mut looks = Vec::new();
    for _ in 0..3 {
        let begun = Instant::now();
        let _ = graph.visible_names(viewer).expect("read");
        looks.push(begun.elapsed());
    }
    println!("which names may be seen: {looks:.1?}");
    let begun = Instant::now();
    graph.clean().expect("cleaned");
    println!("a cleaning: {:.1?}", begun.elapsed());
}

fn resident(when: &str) {
    let Some(bytes) = ProcessFigures::read().resident_bytes else { return };
    println!("memory {when}: {:.1} MB", bytes as f64 / 1e6);
}

fn main() {
    let relations =
        std::env::var("HOMEAGENT_GRAPH_RELATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000);
    let entities = relations / 5;
    let home = tempfile::tempdir().expect("a folder");
    let (graph, audiences) = open(home.path());
    resident("before");
    fill(&graph, relations, entities);
    resident("after telling");
    drop(graph);
    let begun = Instant::now();
    let (graph, _) = open(home.path());
    println!("opened in {:.1?}", begun.elapsed());
    let viewer = audiences.viewer(&Audience::parse(AUDIENCES[0]));
    recall(&graph, &viewer, entities);
    upkeep(&graph, &viewer, relations, entities);
    resident("at the end");
    let size = std::fs::metadata(home.path().join("memory.db")).map_or(0, |file| file.len());
    println!("file: {:.1} MB, {:.0} bytes a relation", size as f64 / 1e6, size as f64 / relations as f64);
}
