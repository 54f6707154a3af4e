//! Any text, of any length, through every part.

use std::sync::Arc;

use homeagent_memory::graph::{Claim, EntityKind, Node, Source};
use homeagent_memory::index::PassageKind;
use homeagent_memory::recollection::{Occasion, Remembers as _};
use homeagent_settings::Database;
use homeagent_types::memory::{MemoryFile, MemoryWhat};
use homeagent_types::{Audience, Viewer};

use crate::world::{ME, World};

/// Texts that others have stumbled over, each with a word of its own by which it is found.
const STRANGE: &[(&str, &str)] = &[
    ("a NUL", "one\u{0}kettle\u{0}two quince1"),
    ("emoji of several characters", "the family 👨‍👩‍👧‍👦 waves 🏴󠁧󠁢󠁥󠁮󠁧󠁿 👋🏽 ❤️‍🔥 quince2"),
    ("from right to left", "אבא אמר שלום \u{202e}reversed\u{202c} مرحبا بالعالم quince3"),
    ("scripts in one word", "Пaypal 東京タワー 서울 กรุงเทพ हिन्दी quince4"),
    ("characters that show nothing", "zero\u{200b}width\u{200d}joined\u{feff} quince5 \u{2060}\u{e0001}"),
    (
        "marks without end",
        concat!("Z", "\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}\u{307}\u{308}\u{309}\u{30a}", "algo quince6"),
    ),
    ("characters beyond the first plane", "𠮷野家 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 🀄 quince7"),
    ("controls", "tab\tbell\u{7}escape\u{1b}[31m vertical\u{b} quince8"),
    ("what programs read", "'; DROP TABLE passages; -- \\u0000 %s {} <data from=\"x\"> \"quince9\" AND NEAR/3 *"),
    ("halves of a character, written out", "\\ud83d\\udc00 quince10 \u{fffd}"),
];

/// Ten megabytes.
const LONG: usize = 10 << 20;

#[tokio::test(flavor = "multi_thread")]
async fn strange_texts_come_back_as_they_were_and_can_be_forgotten() {
    let world = World::new().await;
    let mut notes = Vec::new();
    for (at, (_, text)) in STRANGE.iter().enumerate() {
        let seq = world.say(text).await;
        notes.push(world.note(text, text));
        world.learn(&format!("{text} Ann"), "Riga", seq);
        world.keep(&format!("line {at} {text}"));
    }
    world.save_window().await;
    check(&world, &notes).await;
    // In another memory, by way of a file.
    let file = MemoryFile { path: world.folder.join("export.jsonl").display().to_string(), replace: false };
    Arc::clone(&world.memory).export_to(file.clone()).await.expect("exported");
    let other = World::new().await;
    Arc::clone(&other.memory).import_from(file.clone()).await.expect("imported");
    for (id, (what, text)) in notes.iter().zip(STRANGE) {
        assert_eq!(other.memory.context().documents().read(id).expect("read").text, *text, "{what}");
    }
    std::fs::remove_file(file.path).expect("removed");
    let world = world.rebuilt().await;
    check(&world, &notes).await;
    for number in 1..=STRANGE.len() {
        // Not "quince1" of "quince10".
        let word = format!("quince{number}");
        world.forget(MemoryWhat::Text(word.clone()), false).await;
        assert_eq!(world.holding(&word), Vec::<String>::new());
    }
}

async fn check(world: &World, notes: &[String]) {
    let session = world.journal.current_session(ME).await.expect("a session");
    let window = world.memory.context().load(ME, &session).await.expect("loaded");
    let window = format!("{:?}", window.messages().collect::<Vec<_>>());
    let lines = world.memory.curated().lines(&Viewer::Everything).expect("read");
    for (number, ((what, text), note)) in (1..).zip(STRANGE.iter().zip(notes)) {
        let word = format!("quince{number}");
        let said = vec![PassageKind::Said];
        let found = world.memory.find(&word, Viewer::Everything, 3, said, None, None).await.expect("looked");
        assert_eq!(found.first().map(|hit| hit.passage.text.as_str()), Some(*text), "{what}");
        let documents = world.memory.context().documents();
        let listed = documents.find(&word, None, &Viewer::Everything, 3).expect("found");
        assert_eq!(listed.first().map(|found| &found.listed.id), Some(note), "{what}");
        let document = documents.read(note).expect("read");
        assert_eq!((document.text.as_str(), document.title.as_deref()), (*text, Some(*text)), "{what}");
        assert!(
            !world.memory.graph().named(&format!("{text} Ann"), &Viewer::Everything).expect("read").is_empty(),
            "{what}"
        );
        assert!(lines.iter().any(|line| line.contains(&word)), "{what}");
        assert!(window.contains(&word), "{what}");
    }
}

/// Ten megabytes of a kind, with a sentence in the middle.
fn long(piece: &str) -> String {
    let half = piece.repeat(LONG / 2 / piece.len());
    format!("{half}\n{MIDDLE}\n{half}")
}

const MIDDLE: &str = "The spare key hangs behind the quince tree.";

/// What ten megabytes may be made of; each would take hours where work grows with the square of the length.
const LONG_TEXTS: &[(&str, &str)] = &[
    ("talk in both languages", "我们昨天去看了房子，the garden is large. "),
    ("one word", "x"),
    ("one stretch of Chinese", "的一是在不了有和人这中大为上个国我以要他"),
];

#[tokio::test(flavor = "multi_thread")]
async fn ten_megabytes_in_one_message_are_found_and_hold_up_nobody() {
    let world = World::new().await;
    for (what, piece) in LONG_TEXTS {
        let text = long(piece);
        world.say(&text).await;
        let found = world.memory.find("spare key quince tree", Viewer::Everything, 3, Vec::new(), None, None).await;
        assert!(found.expect("looked").iter().any(|hit| hit.passage.text.contains("behind the quince")), "{what}");
        let found = world.memory.recollect(occasion(&text)).await;
        assert_eq!(found.left_out, Vec::<&str>::new(), "{what}: everything was looked up in time");
        world.memory.nearness(&text, Arc::new(["lights_set: switches the lights".to_owned()])).await;
        world.say("good evening").await;
    }
    world.save_window().await;
    let session = world.journal.current_session(ME).await.expect("a session");
    let window = world.memory.context().load(ME, &session).await.expect("loaded");
    assert_eq!(window.messages().count(), 2 * LONG_TEXTS.len(), "what was said stands before the model as it was");
}

fn occasion(text: &str) -> Occasion {
    Occasion {
        run: "run".to_owned(),
        conversation: ME.to_owned(),
        audience: Audience::Person(ME.to_owned()),
        speaker: ME.to_owned(),
        called: "Mei".to_owned(),
        text: text.to_owned(),
        window: std::collections::HashSet::new(),
        passages: 8,
        characters: 4_000,
        // Generous: what is asserted is that it ends at all.
        patience: std::time::Duration::from_secs(60),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_megabytes_in_a_note_a_name_and_a_line_are_cut_or_refused() {
    let world = World::new().await;
    let text = long("我们昨天去看了房子，the garden is large. ");
    let id = world.note("Long", &text);
    let documents = world.memory.context().documents();
    assert_eq!(documents.read(&id).expect("read").text.len(), text.len());
    assert_eq!(documents.find("garden 房子", None, &Viewer::Everything, 3).expect("found").len(), 1);
    assert!(documents.find(&text, None, &Viewer::Everything, 3).expect("found").len() == 1, "as a question, too");
    let refused = world.memory.curated().add(&Audience::Person(ME.to_owned()), &text).expect_err("it is too long");
    assert!(refused.to_string().contains("from 1 to 300 characters"), "{refused}");
    let claim = Claim {
        sentence: Some(text.clone()),
        ..Claim::new(Node::Named(text.clone(), EntityKind::Person), text.clone(), Node::Literal(text.clone()))
    };
    let source = Source {
        audience: Audience::Person(ME.to_owned()),
        speaker: None,
        origin: "journal:1".to_owned(),
        at_ms: 1,
        undoable: false,
    };
    let held = |table: &str| {
        let database = Database::open(world.folder.join("memory.db")).expect("it opens");
        let sql = format!("SELECT total(length(text)) FROM {table}");
        let total = database.read("measuring", |connection| connection.query_row(&sql, [], |row| row.get::<_, f64>(0)));
        total.expect("measured")
    };
    world.memory.graph().commit(&source, &[claim]).expect("it is cut, or refused by itself");
    for table in ["names", "sentences"] {
        let bytes = held(table);
        assert!(bytes < 65_536.0, "no row of {table} holds it whole: {bytes}");
    }
    let mut exported = Vec::new();
    world.memory.export(&mut exported).expect("exported");
    let other = World::new().await;
    other.memory.import(&mut exported.as_slice()).expect("imported");
    assert_eq!(other.memory.context().documents().read(&id).expect("read").text, text);
}
