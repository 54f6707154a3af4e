//! After everything that can go wrong, the key is nowhere but at the vendor.

use std::path::Path;

use homeagent_providers::Policy;
use homeagent_settings::SourceChange;
use homeagent_types::lines::VectorRequest;
use homeagent_types::model::{EmbeddingPurpose, ModelDelta};
use homeagent_types::ports::{Models as _, Progress};

use crate::mind::Mind;
use crate::vendor::{Ending, Reply, Vendor, end, error, json, says, text};
use crate::world::{KEY, World, cause, hasty};

/// What only the key has.
const MARK: &str = "geheim";

/// Every way in which a vendor has been seen to give the key back.
fn indiscretions() -> Vec<Reply> {
    let in_words = format!("{{\"error\":{{\"message\":\"Incorrect API key provided: {KEY}. Look at ?key={KEY}\"}}}}");
    let (head, tail) = KEY.split_at(6);
    vec![
        error(500, &in_words),
        error(400, &in_words),
        error(429, &format!("you are {KEY}")),
        json(404, &in_words, vec![("x-request", KEY.to_owned())]),
        Reply::Whole {
            status: 302,
            headers: vec![("location", format!("https://elsewhere.example/?key={KEY}"))],
            body: KEY.to_owned(),
        },
        Reply::Whole { status: 200, headers: vec![("content-type", "text/html".to_owned())], body: KEY.to_owned() },
        // In the midst of a stream: as an error, as an event that is none, and as words that break off within it.
        Reply::Stream {
            pieces: vec![format!("data: {{\"error\":{{\"message\":\"bad {KEY}\",\"code\":503}}}}\n\n")],
            ending: Ending::Proper,
        },
        Reply::Stream { pieces: vec![format!("data: {KEY}\n\n")], ending: Ending::Proper },
        Reply::Stream { pieces: vec![text("it begins with "), text(head)], ending: Ending::Broken },
        // An answer with the key in it, in one piece and in several, and as the argument of a tool.
        Reply::Stream { pieces: vec![text(&format!("your key is {KEY}, no?")), end()], ending: Ending::Proper },
        Reply::Stream {
            pieces: vec![text("it is "), text(head), text(tail), text(" indeed"), end()],
            ending: Ending::Proper,
        },
        Reply::Stream {
            pieces: vec![calls("nothing", &format!("{{\"key\":\"{KEY}\"}}")), end()],
            ending: Ending::Proper,
        },
        says("nothing more"),
        error(401, &in_words),
    ]
}

fn calls(name: &str, arguments: &str) -> String {
    let call = serde_json::json!({"index": 0, "id": "c1", "function": {"name": name, "arguments": arguments}});
    format!("data: {}\n\n", serde_json::json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}))
}

/// The files of a folder that have the mark in them, or the key in one of its other forms.
fn marked(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(marked(&path));
        } else if std::fs::read(&path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(MARK)) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[tokio::test]
async fn the_key_is_nowhere_but_at_the_vendor() {
    let replies = indiscretions();
    let count = replies.len();
    let vendor = Vendor::start(replies).await;
    let world = World::new(Policy { attempts: 1, queue: std::time::Duration::ZERO, ..hasty() });
    world.add("a", &vendor.url);
    let mind = Mind::new(&world).await;
    let mut told = world.providers.subscribe();
    let mut seen = String::new();
    while vendor.requests().len() < count {
        // A source that was refused is another one with another model.
        let model = Some(format!("m{}", vendor.requests().len()));
        world.sources.edit("a", &SourceChange { model, ..SourceChange::default() }).expect("changed");
        mind.say("and now?").await;
        let output = mind.channel.next().await;
        seen.push_str(&format!("{output:?}\n{}\n{:?}\n", mind.channel.take_shown(), world.providers.states()));
        let states = serde_json::to_string(&world.providers.states()).expect("JSON");
        seen.push_str(&states);
        seen.push_str(&format!("{:?}", world.providers.choices()));
    }
    // A test of the source, vectors, and an answer that is watched piece by piece.
    let others = Vendor::start(vec![error(401, &format!("no {KEY}")), error(500, KEY)]).await;
    world.add("a", &others.url);
    seen.push_str(&format!("{:?}", world.providers.test("a").await));
    let record = homeagent_settings::SourceRecord {
        line: homeagent_settings::SourceLine::Embedding,
        ..world.source("v", "vectors", &others.url)
    };
    world.sources.add(&record).expect("added");
    let (texts, cause) = (["x".to_owned()], cause());
    let request = VectorRequest { texts: &texts, purpose: EmbeddingPurpose::Query, model: None, cause: &cause };
    seen.push_str(&format!("{:?}", world.providers.embed(request).await));
    while let Ok(state) = told.try_recv() {
        seen.push_str(&format!("{state:?}"));
    }
    mind.agent.shutdown().await;
    let clear = |text: &str| !text.contains(MARK);
    assert!(clear(&seen), "what is told has the key: {seen}");
    // It was told that there was a key, in its place.
    assert!(seen.contains("[secret key]"), "{seen}");
    for request in vendor.requests().iter().chain(&others.requests()) {
        let lines: Vec<&str> = request.lines().filter(|line| !line.starts_with("authorization: ")).collect();
        assert!(clear(&lines.join("\n")), "a prompt has the key: {request}");
        assert!(request.contains(KEY), "the vendor gets it");
    }
    assert!(crate::log::leaks().is_empty(), "{:?}", crate::log::leaks());
    for run in mind.journal.runs(100, None).await.expect("runs") {
        let events = mind.journal.run_events(&run.id).await.expect("events");
        assert!(clear(&format!("{events:?}")), "the journal has the key: {events:?}");
    }
    assert_eq!(marked(world.folder()), Vec::<String>::new(), "files with the key");
}

/// Keeps each piece as it comes.
#[derive(Default)]
struct Pieces(std::sync::Mutex<Vec<String>>);

impl Progress for Pieces {
    fn piece(&self, delta: &ModelDelta) {
        if let ModelDelta::Text(text) = delta {
            self.0.lock().expect("not poisoned").push(text.clone());
        }
    }

    fn restart(&self) {}
}

#[tokio::test]
async fn words_that_only_begin_like_the_key_come_through_as_they_are() {
    let pieces = ["sk-", "gehen", " wir", " sk-geh", "e"];
    let mut stream: Vec<String> = pieces.iter().map(|piece| text(piece)).collect();
    stream.push(end());
    let vendor = Vendor::start(vec![Reply::Stream { pieces: stream, ending: Ending::Proper }]).await;
    let world = World::new(hasty());
    world.add("a", &vendor.url);
    let watcher = Pieces::default();
    let prompt = homeagent_types::model::Prompt {
        messages: vec![homeagent_types::model::Message::user("hi")],
        ..homeagent_types::model::Prompt::default()
    };
    let cause = cause();
    let line = homeagent_types::model::SourceLine::Main;
    let request = homeagent_types::ports::LineRequest { line, prompt: &prompt, cause: &cause };
    let answer = world.providers.complete(request, &watcher).await.expect("it answers").answer;
    assert_eq!(answer.text, pieces.concat());
    assert_eq!(watcher.0.lock().expect("not poisoned").concat(), pieces.concat());
}
