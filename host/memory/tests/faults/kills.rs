//! `kill -9` while everything is being written at once, again and again in one home.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier};

use homeagent_memory::curated::Curated;
use homeagent_memory::documents::Document;
use homeagent_settings::Database;
use homeagent_types::memory::{MemoryFile, MemoryForget, MemoryWhat};
use homeagent_types::{Audience, Viewer};
use serde_json::Value;
use tokio::runtime::Handle;

use crate::letters::Letters;
use crate::stage::{acknowledge, alone, killed_after, life};
use crate::world::{ME, World};

/// After how many acknowledgements each life ends.
const LIVES: [usize; 6] = [1, 23, 60, 7, 131, 44];

/// So many lines stand in the list that is kept by hand at one time.
const LINES: u64 = 12;

/// What was acknowledged, over all lives.
#[derive(Default)]
struct Told {
    said: Vec<(i64, String)>,
    notes: Vec<(String, String)>,
    learnt: Vec<String>,
    kept: BTreeSet<String>,
    /// Whose removal was begun: they may be there or not.
    leaving: BTreeSet<String>,
    forgetting: Vec<String>,
    forgotten: Vec<String>,
    exports: usize,
}

impl Told {
    fn read(home: &Path) -> Self {
        let text = std::fs::read_to_string(home.with_file_name("told")).expect("read");
        let mut told = Self::default();
        for (kind, what) in text.lines().map(|line| line.split_once('\t').expect("two parts")) {
            let what = what.to_owned();
            let two = || what.split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned())).expect("two words");
            match kind {
                "said" => told.said.push((two().0.parse().expect("a number"), two().1)),
                "note" => told.notes.push(two()),
                "learnt" => told.learnt.push(what),
                "kept" => drop(told.kept.insert(what)),
                "leaving" => drop(told.leaving.insert(what)),
                "forgetting" => told.forgetting.push(what),
                "forgotten" => told.forgotten.push(what),
                "exported" => told.exports += 1,
                _ => {}
            }
        }
        told
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it is started by the test that kills it"]
async fn writing_until_it_is_killed() {
    let Some((home, life)) = life() else { return };
    let world = World::with_model(&home, Some(Letters::embedder())).await;
    // Everything is written at once, and nothing oftener than anything else.
    let round = Barrier::new(WRITERS.len());
    let runtime = Handle::current();
    tokio::task::block_in_place(|| {
        std::thread::scope(|threads| {
            for write in WRITERS {
                let (world, round, runtime) = (&world, &round, &runtime);
                threads.spawn(move || {
                    for number in 0.. {
                        write(world, runtime, &format!("{life}x{number}"), number);
                        round.wait();
                    }
                });
            }
        });
    });
}

/// Writes one thing of a kind, with a key of its own, and tells it.
type Writer = fn(&World, &Handle, &str, u64);

const WRITERS: [Writer; 6] = [say, note, learn, keep, export, forget];

fn say(world: &World, runtime: &Handle, key: &str, _: u64) {
    let seq = runtime.block_on(world.say(&format!("matter{key} stands in the kitchen 厨房")));
    acknowledge("said", &format!("{seq} matter{key}"));
    runtime.block_on(world.save_window());
    acknowledge("window", key);
}

fn export(world: &World, runtime: &Handle, key: &str, _: u64) {
    let file = MemoryFile { path: exported(&world.folder).display().to_string(), replace: true };
    runtime.block_on(Arc::clone(&world.memory).export_to(file)).expect("exported");
    acknowledge("exported", key);
}

fn forget(world: &World, runtime: &Handle, key: &str, _: u64) {
    let secret = format!("zebra{key}q");
    runtime.block_on(world.say(&format!("my password is {secret}, tell nobody")));
    world.note("Password", &format!("it is {secret}"));
    acknowledge("forgetting", &secret);
    let wish = MemoryForget { what: MemoryWhat::Text(secret.clone()), dry_run: false, plugins: false };
    match runtime.block_on(world.memory.forget(wish)) {
        Ok(_) => acknowledge("forgotten", &secret),
        // Where others keep the file busy for too long it is gone on with at the next start.
        Err(error) => eprintln!("{secret} is not forgotten yet: {error}"),
    }
}

/// Beside the home folder: a copy keeps what is forgotten later.
fn exported(home: &Path) -> PathBuf {
    home.with_file_name("export.jsonl")
}

fn note(world: &World, _: &Handle, key: &str, _: u64) {
    let id = world.note(&format!("Recipe {key}"), &format!("soup{key} needs salt 盐 and an onion"));
    acknowledge("note", &format!("{id} soup{key}"));
}

fn learn(world: &World, _: &Handle, key: &str, number: u64) {
    let name = format!("Person{key}");
    world.learn(&name, &format!("Place{key}"), 1_000_000 + i64::try_from(number).expect("small"));
    acknowledge("learnt", &name);
}

fn keep(world: &World, _: &Handle, key: &str, number: u64) {
    world.keep(&format!("line {key}"));
    acknowledge("kept", &format!("line {key}"));
    if let Some(old) = number.checked_sub(LINES) {
        let life = key.split_once('x').expect("a life").0;
        let line = format!("line {life}x{old}");
        acknowledge("leaving", &line);
        Curated::open(&world.folder).remove(&Viewer::Everything, &line).expect("removed");
    }
}

#[test]
fn nothing_that_was_acknowledged_is_lost_by_a_kill_at_any_moment() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().join("home");
    let mut told: Vec<(String, String)> = Vec::new();
    for (life, count) in (0..).zip(LIVES) {
        // The list that is kept by hand is emptied after each life.
        told.retain(|(kind, _)| kind != "kept" && kind != "leaving");
        told.extend(killed_after(alone("kills::writing_until_it_is_killed", &home, life), count));
        let lines: Vec<String> = told.iter().map(|(kind, what)| format!("{kind}\t{what}\n")).collect();
        std::fs::write(home.with_file_name("told"), lines.concat()).expect("written");
        let checked = alone("kills::checking_what_was_told", &home, life).output().expect("it starts");
        let words = [checked.stdout, checked.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert!(checked.status.success() && words.contains("1 passed"), "after life {life}: {words}");
    }
    let told = Told::read(&home);
    assert!(told.forgotten.len() > 1 && told.exports > 0, "everything was acknowledged at some time");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it is started by the test that kills others"]
async fn checking_what_was_told() {
    let Some((home, life)) = life() else { return };
    let told = Told::read(&home);
    let world = World::with_model(&home, Some(Letters::embedder())).await;
    check(&world, &told, life as usize + 1).await;
    // So that there is room for the next life's.
    world.memory.curated().forget(|_| true).expect("emptied");
    world.memory.close().await;
    drop(world);
    if life as usize + 1 < LIVES.len() {
        return;
    }
    rebuild(&home, &told).await;
    let other = World::new().await;
    let file = MemoryFile { path: exported(&home).display().to_string(), replace: false };
    let imported = Arc::clone(&other.memory).import_from(file).await.expect("the export is whole");
    assert!(imported.rows > 0 && imported.documents > 0, "{imported:?}");
}

async fn check(world: &World, told: &Told, kills: usize) {
    settle(world).await;
    for name in ["homeagent.db", "memory.db"] {
        let database = Database::open(world.folder.join(name)).expect("it opens");
        assert_eq!(database.damage().expect("read"), Vec::<String>::new());
    }
    check_said(world, told).await;
    let documents = world.memory.context().documents();
    for (id, word) in &told.notes {
        assert!(
            documents.read(id).is_ok_and(|document| document.text.contains(word)),
            "the note {id} ({word}) is lost"
        );
        let found = documents.find(word, None, &Viewer::Everything, 3).expect("found");
        assert!(found.iter().any(|found| found.listed.id == *id), "{word} is not found");
    }
    let graph = world.memory.graph();
    for name in &told.learnt {
        let known = graph.named(name, &Viewer::Everything).expect("read");
        let told = known.first().map(|entity| graph.relations_of(entity.id, 5, &Viewer::Everything).expect("read"));
        assert!(told.is_some_and(|relations| relations.len() == 1), "what was learnt of {name} is lost");
    }
    let lines: BTreeSet<String> =
        world.memory.curated().lines(&Viewer::Everything).expect("read").into_iter().collect();
    let lost: Vec<&String> =
        told.kept.iter().filter(|line| !lines.contains(*line) && !told.leaving.contains(*line)).collect();
    assert!(lost.is_empty(), "{lost:?} are lost from {lines:?}");
    check_files(world, told, kills);
}

async fn check_said(world: &World, told: &Told) {
    for (seq, word) in &told.said {
        let event = world.journal.events_at(vec![*seq]).await.expect("read");
        assert!(event.first().is_some_and(|event| event.payload.to_string().contains(word)), "{word} is lost");
        assert!(is_found(world, word).await, "{word} is not found");
    }
    for secret in &told.forgotten {
        assert_eq!(world.holding(secret), Vec::<String>::new(), "{secret} was forgotten");
    }
    for secret in told.forgetting.iter().filter(|secret| !told.forgotten.contains(secret)) {
        // Its forgetting was cut: it was gone on with, or had not begun.
        assert!(world.holding(secret).is_empty() || is_found(world, secret).await, "{secret} is half forgotten");
    }
}

async fn is_found(world: &World, word: &str) -> bool {
    let found = world.memory.find(word, Viewer::Everything, 3, Vec::new(), None, None).await.expect("looked");
    found.iter().any(|hit| hit.passage.text.contains(word))
}

/// Waits until what a death cut is done, and everything has its vector.
async fn settle(world: &World) {
    let database = Database::open(world.folder.join("memory.db")).expect("it opens");
    let open = "SELECT (SELECT count(*) FROM forgettings) + (SELECT count(*) FROM passages)
        - (SELECT count(*) FROM vectors WHERE kind = 1)";
    let settled = async {
        // Asking for something else waits until what is being forgotten is.
        let wish = || MemoryForget { what: MemoryWhat::Text("no such text".to_owned()), dry_run: true, plugins: false };
        while database
            .read("looking", |connection| connection.query_row(open, [], |row| row.get::<_, i64>(0)))
            .expect("read")
            != 0
        {
            world.memory.forget(wish()).await.expect("looked");
        }
    };
    let settled = tokio::time::timeout(std::time::Duration::from_secs(120), settled).await;
    assert!(settled.is_ok(), "it is not done yet: {:?}", world.memory.status().await);
}

/// Every file is whole, and nothing unfinished is taken for something.
fn check_files(world: &World, told: &Told, kills: usize) {
    let (mut documents, mut cut) = (0, 0);
    for (path, bytes) in files(&world.folder) {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let parsed = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).is_ok();
        match ending {
            "json" if path.starts_with(world.folder.join("documents")) => {
                documents += 1;
                assert!(serde_json::from_slice::<Document>(&bytes).is_ok(), "{}", path.display());
            }
            "json" => assert!(parsed(&bytes), "{}", path.display()),
            "jsonl" => {
                cut += bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && !parsed(line)).count();
            }
            "damaged" => panic!("{} was damaged by a kill", path.display()),
            _ => {}
        }
    }
    assert!(told.exports == 0 || exported(&world.folder).is_file(), "the export is lost");
    assert!(cut <= kills, "a kill spoils one line of the log at most, and {cut} are");
    assert_eq!(world.memory.context().documents().count().expect("counted"), documents);
}

fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for file in std::fs::read_dir(folder).expect("read").map(|file| file.expect("read").path()) {
        match file.is_dir() {
            true => found.extend(files(&file)),
            false => found.push((file.clone(), std::fs::read(&file).expect("read"))),
        }
    }
    found
}

/// The passages are thrown away and made anew from the journal: the same is found, and nothing that was forgotten.
async fn rebuild(folder: &Path, told: &Told) {
    let words: Vec<&String> = told.said.iter().map(|(_, word)| word).step_by(5).collect();
    let world = World::open(folder).await;
    let before = answers(&world, &words).await;
    world.memory.close().await;
    drop(world);
    let memory = Database::open(folder.join("memory.db")).expect("it opens");
    let lose = "DELETE FROM passages; DELETE FROM passage_texts; DELETE FROM vectors; DELETE FROM followers;
        INSERT INTO passage_terms (passage_terms) VALUES ('delete-all');";
    memory.write("losing the passages", |transaction| transaction.execute_batch(lose)).expect("lost");
    drop(memory);
    let world = World::open(folder).await;
    assert_eq!(answers(&world, &words).await, before);
    for secret in &told.forgotten {
        assert_eq!(world.holding(secret), Vec::<String>::new(), "{secret} came back");
    }
    world.memory.close().await;
}

/// The best answer of each question; those that are equally good behind it come in any order.
async fn answers(world: &World, words: &[&String]) -> Vec<Vec<(String, String)>> {
    let viewer = world.memory.audiences().viewer(&Audience::Person(ME.to_owned()));
    let mut answers = Vec::new();
    for word in words {
        let question = format!("where does {word} stand?");
        let found = world.memory.find(&question, viewer.clone(), 1, Vec::new(), None, None).await.expect("looked");
        answers.push(found.into_iter().map(|hit| (hit.passage.origin, hit.passage.text)).collect());
    }
    answers
}
