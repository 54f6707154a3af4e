//! Recall in Chinese, on conversations of our own making and, where it is at hand, on MemoryBank's diaries:
//!
//! `cargo run --release -p homeagent-memory --example chinese -- [--model DIR] [--memorybank DIR] [--missed]`
//!
//! Each line is a way to find, asked twice: among what the asker may see, and among everything that anybody said.
//! `--missed` lists the questions of whose evidence the whole recall has nothing among the first five.

mod baselines;
mod corpus;
mod measure;
mod recalled;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use baselines::{Bm25, PlainFts, characters};
use corpus::{Corpus, Result};
use homeagent_language::embed::{Embedder, open_folder};
use homeagent_language::text;
use measure::{AT, Tally};
use recalled::{Leg, Recalled, Scope};

#[derive(Default)]
struct Arguments {
    model: Option<PathBuf>,
    memorybank: Option<PathBuf>,
    missed: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::read()?;
    let model = arguments.model.as_deref().map(open_folder).transpose()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(report("Conversations of our own", &Corpus::own()?, model.clone(), arguments.missed))?;
    if let Some(folder) = &arguments.memorybank {
        runtime.block_on(report("MemoryBank", &Corpus::memorybank(folder)?, model, arguments.missed))?;
    }
    Ok(())
}

impl Arguments {
    fn read() -> Result<Self> {
        let mut read = Self::default();
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut folder = || arguments.next().ok_or_else(|| format!("{argument} needs a folder"));
            match argument.as_str() {
                "--model" => read.model = Some(Path::new(&folder()?).to_owned()),
                "--memorybank" => read.memorybank = Some(Path::new(&folder()?).to_owned()),
                "--missed" => read.missed = true,
                _ => return Err("usage: chinese [--model DIR] [--memorybank DIR] [--missed]".into()),
            }
        }
        Ok(read)
    }
}

async fn report(name: &str, corpus: &Corpus, model: Option<Arc<dyn Embedder>>, missed: bool) -> Result<()> {
    println!("{name}: {} passages, {} questions", corpus.said.len(), corpus.questions.len());
    let words_only = Recalled::over(corpus, None).await?;
    let with_model = match model {
        Some(model) => Some(Recalled::over(corpus, Some(model)).await?),
        None => None,
    };
    for scope in [Scope::Asker, Scope::Everything] {
        println!("  {}", scope.told());
        baselines(corpus, scope)?;
        row("recall, keyword leg alone", corpus, &words_only, scope, Leg::Keywords).await?;
        let mut whole = row("recall, no model", corpus, &words_only, scope, Leg::All).await?;
        if let Some(with_model) = &with_model {
            row("recall, vectors alone", corpus, with_model, scope, Leg::Vectors).await?;
            whole = row("recall, with the model", corpus, with_model, scope, Leg::All).await?;
        }
        for (kind, recall, of) in whole.by_kind() {
            print_row(&format!("  {kind} ({of})"), recall);
        }
        if missed {
            println!("    missed: {}", whole.missed.join(" "));
        }
    }
    Ok(())
}

fn baselines(corpus: &Corpus, scope: Scope) -> Result<()> {
    let limit = AT[AT.len() - 1];
    let plain = PlainFts::over(&corpus.said)?;
    let by_characters = Bm25::over(&corpus.said, characters);
    let by_words = Bm25::over(&corpus.said, text::words);
    let mut tallies = [Tally::default(), Tally::default(), Tally::default()];
    for question in &corpus.questions {
        let may_see = |at: usize| scope == Scope::Everything || corpus.said[at].audience == question.audience;
        tallies[0].count(question, &plain.rank(&question.text, &may_see, limit)?);
        tallies[1].count(question, &by_characters.rank(&question.text, &may_see, limit));
        tallies[2].count(question, &by_words.rank(&question.text, &may_see, limit));
    }
    let names = ["FTS5, default tokenizer", "BM25 on characters", "BM25 on jieba's words"];
    names.iter().zip(&tallies).for_each(|(name, tally)| print_row(name, tally.recall()));
    Ok(())
}

async fn row(name: &str, corpus: &Corpus, memory: &Recalled, scope: Scope, leg: Leg) -> Result<Tally> {
    let tally = memory.measured(corpus, scope, leg).await?;
    print_row(name, tally.recall());
    Ok(tally)
}

fn print_row(name: &str, recall: [f64; 3]) {
    let recall: Vec<String> = AT.iter().zip(recall).map(|(at, share)| format!("@{at} {share:5.1}")).collect();
    println!("    {name:<32} {}", recall.join("  "));
}
