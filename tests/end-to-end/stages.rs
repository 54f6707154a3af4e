//! The seven stages, seen from a component.

use serde_json::{Value, json};

use crate::daemon::{Daemon, with_vendor_and};
use crate::vendor::Reply;

async fn script(daemon: &Daemon, script: &Value) {
    daemon.waiter(&["settings", "set", "plugin.probe.script", &script.to_string()]).await.ok();
}

#[tokio::test]
async fn a_turn_with_a_tool_passes_all_seven_stages() {
    let (daemon, vendor) = with_vendor_and(&["probe"]).await;
    vendor.script([Reply::calls(&[("add", r#"{"numbers":[1,2]}"#)]), Reply::text("three")]);
    assert_eq!(daemon.reply("one and two").await, "three");
    let seen = daemon.waiter(&["tools", "call", "probe_seen", "{}"]).await.ok();
    for stage in
        ["on_input", "pre_action", "post_action", "before_toolcall", "after_toolcall", "before_output", "after_output"]
    {
        assert!(seen.contains(stage), "{stage} is missing in {seen}");
    }
}

#[tokio::test]
async fn every_stage_but_the_last_can_answer_itself() {
    let (daemon, vendor) = with_vendor_and(&["probe"]).await;
    for stage in ["on_input", "pre_action", "post_action", "before_toolcall", "after_toolcall", "before_output"] {
        script(&daemon, &json!({ stage: [{ "respond": format!("answered in {stage}") }] })).await;
        vendor.script([Reply::calls(&[("add", r#"{"numbers":[1,2]}"#)])]);
        vendor.always("the model's own words");
        assert_eq!(daemon.reply("hello").await, format!("answered in {stage}"));
        let left = vendor.asked_so_far().len();
        if stage == "on_input" || stage == "pre_action" {
            assert_eq!(left, 0, "the model was not asked");
            vendor.forget();
        }
    }
    script(&daemon, &json!({ "after_output": [{ "respond": "too late" }] })).await;
    let reply = daemon.reply("hello").await;
    assert_ne!(reply, "too late", "the last stage only looks");
}

#[tokio::test]
async fn patches_change_what_the_model_and_people_see() {
    let (daemon, vendor) = with_vendor_and(&["probe"]).await;
    script(
        &daemon,
        &json!({
            "on_input": [{ "set-text": "rewritten input" }],
            "pre_action": [{ "add-system": "a rule from the probe" }],
            "before_toolcall": [{ "set-args": { "numbers": [40, 2] } }],
            "after_toolcall": [{ "set-result": "a redacted result" }],
            "before_output": [{ "set-text": "rewritten output" }],
        }),
    )
    .await;
    vendor.script([Reply::calls(&[("add", r#"{"numbers":[1,2]}"#)]), Reply::text("three")]);
    assert_eq!(daemon.reply("original input").await, "rewritten output");
    let asked = vendor.asked(2).await;
    assert!(asked[0].says("rewritten input") && !asked[0].says("original input"));
    assert!(asked[0].says("a rule from the probe"));
    assert!(asked[1].tool_results()[0].contains("a redacted result"));
}

#[tokio::test]
async fn what_a_stage_refuses_does_not_happen() {
    let (daemon, vendor) = with_vendor_and(&["probe"]).await;
    script(&daemon, &json!({ "on_input": [{ "refuse": "not today" }] })).await;
    let result = daemon.ask("hello").await;
    assert!(result["error"]["text"].as_str().is_some_and(|text| text.contains("not today")), "{result}");
    assert!(vendor.asked_so_far().is_empty());

    script(&daemon, &json!({ "before_toolcall": [{ "refuse": "no sums" }] })).await;
    vendor.script([Reply::calls(&[("add", r#"{"numbers":[1,2]}"#)]), Reply::text("I may not.")]);
    assert_eq!(daemon.reply("add").await, "I may not.");
    assert!(vendor.asked(2).await[1].tool_results()[0].contains("no sums"));

    script(&daemon, &json!({ "post_action": [{ "drop-call": true }] })).await;
    vendor.script([Reply::calls(&[("add", r#"{"numbers":[1,2]}"#)])]);
    vendor.always("Without it, then.");
    daemon.ask("add").await;
    assert!(!vendor.asked_so_far().iter().skip(2).any(|asked| asked.tool_results().len() > 1));
}

#[tokio::test]
async fn of_two_rewriters_of_one_text_neither_loses() {
    let (daemon, vendor) = with_vendor_and(&["upper", "brackets"]).await;
    vendor.script([Reply::text("quiet words")]);
    assert_eq!(daemon.reply("hello").await, "【QUIET WORDS】");
}

#[tokio::test]
async fn a_guard_that_fails_keeps_the_tool_from_running() {
    let (daemon, vendor) = with_vendor_and(&["guard"]).await;
    for (word, why) in [("forbidden", "a forbidden word"), ("trap", "guard"), ("hang", "guard")] {
        if word == "hang" {
            daemon.waiter(&["settings", "set", "core.agent.stage_timeout_ms", "300"]).await.ok();
        }
        let asked_before = vendor.asked_so_far().len();
        let arguments = json!({ "a": word, "b": "2" }).to_string();
        vendor.script([Reply::calls(&[("compare", &arguments)]), Reply::text("It was not run.")]);
        assert_eq!(daemon.reply("compare").await, "It was not run.");
        let results = vendor.asked(asked_before + 2).await[asked_before + 1].tool_results();
        let last = results.last().expect("the call has a result");
        assert!(last.contains(why) && !last.contains("less"), "{word}: {last}");
    }
}

#[tokio::test]
async fn a_handler_that_fails_open_changes_nothing() {
    let (daemon, vendor) = with_vendor_and(&["probe"]).await;
    daemon.waiter(&["settings", "set", "core.agent.stage_timeout_ms", "300"]).await.ok();
    vendor.always("all the same");
    script(&daemon, &json!({ "on_input": [{ "error": "no" }], "pre_action": [{ "error": "no" }] })).await;
    assert_eq!(daemon.reply("hello").await, "all the same");
    for (asked_before, fault) in [(1, "trap"), (2, "hang")] {
        script(&daemon, &json!({ "on_input": [{ fault: true }] })).await;
        // The turn goes on to the model. Whether the reply goes out is for the probe's handler of `before_output` to
        // say, which fails closed while its instance is lost.
        daemon.ask("hello").await;
        assert_eq!(vendor.asked_so_far().len(), asked_before + 1, "{fault}");
    }
}
