//! Disks that are full, that refuse to write, and that are mounted for reading alone.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use homeagent_types::memory::{MemoryFile, MemoryForget, MemoryWhat};
use homeagent_types::{Audience, Viewer};
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::damage::refused;
use crate::stage::{alone, life};
use crate::world::{ME, World};

/// How a life is put where the disk gives out. Its number tells the life what to do for that.
const SMALL_DISK: u32 = 0;
const LIMIT: u32 = 1;

/// As much as is tried until a disk is full; what the databases have in reserve takes some more.
const TRIES: usize = 400;

/// Where this machine lets somebody mount a file system: how.
fn mounting() -> Option<&'static str> {
    let is_allowed = |flags: &&str| {
        let tried = Command::new("unshare").args([*flags, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).output();
        tried.is_ok_and(|output| output.status.success())
    };
    let flags = ["-m", "-rm"].into_iter().find(is_allowed);
    if flags.is_none() {
        println!("skipped: this machine lets nobody mount a file system (unshare -m, unshare -rm)");
    }
    flags
}

/// Lives one after the other, each with a shell's line before it.
fn live(flags: Option<&str>, lives: &[(&str, &Command)]) {
    let quoted = |life: &Command| {
        let words = std::iter::once(life.get_program()).chain(life.get_args());
        words.map(|word| format!("'{}'", word.display())).collect::<Vec<_>>().join(" ")
    };
    let script: Vec<String> = lives.iter().map(|(before, life)| format!("{before} && {}", quoted(life))).collect();
    let mut shell = Command::new(if flags.is_some() { "unshare" } else { "sh" });
    shell.args(flags.into_iter().flat_map(|flags| [flags, "sh"])).args(["-c", &script.join(" && ")]);
    let (_, first) = lives.first().expect("a life");
    shell.envs(first.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let done = shell.stdin(Stdio::null()).output().expect("it starts");
    let words = [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(done.status.success() && words.contains("1 passed"), "{words}");
}

#[test]
fn a_disk_that_is_full_or_refuses_to_write_is_said_and_loses_nothing_that_was_acknowledged() {
    let folder = tempfile::tempdir().expect("a folder");
    let test = "disk::a_disk_gives_out";
    if let Some(flags) = mounting() {
        let mount = format!("mount -t tmpfs -o size=12m tmpfs '{}'", folder.path().display());
        live(Some(flags), &[(&mount, &alone(test, folder.path(), SMALL_DISK))]);
    }
    // The signal that comes with it would end the process; daemons run without it.
    live(None, &[("trap '' XFSZ", &alone(test, folder.path(), LIMIT))]);
}

#[test]
fn a_home_that_is_read_only_is_refused_in_words() {
    let Some(flags) = mounting() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (lived, refused) = ("disk::a_home_is_lived_in", "disk::a_home_can_only_be_read");
    let home = folder.path().display();
    let (mount, remount) =
        (format!("mount -t tmpfs -o size=12m tmpfs '{home}'"), format!("mount -o remount,ro '{home}'"));
    live(Some(flags), &[(&mount, &alone(lived, folder.path(), 0)), (&remount, &alone(refused, folder.path(), 0))]);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it is started by the test that mounts its home"]
async fn a_home_is_lived_in() {
    let Some((home, _)) = life() else { return };
    let world = World::open(&home).await;
    world.say("the kettle is new").await;
    world.memory.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it is started by the test that mounts its home"]
async fn a_home_can_only_be_read() {
    let Some((home, _)) = life() else { return };
    let error = refused(&home);
    for words in ["the memory can't be opened", "memory.db", "Read-only file system"] {
        assert!(error.contains(words), "{error}");
    }
}

/// Takes all room there is.
fn fill(home: &Path, means: u32) {
    if means == LIMIT {
        return setrlimit(Resource::Fsize, Rlimit { current: Some(1), maximum: None }).expect("it is lower");
    }
    let mut file = std::fs::File::create(home.join("filler")).expect("there is room yet");
    while file.write_all(&[0; 4096]).is_ok() {}
}

fn free(home: &Path, means: u32) {
    match means {
        LIMIT => setrlimit(Resource::Fsize, Rlimit { current: None, maximum: None }).expect("it may be higher"),
        _ => std::fs::remove_file(home.join("filler")).expect("it is ours"),
    }
}

/// What was acknowledged, each part by its own words.
#[derive(Default)]
struct Told {
    said: Vec<i64>,
    notes: Vec<String>,
    learnt: Vec<String>,
    kept: Vec<String>,
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it is started by the test that takes its room away"]
async fn a_disk_gives_out() {
    let Some((home, means)) = life() else { return };
    let world = World::open(&home).await;
    let mut told = Told::default();
    for number in 0..3 {
        tell(&world, &mut told, number).await;
    }
    world.save_window().await;
    let secret = world.say("my password is zebra").await;
    fill(&home, means);
    refusals(&world, &mut told).await;
    // What is there can be read meanwhile.
    check(&world, &told).await;
    free(&home, means);
    tell(&world, &mut told, 9_000).await;
    world.save_window().await;
    forget(&world, "zebra").await.expect("there is room");
    assert_eq!(world.holding("zebra"), Vec::<String>::new());
    check(&world, &told).await;
    world.memory.close().await;
    drop(world);
    let world = World::open(&home).await;
    check(&world, &told).await;
    let gone = world.journal.events_at(vec![secret]).await.expect("read");
    assert!(gone.iter().all(|event| !event.payload.to_string().contains("zebra")));
    world.memory.close().await;
}

async fn tell(world: &World, told: &mut Told, number: i64) {
    told.said.push(world.say(&format!("matter{number} stands in the kitchen")).await);
    told.notes.push(world.note("Recipe", &format!("soup{number} needs salt")));
    world.learn(&format!("Person{number}"), "Riga", 1_000_000 + number);
    told.learnt.push(format!("Person{number}"));
    world.keep(&format!("line {number}"));
    told.kept.push(format!("line {number}"));
}

/// Each part says in words that it can't write; what it took until then counts.
async fn refusals(world: &World, told: &mut Told) {
    let long = "a stretch of talk ".repeat(300);
    let mut errors: Vec<(&str, String)> = Vec::new();
    for number in 0..TRIES {
        match world.try_say(&format!("{long}{number}")).await {
            Ok(seq) => told.said.push(seq),
            Err(error) => {
                errors.push(("said", error.to_string()));
                break;
            }
        }
    }
    for number in 0..TRIES {
        match world.try_note("Recipe", &format!("{long} {number}")) {
            Ok(id) => told.notes.push(id),
            Err(error) => {
                errors.push(("note", error.to_string()));
                break;
            }
        }
    }
    for number in 100..100 + TRIES {
        let name = format!("Person{number}");
        match world.try_learn(&name, &format!("Place{number}"), 2_000_000) {
            Ok(_) => told.learnt.push(name),
            Err(error) => {
                errors.push(("learnt", error.to_string()));
                break;
            }
        }
    }
    let audience = Audience::Person(ME.to_owned());
    let kept = world.memory.curated().add(&audience, "one more");
    errors.extend(kept.err().map(|error| ("kept", error.to_string())));
    errors.extend(forget(world, "zebra").await.err().map(|error| ("forgotten", error)));
    let file = MemoryFile { path: world.folder.join("export.jsonl").display().to_string(), replace: true };
    let exported = Arc::clone(&world.memory).export_to(file).await;
    errors.extend(exported.err().map(|error| ("exported", error.to_string())));
    let parts: Vec<&str> = errors.iter().map(|(part, _)| *part).collect();
    assert_eq!(parts, ["said", "note", "learnt", "kept", "forgotten", "exported"], "{errors:?}");
    for (part, error) in &errors {
        let names_it = ["full", "No space left", "File too large", "does not write"];
        assert!(names_it.iter().any(|words| error.contains(words)), "{part}: {error}");
    }
    assert!(!world.folder.join("export.jsonl").exists(), "half an export is none");
    // It can't be saved now, which loses nothing.
    world.save_window().await;
}

async fn forget(world: &World, text: &str) -> Result<(), String> {
    let wish = MemoryForget { what: MemoryWhat::Text(text.to_owned()), dry_run: false, plugins: false };
    world.memory.forget(wish).await.map(drop).map_err(|error| error.to_string())
}

async fn check(world: &World, told: &Told) {
    let there = world.journal.events_at(told.said.clone()).await.expect("read");
    assert_eq!(there.len(), told.said.len(), "what was said is there");
    let documents = world.memory.context().documents();
    for id in &told.notes {
        documents.read(id).unwrap_or_else(|error| panic!("the note {id} is lost: {error}"));
    }
    assert_eq!(documents.count().expect("counted"), told.notes.len() as u64, "what was refused is not half there");
    for name in &told.learnt {
        assert!(!world.memory.graph().named(name, &Viewer::Everything).expect("read").is_empty(), "{name} is lost");
    }
    assert_eq!(world.memory.curated().lines(&Viewer::Everything).expect("read"), told.kept);
    let found = world.memory.find("matter1 kitchen", Viewer::Everything, 3, Vec::new(), None, None).await;
    assert!(found.expect("looked").iter().any(|hit| hit.passage.text.contains("matter1")));
}
