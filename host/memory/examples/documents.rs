//! Measures the documents of a large home: `cargo run --release -p homeagent-memory --example documents -- [COUNT]`.
//!
//! Makes a home of so many documents (100,000 if it is not said), each of two exchanges, from a fixed seed; then says how
//! long it takes to take them up from their files, to open them at a start, to find among them, to keep and to bring back.

use std::path::Path;
use std::time::{Duration, Instant};

use homeagent_memory::context::Entry;
use homeagent_memory::documents::{Consumed, Document, Documents};
use homeagent_memory::vectors::Vectors;
use homeagent_settings::Database;
use homeagent_types::model::Message;
use homeagent_types::{Audience, ProcessFigures, Viewer};

const WORDS: &[&str] = &[
    "猫粮",
    "厨房",
    "水管工",
    "房租",
    "体检",
    "生日",
    "钥匙",
    "快递",
    "作业",
    "地铁",
    "菜谱",
    "阳台",
    "医生",
    "预算",
    "会议",
    "garden",
    "dentist",
    "passport",
    "invoice",
    "recipe",
    "router",
    "kitten",
    "holiday",
    "insurance",
    "battery",
    "piano",
];

/// How many times each thing is measured.
const ROUNDS: usize = 200;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count: u64 = std::env::args().nth(1).map_or(Ok(100_000), |count| count.parse())?;
    let home = tempfile::tempdir()?;
    make(home.path(), count)?;
    let documents = open(home.path())?;
    let begun = Instant::now();
    let looked = documents.look_through()?;
    println!("taken up from files: {} in {:.1?}", looked.taken_up, begun.elapsed());
    drop(documents);
    let begun = Instant::now();
    let documents = open(home.path())?;
    println!("opened: {:.1?}", begun.elapsed());
    let begun = Instant::now();
    documents.look_through()?;
    println!("looked through in the background: {:.1?}", begun.elapsed());
    let viewer = Viewer::Only([Audience::Person("cli:me".to_owned())].into());
    let mut random = 7;
    let query = |random: &mut u64| format!("{} {}", word(random), word(random));
    measure("find", || documents.find(&query(&mut random), None, &viewer, 3).map(drop))?;
    measure("summary", || documents.summary(&query(&mut random), None, &viewer).map(drop))?;
    let mut number = count;
    measure("keep", || {
        number += 1;
        documents.put(&document(number, &mut random), None)
    })?;
    measure("bring back and settle", || {
        let Some(found) = documents.find(&query(&mut random), None, &viewer, 1)?.pop() else { return Ok(()) };
        let mut document = documents.read(&found.listed.id)?;
        let consumed = Consumed { run: "run".to_owned(), conversation: "cli:me".to_owned(), at_ms: 0 };
        documents.consume(&mut document, consumed)?;
        documents.settle(&[document.id])
    })?;
    let size = std::fs::metadata(home.path().join("memory.db"))?.len();
    let resident = ProcessFigures::read().resident_bytes.unwrap_or_default();
    println!("memory.db: {} MiB; resident: {} MiB", size >> 20, resident >> 20);
    Ok(())
}

fn open(home: &Path) -> Result<Documents, Box<dyn std::error::Error>> {
    let database = Database::open(home.join("memory.db"))?;
    Ok(Documents::open(home, &database, &Vectors::open(&database)?)?)
}

/// Runs something often, and says how long it took.
fn measure<E>(what: &str, mut work: impl FnMut() -> Result<(), E>) -> Result<(), E> {
    let mut times: Vec<Duration> = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        work()?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    let at = |percent: usize| times[(ROUNDS * percent / 100).min(ROUNDS - 1)];
    println!("{what}: p50 {:.1?}, p95 {:.1?}, p99 {:.1?}", at(50), at(95), at(99));
    Ok(())
}

fn make(home: &Path, count: u64) -> std::io::Result<()> {
    let folder = home.join("documents");
    std::fs::create_dir_all(&folder)?;
    let mut random = 1;
    for number in 0..count {
        let document = document(number, &mut random);
        std::fs::write(folder.join(format!("{}.json", document.id)), serde_json::to_vec(&document)?)?;
    }
    Ok(())
}

fn document(number: u64, random: &mut u64) -> Document {
    let at_ms = i64::try_from(number).unwrap_or_default() * 60_000;
    let entry = |place: u64, message: Message| Entry {
        id: format!("run{number}/{place}"),
        conversation: "cli:me".to_owned(),
        audience: "person:cli:me".to_owned(),
        at_ms,
        message,
        foreign: false,
        time: None,
        no_memory: false,
        cleaner: None,
        document: None,
    };
    let mut say = || (0..8).map(|_| word(random)).collect::<Vec<_>>().join(" ");
    let talk = vec![vec![entry(1, Message::user(say()))], vec![entry(2, Message::user(say()))]];
    let mut documents = Document::of_exchanges(talk, at_ms);
    documents.pop().unwrap_or_else(|| unreachable!("there are exchanges"))
}

/// A word, or a word with a number that few documents have: the distribution of a language is as uneven.
fn word(random: &mut u64) -> String {
    // A linear congruential generator, with the numbers of Knuth's MMIX.
    *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let high = (*random >> 33) as usize;
    let word = WORDS[high % WORDS.len()];
    if high.is_multiple_of(3) { format!("{word}{}", high % 5003) } else { word.to_owned() }
}
