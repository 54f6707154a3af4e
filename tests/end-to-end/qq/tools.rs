//! The standard's actions as tools.

use homeagent_onebot_client::text;
use serde_json::{Value, json};

use super::{SOMEBODY, client, sent, set, with_qq};
use crate::daemon::within;
use crate::vendor::{Asked, Reply};

/// The names of the tools that the model was offered.
fn offered(asked: &Asked) -> Vec<&str> {
    let tools = asked.body["tools"].as_array().into_iter().flatten();
    tools.filter_map(|tool| tool["function"]["name"].as_str()).collect()
}

fn of_qq(asked: &Asked) -> usize {
    offered(asked).iter().filter(|name| name.starts_with("qq_")).count()
}

#[tokio::test]
async fn the_tools_are_there_while_an_account_is_and_what_others_notice_is_the_owners_alone() {
    let (daemon, vendor) = with_qq().await;
    daemon.waiter(&["settings", "set", "core.tools.shown", "100"]).await.ok();
    vendor.always("好");
    daemon.ask("one").await;
    assert_eq!(of_qq(&vendor.asked_so_far()[0]), 0, "{:?}", offered(&vendor.asked_so_far()[0]));
    let client = client(&daemon).await;
    client.private(SOMEBODY, &[text("踢了他")]);
    sent(&client, 1).await;
    assert_eq!(of_qq(&vendor.asked_so_far()[1]), 0, "they are guests");
    daemon.waiter(&["plugin", "reload", "qq"]).await.ok();
    daemon.ask("two").await;
    let owners = &vendor.asked_so_far()[2];
    assert!(offered(owners).contains(&"qq_set_group_kick") && of_qq(owners) > 20, "{:?}", offered(owners));
    drop(client);
    daemon.logged("no longer connected").await;
    daemon.ask("three").await;
    assert_eq!(of_qq(&vendor.asked_so_far()[3]), 1, "the one that tells what is wrong");
}

#[tokio::test]
async fn a_request_is_told_and_answered_when_the_owner_says_so() {
    let (daemon, vendor) = with_qq().await;
    set(&daemon, "requests_to", &SOMEBODY.to_string()).await;
    vendor.script([Reply::text("有人想加你")]);
    let client = client(&daemon).await;
    client.happens(json!({ "post_type": "request", "request_type": "friend", "user_id": 77, "comment": "我是小明",
        "flag": "f-1" }));
    assert_eq!(sent(&client, 1).await[0].user, Some(SOMEBODY));
    assert!(vendor.asked_so_far()[0].says("我是小明") && vendor.asked_so_far()[0].says("f-1"));
    let arguments = json!({ "flag": "f-1", "approve": true }).to_string();
    vendor.script([Reply::calls(&[("qq_set_friend_add_request", &arguments)]), Reply::text("加了")]);
    assert_eq!(daemon.reply("let them in").await, "加了");
    assert_eq!(client.parameters("set_friend_add_request"), [json!({ "flag": "f-1", "approve": true })]);
}

#[tokio::test]
async fn a_message_that_was_taken_back_is_nobodys_background() {
    let (daemon, vendor) = with_qq().await;
    vendor.always("好");
    let client = client(&daemon).await;
    let id = client.group(super::GROUP, 21, &[text("说错了")]);
    client.happens(json!({ "post_type": "notice", "notice_type": "group_recall", "group_id": super::GROUP,
        "user_id": 21, "operator_id": 21, "message_id": id }));
    client.group(super::GROUP, 22, &[homeagent_onebot_client::at(super::ACCOUNT), text(" 他说了什么")]);
    sent(&client, 1).await;
    assert!(!vendor.asked_so_far()[0].says("说错了"));
    // Our own message is taken back with a tool.
    let own = client.sent()[0].id;
    let arguments = json!({ "message_id": own, "account": super::ACCOUNT }).to_string();
    vendor.script([Reply::calls(&[("qq_delete_msg", &arguments)]), Reply::text("撤回了")]);
    daemon.ask("take it back").await;
    within("it to be taken back", client.until(|client| client.asked("delete_msg") == 1)).await;
    assert_eq!(client.parameters("delete_msg")[0]["message_id"], Value::from(own));
}
