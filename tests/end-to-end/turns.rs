//! Turns: answers, their record, and a vendor that fails.

use serde_json::json;

use crate::daemon::with_vendor;
use crate::vendor::{Reply, finish, text_event};

#[tokio::test]
async fn a_plain_answer_comes_back_and_everything_about_it_is_in_the_journal() {
    let (daemon, vendor) = with_vendor().await;
    vendor.script([Reply::text("你好，世界")]);
    let result = daemon.ask("hello").await;
    assert_eq!(result["reply"], "你好，世界");
    assert_eq!((&result["source"], &result["model"]), (&json!("fake"), &json!("m")));
    assert_eq!(result["tool_rounds"], 0);

    let run = result["run"].as_str().expect("a result names its run");
    let kinds = daemon.kinds(run).await;
    for kind in [
        "run_started",
        "user_message_added",
        "system_prompt_snapshotted",
        "model_called",
        "assistant_message_added",
        "run_completed",
    ] {
        assert!(kinds.iter().any(|it| it == kind), "{kind} is missing in {kinds:?}");
    }
    let asked = vendor.asked(1).await;
    assert_eq!(asked[0].messages()[0]["role"], "system", "personal.md comes first");
    assert!(asked[0].says("hello"));
}

#[tokio::test]
async fn the_window_holds_what_was_said_before_also_after_a_restart() {
    let (mut daemon, vendor) = with_vendor().await;
    vendor.script([Reply::text("Nice to meet you, 小明."), Reply::text("小明!"), Reply::text("Still 小明.")]);
    daemon.reply("My name is 小明").await;
    daemon.reply("What is my name?").await;
    assert!(vendor.asked(2).await[1].says("My name is 小明"));
    daemon.signal(rustix::process::Signal::TERM);
    assert!(daemon.child.wait().await.expect("it ends").success());
    let daemon = daemon.home.start().await;
    daemon.reply("And now?").await;
    let asked = vendor.asked(3).await;
    assert!(asked[2].says("My name is 小明") && asked[2].says("Nice to meet you"));
}

#[tokio::test]
async fn waiter_sends_one_turn_and_prints_the_reply_alone() {
    let (daemon, vendor) = with_vendor().await;
    vendor.script([Reply::text("forty-two"), Reply::text("as JSON")]);
    assert_eq!(daemon.waiter(&["send", "what is it?"]).await.ok(), "forty-two");
    assert_eq!(daemon.waiter_json(&["send", "again"]).await["reply"], "as JSON");
    let runs = daemon.waiter_json(&["runs", "list"]).await;
    let runs = runs.as_array().or_else(|| runs["runs"].as_array()).expect("a list").len();
    assert_eq!(runs, 2);
}

#[tokio::test]
async fn a_vendor_that_breaks_off_costs_the_turn_and_what_was_said_stays() {
    let (daemon, vendor) = with_vendor().await;
    vendor.script([Reply::Broken(vec![text_event("The first half")])]);
    vendor.always("All well again.");
    let result = daemon.ask("tell me").await;
    // The one source is asked again, or the turn ends with a sentence; either way there is an answer in words.
    let answer = result["reply"].as_str().or_else(|| result["error"]["text"].as_str());
    assert!(answer.is_some_and(|text| !text.is_empty()), "{result}");
    assert!(daemon.reply("and now?").await.contains("All well again."));
}

#[tokio::test]
async fn a_key_that_is_refused_is_said_in_a_sentence() {
    let (daemon, vendor) = with_vendor().await;
    vendor.script([Reply::Status(401, json!({ "error": { "message": "Incorrect API key provided" } }))]);
    let result = daemon.ask("hello").await;
    let sentence = result["error"]["text"].as_str().unwrap_or_else(|| panic!("no error in {result}"));
    assert!(sentence.contains("fake") && sentence.contains("key"), "{sentence}");
}

#[tokio::test]
async fn an_answer_without_words_is_not_an_empty_reply() {
    let (daemon, vendor) = with_vendor().await;
    vendor.script([Reply::Stream(vec![finish("stop")]), Reply::Stream(vec![finish("stop")])]);
    let result = daemon.ask("hello").await;
    let words = result["reply"].as_str().or_else(|| result["error"]["text"].as_str());
    assert!(words.is_some_and(|text| !text.trim().is_empty()), "{result}");
}

#[tokio::test]
async fn without_a_source_the_rehearsal_answers_and_says_how_to_set_one() {
    let home = std::sync::Arc::new(crate::daemon::Home::new());
    let daemon = home.start().await;
    let reply = daemon.reply("hello").await;
    assert!(reply.contains("waiter source add"), "{reply}");
    let result = daemon.ask("/tool add {\"numbers\": [1, 2]}").await;
    assert!(result["reply"].as_str().is_some_and(|text| text.contains('3')), "{result}");
    assert_eq!(result["tool_rounds"], 1);
}
