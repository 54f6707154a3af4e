//! Calls, and every way a guest can fail in one.

use homeagent_types::ports::{Haste, PluginAdmin, Plugins};
use homeagent_types::stage::{Stage, StageContext, StageData};
use homeagent_types::{CallError, Conversation, Output, OutputKind};

use crate::house;

/// So many calls that 100 bytes of each are more than a small memory.
const MANY: usize = 20_000;

fn reason(outcome: Result<String, CallError>) -> String {
    match outcome {
        Err(CallError::Other(reason)) => reason,
        other => panic!("expected a failure in words, got {other:?}"),
    }
}

#[tokio::test]
async fn a_tool_answers() {
    let house = house::with(&["traps"]).await;
    assert_eq!(house.call("traps", "ok", "{}").await, Ok("ok".into()));
}

#[tokio::test]
async fn a_panic_is_an_error_that_names_plugin_export_and_words_and_the_next_call_works() {
    let house = house::with(&["traps"]).await;
    let reason = reason(house.call("traps", "trap", "{}").await);
    for word in ["traps", "tool-provider.call", "panicked"] {
        assert!(reason.contains(word), "{reason} does not name {word}");
    }
    assert_eq!(house.call_again("traps", "ok").await, Ok("ok".into()));
    let status = &house.runtime.list()[0];
    assert_eq!((status.state.as_str(), status.restarts), ("live", 1));
    assert!(status.last_error.as_deref().is_some_and(|error| error.contains("tool-provider.call")));
}

#[tokio::test]
async fn a_call_that_only_reads_and_is_lost_beside_a_trap_may_be_made_again() {
    let house = house::with(&["traps"]).await;
    let (lost, trapped) = tokio::join!(house.call("traps", "wait", "{}"), house.call("traps", "trap", "{}"));
    assert_eq!(lost, Err(CallError::Retryable));
    reason(trapped);
}

#[tokio::test]
async fn tools_that_an_instance_put_there_go_with_it() {
    let house = house::with(&["traps"]).await;
    house.call("traps", "retool", "{}").await.expect("it has the grant");
    assert_eq!(house.tools(), ["other"]);
    reason(house.call("traps", "trap", "{}").await);
    assert_eq!(house.call_again("traps", "ok").await, Ok("ok".into()));
    assert!(house.tools().contains(&"ok".to_owned()), "{:?}", house.tools());
}

#[tokio::test]
async fn a_guest_that_computes_for_ever_costs_its_caller_the_deadline_and_nobody_else_anything() {
    let house = house::with(&["traps", "counter-one"]).await;
    house.settings.set("core.plugin.grace_ms", 50).expect("a valid grace");
    let (hung, other) =
        tokio::join!(house.call_within("traps", "loop", "{}", 200), house.call("counter", "count", "{}"));
    assert_eq!(hung, Err(CallError::Timeout));
    assert_eq!(other, Ok("1".into()));
    assert_eq!(house.call_again("traps", "ok").await, Ok("ok".into()));
}

#[tokio::test]
async fn a_guest_that_waits_for_ever_is_replaced_after_its_grace() {
    let house = house::with(&["traps"]).await;
    house.settings.set("core.plugin.grace_ms", 50).expect("a valid grace");
    assert_eq!(house.call_within("traps", "wait", "{}", 100).await, Err(CallError::Timeout));
    // The other calls of the plugin go on meanwhile: it is only waiting.
    assert_eq!(house.call_again("traps", "ok").await, Ok("ok".into()));
}

#[tokio::test]
async fn memory_has_an_end_and_the_error_says_so() {
    let house = house::with(&["traps"]).await;
    let reason = reason(house.call("traps", "memory", "{}").await);
    assert!(reason.contains("64 MiB"), "{reason}");
    assert_eq!(house.call_again("traps", "ok").await, Ok("ok".into()));
}

#[tokio::test]
async fn a_guest_that_copes_without_memory_is_not_said_to_trap_for_want_of_it() {
    let house = house::with(&["traps"]).await;
    assert_eq!(house.call("traps", "greed", "{}").await, Ok("without".into()));
    let reason = reason(house.call("traps", "trap", "{}").await);
    assert!(!reason.contains("64 MiB") && reason.contains("a trap on request"), "{reason}");
}

#[tokio::test]
async fn an_answer_that_is_nested_too_deep_is_refused_and_costs_no_instance() {
    let house = house::with(&["traps"]).await;
    let reason = reason(house.call("traps", "deep", "{}").await);
    assert!(reason.contains("nested more than 100 deep"), "{reason}");
    assert_eq!(house.call("traps", "ok", "{}").await, Ok("ok".into()));
}

#[tokio::test]
async fn an_answer_that_is_too_big_is_refused_and_costs_no_instance() {
    let house = house::with(&["traps"]).await;
    let reason = reason(house.call("traps", "big", "{}").await);
    assert!(reason.contains("1048576 are the most"), "{reason}");
    assert_eq!(house.call("traps", "ok", "{}").await, Ok("ok".into()));
    assert_eq!(house.status("traps").restarts, 0);
}

#[tokio::test]
async fn the_report_of_a_panic_has_its_message_however_much_was_written_before() {
    let house = house::with(&["traps"]).await;
    house.call("traps", "chatter", "{}").await.expect("it only complains");
    let reason = reason(house.call("traps", "trap", "{}").await);
    assert!(reason.contains("a trap on request"), "{reason}");
}

#[tokio::test]
async fn the_report_of_a_panic_has_no_known_secret_in_it() {
    let house = house::with(&["traps"]).await;
    house.secrets.set("source.x.key", "sk-marked-0123456789".into()).expect("a secret");
    let reason = reason(house.call("traps", "lament", r#"{"key":"sk-marked-0123456789"}"#).await);
    assert!(reason.contains("woe") && reason.contains("[secret source.x.key]"), "{reason}");
    let status = house.status("traps");
    assert!(!reason.contains("sk-marked") && !format!("{status:?}").contains("sk-marked"), "{reason}, {status:?}");
}

#[tokio::test]
async fn a_plugin_that_fails_again_and_again_is_switched_off_with_the_reason() {
    let house = house::with(&["traps"]).await;
    house.settings.set("core.plugin.restarts", 1).expect("a valid number");
    reason(house.call("traps", "trap", "{}").await);
    assert_eq!(house.call_again("traps", "ok").await, Ok("ok".into()));
    reason(house.call("traps", "trap", "{}").await);
    let off = reason(house.call_again("traps", "ok").await);
    assert!(off.contains("does not run") && off.contains("tool-provider.call"), "{off}");
    assert_eq!(house.state("traps"), "failed");
    assert!(house.tools().is_empty(), "it offers nothing any more");
    house.runtime.reload("traps", Haste::default()).await.expect("the owner may try again");
    assert_eq!(house.call("traps", "ok", "{}").await, Ok("ok".into()));
}

#[tokio::test]
async fn many_calls_wait_at_one_time_on_one_instance() {
    let house = house::with(&["counter-one"]).await;
    let calls = (0..100).map(|_| house.call("counter", "count", "{}"));
    let mut answers = Vec::new();
    for answer in futures::future::join_all(calls).await {
        answers.push(answer.expect("it counts").parse::<u32>().expect("a number"));
    }
    answers.sort_unstable();
    assert_eq!(answers, (1..=100).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_call_into_a_plugin_that_is_not_there_says_so() {
    let house = house::empty();
    let error = house.call("nobody", "x", "{}").await.expect_err("nobody is there");
    assert_eq!(error, CallError::NotFound("the plugin nobody is not loaded".into()));
}

#[tokio::test]
async fn a_chain_that_comes_back_too_often_is_busy_at_once() {
    let house = house::with(&["traps"]).await;
    let mut cause = house::cause(1_000);
    cause.chain = vec!["traps".into(); 4];
    let outcome = house.runtime.call_tool("traps", "ok", "{}".into(), cause).await;
    assert_eq!(outcome.map(|output| output.value), Err(CallError::Busy));
}

#[tokio::test]
async fn a_plugin_calls_other_tools_with_the_rights_of_the_call_it_runs_for_and_no_more() {
    let house = house::with(&["speaker"]).await;
    house.call("speaker", "speak", r#"{"text":"hello"}"#).await.expect("it speaks");
    let called = house.mind.called.lock().expect("no panic").clone();
    let (caller, tool, cause) = &called[0];
    assert_eq!((caller.as_str(), tool.as_str()), ("speaker", "output_send__cli"));
    assert_eq!((&cause.principal, cause.run.as_deref()), (&house::owner(), Some("run-1")));
    assert_eq!(cause.chain, ["speaker"]);
}

#[tokio::test]
async fn a_guard_that_is_switched_off_does_not_open_the_gate() {
    let house = house::with(&["guard"]).await;
    house.settings.set("core.plugin.restarts", 0).expect("a valid number");
    let closed = || house.runtime.offers().stages.iter().any(|offer| offer.plugin == "guard");
    assert!(closed());
    let call = homeagent_types::ToolCall { id: "1".into(), name: "x".into(), arguments: r#"{"a":"trap"}"#.into() };
    let context = StageContext {
        stage: Stage::BeforeToolcall,
        data: StageData::Call(call),
        turn_data: Vec::new(),
        cause: house::cause(5_000),
    };
    house.runtime.run_stage("guard", context.clone()).await.expect_err("it traps");
    house::until(|| house.state("guard") == "failed").await;
    assert!(closed(), "its handler is still asked");
    house.runtime.run_stage("guard", context).await.expect_err("and refuses by failing");
}

/// A guest with little memory, as often as it takes for a few forgotten bytes a call to use it up.
#[tokio::test]
async fn no_tool_call_leaves_anything_behind_in_a_guest() {
    let house = house::with_memory(2, &["echo"]).await;
    for number in 0..MANY {
        let answer = house.call("echo", "echo", r#"{"text":"hello"}"#).await;
        assert!(answer.is_ok(), "call {number}: {answer:?}");
    }
}

#[tokio::test]
async fn no_stage_leaves_anything_behind_in_a_guest() {
    let house = house::with_memory(2, &["upper"]).await;
    for number in 0..MANY {
        let context = StageContext {
            stage: Stage::BeforeOutput,
            data: StageData::Output { text: "hello".to_owned(), conversation: Conversation::person("cli", "owner") },
            turn_data: vec![("key".to_owned(), "value".to_owned())],
            cause: house::cause(30_000),
        };
        let answer = house.runtime.run_stage("upper", context).await;
        assert!(answer.is_ok(), "call {number}: {answer:?}");
    }
}

#[tokio::test]
async fn no_message_leaves_anything_behind_in_a_guest() {
    let house = house::with_memory(2, &["greeter-rust"]).await;
    for number in 0..MANY {
        let output = Output {
            id: number.to_string(),
            run: None,
            conversation: Conversation::person("greeter", "owner"),
            reply_route: None,
            kind: OutputKind::Message,
            text: "hello".to_owned(),
            media: Vec::new(),
            structured: None,
            meta: Vec::new(),
        };
        let answer = house.runtime.deliver("greeter", output, house::cause(30_000)).await;
        assert!(answer.is_ok(), "message {number}: {answer:?}");
    }
}

#[tokio::test]
async fn no_question_to_the_host_leaves_anything_behind_in_a_guest() {
    let house = house::with_memory(2, &["speaker"]).await;
    for number in 0..MANY {
        let answer = house.call("speaker", "speak", r#"{"text":"hello"}"#).await;
        assert!(answer.is_ok(), "call {number}: {answer:?}");
    }
}
