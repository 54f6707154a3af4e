//! When the agent is meant, and what it is told then.

use homeagent_sdk::{MediaSource, Peer};
use serde_json::json;

use super::{Bench, meta, reply, text_of};
use crate::group::{BLOCK_END, BLOCK_START};
use crate::samples::{ME, at, group, private, text};

#[test]
fn a_group_is_heard_only_when_the_agent_is_called() {
    let mut bench = Bench::new();
    bench.hear(&group(1, &json!([text("吃什么")])));
    bench.hear(&group(2, &json!([at("all"), text(" 开会")])));
    assert!(bench.inputs.is_empty());
    bench.hear(&group(3, &json!([at(ME), text(" 你说呢")])));
    let input = bench.input();
    let lines: Vec<&str> = text_of(input).lines().collect();
    assert_eq!(lines, [BLOCK_START, "| 老王: 吃什么", "| 老王: @全体成员 开会", BLOCK_END, "你说呢"]);
    assert_eq!(meta(input, "text"), Some("你说呢"));
    assert!(meta(input, "background").is_some_and(|block| text_of(input).starts_with(block)));
    assert_eq!(input.peer, Peer::Group("30003000".to_owned()));

    bench.hear(&group(4, &json!([at(ME), text(" 然后呢")])));
    assert_eq!(bench.heard()[1], "然后呢", "what was offered is not offered again");
}

#[test]
fn commands_come_alone() {
    let mut bench = Bench::new();
    bench.hear(&group(1, &json!([text("随便说说")])));
    bench.hear(&group(2, &json!([at(ME), text(" /stop")])));
    assert_eq!(bench.heard(), ["/stop"]);
}

#[test]
fn an_answer_to_one_of_our_messages_is_meant_for_us() {
    let mut bench = Bench::new();
    bench.hear(&group(1, &json!([at(ME), text("在吗")])));
    let ticket = bench.send(&reply(&bench.inputs[0].clone(), "在"));
    let (_, _, echo) = bench.asked();
    bench.answer(&echo, &json!({"message_id": 555}));
    assert!(bench.outcome(ticket).expect("it has ended").is_ok());

    let answer = json!([{"type": "reply", "data": {"id": 555}}, text("好的")]);
    bench.hear(&group(2, &answer));
    let (action, _, echo) = bench.asked();
    assert_eq!(action, "get_msg");
    bench.answer(&echo, &json!({"sender": {"user_id": ME}, "message": "在"}));
    assert_eq!(bench.heard()[1], "[引用 我: 在]\n好的");
}

#[test]
fn who_replies_to_a_picture_in_a_group_shows_it() {
    let url = "https://example.com/a.png";
    let picture = || json!([{"type": "image", "data": {"file": "a.png", "url": url}}]);
    for is_told in [true, false] {
        let mut bench = Bench::new();
        bench.hear(&group(1, &picture()));
        bench.hear(&group(2, &json!([{"type": "reply", "data": {"id": "1"}}, at(ME), text("这是什么？")])));
        let (action, params, echo) = bench.asked();
        assert_eq!((action.as_str(), &params["message_id"]), ("get_msg", &json!(1)));
        if is_told {
            bench.answer(&echo, &json!({"sender": {"user_id": 20_002_000, "nickname": "老王"}, "message": picture()}));
        } else {
            bench.refuse(&echo, 1200, "消息不存在");
        }
        let media: Vec<_> = bench.input().media.iter().map(|it| it.source.clone()).collect();
        assert_eq!(media, if is_told { vec![MediaSource::Url(url.to_owned())] } else { Vec::new() });
        assert!(text_of(bench.input()).ends_with("[引用 老王: [图片]]\n这是什么？"), "{}", text_of(bench.input()));
    }
}

#[test]
fn whose_message_is_answered_is_asked_where_it_is_not_known() {
    for (user, is_meant) in [(ME, true), ("99", false)] {
        let mut bench = Bench::new();
        bench.hear(&group(2, &json!([{"type": "reply", "data": {"id": "-9"}}, at("88"), text("好的")])));
        let (action, params, echo) = bench.asked();
        assert_eq!((action.as_str(), &params["message_id"]), ("get_msg", &json!(-9)));
        assert!(bench.requests.is_empty(), "the rest is looked up only when it is meant for us");
        bench.answer(
            &echo,
            &json!({"message_id": -9, "sender": {"user_id": user, "nickname": "乙"}, "message": [text("原话")]}),
        );
        if is_meant {
            let (action, _, echo) = bench.asked();
            assert_eq!(action, "get_group_member_info");
            bench.answer(&echo, &json!({"card": "", "nickname": "丙"}));
        }
        assert_eq!(bench.heard(), if is_meant { vec!["[引用 我: 原话]\n@丙好的"] } else { Vec::new() });
    }
}

#[test]
fn policies_are_each_groups_own() {
    let mut bench = Bench::with(&json!({
        "group_policies": ["30003000=keyword"], "keywords": ["小家"], "group_policy": "off",
    }));
    bench.hear(&group(1, &json!([at(ME), text("在吗")])));
    bench.hear(&group(2, &json!([text("小家在吗")])));
    let mut other = group(3, &json!([at(ME), text("小家")]));
    other["group_id"] = json!(31);
    bench.hear(&other);
    assert_eq!(bench.inputs.len(), 1);
    assert!(bench.heard()[0].ends_with("小家在吗"));
}

#[test]
fn blocked_people_are_neither_heard_nor_quoted() {
    let mut bench = Bench::with(&json!({"block_users": ["20002000"]}));
    bench.hear(&private(1, &json!("在吗")));
    bench.hear(&group(2, &json!([text("坏话")])));
    let mut other = group(3, &json!([at(ME), text("谁说的")]));
    other["user_id"] = json!(21);
    bench.hear(&other);
    assert_eq!(bench.heard(), ["谁说的"]);
}

#[test]
fn a_sender_who_says_too_much_is_not_listened_to_for_a_while() {
    let mut bench = Bench::with(&json!({"rate_per_minute": 3}));
    for id in 0..10 {
        bench.hear(&private(id, &json!("喂")));
    }
    assert_eq!(
        (bench.inputs.len(), bench.said.iter().filter(|line| line.contains("messages a minute")).count()),
        (3, 1)
    );
    bench.pass(60_000);
    bench.hear(&private(11, &json!("喂")));
    assert_eq!(bench.inputs.len(), 4);
}

#[test]
fn a_message_that_comes_twice_is_heard_once() {
    let mut bench = Bench::new();
    for _ in 0..3 {
        bench.hear(&private(7, &json!("一次")));
    }
    assert_eq!(bench.input().platform_id.as_deref(), Some("10001000:7:1790000000"));
}

#[test]
fn other_accounts_of_ours_are_not_answered() {
    let mut bench = Bench::new();
    bench.connect(2, &[("x-self-id", "20002000")]);
    bench.hear(&group(1, &json!([at(ME), text("你好")])));
    assert!(bench.inputs.is_empty());
}

#[test]
fn what_happens_is_told_where_it_is_about_us_and_else_kept() {
    let mut bench = Bench::new();
    let notice = |more: serde_json::Value| {
        let mut frame =
            json!({"post_type": "notice", "self_id": ME, "group_id": 30_003_000, "user_id": 20_002_000, "time": 5});
        frame.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        frame
    };
    bench.hear(&group(1, &json!([text("说漏嘴了")])));
    bench.hear(&notice(json!({"notice_type": "group_recall", "operator_id": 20_002_000, "message_id": 1})));
    bench.hear(&notice(json!({"notice_type": "group_increase", "user_id": 44})));
    assert!(bench.inputs.is_empty());
    bench.hear(&notice(json!({"notice_type": "notify", "sub_type": "poke", "target_id": ME})));
    assert_eq!((bench.input().kind.as_str(), text_of(bench.input())), ("notice", "[通知] 老王 戳了戳 我"));
    bench.hear(&group(2, &json!([at(ME), text("怎么了")])));
    let heard = bench.heard()[1];
    assert!(!heard.contains("说漏嘴了"), "what was taken back is forgotten: {heard}");
    assert!(heard.contains("| 通知: 老王 撤回了一条消息\n| 通知: 44 加入了群"), "{heard}");
}

#[test]
fn requests_are_told_where_the_owner_wants() {
    let request = json!({"post_type": "request", "request_type": "friend", "self_id": ME, "user_id": 66, "time": 5,
        "comment": "我是你表弟", "flag": "f-1"});
    let mut silent = Bench::new();
    silent.hear(&request);
    assert!(silent.inputs.is_empty() && silent.said.iter().any(|line| line.contains("f-1")), "{:?}", silent.said);
    let mut bench = Bench::with(&json!({"requests_to": "20002000"}));
    bench.hear(&request);
    let input = bench.input();
    assert_eq!((input.kind.as_str(), input.user.as_str()), ("request", "66"), "it speaks with the stranger's rights");
    assert_eq!(input.peer, Peer::Person("20002000".to_owned()));
    assert_eq!(meta(input, "forwarded"), Some("true"), "nor are its words those of whoever is told");
    assert!(text_of(input).contains("附言：我是你表弟") && text_of(input).contains("flag: f-1"));
}
