//! One instance takes another's place while clients stay connected.

use serde_json::json;

use super::{Bench, connection, meta, output, text_of};
use crate::samples::{ME, at, group, private, text};
use homeagent_sdk::Peer;

/// The instance that takes this one's place.
fn swapped(bench: &mut Bench) -> Bench {
    let state = bench.qq.save();
    let mut next = Bench { qq: crate::state::Qq::new("u".to_owned()), ..Bench::with(&json!({})) };
    next.said.clear();
    next.published.clear();
    next.qq.load(&state).expect("it takes over");
    next
}

#[test]
fn what_was_said_and_seen_is_known_after_a_swap() {
    let mut bench = Bench::new();
    bench.hear(&group(1, &json!([text("背景")])));
    bench.hear(&private(2, &json!("一次")));
    let mut next = swapped(&mut bench);
    next.open(&connection(1, &[("x-self-id", ME)], true));
    next.hear(&private(2, &json!("一次")));
    assert!(next.inputs.is_empty(), "it was heard before the swap");
    next.hear(&group(3, &json!([at(ME), text("嗯")])));
    assert!(text_of(next.input()).contains("| 老王: 背景"));
    assert!(next.closed.is_empty() && next.said.is_empty() && next.published.is_empty(), "nobody has come or gone");
}

#[test]
fn a_message_that_waited_is_read_by_the_next_instance() {
    let mut bench = Bench::new();
    bench.hear(&group(1, &json!([at(ME), at("99"), text(" 来吗")])));
    let old = bench.asked().2;
    let mut next = swapped(&mut bench);
    let mut after_that = swapped(&mut next);
    assert!(next.inputs.is_empty());
    next.open(&connection(1, &[("x-self-id", ME)], true));
    let echo = next.asked().2;
    assert_ne!(echo, old);
    next.answer(&old, &json!({"card": "错"}));
    next.answer(&echo, &json!({"card": "老李"}));
    assert_eq!(next.heard(), ["@老李 来吗"]);
    assert_eq!(meta(next.input(), "message_id"), Some("1"));
    after_that.open(&connection(1, &[("x-self-id", ME)], true));
    assert_eq!(after_that.requests.len(), 1, "it is handed on until it is read");
}

#[test]
fn what_the_agent_had_no_room_for_is_handed_on() {
    let mut bench = Bench::new();
    bench.hear(&private(1, &json!("一")));
    bench.hear(&private(2, &json!("二")));
    let inputs = bench.inputs.clone();
    for input in &inputs {
        assert!(bench.qq.kept.push(input.clone()));
    }
    let mut after_that = swapped(&mut swapped(&mut bench));
    after_that.open(&connection(1, &[("x-self-id", ME)], true));
    after_that.hear(&private(1, &json!("一")));
    assert!(after_that.inputs.is_empty(), "it is offered as it was, and not read anew");
    for input in &inputs {
        assert_eq!(after_that.qq.kept.first(), Some(input));
        after_that.qq.kept.pop();
    }
}

#[test]
fn an_account_that_was_learnt_is_known_after_a_swap() {
    let mut bench = Bench::new();
    bench.connect(2, &[]);
    bench.hear_text(2, r#"{"post_type":"meta_event","meta_event_type":"lifecycle","self_id":5}"#);
    let mut next = swapped(&mut bench);
    next.open(&connection(2, &[], true));
    next.send(&output(Peer::Person("20".to_owned()), "在"));
    assert_eq!(next.requests[0].0, 2);
}

#[test]
fn a_state_of_another_form_is_refused_in_words() {
    let mut bench = Bench::new();
    for state in [&b"{}"[..], b"", b"{\"form\":2}", b"{\"form\":1}", b"[1]"] {
        assert!(bench.qq.load(state).is_err());
    }
    bench.hear(&private(1, &json!("还在")));
    assert_eq!(bench.heard(), ["还在"], "it goes on as it was");
}
