//! Whatever a client sends: no panic, no endless loop, and the next message is heard.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::Bench;
use crate::samples::{ME, any_json, at, group, private};

fn still_hears(bench: &mut Bench) {
    bench.inputs.clear();
    bench.hear(&private(987_654, &json!("还在吗")));
    assert_eq!(bench.heard().last(), Some(&"还在吗"));
}

#[test]
fn frames_that_are_none_are_reported_once() {
    let mut bench = Bench::new();
    let huge = format!(r#"{{"post_type":"message","message":"{}"}}"#, "x".repeat(10 << 20));
    let deep = format!(r#"{{"message":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    for frame in ["", "null", "{", "\u{feff}", "[[[", r#"{"self_id":1e999}"#, &huge, &deep] {
        bench.hear_text(1, frame);
    }
    assert_eq!(bench.said.iter().filter(|line| line.contains("can't be read")).count(), 1);
    bench.hear_text(404, &private(1, &json!("hi")).to_string());
    assert!(bench.inputs.is_empty(), "a connection that nobody opened");
    still_hears(&mut bench);
}

#[test]
fn odd_messages_cost_nothing_but_themselves() {
    let mut bench = Bench::with(&json!({"rate_per_minute": 0}));
    let nested = (0..60).fold(json!("x"), |inner, _| json!([{"type": "node", "data": {"content": inner}}]));
    for (id, message) in (1..).zip([
        json!(vec![at(ME); 1_000]),
        json!(vec![json!({"type": "image", "data": {"url": "https://x/a.png", "file": "a"}}); 1_000]),
        json!(vec![json!({"type": "forward", "data": {"id": "f"}}); 1_000]),
        json!("[CQ:".repeat(20_000)),
        json!("x".repeat(900_000)),
        json!({"type": {"type": []}, "data": "x"}),
        json!([{"type": "text", "data": {"text": {"text": 1}}}, {"type": "at", "data": {"qq": -1.5e300}}]),
        nested,
    ]) {
        bench.hear(&private(id, &message));
        bench.hear(&group(id, &message));
    }
    bench.disconnect(1);
    for input in &bench.inputs {
        assert!(super::text_of(input).len() < 200_000 && input.media.len() <= 16);
    }
    bench.connect(1, &[("x-self-id", ME)]);
    still_hears(&mut bench);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_frames_leave_the_channel_working(frames in prop::collection::vec(any_json(), 1..6)) {
        let mut bench = Bench::with(&json!({"group_policy": "all", "notices": ["recall"], "stream": true}));
        for frame in &frames {
            bench.hear(frame);
        }
        let account = bench.qq.accounts.of(1);
        prop_assume!(account.as_deref() == Some(ME));
        still_hears(&mut bench);
    }

    #[test]
    fn any_message_and_any_answer_are_read(message in any_json(), answers in prop::collection::vec(any_json(), 4)) {
        let mut bench = Bench::with(&json!({"group_policy": "all"}));
        bench.hear(&group(1, &message));
        for answer in answers {
            if let Some((_, request)) = bench.requests.pop() {
                bench.answer(&request["echo"], &answer);
            }
        }
        for _ in 0..4 {
            bench.pass(5_000);
        }
        prop_assert!(bench.inputs.len() <= 1);
    }

    #[test]
    fn any_notice_is_read(kind in "group_(upload|admin|decrease|increase|ban|recall|card)|notify|friend_add|offline_file",
        fields in any_json()) {
        let mut frame = json!({"post_type": "notice", "notice_type": kind, "self_id": ME, "group_id": 30, "user_id": 20});
        if let (Some(frame), Value::Object(fields)) = (frame.as_object_mut(), fields) {
            frame.extend(fields.into_iter().filter(|(key, _)| key != "post_type" && key != "self_id"));
        }
        let mut bench = Bench::with(&json!({"notices": ["upload", "ban", "join"]}));
        bench.hear(&frame);
        still_hears(&mut bench);
    }
}
