//! Connections, and the accounts they belong to.

use homeagent_sdk::Peer;
use serde_json::json;

use super::{Bench, output};
use crate::samples::{ME, private};

#[test]
fn a_second_connection_of_an_account_takes_the_firsts_place() {
    let mut bench = Bench::new();
    bench.connect(2, &[("x-self-id", ME)]);
    assert_eq!(bench.closed, [1]);
    bench.hear_text(1, &private(1, &json!("旧")).to_string());
    bench.hear_text(2, &private(1, &json!("新")).to_string());
    assert_eq!(bench.heard(), ["新"], "what still comes over the old one does not count");
    bench.disconnect(1);
    bench.send(&output(Peer::Person("20".to_owned()), "在"));
    assert_eq!(bench.requests[0].0, 2);
    assert!(!bench.published.iter().any(|event| event["state"] == "disconnected"), "the account was never away");
}

#[test]
fn events_and_requests_may_have_connections_of_their_own() {
    let mut bench = Bench::new();
    bench.connect(2, &[("x-self-id", "5"), ("x-client-role", "Event")]);
    bench.connect(3, &[("x-self-id", "5"), ("x-client-role", "API")]);
    assert!(bench.closed.is_empty());
    let mut words = output(Peer::Person("20".to_owned()), "在");
    words.meta.push(("account".to_owned(), "5".to_owned()));
    let ticket = bench.send(&words);
    assert_eq!(bench.requests[0].0, 3);
    let echo = bench.asked().2;
    let answer = json!({"status": "ok", "retcode": 0, "data": {"message_id": 1}, "echo": echo}).to_string();
    bench.hear_text(2, &answer);
    assert_eq!(bench.outcome(ticket), None, "an answer counts where it was asked for");
    let said = bench.said.len();
    bench.hear_text(3, &answer);
    assert_eq!(bench.said.len(), said, "an answer is no new connection");
    assert!(bench.outcome(ticket).expect("it has ended").is_ok());
    bench.connect(4, &[("x-self-id", "5"), ("x-client-role", "Universal")]);
    assert_eq!(bench.closed, [2, 3]);
}

#[test]
fn several_accounts_are_told_apart() {
    let mut bench = Bench::new();
    bench.connect(2, &[("x-self-id", "5")]);
    let mut frame = private(1, &json!("你好"));
    frame["self_id"] = json!(5);
    bench.hear_text(2, &frame.to_string());
    bench.send(&output(Peer::Person("20002000".to_owned()), "在"));
    assert_eq!(bench.requests[0].0, 2, "the account that they talked to");
    let error = bench.qq.deliver(&output(Peer::Person("77".to_owned()), "在"), &bench.settings, bench.now, 1);
    assert!(error.expect_err("which?").message().contains("10001000, 5"));
}

#[test]
fn an_account_that_is_not_named_is_learnt_from_what_it_says() {
    let mut bench = Bench::new();
    bench.connect(2, &[]);
    bench
        .hear_text(2, r#"{"post_type":"meta_event","meta_event_type":"lifecycle","sub_type":"connect","self_id":"5"}"#);
    assert_eq!(bench.qq.accounts.of(2).as_deref(), Some("5"));
    assert_eq!(bench.published.last(), Some(&json!({"account": "5", "state": "connected", "reason": null})));
}

#[test]
fn a_client_that_falls_silent_is_taken_for_dead_and_closed() {
    let mut bench = Bench::new();
    bench.connect(2, &[("x-self-id", "5")]);
    bench.hear_text(2, r#"{"post_type":"meta_event","meta_event_type":"heartbeat","self_id":5,"interval":5000}"#);
    for _ in 0..4 {
        bench.pass(5_000);
    }
    assert!(bench.closed.is_empty());
    bench.pass(5_000);
    assert_eq!(bench.closed, [2]);
    assert!(bench.said.iter().any(|line| line.contains("taken for dead: nothing was heard of it for 25 s")));
    assert_eq!(bench.published.last().map(|event| &event["state"]), Some(&json!("dead")));
    bench.pass(5_000);
    assert_eq!(bench.closed, [2], "it is said once");
}

#[test]
fn nobody_is_dead_because_nobody_listened() {
    let beat = r#"{"post_type":"meta_event","meta_event_type":"heartbeat","self_id":5,"interval":5000}"#;
    let mut bench = Bench::new();
    bench.connect(2, &[("x-self-id", "5")]);
    bench.hear_text(2, beat);
    // The machine slept for an hour, and both speak when it wakes.
    bench.pass(3_600_000);
    bench.now += 1_000;
    bench.hear_text(2, beat);
    bench.pass(10_000);
    // Its frames are being taken in, which takes long.
    bench.qq.accounts.begin(2);
    for _ in 0..6 {
        bench.pass(5_000);
    }
    bench.qq.accounts.end(2, bench.now);
    for _ in 0..3 {
        bench.pass(5_000);
    }
    assert!(bench.closed.is_empty(), "{:?}", bench.said);
}

#[test]
fn silence_says_nothing_of_a_client_that_never_beats() {
    let mut bench = Bench::new();
    bench.connect(2, &[("x-self-id", "5")]);
    for _ in 0..100 {
        bench.pass(5_000);
    }
    assert!(bench.closed.is_empty());
}

#[test]
fn an_account_that_is_logged_out_is_said_once() {
    let mut bench = Bench::new();
    for online in [false, false, true] {
        bench
            .hear(&json!({"post_type": "meta_event", "meta_event_type": "heartbeat", "self_id": ME, "interval": 5_000,
            "status": {"online": online, "good": true}}));
    }
    assert_eq!(bench.said.iter().filter(|line| line.contains("off line")).count(), 1);
    assert!(bench.said.last().is_some_and(|line| line.contains("on line again")));
}

#[test]
fn an_account_that_is_thrown_out_is_off_line_at_once() {
    let mut bench = Bench::new();
    bench.hear(&json!({"post_type": "notice", "notice_type": "bot_offline", "self_id": ME, "user_id": ME, "message": "被踢下线"}));
    assert_eq!(bench.published.last().map(|event| &event["state"]), Some(&json!("offline")));
    assert!(bench.inputs.is_empty());
}

#[test]
fn a_client_that_makes_up_accounts_is_not_followed() {
    let mut bench = Bench::new();
    for account in 0..500 {
        let mut frame = private(account, &json!("喂"));
        frame["self_id"] = json!(900_000 + account);
        bench.hear(&frame);
    }
    assert_eq!(bench.qq.accounts(0).as_array().map(Vec::len), Some(64));
    assert_eq!(bench.said.iter().filter(|line| line.contains("is not served")).count(), 1);
}

#[test]
fn several_accounts_may_talk_over_one_connection() {
    let mut bench = Bench::new();
    let before = bench.said.len();
    for round in 0..20 {
        let mut frame = private(round, &json!("喂"));
        frame["self_id"] = if round % 2 == 0 { json!(5) } else { json!(ME) };
        bench.hear(&frame);
    }
    assert_eq!((bench.inputs.len(), bench.said.len() - before), (20, 1), "that one has come is said once");
    bench.disconnect(1);
    assert_eq!(bench.said.iter().filter(|line| line.contains("no longer connected")).count(), 2);
    let states = bench.qq.accounts(bench.now);
    assert!(states.as_array().expect("a list").iter().all(|account| account["state"] == "disconnected"));
}
