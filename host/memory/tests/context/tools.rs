//! The tools for documents, as a turn calls them.

use homeagent_memory::context::Verdict;
use homeagent_memory::documents::DocumentTools;
use homeagent_types::ports::Toolbox as _;
use homeagent_types::{Audience, Cause, Conversation, ToolOutput, Viewer};
use serde_json::{Value, json};

use crate::home::{Home, ME, Talk, owner};

pub(crate) fn tools(home: &Home) -> DocumentTools {
    DocumentTools::new(home.context.clone(), home.audiences.clone(), tokio::sync::watch::channel(None).1)
}

pub(crate) fn cause(run: Option<&str>, conversation: &str) -> Cause {
    let conversation = Conversation::parse(conversation).expect("a conversation");
    Cause {
        run: run.map(str::to_owned),
        principal: owner(),
        audience: conversation.audience(),
        conversation: Some(conversation),
        deadline_ms: 10_000,
        chain: Vec::new(),
        meta: Vec::new(),
    }
}

fn value(output: &ToolOutput) -> Value {
    serde_json::from_str(&output.value).expect("it is JSON")
}

/// A talk from which something has left.
async fn long_talk(home: &Home) -> Talk {
    let mut talk = Talk::of(ME);
    home.turn(&mut talk, "the plumber comes on Tuesday", "noted").await;
    for number in 0..16 {
        home.turn(&mut talk, &format!("闲聊 {number} 今天天气不错"), "是啊").await;
    }
    home.context.flush().await;
    assert!(!talk.said().iter().any(|text| text.contains("plumber")));
    talk
}

#[tokio::test]
async fn what_was_said_comes_back_to_its_time_and_its_document_goes_once_that_is_saved() {
    let home = Home::new().await;
    let mut talk = long_talk(&home).await;
    let documents = home.context.documents().clone();
    let id = documents.find("plumber", None, &Viewer::Everything, 1).expect("found")[0].listed.id.clone();
    let run = home.begin(&mut talk, "when does the plumber come?").await;
    let output =
        tools(&home).call("doc_query", json!({ "query": "plumber", "limit": 1 }), &cause(Some(&run), ME)).await;
    let told = value(&output.expect("it is found"));
    assert_eq!(told["documents"][0]["document"], json!(id));
    talk.window.put_back(home.context.take_back(&run));
    assert_eq!(talk.said()[0], "the plumber comes on Tuesday");
    assert!(talk.window.entries()[0].at_ms < talk.window.entries()[2].at_ms);
    // It is taken: nobody else finds it, and it is there until the save.
    assert!(documents.find("plumber", None, &Viewer::Everything, 1).expect("found").is_empty());
    assert!(documents.path(&id).exists());
    let (_folder, after) = home.after_a_death().await;
    assert_eq!(after.context.documents().find("plumber", None, &Viewer::Everything, 1).expect("found").len(), 1);
    home.answer(&mut talk, &run, "on Tuesday").await;
    home.end(&mut talk, &run).await;
    home.context.flush().await;
    assert!(!documents.path(&id).exists());
    let (_folder, after) = home.after_a_death().await;
    let window = after.context.load(ME, &talk.session).await.expect("loaded");
    assert_eq!(crate::home::said(&window), talk.said());
    // Later it leaves again, to be found again.
    for number in 0..16 {
        home.turn(&mut talk, &format!("闲聊 {number} 今天天气不错"), "是啊").await;
    }
    home.context.flush().await;
    assert_eq!(documents.find("plumber", None, &Viewer::Everything, 5).expect("found").len(), 1);
    let explanation = home.context.explain(&run).await.expect("read").expect("known");
    assert!(
        explanation
            .choices
            .iter()
            .flat_map(|choice| &choice.exchanges)
            .all(|chosen| chosen.verdict != Verdict::TooLong)
    );
}

#[tokio::test]
async fn a_turn_that_is_lost_leaves_the_document_there() {
    let home = Home::new().await;
    let mut talk = long_talk(&home).await;
    let run = home.begin(&mut talk, "when does the plumber come?").await;
    let asked = json!({ "query": "plumber", "limit": 1 });
    tools(&home).call("doc_query", asked, &cause(Some(&run), ME)).await.expect("it is found");
    // Its window is never given back; the next turn loads it anew.
    talk.session.clear();
    home.turn(&mut talk, "hello again", "hello").await;
    let found = home.context.documents().find("plumber", None, &Viewer::Everything, 1).expect("found");
    assert_eq!(found.len(), 1);
    assert_eq!(home.context.documents().read(&found[0].listed.id).expect("read").consumed, None);
}

#[tokio::test]
async fn what_was_told_in_private_is_found_there_alone() {
    let home = Home::new().await;
    long_talk(&home).await;
    let tools = tools(&home);
    let asked = json!({ "query": "plumber Tuesday" });
    for elsewhere in ["qq:group/7", "qq:stranger"] {
        let output = tools.call("doc_query", asked.clone(), &cause(Some("run"), elsewhere)).await.expect("it answers");
        assert!(!output.value.contains("Tuesday") && output.value.contains("no document"), "{}", output.value);
        assert!(home.context.take_back("run").is_empty());
    }
    let viewer = home.audiences.viewer(&Audience::Group("qq:7".to_owned()));
    let summary = home.context.documents().summary("plumber", None, &viewer).expect("read");
    assert_eq!((summary.text.as_str(), summary.documents.len()), ("", 0));
    let mine = home.audiences.viewer(&Audience::Person(ME.to_owned()));
    assert!(home.context.documents().summary("plumber", None, &mine).expect("read").text.contains("plumber comes"));
}

#[tokio::test]
async fn what_was_said_elsewhere_is_shown_and_stays_where_it_is() {
    let home = Home::new().await;
    long_talk(&home).await;
    let documents = home.context.documents();
    let id = documents.find("plumber", None, &Viewer::Everything, 1).expect("found")[0].listed.id.clone();
    // Another conversation before the same people.
    let elsewhere = Cause {
        audience: Conversation::parse(ME).expect("a conversation").audience(),
        ..cause(Some("run"), "qq:group/7")
    };
    let asked = json!({ "query": "plumber", "limit": 1 });
    let output = tools(&home).call("doc_query", asked, &elsewhere).await.expect("it is found");
    assert!(value(&output)["documents"][0]["text"].as_str().expect("a text").contains("plumber comes on Tuesday"));
    assert!(home.context.take_back("run").is_empty());
    assert_eq!(documents.read(&id).expect("it stays").consumed, None);
}

#[tokio::test]
async fn notes_are_kept_and_shown_and_stay() {
    let home = Home::new().await;
    let tools = tools(&home);
    let note = json!({ "title": "装修预算", "text": "装修预算是二十万，地板用橡木。" });
    let output = tools.call("doc_commit", note, &cause(Some("run1"), ME)).await.expect("kept");
    let id = value(&output)["document"].as_str().expect("an id").to_owned();
    for reads in 1..3 {
        let output =
            tools.call("doc_query", json!({ "query": "地板" }), &cause(Some("run2"), ME)).await.expect("found");
        assert!(value(&output)["documents"][0]["text"].as_str().expect("a text").contains("橡木"));
        assert_eq!(home.context.documents().read(&id).expect("read").reads, reads);
    }
    let empty = tools.call("doc_commit", json!({ "text": "  " }), &cause(Some("run1"), ME)).await;
    assert!(empty.is_err());
}

#[tokio::test]
async fn a_damaged_document_is_set_aside_and_the_others_go_on() {
    let home = Home::new().await;
    let tools = tools(&home);
    let mut ids = Vec::new();
    for text in ["the first note about oak", "the second note about oak"] {
        let output = tools.call("doc_commit", json!({ "text": text }), &cause(None, ME)).await.expect("kept");
        ids.push(value(&output)["document"].as_str().expect("an id").to_owned());
    }
    let documents = home.context.documents();
    let path = documents.path(&ids[0]);
    let whole = std::fs::read(&path).expect("read");
    std::fs::write(&path, &whole[..whole.len() - 20]).expect("written");
    let output = tools.call("doc_query", json!({ "query": "oak" }), &cause(None, ME)).await.expect("it answers");
    assert_eq!(value(&output)["documents"].as_array().expect("a list").len(), 1);
    assert!(!path.exists() && path.with_extension("json.damaged").exists());
    // Half characters in a file are no reason to lose it.
    let text = String::from_utf8(whole).expect("UTF-8").replace("first", "fi\\ud800rst");
    std::fs::write(&path, text).expect("written");
    let looked = documents.look_through().expect("looked through");
    assert_eq!((looked.taken_up, looked.set_aside, looked.gone), (1, 0, 0));
    let output = tools.call("doc_query", json!({ "query": "oak" }), &cause(None, ME)).await.expect("it answers");
    assert_eq!(value(&output)["documents"].as_array().expect("a list").len(), 2);
    // One that a person removed is gone.
    std::fs::remove_file(documents.path(&ids[1])).expect("removed");
    assert_eq!(documents.look_through().expect("looked through").gone, 1);
    assert_eq!(documents.count().expect("counted"), 1);
}
