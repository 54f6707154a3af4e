//! The daemon dies at each moment of what is done between contexts and documents: no text is lost, none is there twice.

use std::collections::BTreeMap;
use std::path::Path;

use homeagent_language::embed::ModelIdentity;
use homeagent_settings::Database;
use homeagent_types::Viewer;
use homeagent_types::model::Message;

use super::*;
use crate::context::service::settle;
use crate::context::window::Window;
use crate::documents::Consumed;
use crate::durable::faults;
use crate::vectors::Vectors;

const HERE: &str = "cli:me";
const AUDIENCE: &str = "person:cli:me";

fn exchange(number: i64) -> Vec<Entry> {
    let said = format!("第{number}件事 matter{number}");
    let answer = crate::context::tests_support::assistant(&format!("知道了 {number}"));
    [Message::user(said), answer]
        .into_iter()
        .zip(1..)
        .map(|(message, at)| {
            crate::context::tests_support::entry(
                &format!("run{number}/{at}"),
                HERE,
                AUDIENCE,
                number * 1000 + at,
                message,
            )
        })
        .collect()
}

struct House {
    files: Files,
    documents: Documents,
    database: Database,
}

impl House {
    fn open(home: &Path) -> Self {
        let database = Database::open(home.join("memory.db")).expect("it opens");
        let documents =
            Documents::open(home, &database, &Vectors::open(&database).expect("they open")).expect("they open");
        let files = Files::new(home);
        for conversation in documents.unsettled().expect("read") {
            settle(&documents, &conversation, files.read(&conversation).as_ref(), true).expect("settled");
        }
        documents.look_through().expect("looked through");
        Self { files, documents, database }
    }

    fn work(&self) -> Work {
        Work {
            files: self.files.clone(),
            documents: self.documents.clone(),
            choices: Choices::open(&self.database).expect("they open"),
            vector_of: Arc::new(|_| Some(DocumentVector { model: model(), vector: vec![1.0, 0.0] })),
            desk: Arc::default(),
            failing: false,
        }
    }

    /// How often each matter stands in the saved context or in a document that can be found.
    fn told(&self) -> BTreeMap<i64, usize> {
        let saved = self.files.read(HERE).map(|saved| saved.entries).unwrap_or_default();
        let heads = saved.iter().filter(|entry| entry.document.is_none()).map(|entry| entry.id.as_str());
        let archived = self.documents.holding(heads).expect("read");
        let mut told = BTreeMap::new();
        let mut count = |entries: &[Entry]| {
            for entry in entries.iter().filter(|entry| entry.is_said() && !archived.contains(&entry.id)) {
                *told.entry(entry.at_ms / 1000).or_default() += 1;
            }
        };
        count(&saved);
        let mut documents = BTreeMap::new();
        for number in 1..=6 {
            let question = format!("matter{number}");
            for found in self.documents.find(&question, None, &Viewer::Everything, 50).expect("found") {
                let document = self.documents.read(&found.listed.id).expect("read");
                documents.insert(document.id.clone(), document);
            }
        }
        for document in documents.into_values() {
            for entry in document.events.iter().filter(|entry| entry.is_said()) {
                *told.entry(entry.at_ms / 1000).or_default() += 1;
            }
        }
        told
    }
}

fn model() -> ModelIdentity {
    ModelIdentity {
        name: "m".to_owned(),
        kind: "static".to_owned(),
        digest: String::new(),
        dimensions: 2,
        pooling: String::new(),
        query_prefix: String::new(),
        passage_prefix: String::new(),
        normalised: true,
    }
}

fn saved(entries: Vec<Entry>) -> Saved {
    Saved::new(HERE, "session", entries)
}

fn waiting(window: Vec<Entry>, leaving: Vec<Vec<Entry>>) -> Waiting {
    Waiting { saved: Some(saved(window)), leaving, version: 1, since: Instant::now(), due: None }
}

/// Does something that may die after so many steps; whether it came to its end.
fn dying(steps: u32, work: impl FnOnce() -> Option<()>) -> bool {
    faults::allow(Some(steps));
    let done = work();
    faults::allow(None);
    done.is_some()
}

fn all_once() -> BTreeMap<i64, usize> {
    (1..=6).map(|number| (number, 1)).collect()
}

/// Six matters: 3 to 6 stand in the window, 1 and 2 have left it.
fn lived_in(home: &Path) -> House {
    let house = House::open(home);
    let window = (3..=6).flat_map(exchange).collect();
    house.work().save(&waiting(window, vec![exchange(1), exchange(2)])).expect("saved");
    assert_eq!(house.told(), all_once());
    house
}

#[test]
fn a_death_while_exchanges_leave_loses_and_doubles_nothing() {
    for steps in 0.. {
        let home = tempfile::tempdir().expect("a folder");
        let house = lived_in(home.path());
        let done = dying(steps, || {
            let window = (5..=6).flat_map(exchange).collect();
            house.work().save(&waiting(window, vec![exchange(3), exchange(4)])).ok()
        });
        drop(house);
        let house = House::open(home.path());
        assert_eq!(house.told(), all_once(), "after {steps} steps");
        if done {
            assert!(steps > 5, "there are steps to die at");
            return;
        }
    }
}

#[test]
fn a_death_while_a_document_comes_back_loses_and_doubles_nothing() {
    for steps in 0.. {
        let home = tempfile::tempdir().expect("a folder");
        let house = lived_in(home.path());
        let done = dying(steps, || {
            let found = house.documents.find("matter1", None, &Viewer::Everything, 1).ok()?.pop()?;
            let mut document = house.documents.read(&found.listed.id).ok()?;
            let consumed = Consumed { run: "run7".to_owned(), conversation: HERE.to_owned(), at_ms: 1 };
            house.documents.consume(&mut document, consumed).ok()?;
            let mut window = Window::from_entries((3..=6).flat_map(exchange));
            let id = document.id;
            window.put_back(
                document.events.into_iter().map(|event| Entry { document: Some(id.clone()), ..event }).collect(),
            );
            assert_eq!(window.exchanges().len(), 6);
            assert_eq!(window.entries()[0].at_ms, 1001, "at its time");
            // One of those that came back leaves again at once.
            let left = window.retain(|at| at != 1);
            house.work().save(&waiting(window.entries().to_vec(), left)).ok()
        });
        drop(house);
        let house = House::open(home.path());
        assert_eq!(house.told(), all_once(), "after {steps} steps");
        // And again from there, whatever was left half-done.
        house
            .work()
            .save(&Waiting {
                leaving: Vec::new(),
                ..waiting(house.files.read(HERE).expect("saved").entries, Vec::new())
            })
            .expect("saved");
        assert_eq!(House::open(home.path()).told(), all_once(), "after {steps} steps, and a save");
        if done {
            assert!(steps > 8, "there are steps to die at");
            return;
        }
    }
}
