//! What was said: searched by the model, and logged for people.

use homeagent_journal::EventFilter;
use homeagent_memory::context::SessionTools;
use homeagent_memory::index::{Index, Passage, PassageKind};
use homeagent_memory::recall::Recall;
use homeagent_memory::said::Said;
use homeagent_memory::textlog::TextLog;
use homeagent_memory::vectors::Vectors;
use homeagent_settings::Database;
use homeagent_types::ports::Toolbox as _;
use serde_json::{Value, json};

use crate::home::{Home, ME, Talk};
use crate::tools::cause;

/// The tool over all that the journal has.
async fn tool(home: &Home) -> SessionTools {
    let memory = Database::open(home.folder.join("memory.db")).expect("it opens");
    let index = Index::open(&memory, &Vectors::open(&memory).expect("they open")).expect("it opens");
    let events = home.journal.events_after(0, EventFilter::default()).await.expect("read").events;
    let passage = |said: Said| Passage {
        kind: if said.name().is_some() { PassageKind::Said } else { PassageKind::Answered },
        origin: said.seq.to_string(),
        part: 0,
        speaker: said.name().unwrap_or_default(),
        conversation: said.conversation,
        session: said.session,
        position: said.seq,
        audience: said.audience,
        at_ms: said.at_ms,
        text: said.text,
    };
    let passages: Vec<Passage> = events.iter().filter_map(Said::read).map(passage).collect();
    index.put(&passages).expect("put");
    let recall = Recall::new(index, tokio::sync::watch::channel(None).1);
    SessionTools::new(recall, home.journal.clone(), home.audiences.clone(), home.settings.clone())
}

#[tokio::test]
async fn what_was_said_is_found_by_its_words_before_those_who_heard_it_alone() {
    let home = Home::new().await;
    let mut talk = Talk::of(ME);
    home.turn(&mut talk, "水管工周二来", "记住了").await;
    home.turn(&mut talk, "the cat food is in the left cupboard", "noted").await;
    let tool = tool(&home).await;
    for (query, found) in [("水管工什么时候来", "周二"), ("where is the cat food", "left cupboard")] {
        let output =
            tool.call("session_search", json!({ "query": query }), &cause(Some("run"), ME)).await.expect("found");
        let value: Value = serde_json::from_str(&output.value).expect("JSON");
        let first = value["messages"][0]["text"].as_str().expect("a text");
        assert!(first.contains(found), "{value}");
        assert_eq!(value["messages"][0]["here"], true);
        for elsewhere in ["qq:group/7", "qq:stranger"] {
            let output = tool.call("session_search", json!({ "query": query }), &cause(Some("run"), elsewhere)).await;
            assert!(output.expect("it answers").value.contains("Nothing that was said"));
        }
    }
}

#[tokio::test]
async fn dialogue_is_logged_as_lines_and_can_be_switched_off() {
    let home = Home::new().await;
    let mut talk = Talk::of(ME);
    home.turn(&mut talk, "你好\n第二行 👋", "hello").await;
    let log = TextLog::start(&home.folder, home.settings.clone()).expect("started");
    let events = home.journal.events_after(0, EventFilter::default()).await.expect("read").events;
    events.iter().for_each(|event| log.note(event));
    log.flush().await;
    home.settings.set("core.memory.text_log", false).expect("set");
    events.iter().for_each(|event| log.note(event));
    log.flush().await;
    let files: Vec<_> = std::fs::read_dir(log.folder()).expect("a folder").collect();
    assert_eq!(files.len(), 1);
    let text = std::fs::read_to_string(files[0].as_ref().expect("a file").path()).expect("read");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let told: Vec<(&str, &str)> = lines
        .iter()
        .map(|line| (line["role"].as_str().expect("a role"), line["text"].as_str().expect("a text")))
        .collect();
    assert_eq!(told, [("user", "你好\n第二行 👋"), ("assistant", "hello")]);
    assert_eq!(lines[0]["audience"], "person:cli:me");
}
