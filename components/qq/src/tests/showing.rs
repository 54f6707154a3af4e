//! Answers that are sent while they are being written.

use homeagent_sdk::{Delta, DeltaContent, Output, OutputKind, Peer};
use serde_json::{Value, json};

use super::sending::sent;
use super::{Bench, output};
use crate::samples::text;

const FIRST: &str = "第一段有足够多的字所以可以单独发送出去了。";
const SECOND: &str = "第二段也有足够多的字，同样单独发送出去吧。";

fn answer(text: &str) -> Output {
    output(Peer::Person("20002000".to_owned()), text)
}

/// A client that is told of answers while they are being written.
fn streaming() -> Bench {
    Bench::with(&json!({"stream": true}))
}

/// The model has written so much more of its answer.
fn write(bench: &mut Bench, content: DeltaContent) {
    let conversation = answer("").conversation;
    let delta = Delta { run: "r1".to_owned(), conversation, reply_route: None, content };
    let effects = bench.qq.show(&[delta], &bench.settings, bench.now);
    bench.take(effects);
}

fn write_text(bench: &mut Bench, text: &str) {
    text.chars().for_each(|c| write(bench, DeltaContent::Text(c.to_string())));
}

/// The text of the next message, and what its answer carries.
fn message(bench: &mut Bench) -> (Value, Value) {
    let (_, mut params, echo) = bench.asked();
    (params["message"][0]["data"]["text"].take(), echo)
}

/// The client confirms the next message; its text.
fn confirm(bench: &mut Bench) -> Value {
    let (text, echo) = message(bench);
    bench.answer(&echo, &json!({"message_id": 1}));
    text
}

#[test]
fn paragraphs_are_sent_where_the_setting_says_so() {
    let whole = format!("{FIRST}\n\n{SECOND}\n\n完。");
    let mut bench = streaming();
    write_text(&mut bench, &whole);
    let ticket = bench.send(&answer(&whole));
    assert_eq!([confirm(&mut bench), confirm(&mut bench), confirm(&mut bench)], [FIRST, SECOND, "完。"]);
    assert!(bench.requests.is_empty() && bench.outcome(ticket).expect("it has ended").is_ok());

    let mut whole_only = Bench::new();
    write_text(&mut whole_only, &whole);
    assert!(whole_only.requests.is_empty());
    assert_eq!(sent(&mut whole_only, &answer(&whole))[0].1["message"], json!([text(&whole)]));
    let notice = Output { kind: OutputKind::Notice("failed".to_owned()), ..answer("没成功") };
    assert_eq!(sent(&mut whole_only, &notice).len(), 1);
}

#[test]
fn an_answer_of_which_a_paragraph_was_refused_goes_whole() {
    let whole = format!("{FIRST}\n\n{SECOND}\n\n{SECOND}\n\n完。");
    let mut bench = streaming();
    write_text(&mut bench, &format!("{FIRST}\n\n{SECOND}\n\n"));
    let (_, echo) = message(&mut bench);
    bench.refuse(&echo, 102, "");
    write_text(&mut bench, &format!("{SECOND}\n\n完。"));
    assert!(bench.requests.is_empty(), "nothing goes out that comes again with the whole");
    assert_eq!(sent(&mut bench, &answer(&whole))[0].1["message"], json!([text(&whole)]));
}

#[test]
fn an_answer_of_which_a_paragraph_was_never_confirmed_goes_whole() {
    let whole = format!("{FIRST}\n\n{SECOND}\n\n完。");
    let mut bench = streaming();
    write_text(&mut bench, &whole);
    assert_eq!(confirm(&mut bench), FIRST);
    let (_, _lost) = message(&mut bench);
    (0..5).for_each(|_| bench.pass(5_000));
    assert_eq!(sent(&mut bench, &answer(&whole))[0].1["message"], json!([text(&whole)]));
}

#[test]
fn a_connection_that_goes_takes_no_paragraph_with_it() {
    let whole = format!("{FIRST}\n\n完。");
    let mut bench = streaming();
    write_text(&mut bench, &whole);
    let (_, _lost) = message(&mut bench);
    bench.disconnect(1);
    bench.connect(1, &[("x-self-id", crate::samples::ME)]);
    assert_eq!(sent(&mut bench, &answer(&whole))[0].1["message"], json!([text(&whole)]));
}

#[test]
fn an_answer_whose_end_is_on_its_way_has_failed_with_a_paragraph() {
    let whole = format!("{FIRST}\n\n{SECOND}\n\n完。");
    let mut bench = streaming();
    write_text(&mut bench, &whole);
    let ticket = bench.send(&answer(&whole));
    let after = bench.send(&Output { run: Some("r2".to_owned()), ..answer("别的") });
    assert_eq!(confirm(&mut bench), FIRST);
    let (_, echo) = message(&mut bench);
    bench.refuse(&echo, 102, "");
    let failure = bench.outcome(ticket).expect("it has ended").expect_err("a paragraph is missing").message();
    assert!(failure.contains("1 of 3 messages were sent") && failure.contains("code 102"), "{failure}");
    assert_eq!(confirm(&mut bench), "别的", "the end is not sent without what comes before it, and what follows is");
    assert!(bench.requests.is_empty() && bench.outcome(after).expect("it has ended").is_ok());
}

#[test]
fn an_answer_that_was_shown_to_its_end_is_sent_when_that_is_confirmed() {
    for is_refused in [false, true] {
        let mut bench = streaming();
        write_text(&mut bench, &format!("{FIRST}\n\n"));
        let ticket = bench.send(&answer(FIRST));
        assert_eq!(bench.outcome(ticket), None, "nobody knows yet");
        let (_, echo) = message(&mut bench);
        if is_refused {
            bench.refuse(&echo, 102, "");
        } else {
            bench.answer(&echo, &json!({"message_id": 1}));
        }
        assert_eq!(bench.outcome(ticket).expect("it has ended").is_err(), is_refused);
        assert!(bench.requests.is_empty());
    }
}

#[test]
fn what_was_said_before_a_tool_ran_is_no_part_of_the_answer() {
    let mut bench = streaming();
    write_text(&mut bench, &format!("{FIRST}\n\n"));
    write(&mut bench, DeltaContent::Void);
    write_text(&mut bench, &format!("{SECOND}\n\n完。"));
    let (_, echo) = message(&mut bench);
    bench.refuse(&echo, 102, "");
    let ticket = bench.send(&answer(&format!("{SECOND}\n\n完。")));
    assert_eq!([confirm(&mut bench), confirm(&mut bench)], [SECOND, "完。"]);
    assert!(bench.outcome(ticket).expect("it has ended").is_ok());
}
