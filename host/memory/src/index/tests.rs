//! What whoever uses the index notices.

use homeagent_settings::Database;
use homeagent_types::Audience;

use super::*;
use crate::vectors::Vectors;

struct Home {
    folder: tempfile::TempDir,
    database: Database,
    index: Index,
}

fn home() -> Home {
    let folder = tempfile::tempdir().expect("a folder");
    let database = Database::open(folder.path().join("memory.db")).expect("a database");
    let vectors = Vectors::open(&database).expect("vectors");
    let index = Index::open(&database, &vectors).expect("an index");
    Home { folder, database, index }
}

fn said(origin: &str, text: &str) -> Passage {
    Passage {
        kind: PassageKind::Said,
        origin: origin.into(),
        part: 0,
        conversation: "cli:me".into(),
        session: "1".into(),
        position: origin.parse().expect("a number"),
        speaker: "李明".into(),
        audience: Audience::Person("cli:me".into()),
        at_ms: 1_700_000_000_000,
        text: text.into(),
    }
}

/// All bytes of the database's files, after what was logged was moved into the main one.
fn bytes(home: &Home) -> Vec<u8> {
    home.database
        .read("emptying the log", |connection| connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())))
        .expect("a checkpoint");
    let files = std::fs::read_dir(home.folder.path()).expect("a folder");
    files.flat_map(|file| std::fs::read(file.expect("a file").path()).expect("its bytes")).collect()
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn what_was_removed_is_in_no_byte_of_the_file() {
    let home = home();
    let ordinary: Vec<Passage> =
        (0..200).map(|at| said(&at.to_string(), &format!("an ordinary day, number {at}"))).collect();
    home.index.put(&ordinary).expect("put");
    home.index.put(&[said("500", "the xylophone is hidden in 金库 zanzibar")]).expect("put");
    let secrets = ["xylophon", "zanzibar", "金库"];
    let before = bytes(&home);
    assert!(secrets.iter().all(|secret| holds(&before, secret)), "it is there first");
    assert_eq!(home.index.remove(PassageKind::Said, &["500".into()]).expect("removed"), 1);
    let after = bytes(&home);
    assert!(!secrets.iter().any(|secret| holds(&after, secret)));
    assert_eq!(home.index.count().expect("a count"), 200);
}

#[test]
fn what_was_forgotten_does_not_come_back_and_its_names_go_too() {
    let home = home();
    let secret = Passage { conversation: "qq:4711".into(), speaker: "Rumpelstilzchen".into(), ..said("1", "gold") };
    home.index.put(&[secret.clone(), said("2", "straw")]).expect("put");
    home.index.forget(PassageKind::Said, &["1".into()]).expect("forgotten");
    home.index.put(&[secret]).expect("offered again");
    assert_eq!(home.index.count().expect("a count"), 1);
    let after = bytes(&home);
    assert!(!["Rumpelstilzchen", "qq:4711", "rumpelstilzchen"].iter().any(|name| holds(&after, name)));
}

#[test]
fn what_is_put_again_changes_only_when_it_is_different() {
    let home = home();
    home.index.put(&[said("1", "tea"), said("2", "cake")]).expect("put");
    let ids = home.index.ids(PassageKind::Said, &["1".into(), "2".into()]).expect("ids");
    home.index.put(&[said("1", "tea"), said("2", "biscuits")]).expect("put");
    let again = home.index.ids(PassageKind::Said, &["1".into(), "2".into()]).expect("ids");
    assert_eq!(ids[0], again[0]);
    assert_ne!(ids[1], again[1]);
    let passages = home.index.passages(&again).expect("passages");
    assert_eq!(passages[1].1, said("2", "biscuits"));
}

#[test]
fn an_index_that_is_opened_again_is_the_same() {
    let home = home();
    let long = "A sentence of some words. ".repeat(400);
    home.index.put(&[said("1", "茶很好喝"), said("2", &long)]).expect("put");
    let vectors = Vectors::open(&home.database).expect("vectors");
    let again = Index::open(&home.database, &vectors).expect("it opens again");
    for index in [&home.index, &again] {
        let found = index.read("reading", |columns, postings, connection| {
            Ok((postings.of("茶", columns, connection)?.len(), postings.of("sentenc", columns, connection)?.len()))
        });
        let (tea, pieces) = found.expect("lists");
        assert_eq!(tea, 1);
        assert!(pieces > 5, "a long text is kept in pieces");
    }
}
