//! The client against libraries that bots are made with: what they read of it, and what they make it do, is what is meant.
//!
//! `HOMEAGENT_ONEBOT_PYTHON` names a Python that has what `conformance/requirements.txt` lists.

use std::process::Stdio;
use std::time::Duration;

use homeagent_onebot_client::{Behaviour, Client, Form, Options, Person, Role, at, reply, text};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

const ACCOUNT: u64 = 10_001_000;
const SOMEBODY: u64 = 20_002_000;
const GROUP: u64 = 30_003_000;
const TOKEN: &str = "correct-horse";

/// How long a line of a bot may take; it only gives a test that would hang a name.
const PATIENCE: Duration = Duration::from_secs(60);

/// A bot that runs. Ends when it is dropped.
struct Bot {
    lines: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

impl Bot {
    /// Starts a bot; nothing, where there is no Python for it.
    fn start(script: &str, arguments: &[&str]) -> Option<Self> {
        let Some(python) = std::env::var_os("HOMEAGENT_ONEBOT_PYTHON") else {
            println!("skipped: HOMEAGENT_ONEBOT_PYTHON names no Python with what conformance/requirements.txt lists");
            return None;
        };
        let mut command = Command::new(python);
        command.arg(format!("{}/conformance/{script}", env!("CARGO_MANIFEST_DIR"))).arg(TOKEN).args(arguments);
        let mut child = command.stdout(Stdio::piped()).kill_on_drop(true).spawn().expect("Python can be started");
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        Some(Self { lines, _child: child })
    }

    /// The next thing of this kind that it says.
    async fn says(&mut self, kind: &str) -> Value {
        let line = async {
            loop {
                let line = self.lines.next_line().await.expect("it is text").expect("the bot runs");
                let mut said: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line} is no JSON"));
                if let Some(said) = said.get_mut(kind) {
                    return said.take();
                }
            }
        };
        let came = tokio::time::timeout(PATIENCE, line).await;
        came.unwrap_or_else(|_| panic!("waited in vain for `{kind}`"))
    }

    /// The next event of this name that it heard.
    async fn hears(&mut self, name: &str) -> Value {
        loop {
            let heard = self.says("heard").await;
            if heard["name"].as_str().is_some_and(|heard| heard.starts_with(name)) {
                return heard;
            }
        }
    }

    /// What comes of a call that it is told to make.
    async fn calls(&mut self, client: &Client, action: &str, params: &Value) -> Value {
        let call = format!("call {}", json!({ "action": action, "params": params }));
        client.private(SOMEBODY, &[text(&call)]);
        let came = self.says("came").await;
        assert_eq!(came["action"], action);
        came
    }
}

fn options() -> Options {
    Options { token: Some(TOKEN.to_owned()), ..Options::new(ACCOUNT) }
}

/// Everything that a bot does with a client: the same whichever library it is made with.
async fn play(bot: &mut Bot, client: &Client) {
    client.knows(GROUP, Person { card: "老李".to_owned(), role: "admin".to_owned(), ..Person::new(99, "李") });
    client.knows(0, Person::new(SOMEBODY, "甲"));

    let id = client.private(SOMEBODY, &[text("你好 [CQ:face,id=1] & 😀")]);
    let heard = bot.hears("message.private").await;
    assert_eq!(heard["text"], "你好 [CQ:face,id=1] & 😀");
    assert_eq!(heard["segments"].as_array().map(Vec::len), Some(1), "text is no code: {heard}");
    assert_eq!((&heard["user_id"], &heard["message_id"]), (&json!(SOMEBODY), &json!(id)));
    assert_eq!((&heard["self_id"], &heard["sender"]), (&json!(ACCOUNT), &json!("甲")));
    client.until(|client| client.sent().len() == 1).await;
    let sent = client.sent();
    assert_eq!((sent[0].user, sent[0].text().as_str()), (Some(SOMEBODY), "你好 [CQ:face,id=1] & 😀"));

    let image = json!({ "type": "image", "data": { "file": "a,b.png", "url": "https://x/a?b=1&c=2" } });
    client.group(GROUP, 99, &[reply(id), at(77), text(" 看"), image]);
    let heard = bot.hears("message.group").await;
    let kinds: Vec<&str> =
        heard["segments"].as_array().into_iter().flatten().filter_map(|it| it["type"].as_str()).collect();
    assert_eq!(kinds, ["reply", "at", "text", "image"]);
    assert_eq!(heard["segments"][3]["data"]["url"], "https://x/a?b=1&c=2");
    client.until(|client| client.sent().len() == 2).await;
    assert_eq!(client.sent()[1].group, Some(GROUP));

    calls(bot, client, id).await;

    client.happens(json!({ "post_type": "notice", "notice_type": "group_increase", "sub_type": "approve",
        "group_id": GROUP, "operator_id": 1, "user_id": 88 }));
    client.happens(json!({ "post_type": "request", "request_type": "friend", "user_id": 77, "comment": "hi",
        "flag": "f" }));
}

/// The answers to actions, as the library hands them on.
async fn calls(bot: &mut Bot, client: &Client, id: i64) {
    let data = bot.calls(client, "get_login_info", &json!({})).await;
    assert_eq!(data["data"]["user_id"], ACCOUNT);
    let data = bot.calls(client, "get_msg", &json!({ "message_id": id })).await;
    assert_eq!(data["data"]["sender"]["user_id"], SOMEBODY);
    let data = bot.calls(client, "get_group_member_info", &json!({ "group_id": GROUP, "user_id": 99 })).await;
    assert_eq!((&data["data"]["card"], &data["data"]["role"]), (&json!("老李"), &json!("admin")));
    let data = bot.calls(client, "get_group_member_list", &json!({ "group_id": GROUP })).await;
    assert_eq!(data["data"][0]["user_id"], 99);
    let data = bot.calls(client, "get_stranger_info", &json!({ "user_id": SOMEBODY })).await;
    assert_eq!(data["data"]["nickname"], "甲");
    client.holds_forward("f", vec![json!({ "sender": { "nickname": "乙" }, "message": [text("早")] })]);
    let data = bot.calls(client, "get_forward_msg", &json!({ "id": "f" })).await;
    assert_eq!(data["data"]["messages"][0]["sender"]["nickname"], "乙");
    client.holds_file("v.amr", json!({ "file": "/tmp/v.mp3", "base64": "SUQz" }));
    let data = bot.calls(client, "get_record", &json!({ "file": "v.amr", "out_format": "mp3" })).await;
    assert_eq!(data["data"]["base64"], "SUQz");
    let data = bot.calls(client, "get_status", &json!({})).await;
    assert_eq!(data["data"], json!({ "online": true, "good": true }));
    let sent = client.sent().len();
    let data = bot.calls(client, "send_group_msg", &json!({ "group_id": GROUP, "message": [text("好")] })).await;
    assert_eq!(
        (client.sent()[sent].text().as_str(), &data["data"]["message_id"]),
        ("好", &json!(client.sent()[sent].id))
    );
    let own = client.sent()[sent].id;
    assert_eq!(bot.calls(client, "delete_msg", &json!({ "message_id": own })).await["retcode"], Value::Null);

    assert_eq!(bot.calls(client, "get_msg", &json!({ "message_id": own })).await["retcode"], 1404, "it is gone");
    assert_eq!(bot.calls(client, "send_private_msg", &json!({ "message": "x" })).await["retcode"], 1400);
    assert_eq!(bot.calls(client, "no_such_action", &json!({})).await["retcode"], 1404);
    client.behaves("send_like", Behaviour::Fails(100, "点过了".to_owned()));
    assert_eq!(bot.calls(client, "send_like", &json!({ "user_id": SOMEBODY, "times": 1 })).await["retcode"], 100);
    client.behaves("get_friend_list", Behaviour::Slow(Duration::from_millis(100)));
    let data = bot.calls(client, "get_friend_list", &json!({})).await;
    assert_eq!(data["data"][0]["user_id"], SOMEBODY);
}

#[tokio::test]
async fn aiocqhttp_reads_and_leads_a_client_that_connects_to_it() {
    for (form, roles) in [
        (Form::Array, vec![Role::Universal]),
        (Form::String, vec![Role::Universal]),
        (Form::Array, vec![Role::Api, Role::Event]),
    ] {
        let Some(mut bot) = Bot::start("aiocqhttp_bot.py", &[]) else { return };
        let port = bot.says("ready").await;
        let path = if roles.len() == 1 { "ws" } else { "ws/" };
        let client = Client::reverse(&format!("ws://127.0.0.1:{port}/{path}"), Options { form, roles, ..options() });
        bot.hears("meta_event.lifecycle.connect").await;
        bot.hears("meta_event.heartbeat").await;
        play(&mut bot, &client).await;
        bot.hears("notice.group_increase.approve").await;
        bot.hears("request.friend").await;
    }
}

#[tokio::test]
async fn a_wrong_token_is_refused_by_aiocqhttp() {
    let Some(mut bot) = Bot::start("aiocqhttp_bot.py", &[]) else { return };
    let port = bot.says("ready").await;
    let url = format!("ws://127.0.0.1:{port}/ws");
    let client = Client::reverse(&url, Options { token: Some("wrong-horse".to_owned()), ..options() });
    client.until(|client| client.made().1 > 0 || !client.closed().is_empty()).await;
    client.private(SOMEBODY, &[text("hi")]);
    assert!(client.sent().is_empty());
}

#[tokio::test]
async fn nonebot_reads_and_leads_a_client_that_it_connects_to() {
    for form in [Form::Array, Form::String] {
        let client = Client::forward(Options { form, ..options() }).await;
        let Some(mut bot) = Bot::start("nonebot_bot.py", &[client.address()]) else { return };
        bot.says("ready").await;
        play(&mut bot, &client).await;
        client.break_off();
        client.until(|client| client.made().0 == 2).await;
        bot.says("ready").await;
    }
}
