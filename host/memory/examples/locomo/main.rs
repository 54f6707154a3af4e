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

use homeagent_language::embed::{Embedder, open_folder};
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
        Some(folder) => Some(open_folder(folder)?),
        None => None,
    };
    let mut homes = Vec::new();
    for conversation in conversations {
        homes.push(Home::open(conversation, embedder.clone()).await?);
    }
    if ablate {
        println!("{:<34} {:>8} {:>8} {:>10}", "without", "@10", "@50", "multi @10");
        for (name, change) in ABLATIONS {
            let figures = ask_all(conversations, &homes, *change).await?;
            let (all, multi) = (figures.of(|_| true), figures.of(|answer| answer.category == 1));
            println!("{name:<34} {:>8.1} {:>8.1} {:>10.1}", all.at(10), all.at(50), multi.at(10));
        }
        println!();
    }
    let figures = ask_all(conversations, &homes, |_| {}).await?;
    figures.print();
    Ok(())
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

    async fn ask(&self, recall: &Recall, question: &str) -> Result<Vec<String>, Box<dyn Error>> {
        let ask = Ask {
            text: question.to_owned(),
            viewer: Viewer::Everything,
            now_ms: self.now_ms,
            time_zone: TimeZone::UTC,
            limit: DEPTH,
            conversation: None,
            speaker: None,
            kinds: Vec::new(),
            patience: None,
        };
        let hits = recall.recall(&ask).await?;
        Ok(hits.into_iter().map(|hit| hit.passage.origin).collect())
    }
}

async fn ask_all(conversations: &[Conversation], homes: &[Home], change: Ablation) -> Result<Figures, Box<dyn Error>> {
    let [mut words, mut meaning] = [Weights::words(), Weights::meaning()];
    change(&mut words);
    change(&mut meaning);
    let mut figures = Figures::default();
    for ((number, conversation), home) in conversations.iter().enumerate().zip(homes) {
        let recall = home.recall.with_weights(words.clone(), meaning.clone());
        for question in conversation.questions.iter().filter(|question| !question.evidence.is_empty()) {
            let found = home.ask(&recall, &question.text).await?;
            figures.add(number, question, &found);
        }
    }
    Ok(figures)
}

/// What is taken away from the weights.
type Ablation = fn(&mut Weights);

const ABLATIONS: &[(&str, Ablation)] = &[
    ("nothing", |_| {}),
    ("meaning", |weights| *weights = Weights { vector: 0.0, ..Weights::words() }),
    ("words", |weights| (weights.keyword, weights.session_words) = (0.0, 0.0)),
    ("neighbours", no_neighbours),
    ("session", no_session),
    ("speaker", |weights| weights.speaker = 0.0),
    ("time", |weights| weights.time = 0.0),
    ("neighbours, session, speaker, time", alone),
    ("anything but words", |weights| {
        alone(weights);
        weights.vector = 0.0;
    }),
    ("anything but meaning", |weights| {
        alone(weights);
        weights.keyword = 0.0;
    }),
];

fn no_neighbours(weights: &mut Weights) {
    (weights.following, weights.preceding) = (Vec::new(), Vec::new());
}

fn no_session(weights: &mut Weights) {
    (weights.session_words, weights.session_best) = (0.0, 0.0);
}

fn alone(weights: &mut Weights) {
    no_neighbours(weights);
    no_session(weights);
    (weights.speaker, weights.time) = (0.0, 0.0);
}
