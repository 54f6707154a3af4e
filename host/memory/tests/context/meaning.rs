//! What is computed on, and what is found by its meaning.

use homeagent_memory::context::{Entry, texts_of};
use homeagent_memory::documents::{Document, DocumentVector};
use homeagent_types::model::{ContentPart, Message};
use homeagent_types::ports::Toolbox as _;
use homeagent_types::{ToolCall, Viewer};
use serde_json::json;

use crate::home::{Concepts, Home, ME, assistant};
use crate::tools::{cause, tools};

fn entry(place: u8, message: Message) -> Entry {
    Entry {
        id: format!("run/{place}"),
        conversation: ME.to_owned(),
        audience: "person:cli:me".to_owned(),
        at_ms: 1_000 + i64::from(place),
        message,
        foreign: false,
        time: None,
        no_memory: false,
        cleaner: None,
        document: None,
    }
}

fn result(name: &str, text: &str) -> Message {
    let content = vec![ContentPart::Text(format!("<data from=\"{name}\">\n{text}\n</data>"))];
    Message::Tool { call: name.to_owned(), name: name.to_owned(), content, failed: false }
}

/// A question, three calls with their results, and the answer.
fn exchange() -> Vec<Entry> {
    let call = |name: &str| ToolCall { id: name.to_owned(), name: name.to_owned(), arguments: "{}".to_owned() };
    let tool_calls = vec![call("weather"), call("secret"), call("pty_run")];
    let calls = Message::Assistant { text: String::new(), reasoning: "hm".to_owned(), tool_calls, opaque: Vec::new() };
    let sky = result("weather", "{\"sky\":\"rain\",\"n\":7}");
    vec![
        entry(1, Message::user("[群聊 家人] 张三: 天气怎么样")),
        entry(2, calls),
        Entry { cleaner: Some("/sky".to_owned()), ..entry(3, sky) },
        Entry { no_memory: true, ..entry(4, result("secret", "hunter2")) },
        entry(5, result("pty_run", "$ ls")),
        entry(6, assistant("下雨")),
    ]
}

#[test]
fn each_message_is_computed_on_by_what_it_says() {
    let exchange = exchange();
    assert_eq!(texts_of(&exchange[..4]), ["天气怎么样", "rain"]);
    let back = |entry: Entry| Entry { document: Some("d".to_owned()), ..entry };
    let returned: Vec<Entry> = exchange.into_iter().map(back).collect();
    assert_eq!(texts_of(&returned), ["天气怎么样\n下雨\nrain\n$ ls"]);
}

#[test]
fn what_a_terminal_printed_is_not_kept_in_documents() {
    let document = Document::of_exchanges(vec![exchange()], 9).pop().expect("a document");
    let kept = serde_json::to_string(&document).expect("JSON");
    assert!(!kept.contains("$ ls") && kept.contains("pty_run") && kept.contains("hunter2"), "{kept}");
    assert!(!document.texts().join(" ").contains("hunter2"));
    assert_eq!((document.from_ms, document.to_ms), (1_001, 1_006));
}

#[tokio::test]
async fn documents_are_found_by_meaning_and_their_vectors_come_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let embedder = Concepts::embedder();
    let question = || DocumentVector { model: embedder.identity().clone(), vector: vec![1.0, 0.0, 0.1] };
    let home = Home::open(folder.path(), Some(Concepts::embedder())).await;
    for text in ["the kitten likes tuna", "the landlord wants the money", "nothing in particular"] {
        tools(&home).call("doc_commit", json!({ "text": text }), &cause(None, ME)).await.expect("kept");
    }
    let documents = home.context.documents().clone();
    documents.make_vectors(&*embedder).await.expect("made");
    let found = documents.find("猫喜欢什么", Some(&question()), &Viewer::Everything, 1).expect("found");
    let kitten = documents.read(&found[0].listed.id).expect("read");
    assert!(kitten.text.contains("kitten"));
    let vector = documents.path(&kitten.id).with_extension("vec");
    let whole = std::fs::read(&vector).expect("a vector beside it");
    drop((documents, home));
    // The database is lost, and one of the files is damaged.
    for file in ["memory.db", "memory.db-wal", "memory.db-shm"] {
        drop(std::fs::remove_file(folder.path().join(file)));
    }
    std::fs::write(&vector, &whole[..whole.len() - 3]).expect("written");
    let home = Home::open(folder.path(), None).await;
    let documents = home.context.documents();
    assert_eq!(documents.look_through().expect("looked through").taken_up, 3);
    documents.make_vectors(&*embedder).await.expect("made");
    assert_eq!(std::fs::read(&vector).expect("read"), whole);
    let found = documents.find("猫喜欢什么", Some(&question()), &Viewer::Everything, 1).expect("found");
    assert_eq!(found[0].listed.id, kitten.id);
    let nobody = Viewer::Only(std::collections::BTreeSet::new());
    assert!(documents.find("kitten", Some(&question()), &nobody, 9).expect("found").is_empty());
}
