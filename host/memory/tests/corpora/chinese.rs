//! Recall in Chinese does not fall below what it has been. `cargo run --example chinese` prints all figures.

use std::collections::HashSet;
use std::path::Path;

use homeagent_language::embed::open_folder;
use homeagent_language::text;

use crate::baselines::{Bm25, PlainFts, characters};
use crate::corpus::Corpus;
use crate::measure::Tally;
use crate::recalled::{Leg, Recalled, Scope};

/// Recall at five, in percent.
fn at_five(tally: &Tally) -> f64 {
    tally.recall()[1]
}

fn own() -> Corpus {
    Corpus::own().expect("the conversations are in the repository")
}

async fn recall_at_five(memory: &Recalled, corpus: &Corpus, scope: Scope, leg: Leg) -> f64 {
    let tally = memory.measured(corpus, scope, leg).await.expect("the memory answers");
    let by_kind: Vec<String> = tally.by_kind().map(|(kind, recall, of)| format!("{kind}({of}) {recall:.1?}")).collect();
    println!("{}: {:.1?}; {}; missed: {}", scope.told(), tally.recall(), by_kind.join(" "), tally.missed.join(" "));
    at_five(&tally)
}

#[test]
fn the_corpus_is_as_its_page_says() {
    let corpus = own();
    assert_eq!((corpus.said.len(), corpus.questions.len()), (739, 443));
    let ids: HashSet<&str> = corpus.said.iter().map(|said| said.id.as_str()).collect();
    assert_eq!(ids.len(), corpus.said.len());
    let asked: HashSet<&str> = corpus.questions.iter().map(|question| question.id.as_str()).collect();
    assert_eq!(asked.len(), corpus.questions.len());
    for question in &corpus.questions {
        let distinct: HashSet<&usize> = question.evidence.iter().collect();
        assert!(!distinct.is_empty() && distinct.len() == question.evidence.len(), "{}", question.id);
        for &evidence in &question.evidence {
            assert!(corpus.said[evidence].at_ms < question.asked_at_ms, "{} is asked too early", question.id);
            assert_eq!(corpus.said[evidence].audience, question.audience, "{}", question.id);
        }
    }
}

#[tokio::test]
async fn words_alone_find_chinese() {
    let corpus = own();
    let memory = Recalled::over(&corpus, None).await.expect("a memory");
    assert!(recall_at_five(&memory, &corpus, Scope::Asker, Leg::Keywords).await >= 82.0);
    assert!(recall_at_five(&memory, &corpus, Scope::Everything, Leg::Keywords).await >= 70.0);

    let (mut words, mut fts) = (Tally::default(), Tally::default());
    let (by_words, plain) = (Bm25::over(&corpus.said, text::words), PlainFts::over(&corpus.said).expect("FTS5"));
    for question in &corpus.questions {
        words.count(question, &by_words.rank(&question.text, &|_| true, 10));
        fts.count(question, &plain.rank(&question.text, &|_| true, 10).expect("FTS5 answers"));
    }
    let found = recall_at_five(&memory, &corpus, Scope::Everything, Leg::Keywords).await;
    assert!(found > at_five(&words) && at_five(&words) > at_five(&fts));
}

#[tokio::test]
async fn recall_without_a_model_finds_chinese() {
    let corpus = own();
    let memory = Recalled::over(&corpus, None).await.expect("a memory");
    assert!(recall_at_five(&memory, &corpus, Scope::Asker, Leg::All).await >= 86.0);
    assert!(recall_at_five(&memory, &corpus, Scope::Everything, Leg::All).await >= 78.0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recall_with_a_model_finds_chinese() {
    let Some(models) = std::env::var_os("HOMEAGENT_MODELS") else {
        eprintln!("skipped: HOMEAGENT_MODELS names no folder of models");
        return;
    };
    let model = open_folder(&Path::new(&models).join("multilingual-e5-small")).expect("the model");
    let corpus = own();
    let memory = Recalled::over(&corpus, Some(model)).await.expect("a memory");
    let whole = recall_at_five(&memory, &corpus, Scope::Asker, Leg::All).await;
    assert!(whole >= 92.0);
    assert!(recall_at_five(&memory, &corpus, Scope::Everything, Leg::All).await >= 86.0);
    assert!(whole > recall_at_five(&memory, &corpus, Scope::Asker, Leg::Vectors).await);
}

/// The labels fit the set they are for, where it is at hand.
#[test]
fn memorybank_has_the_turns_that_are_named() {
    let Some(folder) = std::env::var_os("HOMEAGENT_MEMORYBANK") else {
        eprintln!("skipped: HOMEAGENT_MEMORYBANK names no folder of that set");
        return;
    };
    let corpus = Corpus::memorybank(Path::new(&folder)).expect("every label has its turn");
    let characters = Bm25::over(&corpus.said, characters);
    let mut tally = Tally::default();
    for question in &corpus.questions {
        let may_see = |at: usize| corpus.said[at].audience == question.audience;
        tally.count(question, &characters.rank(&question.text, &may_see, 10));
    }
    assert_eq!(corpus.questions.len(), 100);
    assert!(at_five(&tally) > 60.0, "labels at random would not be found");
}
