//! Tools: called together, failing, called wrongly, called without end.

use crate::daemon::{with_vendor, with_vendor_and};
use crate::vendor::Reply;

#[tokio::test]
async fn two_calls_of_one_message_are_both_answered_in_order() {
    let (daemon, vendor) = with_vendor().await;
    vendor.script([
        Reply::calls(&[("add", r#"{"numbers":[12345678901234567890, 0.1]}"#), ("mul", r#"{"numbers":[6,7]}"#)]),
        Reply::text("done"),
    ]);
    let result = daemon.ask("compute").await;
    assert_eq!((&result["reply"], &result["tool_rounds"]), (&"done".into(), &1.into()));
    let results = vendor.asked(2).await[1].tool_results();
    assert_eq!(results.len(), 2);
    assert!(results[0].contains("12345678901234567890.1"), "no digit is lost: {results:?}");
    assert!(results[1].contains("42"), "{results:?}");
}

#[tokio::test]
async fn a_tool_that_fails_is_told_to_the_model_which_goes_on() {
    let (daemon, vendor) = with_vendor_and(&["traps"]).await;
    vendor.script([Reply::calls(&[("trap", "{}")]), Reply::text("It failed, sorry.")]);
    assert_eq!(daemon.reply("try it").await, "It failed, sorry.");
    let results = vendor.asked(2).await[1].tool_results();
    assert!(results[0].contains("traps") && results[0].contains("tool-provider.call"), "{results:?}");
}

#[tokio::test]
async fn wrong_arguments_are_explained_and_may_be_put_right() {
    let (daemon, vendor) = with_vendor().await;
    vendor.script([
        Reply::calls(&[("compare", "{\"a\": 1,")]),
        Reply::calls(&[("compare", r#"{"a": true, "b": 2}"#)]),
        Reply::calls(&[("comprae", r#"{"a": 1, "b": 2}"#)]),
        Reply::calls(&[("compare", r#"{"a": 1, "b": 2}"#)]),
        Reply::text("one is less"),
    ]);
    assert_eq!(daemon.reply("compare 1 and 2").await, "one is less");
    let results = vendor.asked(5).await[4].tool_results();
    assert!(results[0].contains("JSON"), "{results:?}");
    assert!(results[1].contains("true"), "it says what is wrong: {results:?}");
    assert!(results[2].contains("compare"), "the nearest name is offered: {results:?}");
    assert_eq!(results.len(), 4);
}

#[tokio::test]
async fn a_model_that_never_stops_calling_is_stopped_and_the_reply_says_so() {
    let (daemon, vendor) = with_vendor().await;
    let rounds: Vec<_> = (0..12).map(|n| format!(r#"{{"numbers":[1,{n}]}}"#)).collect();
    vendor.script(rounds.iter().map(|arguments| Reply::calls(&[("add", arguments)])));
    let result = daemon.ask("count for ever").await;
    assert_eq!(result["tool_rounds"], 10, "{result}");
    let words = result["reply"].as_str().or_else(|| result["error"]["text"].as_str());
    assert!(words.is_some_and(|text| text.contains("10")), "{result}");
}

#[tokio::test]
async fn the_same_call_again_and_again_is_broken_off() {
    let (daemon, vendor) = with_vendor().await;
    vendor.script((0..12).map(|_| Reply::calls(&[("add", r#"{"numbers":[1,1]}"#)])));
    let result = daemon.ask("loop").await;
    assert!(result["tool_rounds"].as_u64().is_some_and(|rounds| rounds < 10), "{result}");
}

#[tokio::test]
async fn tools_are_listed_and_called_by_hand() {
    let (daemon, _vendor) = with_vendor().await;
    let listed = daemon.waiter(&["tools"]).await.ok();
    assert!(listed.contains("add") && listed.contains("calc"), "{listed}");
    let answer = daemon.waiter(&["tools", "call", "mul", r#"{"numbers":["1e3", 2]}"#]).await.ok();
    assert!(answer.contains("2000"), "{answer}");
    let wrong = daemon.waiter(&["tools", "call", "mul", "{}"]).await;
    assert_eq!(wrong.status.code(), Some(1));
    assert!(!wrong.stderr.is_empty());
    let unknown = daemon.waiter(&["tools", "call", "mull", "{}"]).await;
    assert!(unknown.stderr.contains("mul"), "{}", unknown.stderr);
}
