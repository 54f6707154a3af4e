//! What the agent says, as it arrives on QQ.

use std::time::Duration;

use homeagent_onebot_client::{Behaviour, text};
use serde_json::json;

use super::{SOMEBODY, client, sent, set, with_qq};
use crate::vendor::Reply;

#[tokio::test]
async fn a_long_answer_is_split_at_sentences_and_arrives_in_order() {
    let (daemon, vendor) = with_qq().await;
    let long: String = (0..300).map(|number| format!("这是第{number}句话，不长也不短。")).collect();
    vendor.always(&long);
    set(&daemon, "message_size", "500").await;
    let client = client(&daemon).await;
    client.behaves("send_private_msg", Behaviour::Slow(Duration::from_millis(20)));
    client.private(SOMEBODY, &[text("讲一讲")]);
    let parts = long.chars().count().div_ceil(500);
    let sent = sent(&client, parts).await;
    let texts: Vec<String> = sent.iter().map(|sent| sent.text()).collect();
    assert_eq!(texts.concat(), long);
    assert!(texts.iter().all(|text| text.chars().count() <= 500 && text.ends_with('。')), "{texts:?}");
}

#[tokio::test]
async fn a_very_long_answer_is_a_list_that_can_be_opened() {
    let (daemon, vendor) = with_qq().await;
    vendor.always(&"很长的话。".repeat(400));
    set(&daemon, "forward_above", "1000").await;
    set(&daemon, "message_size", "500").await;
    let client = client(&daemon).await;
    client.private(SOMEBODY, &[text("讲一讲")]);
    let sent = sent(&client, 1).await;
    assert_eq!(client.asked("send_private_forward_msg"), 1);
    assert!(sent[0].segments("node").len() >= 4, "{:?}", sent[0].message);
}

#[tokio::test]
async fn why_a_message_was_not_sent_is_said_to_the_model() {
    let (daemon, vendor) = with_qq().await;
    let client = client(&daemon).await;
    let arguments = json!({ "payload": "喂", "meta": { "to": "qq:77" } }).to_string();
    let send = || Reply::calls(&[("output_send__qq", &arguments)]);
    vendor.script([send(), Reply::text("算了"), send(), Reply::text("算了")]);
    client.behaves("send_private_msg", Behaviour::Fails(1400, "好友不存在".to_owned()));
    daemon.ask("say it").await;
    let words = vendor.asked(2).await[1].tool_results().concat();
    assert!(words.contains("好友不存在"), "{words}");
    set(&daemon, "answer_timeout", "1").await;
    client.behaves("send_private_msg", Behaviour::Silent);
    daemon.ask("say it again").await;
    let words = vendor.asked(4).await[3].tool_results().concat();
    assert!(words.contains("nobody knows whether it was done"), "{words}");
}
