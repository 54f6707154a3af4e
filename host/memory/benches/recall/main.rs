//! How long recall takes, as the memory grows: 10,000 and 100,000 passages with their vectors, or as many as
//! `RECALL_PASSAGES` says (such as `10000,1000000`). Beside it, over the same passages and questions, SQLite's own FTS5 with
//! its default tokenizer, and the nearest vectors alone. The model's own time is not in it.
//!
//! Before the measurements a line each says how the time of one question is spread, how big the file is, how long
//! opening takes and how much memory the process has. With `RECALL_FOLDER` the homes are kept there, and those that are there
//! already are not filled again.

#[path = "../clock/mod.rs"]
mod clock;
mod generator;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use criterion::Criterion;
use homeagent_language::embed::int8::{dot, quantise_direction};
use homeagent_language::embed::{EmbedError, Embedder, ModelIdentity, Purpose};
use homeagent_memory::index::Index;
use homeagent_memory::recall::{Ask, Recall};
use homeagent_memory::vectors::{Kind, Vectors};
use homeagent_settings::Database;
use homeagent_types::{ProcessFigures, Viewer};
use jiff::tz::TimeZone;
use rusqlite::Connection;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use clock::{Begun, spread};
use generator::{DIMENSIONS, passage, question, vector};

/// So many questions are asked for the spread.
const QUESTIONS: u64 = 300;

/// So many questions' nearest vectors are compared with those that are nearest indeed.
const COMPARED: u64 = 40;

/// So many passages are put at a time.
const BATCH: u64 = 5_000;

/// Gives each question the vector that was made for it, at once.
struct Given(ModelIdentity);

#[async_trait]
impl Embedder for Given {
    fn identity(&self) -> &ModelIdentity {
        &self.0
    }

    async fn embed(&self, _: Purpose, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts.iter().map(|text| vector(text.len() as u64 * 31, 7)).collect())
    }
}

fn identity() -> ModelIdentity {
    ModelIdentity {
        name: "made-up".into(),
        kind: "static".into(),
        digest: String::new(),
        dimensions: DIMENSIONS,
        pooling: "none".into(),
        query_prefix: String::new(),
        passage_prefix: String::new(),
        normalised: false,
    }
}

struct Home {
    recall: Recall,
    vectors: Vectors,
    plain: Connection,
    count: u64,
    _embedder: watch::Sender<Option<Arc<dyn Embedder>>>,
    _folder: Folder,
}

/// Where a home is.
enum Folder {
    Kept(PathBuf),
    Passing(tempfile::TempDir),
}

impl Folder {
    fn of(count: u64) -> Self {
        let Some(kept) = std::env::var_os("RECALL_FOLDER") else {
            return Self::Passing(tempfile::tempdir().expect("a folder"));
        };
        let folder = PathBuf::from(kept).join(count.to_string());
        std::fs::create_dir_all(&folder).expect("a folder");
        Self::Kept(folder)
    }

    fn path(&self) -> &Path {
        match self {
            Self::Kept(folder) => folder,
            Self::Passing(folder) => folder.path(),
        }
    }
}

impl Home {
    fn filled(count: u64) -> Self {
        let folder = Folder::of(count);
        let path = folder.path().join("memory.db");
        let plain = Connection::open(folder.path().join("plain.db")).expect("a database");
        // Written last: a home that has it is whole.
        let whole = folder.path().join("whole");
        if !whole.exists() {
            plain.execute_batch("PRAGMA journal_mode=WAL; CREATE VIRTUAL TABLE t USING fts5(text)").expect("a table");
            let begun = Begun::now();
            fill(&path, &plain, count);
            println!("{count} passages filled in {:.1?}", begun.took().clock);
            std::fs::write(whole, "").expect("written");
        }
        let begun = Begun::now();
        let database = Database::open(&path).expect("a database");
        let vectors = Vectors::open(&database).expect("vectors");
        let index = Index::open(&database, &vectors).expect("an index");
        let opened = begun.took();
        let words_alone = resident();
        vectors.load(Kind::Passage, &identity()).expect("vectors");
        let loaded = begun.took();
        let size = std::fs::metadata(&path).map_or(0, |file| file.len()) / 1_000_000;
        println!(
            "{count} passages: words ready after {:.2?}, of work {:.2?}; vectors after {:.2?}, of work {:.2?}; file {size} MB; \
             resident {words_alone} MB with words, {} MB with vectors",
            opened.clock,
            opened.work,
            loaded.clock,
            loaded.work,
            resident()
        );
        let (sender, embedder) = watch::channel(Some(Arc::new(Given(identity())) as Arc<dyn Embedder>));
        Self { recall: Recall::new(index, embedder), vectors, plain, count, _embedder: sender, _folder: folder }
    }

    fn recall(&self, runtime: &Runtime, number: u64) -> usize {
        let (text, _) = question(number, self.count);
        let ask = Ask {
            text,
            viewer: Viewer::Everything,
            now_ms: 1_600_000_000_000 + self.count as i64 * 200_000,
            time_zone: TimeZone::UTC,
            limit: 10,
            conversation: None,
            speaker: None,
            kinds: Vec::new(),
            patience: None,
        };
        runtime.block_on(self.recall.recall(&ask)).expect("an answer").len()
    }

    /// SQLite's own ranking of passages with any word of the question.
    fn full_text(&self, number: u64) -> usize {
        let (text, _) = question(number, self.count);
        let words: Vec<String> = text.split_whitespace().map(|word| format!("\"{word}\"")).collect();
        let sql = "SELECT rowid FROM t WHERE t MATCH ?1 ORDER BY rank LIMIT 10";
        let mut statement = self.plain.prepare_cached(sql).expect("a statement");
        let rows = statement.query_map([words.join(" OR ")], |row| row.get::<_, i64>(0)).expect("rows");
        rows.count()
    }

    /// Of the ten nearest vectors to each of some questions, the share that is found.
    fn found_of_nearest(&self) -> f32 {
        let queries: Vec<_> = (0..COMPARED).map(|number| question(number, self.count).1).collect();
        let quantised: Vec<_> = queries.iter().map(|query| quantise_direction(query)).collect();
        let mut exact = vec![Vec::<(f32, i64)>::new(); queries.len()];
        for number in 0..self.count {
            let own = quantise_direction(&vector(number, 0));
            for (best, query) in exact.iter_mut().zip(&quantised) {
                let likeness = dot(&own.values, &query.values) as f32 * own.scale;
                if best.len() < 10 || best.last().is_some_and(|(worst, _)| likeness > *worst) {
                    best.push((likeness, number as i64 + 1));
                    best.sort_by(|a, b| b.0.total_cmp(&a.0));
                    best.truncate(10);
                }
            }
        }
        let shares = exact.iter().zip(&queries).map(|(exact, query)| {
            let nearest = self.vectors.nearest(Kind::Passage, query, &identity(), 10, &|_| true);
            let found: Vec<i64> = nearest.expect("an answer").best.into_iter().take(10).map(|(id, _)| id).collect();
            exact.iter().filter(|(_, id)| found.contains(id)).count() as f32 / 10.0
        });
        shares.sum::<f32>() / queries.len() as f32
    }

    fn nearest(&self, number: u64) -> usize {
        let (_, vector) = question(number, self.count);
        let nearest = self.vectors.nearest(Kind::Passage, &vector, &identity(), 10, &|_| true);
        nearest.expect("an answer").best.len()
    }
}

fn fill(path: &Path, plain: &Connection, count: u64) {
    let database = Database::open(path).expect("a database");
    let vectors = Vectors::open(&database).expect("vectors");
    let index = Index::open(&database, &vectors).expect("an index");
    for first in (0..count).step_by(BATCH as usize) {
        let numbers = first..(first + BATCH).min(count);
        let passages: Vec<_> = numbers.clone().map(passage).collect();
        index.put(&passages).expect("put");
        plain.execute_batch("BEGIN").expect("begun");
        for passage in &passages {
            plain.execute("INSERT INTO t (text) VALUES (?1)", [&passage.text]).expect("put");
        }
        plain.execute_batch("COMMIT").expect("committed");
        // The first passage has the id 1.
        let made: Vec<(i64, Vec<f32>)> = numbers.map(|number| (number as i64 + 1, vector(number, 0))).collect();
        vectors.put(Kind::Passage, &made, &identity()).expect("kept");
    }
}

/// The memory of this process, in MB.
fn resident() -> u64 {
    ProcessFigures::read().resident_bytes.unwrap_or_default() / 1_000_000
}

fn ask_often(name: &str, mut ask: impl FnMut(u64) -> usize) {
    let times: Vec<_> = (0..QUESTIONS)
        .map(|number| {
            let begun = Begun::now();
            black_box(ask(number));
            begun.took()
        })
        .collect();
    println!("  {name}: {}", spread(&times));
}

fn main() {
    let counts = std::env::var("RECALL_PASSAGES").unwrap_or_else(|_| "10000,100000".to_owned());
    let runtime = Runtime::new().expect("a runtime");
    let mut criterion = Criterion::default().configure_from_args().sample_size(20);
    for count in counts.split(',').filter_map(|count| count.trim().parse().ok()) {
        let home = Home::filled(count);
        ask_often("recall, lists not yet read", |number| home.recall(&runtime, number));
        ask_often("recall again", |number| home.recall(&runtime, number));
        ask_often("FTS5's own", |number| home.full_text(number));
        ask_often("vectors alone", |number| home.nearest(number));
        println!("  of the ten nearest vectors found: {:.1}%", 100.0 * home.found_of_nearest());
        let mut group = criterion.benchmark_group(format!("{count} passages"));
        let mut number = 0;
        let mut next = move || {
            number = (number + 1) % QUESTIONS;
            number
        };
        group.bench_function("recall", |bencher| bencher.iter(|| home.recall(&runtime, next())));
        group.bench_function("FTS5's own", |bencher| bencher.iter(|| home.full_text(next())));
        group.bench_function("vectors alone", |bencher| bencher.iter(|| home.nearest(next())));
        group.finish();
    }
    criterion.final_summary();
}
