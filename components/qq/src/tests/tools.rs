//! The standard's actions, asked for by the model.

use homeagent_sdk::{Arguments, Conversation, Error, Peer, testing};
use serde_json::{Value, json};

use super::Bench;
use crate::samples::{ME, private};

fn begin(bench: &mut Bench, name: &str, arguments: &Value) -> Result<u64, Error> {
    let arguments = Arguments::new(arguments.to_string());
    let (_, begun) = bench.qq.call(name, &arguments, &testing::cause(), &bench.settings, bench.now)?;
    bench.take(begun.effects);
    Ok(begun.ticket)
}

#[test]
fn an_action_is_asked_for_and_its_answer_comes_back() {
    let mut bench = Bench::new();
    let ticket = begin(&mut bench, "qq_get_group_info", &json!({"group_id": "30"})).expect("it is begun");
    let (action, params, echo) = bench.asked();
    assert_eq!((action.as_str(), params), ("get_group_info", json!({"group_id": 30})));
    bench.answer(&echo, &json!({"group_name": "家"}));
    assert_eq!(bench.outcome(ticket).expect("it has ended").expect("done")["data"], json!({"group_name": "家"}));
}

#[test]
fn actions_do_not_wait_for_each_other() {
    let mut bench = Bench::new();
    for _ in 0..3 {
        begin(&mut bench, "qq_get_friend_list", &json!({})).expect("it is begun");
    }
    assert_eq!(bench.requests.len(), 3);
}

#[test]
fn a_refusal_is_said_in_words() {
    let mut bench = Bench::new();
    let ticket = begin(&mut bench, "qq_set_group_leave", &json!({"group_id": 30})).expect("it is begun");
    let echo = bench.asked().2;
    bench.refuse(&echo, 102, "没有权限");
    let words = bench.outcome(ticket).expect("it has ended").expect_err("refused").message();
    assert!(words.contains("lack the right") && words.contains("没有权限"), "{words}");
}

#[test]
fn the_account_is_the_one_that_talks_there() {
    let mut bench = Bench::new();
    bench.connect(2, &[("x-self-id", "5")]);
    let mut frame = private(1, &json!("你好"));
    frame["self_id"] = json!(5);
    bench.hear_text(2, &frame.to_string());
    begin(&mut bench, "qq_friend_poke", &json!({"user_id": 20_002_000})).expect("it is begun");
    assert_eq!(bench.requests.remove(0).0, 2);
    begin(&mut bench, "qq_friend_poke", &json!({"user_id": 20_002_000, "account": ME})).expect("it is begun");
    assert_eq!(bench.requests.remove(0).0, 1);
    let error = begin(&mut bench, "qq_get_friend_list", &json!({})).expect_err("which?");
    assert!(error.message().contains("several QQ accounts"), "{}", error.message());
    let here = Conversation { channel: "qq".to_owned(), peer: Peer::Person("20002000".to_owned()) };
    let cause = homeagent_sdk::Cause { conversation: Some(here), ..testing::cause() };
    let call = bench.qq.call("qq_get_friend_list", &Arguments::new("{}"), &cause, &bench.settings, bench.now);
    bench.take(call.expect("it is begun").1.effects);
    assert_eq!(bench.requests.remove(0).0, 2, "the one of the conversation");
}

#[test]
fn accounts_are_listed_with_how_they_are() {
    let mut bench = Bench::new();
    bench.connect(2, &[("x-self-id", "5")]);
    bench.disconnect(2);
    let accounts = bench.qq.accounts(bench.now);
    assert_eq!(accounts[0]["state"], "connected");
    assert_eq!((&accounts[1]["account"], &accounts[1]["state"]), (&json!("5"), &json!("disconnected")));
}
