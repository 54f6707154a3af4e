//! The agent's words on their way to QQ.

use homeagent_sdk::{Error, Media, MediaSource, Output, Peer};
use serde_json::{Value, json};

use super::{Bench, output, reply};
use crate::samples::{ME, at, group, private, text};

fn person() -> Peer {
    Peer::Person("20002000".to_owned())
}

fn medium(mime: &str, source: MediaSource) -> Media {
    Media { mime: mime.to_owned(), name: Some("a.bin".to_owned()), source, meta: Vec::new() }
}

/// All requests that sending this makes, when the client does everything.
pub(super) fn sent(bench: &mut Bench, output: &Output) -> Vec<(String, Value)> {
    let ticket = bench.send(output);
    let mut sent = Vec::new();
    while !bench.requests.is_empty() {
        assert_eq!(bench.requests.len(), 1, "one at a time");
        let (action, params, echo) = bench.asked();
        sent.push((action, params));
        bench.answer(&echo, &json!({"message_id": sent.len()}));
    }
    assert!(bench.outcome(ticket).expect("it has ended").is_ok());
    sent
}

#[test]
fn an_answer_goes_back_where_the_message_came_from() {
    let mut bench = Bench::new();
    bench.hear(&private(1, &json!("在吗")));
    let answer = reply(&bench.inputs[0].clone(), "**在**，[CQ:at,qq=all]");
    let message = json!([{"type": "text", "data": {"text": "在，[CQ:at,qq=all]"}}]);
    let params = json!({"user_id": 20_002_000, "message": message});
    assert_eq!(sent(&mut bench, &answer), [("send_private_msg".to_owned(), params)]);
}

#[test]
fn an_answer_in_a_group_quotes_what_it_answers() {
    let mut bench = Bench::new();
    bench.hear(&group(12, &json!([at(ME), text("在吗")])));
    let answer = reply(&bench.inputs[0].clone(), "在");
    let message = json!([{"type": "reply", "data": {"id": "12"}}, {"type": "text", "data": {"text": "在"}}]);
    let params = json!({"group_id": 30_003_000, "message": message});
    assert_eq!(sent(&mut bench, &answer), [("send_group_msg".to_owned(), params)]);
    bench.settings.quote = false;
    assert_eq!(sent(&mut bench, &answer)[0].1["message"], json!([text("在")]));
}

#[test]
fn an_answer_to_a_temporary_session_carries_its_group() {
    let mut bench = Bench::new();
    let mut frame = private(1, &json!("你好"));
    frame["sub_type"] = json!("group");
    frame["sender"]["group_id"] = json!(30);
    bench.hear(&frame);
    let answer = reply(&bench.inputs[0].clone(), "你好");
    assert_eq!(sent(&mut bench, &answer)[0].1["group_id"], json!(30));
    // Also what is said later, without an input that it answers.
    assert_eq!(sent(&mut bench, &output(person(), "提醒"))[0].1["group_id"], json!(30));
}

#[test]
fn clients_that_want_strings_get_them_escaped() {
    let mut bench = Bench::with(&json!({"message_format": "string"}));
    let mut words = output(Peer::Group("30".to_owned()), "[CQ:at,qq=all]&");
    words.meta.push(("at".to_owned(), "99".to_owned()));
    assert_eq!(sent(&mut bench, &words)[0].1["message"], json!("[CQ:at,qq=99] &#91;CQ:at,qq=all&#93;&amp;"));
    words.meta[0].1 = "99]x".to_owned();
    assert!(bench.qq.deliver(&words, &bench.settings, 0, 1).expect_err("no number").message().contains("`at`"));
}

#[test]
fn long_text_is_split_and_sent_in_order() {
    let mut bench = Bench::with(&json!({"message_size": 100, "forward_above": 0}));
    let long = "这是一个不太长的句子。".repeat(40);
    let sent = sent(&mut bench, &output(person(), &long));
    let texts: Vec<&str> =
        sent.iter().filter_map(|(_, params)| params["message"][0]["data"]["text"].as_str()).collect();
    assert_eq!(texts.concat(), long);
    assert!(texts.len() == 5 && texts.iter().all(|text| text.ends_with('。') && text.chars().count() <= 100));
}

#[test]
fn very_long_text_becomes_a_list_and_single_messages_where_the_client_has_none() {
    let mut bench = Bench::with(&json!({"message_size": 100, "forward_above": 300}));
    let long = output(Peer::Group("30".to_owned()), &"这是一个不太长的句子。".repeat(40));
    let sent = sent(&mut bench, &long);
    assert_eq!((sent.len(), sent[0].0.as_str()), (1, "send_group_forward_msg"));
    assert_eq!(sent[0].1["messages"].as_array().map(Vec::len), Some(5));
    assert_eq!(sent[0].1["messages"][0]["data"]["user_id"], json!(10_001_000));

    let ticket = bench.send(&long);
    let (_, _, echo) = bench.asked();
    bench.refuse(&echo, 1404, "不支持的api");
    for _ in 0..5 {
        let (action, _, echo) = bench.asked();
        assert_eq!(action, "send_group_msg");
        bench.answer(&echo, &json!({"message_id": 1}));
    }
    assert!(bench.outcome(ticket).expect("it has ended").is_ok());
}

#[test]
fn what_failed_is_said_in_words_and_how_much_was_sent() {
    let mut bench = Bench::with(&json!({"message_size": 100, "forward_above": 0}));
    let ticket = bench.send(&output(person(), &"这是一个不太长的句子。".repeat(20)));
    let (_, _, echo) = bench.asked();
    bench.answer(&echo, &json!({"message_id": 1}));
    let (_, _, echo) = bench.asked();
    bench.refuse(&echo, 1200, "Timeout: NTEvent serviceAndMethod");
    let failure = bench.outcome(ticket).expect("it has ended").expect_err("it failed").message();
    assert!(failure.contains("1 of 3 messages were sent") && failure.contains("did not confirm"), "{failure}");
    assert!(bench.requests.is_empty(), "the rest is not sent");
}

#[test]
fn an_answer_that_never_comes_holds_up_nobody() {
    let mut bench = Bench::new();
    let first = bench.send(&output(person(), "一"));
    let second = bench.send(&output(person(), "二"));
    let (_, _, _lost) = bench.asked();
    for _ in 0..5 {
        bench.pass(5_000);
    }
    let failure = bench.outcome(first).expect("it has ended").expect_err("no answer").message();
    assert!(failure.contains("did not answer `send_private_msg` within 20 s"), "{failure}");
    let (_, params, echo) = bench.asked();
    assert_eq!(params["message"][0]["data"]["text"], "二");
    bench.answer(&echo, &json!({"message_id": 2}));
    assert!(bench.outcome(second).expect("it has ended").is_ok());
}

#[test]
fn pictures_go_with_the_text_and_other_media_by_themselves() {
    let mut bench = Bench::new();
    let mut words = output(Peer::Group("30".to_owned()), "看");
    words.media = vec![
        medium("image/png", MediaSource::Url("https://x/a.png".to_owned())),
        medium("audio/mpeg", MediaSource::Inline(b"ID3".to_vec())),
        medium("application/pdf", MediaSource::Url("https://x/a.pdf".to_owned())),
    ];
    let sent = sent(&mut bench, &words);
    assert_eq!(sent[0].1["message"], json!([text("看"), {"type": "image", "data": {"file": "https://x/a.png"}}]));
    assert_eq!(sent[1].1["message"], json!([{"type": "record", "data": {"file": "base64://SUQz"}}]));
    assert_eq!(
        sent[2],
        ("upload_group_file".to_owned(), json!({"group_id": 30, "file": "https://x/a.pdf", "name": "a.bin"}))
    );
}

#[test]
fn structured_messages_are_checked() {
    let mut bench = Bench::new();
    let structured = |json: Value| Output { structured: Some(json.to_string()), ..output(person(), "") };
    let face = json!([{"type": "face", "data": {"id": "14"}}]);
    assert_eq!(sent(&mut bench, &structured(face.clone()))[0].1["message"], face);
    let list = structured(json!({"forward": [{"name": "甲", "content": "[CQ:at,qq=all]"}]}));
    let (action, params) = sent(&mut bench, &list).remove(0);
    assert_eq!(action, "send_private_forward_msg");
    assert_eq!(params["messages"][0]["data"]["content"], json!([text("[CQ:at,qq=all]")]));
    for (json, word) in [
        (json!([{"type": "image", "data": {"file": "file:///etc/shadow"}}]), "`file`"),
        (json!([{"type": "record", "data": {"file": "/etc/shadow"}}]), "`file`"),
        (json!([{"type": "video", "data": {"file": "https://x", "cover": "C:\\x"}}]), "`cover`"),
        (json!({"forward": [{"content": [{"type": "image", "data": {"file": "../x"}}]}]}), "`file`"),
        (json!([{"type": "node", "data": {}}]), "`node`"),
        (json!({"forward": []}), "`forward`"),
        (json!(5), "structured"),
    ] {
        let error = bench.qq.deliver(&structured(json.clone()), &bench.settings, bench.now, 1).expect_err("refused");
        assert!(error.message().contains(word), "{json}: {}", error.message());
    }
}

#[test]
fn what_can_not_be_sent_is_refused_with_a_reason() {
    let mut bench = Bench::new();
    for (source, word) in [
        (MediaSource::Inline(vec![0; 2 << 20]), "bytes"),
        (MediaSource::Url("file:///etc/shadow".to_owned()), "https://"),
        (MediaSource::Stored("abc".to_owned()), "address"),
    ] {
        let words = Output { media: vec![medium("image/png", source)], ..output(person(), "") };
        let error = bench.qq.deliver(&words, &bench.settings, bench.now, 1).expect_err("refused");
        assert!(error.message().contains(word), "{}", error.message());
    }
    let mut many = output(person(), "");
    many.media = (0..3).map(|_| medium("image/png", MediaSource::Inline(vec![0; 600 << 10]))).collect();
    let ticket = bench.send(&many);
    assert!(
        bench.outcome(ticket).expect("at once").expect_err("too large").message().contains("too many for one message")
    );
    assert!(bench.qq.deliver(&output(person(), " \n "), &bench.settings, bench.now, 1).expect("nothing").is_none());
}

#[test]
fn without_a_connection_it_is_said_what_to_do() {
    let mut bench = Bench::new();
    let answer = output(person(), "在");
    bench.disconnect(1);
    let begin = |bench: &mut Bench, answer: &Output| bench.qq.deliver(answer, &bench.settings, bench.now, 1);
    let error = begin(&mut bench, &answer).expect_err("nobody is there");
    assert!(error.message().contains("no QQ account is connected"), "{}", error.message());
    let routed = Output { reply_route: Some(json!({ "account": ME }).to_string()), ..answer };
    assert_eq!(begin(&mut bench, &routed), Err(Error::Retryable), "it is back in a moment");
    bench.now += 120_000;
    assert!(matches!(begin(&mut bench, &routed), Err(Error::NotFound(_))));
}

#[test]
fn a_connection_that_goes_leaves_the_outcome_open() {
    let mut bench = Bench::new();
    let ticket = bench.send(&output(person(), "在"));
    bench.disconnect(1);
    let failure = bench.outcome(ticket).expect("it has ended").expect_err("lost").message();
    assert!(failure.contains("nobody knows whether"), "{failure}");
}
