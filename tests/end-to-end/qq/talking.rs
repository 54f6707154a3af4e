//! People talk with the agent, alone and in groups.

use homeagent_onebot_client::{Client, Form, Options, Person, at, reply, text};
use serde_json::json;

use super::{ACCOUNT, GROUP, SOMEBODY, client, sent, url, with_qq};
use crate::daemon::within;

#[tokio::test]
async fn what_is_said_on_qq_is_answered_there() {
    let (daemon, vendor) = with_qq().await;
    vendor.always("It is **seven** degrees.");
    let client = client(&daemon).await;
    client.private(SOMEBODY, &[text("多少度？")]);
    let sent = sent(&client, 1).await;
    assert_eq!((sent[0].user, sent[0].text().as_str()), (Some(SOMEBODY), "It is seven degrees."));
    assert!(vendor.asked_so_far()[0].says("多少度？"));
}

#[tokio::test]
async fn a_group_is_answered_when_it_calls_and_what_was_said_before_is_known_then() {
    let (daemon, vendor) = with_qq().await;
    vendor.always("三点");
    let client = client(&daemon).await;
    client.knows(GROUP, Person { card: "老李".to_owned(), ..Person::new(99, "李") });
    client.group(GROUP, 21, &[text("下午开会吗")]);
    client.group(GROUP, 22, &[text("开的")]);
    let id = client.group(GROUP, SOMEBODY, &[at(ACCOUNT), text(" 几点？"), at(99), text(" 也来")]);
    let answer = sent(&client, 1).await.remove(0);
    assert_eq!((answer.group, answer.text().as_str()), (Some(GROUP), "三点"));
    assert_eq!(answer.segments("reply")[0]["data"]["id"], json!(id.to_string()), "it quotes what it answers");
    let asked = vendor.asked_so_far();
    assert_eq!(asked.len(), 1, "nobody else called");
    for words in ["| u21: 下午开会吗", "| u22: 开的", "几点？", "@老李"] {
        assert!(asked[0].says(words), "{words}: {}", asked[0].body);
    }
    // A reply to what it said calls it, too; a reply to somebody else does not.
    client.group(GROUP, 21, &[reply(id), text("你问得好")]);
    client.group(GROUP, 22, &[reply(answer.id), text("谢谢")]);
    sent(&client, 2).await;
    let asked = vendor.asked_so_far();
    assert!(asked.len() == 2 && asked[1].says("谢谢") && asked[1].says("| u21: 你问得好"));
}

#[tokio::test]
async fn a_client_that_writes_strings_and_has_a_connection_for_each_is_understood() {
    let (daemon, vendor) = with_qq().await;
    vendor.always("[好]&,");
    super::set(&daemon, "message_format", "string").await;
    let roles = vec![homeagent_onebot_client::Role::Event, homeagent_onebot_client::Role::Api];
    let options = Options { form: Form::String, roles, ..Options::new(ACCOUNT) };
    let client = Client::reverse(&url(&daemon), options);
    within("both connections", client.until(|client| client.open() == 2)).await;
    client.private(SOMEBODY, &[text("[CQ:at,qq=all] & 好")]);
    let sent = sent(&client, 1).await;
    assert!(vendor.asked_so_far()[0].says("[CQ:at,qq=all] & 好"), "text stays text");
    assert_eq!(sent[0].message, json!("&#91;好&#93;&amp;,"));
}

#[tokio::test]
async fn a_message_that_comes_again_after_a_broken_connection_is_answered_once() {
    let (daemon, vendor) = with_qq().await;
    vendor.always("好");
    let client = client(&daemon).await;
    client.private(SOMEBODY, &[text("第一")]);
    sent(&client, 1).await;
    client.break_off();
    within("the client to come back", client.until(|client| client.made().0 == 2)).await;
    client.private(SOMEBODY, &[text("第二")]);
    let sent = sent(&client, 2).await;
    assert_eq!((sent.len(), vendor.asked_so_far().len()), (2, 2), "the first one was written twice");
}

#[tokio::test]
async fn settings_hold_from_the_next_message_on() {
    let (daemon, vendor) = with_qq().await;
    vendor.always("好");
    let client = client(&daemon).await;
    super::set(&daemon, "block_users", "21").await;
    client.private(21, &[text("听得到吗")]);
    client.private(22, &[text("在吗")]);
    assert_eq!(sent(&client, 1).await[0].user, Some(22));
    super::set(&daemon, "group_policies", &format!("{GROUP}=all")).await;
    client.group(GROUP, 22, &[text("没有叫它")]);
    assert_eq!(sent(&client, 2).await[1].group, Some(GROUP));
    assert!(!vendor.asked_so_far().iter().any(|asked| asked.says("听得到吗")));
}
