//! How much of the evidence recall finds on LoCoMo (Maharana et al., 2024): ten long conversations with questions.
//!
//! `cargo run --release -p homeagent-memory --example locomo -- FILE [--model DIR] [--ablate]`
//!
//! Each conversation becomes a home of its own: a turn is a passage, with the caption of its picture. Without a model words
//! alone decide. A question's recall at k is the share of its evidence turns that are among the first k.

mod dataset;
mod figures;

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use homeagent_language::embed::Embedder;
use homeagent_memory::index::Index;
use homeagent_memory::recall::{Ask, Recall, Weights};
use homeagent_memory::vectors::{Vectoriser, Vectors};
use homeagent_settings::Database;
use homeagent_types::Viewer;
use jiff::tz::TimeZone;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use dataset::{Conversation, read};
use figures::{DEPTH, Figures};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (mut file, mut model, mut ablate) = (None, None, false);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--model" => model = Some(PathBuf::from(arguments.next().ok_or("--model needs a folder")?)),
            "--ablate" => ablate = true,
            _ => file = Some(PathBuf::from(argument)),
        }
    }
    let file = file.ok_or("usage: locomo FILE [--model DIR] [--ablate]")?;
    let conversations = read(&file)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(measure(&conversations, model, ablate))
}

async fn measure(conversations: &[Conversation], model: Option<PathBuf>, ablate: bool) -> Result<(), Box<dyn Error>> {
    let embedder = match &model {
        Some(folder) => Some(open_model(folder)?),
        None => None,
    };
    let mut homes = Vec::new();
    for conversation in conversations {
        homes.push(Home::open(conversation, embedder.clone()).await?);
    }
    if ablate {
        println!("{:<34} {:>8} {:>8} {:>10}", "without", "@10", "@50", "multi @10");
        for (name, weights) in ablations() {
            let figures = ask_all(conversations, &homes, &weights).await?;
            let all = figures.of(|_| true);
            println!(
                "{name:<34} {:>8.1} {:>8.1} {:>10.1}",
                all.at(10),
                all.at(50),
                figures.of(|q| q.category == 1).at(10)
            );
        }
        println!();
    }
    let figures = ask_all(conversations, &homes, &Weights::default()).await?;
    figures.print();
    Ok(())
}

fn open_model(folder: &std::path::Path) -> Result<Arc<dyn Embedder>, Box<dyn Error>> {
    Err(format!("no embedder for {}", folder.display()).into())
}

/// A conversation's own database.
struct Home {
    recall: Recall,
    now_ms: i64,
    _folder: tempfile::TempDir,
}

impl Home {
    async fn open(conversation: &Conversation, embedder: Option<Arc<dyn Embedder>>) -> Result<Self, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let database = Database::open(folder.path().join("memory.db"))?;
        let vectors = Vectors::open(&database)?;
        let index = Index::open(&database, &vectors)?;
        index.put(&conversation.passages)?;
        let (_keep, current) = watch::channel(embedder.clone());
        if embedder.is_some() {
            let vectoriser = Vectoriser::new(Arc::new(index.clone()), vectors, current.clone());
            let mut progress = vectoriser.progress();
            let stop = CancellationToken::new();
            let work = tokio::spawn(vectoriser.run(stop.clone()));
            progress.wait_for(|progress| progress.complete || progress.error.is_some()).await?;
            if let Some(error) = &progress.borrow().error {
                return Err(error.clone().into());
            }
            stop.cancel();
            work.await?;
        }
        let now_ms = conversation.passages.iter().map(|passage| passage.at_ms).max().unwrap_or_default();
        Ok(Self { recall: Recall::new(index, current), now_ms, _folder: folder })
    }

    async fn ask(&self, question: &str, weights: &Weights) -> Result<Vec<String>, Box<dyn Error>> {
        let ask = Ask {
            text: question.to_owned(),
            viewer: Viewer::Everything,
            now_ms: self.now_ms,
            time_zone: TimeZone::UTC,
            limit: DEPTH,
            conversation: None,
            speaker: None,
            kinds: Vec::new(),
        };
        let hits = self.recall.with_weights(weights.clone()).recall(&ask).await?;
        Ok(hits.into_iter().map(|hit| hit.passage.origin).collect())
    }
}

async fn ask_all(conversations: &[Conversation], homes: &[Home], weights: &Weights) -> Result<Figures, Box<dyn Error>> {
    let mut figures = Figures::default();
    for ((number, conversation), home) in conversations.iter().enumerate().zip(homes) {
        for question in conversation.questions.iter().filter(|question| !question.evidence.is_empty()) {
            let found = home.ask(&question.text, weights).await?;
            figures.add(number, question, &found);
        }
    }
    Ok(figures)
}

/// What is left when a part is taken away.
fn ablations() -> Vec<(&'static str, Weights)> {
    let all = Weights::default();
    let no_words = Weights { keyword: 0.0, session_words: 0.0, ..all.clone() };
    let no_neighbours = Weights { following: Vec::new(), preceding: Vec::new(), ..all.clone() };
    let no_session = Weights { session_words: 0.0, session_best: 0.0, ..all.clone() };
    let words_alone = Weights { vector: 0.0, speaker: 0.0, time: 0.0, entity: 0.0, ..no_session.clone() };
    vec![
        ("nothing", all.clone()),
        ("meaning", Weights { vector: 0.0, ..all.clone() }),
        ("words", no_words),
        ("neighbours", no_neighbours),
        ("session", no_session),
        ("speaker", Weights { speaker: 0.0, ..all.clone() }),
        ("time", Weights { time: 0.0, ..all }),
        ("anything but words", Weights { following: Vec::new(), preceding: Vec::new(), ..words_alone }),
    ]
}
