//! What happens around messages: people come and go, take messages back, poke, and ask to be let in.

use serde_json::Value;

use crate::content::Medium;
use crate::event::Place;
use crate::field;

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Notice {
    pub(crate) self_id: String,
    /// Its name here, by which settings choose.
    pub(crate) what: &'static str,
    /// Where it happened.
    pub(crate) place: Place,
    /// Who did it, or to whom it was done, where nobody says who did.
    pub(crate) user: String,
    /// It is about ourselves.
    pub(crate) about_me: bool,
    pub(crate) time: Option<u64>,
    /// What happened; a person is an id between two characters U+0001.
    pub(crate) words: String,
    /// The message that was taken back.
    pub(crate) recalled: Option<String>,
    pub(crate) media: Vec<Medium>,
    /// What an answer to somebody who asks has to carry.
    pub(crate) request: Option<Request>,
}

/// Somebody asks to be let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// `friend` or `group`.
    pub(crate) kind: &'static str,
    /// `add`, `invite`, or nothing.
    pub(crate) sub_type: String,
    pub(crate) flag: String,
}

impl Notice {
    /// Whether it asks for something.
    pub(crate) fn kind(&self) -> &'static str {
        if self.request.is_some() { "request" } else { "notice" }
    }

    /// What happened, with people called as `name` calls them.
    pub(crate) fn text(&self, name: impl Fn(&str) -> String) -> String {
        let mut text = String::new();
        let mut rest = self.words.as_str();
        while let Some((before, after)) = rest.split_once('\u{1}') {
            let (who, after) = after.split_once('\u{1}').unwrap_or((after, ""));
            text.push_str(before);
            text.push_str(&if who == self.self_id { "我".to_owned() } else { name(who) });
            rest = after;
        }
        text + rest
    }
}

/// A person in the words of a notice. What others write has no control characters left, so this can't be forged.
fn person(id: &str) -> String {
    format!("\u{1}{id}\u{1}")
}

/// What others wrote, on one line.
fn quoted(value: &Value) -> String {
    let text = field::text(value).unwrap_or_default();
    field::one_line(&text, 200)
}

/// Reads a frame of the kind `notice` or `request`; nothing, where it is of a kind that tells nobody anything.
pub(crate) fn read(frame: &Value, self_id: String) -> Option<Notice> {
    let user = field::party(&frame["user_id"]);
    let group = field::party(&frame["group_id"]);
    let place = match (&group, &user) {
        (Some(group), _) => Place::Group(group.clone()),
        (None, Some(user)) => Place::Private(user.clone()),
        (None, None) => return None,
    };
    let time = field::integer(&frame["time"]).and_then(|time| u64::try_from(time).ok());
    let blank = Notice {
        about_me: user.as_deref() == Some(self_id.as_str()),
        user: user.or_else(|| field::party(&frame["operator_id"])).unwrap_or_else(|| self_id.clone()),
        self_id,
        what: "",
        place,
        time,
        words: String::new(),
        recalled: None,
        media: Vec::new(),
        request: None,
    };
    if frame["post_type"] == "request" { request(frame, blank) } else { happening(frame, blank) }
}

fn request(frame: &Value, blank: Notice) -> Option<Notice> {
    let flag = field::text(&frame["flag"])?;
    let sub_type = field::text(&frame["sub_type"]).unwrap_or_default();
    let (who, comment) = (person(&blank.user), quoted(&frame["comment"]));
    let group = blank.place.group().unwrap_or_default();
    let (kind, words) = match (frame["request_type"].as_str()?, sub_type.as_str()) {
        ("friend", _) => ("friend", format!("{who}（{}）请求加为好友", blank.user)),
        ("group", "invite") => ("group", format!("{who}（{}）邀请我加入群 {group}", blank.user)),
        ("group", _) => ("group", format!("{who}（{}）申请加入群 {group}", blank.user)),
        _ => return None,
    };
    let words = if comment.is_empty() { words } else { format!("{words}，附言：{comment}") };
    let request = Some(Request { kind, sub_type, flag });
    Some(Notice { what: "request", about_me: true, words, request, ..blank })
}

fn happening(frame: &Value, blank: Notice) -> Option<Notice> {
    let operator = field::party(&frame["operator_id"]).filter(|operator| *operator != blank.user);
    let sub_type = frame["sub_type"].as_str().unwrap_or_default();
    let who = person(&blank.user);
    let by = operator.as_deref().map(person);
    let by = by.as_deref();
    let (what, words) = match frame["notice_type"].as_str()? {
        "group_increase" => ("join", join(&who, by, sub_type)),
        "group_decrease" => ("leave", leave(&who, by, sub_type)),
        "group_admin" if sub_type == "unset" => ("admin", format!("{who} 不再是管理员")),
        "group_admin" => ("admin", format!("{who} 成为了管理员")),
        "group_ban" => return Some(ban(frame, blank, sub_type)),
        "group_upload" | "offline_file" => return Some(upload(frame, blank)),
        "friend_add" => {
            return Some(Notice {
                what: "friend-add", about_me: true, words: format!("{who} 成为了好友"), ..blank
            });
        }
        "group_recall" | "friend_recall" => {
            let words = match by {
                Some(by) => format!("{by} 撤回了 {who} 的一条消息"),
                None => format!("{who} 撤回了一条消息"),
            };
            return Some(Notice { what: "recall", words, recalled: field::id(&frame["message_id"]), ..blank });
        }
        "group_card" => ("card", format!("{who} 的群名片改成了“{}”", quoted(&frame["card_new"]))),
        "notify" => return notify(frame, blank, sub_type),
        _ => return None,
    };
    Some(Notice { what, words, ..blank })
}

fn join(who: &str, by: Option<&str>, sub_type: &str) -> String {
    match (sub_type, by) {
        ("invite", Some(by)) => format!("{who} 由 {by} 邀请加入了群"),
        _ => format!("{who} 加入了群"),
    }
}

fn leave(who: &str, by: Option<&str>, sub_type: &str) -> String {
    match (sub_type, by) {
        ("kick" | "kick_me", Some(by)) => format!("{who} 被 {by} 移出了群"),
        ("kick" | "kick_me", None) => format!("{who} 被移出了群"),
        _ => format!("{who} 退出了群"),
    }
}

fn ban(frame: &Value, blank: Notice, sub_type: &str) -> Notice {
    let all = field::party(&frame["user_id"]).is_none();
    let whom = if all { "全体成员".to_owned() } else { person(&blank.user) };
    let by = field::party(&frame["operator_id"]).map(|by| format!("（{} 操作）", person(&by))).unwrap_or_default();
    let words = match (sub_type, field::integer(&frame["duration"]).filter(|seconds| *seconds > 0)) {
        ("lift_ban", _) => format!("{whom} 被解除了禁言{by}"),
        (_, Some(seconds)) if !all => format!("{whom} 被禁言 {seconds} 秒{by}"),
        _ => format!("{whom} 被禁言{by}"),
    };
    Notice { what: "ban", about_me: blank.about_me || all, words, ..blank }
}

fn upload(frame: &Value, blank: Notice) -> Notice {
    let file = &frame["file"];
    let name = quoted(&file["name"]);
    let size = field::integer(&file["size"]).map(|size| format!("（{size} 字节）")).unwrap_or_default();
    let words = format!("{} 上传了文件“{name}”{size}", person(&blank.user));
    let about_me = blank.place.group().is_none();
    Notice { what: "upload", about_me, words, media: Medium::file(file).into_iter().collect(), ..blank }
}

fn notify(frame: &Value, blank: Notice, sub_type: &str) -> Option<Notice> {
    let target = field::party(&frame["target_id"]);
    let me = target.as_deref() == Some(blank.self_id.as_str());
    let who = person(&blank.user);
    let whom = target.as_deref().map(person).unwrap_or_default();
    let (what, about_me, words) = match sub_type {
        // A poke by ourselves is our own doing.
        "poke" if blank.about_me => return None,
        "poke" => ("poke", me, format!("{who} 戳了戳 {whom}")),
        "lucky_king" => ("honor", me, format!("{whom} 是红包的运气王")),
        "honor" => ("honor", blank.about_me, format!("{who} 获得了群荣誉")),
        "title" => ("honor", blank.about_me, format!("{who} 获得了头衔“{}”", quoted(&frame["title"]))),
        _ => return None,
    };
    Some(Notice { what, about_me, words, ..blank })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::samples::ME;

    fn notice(kind: &str, more: &Value) -> Option<Notice> {
        let mut frame = json!({"post_type": kind, "self_id": 10_001_000, "time": 1_790_000_000,
            "group_id": 30, "user_id": 20});
        frame.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        read(&frame, ME.to_owned())
    }

    fn said(more: &Value) -> (&'static str, bool, String) {
        let notice = notice("notice", more).expect("a notice");
        (notice.what, notice.about_me, notice.text(|id| format!("<{id}>")))
    }

    #[test]
    fn notices_are_said_in_words() {
        for (frame, what, about_me, words) in [
            (
                json!({"notice_type": "group_increase", "sub_type": "approve", "operator_id": 5}),
                "join",
                false,
                "<20> 加入了群",
            ),
            (
                json!({"notice_type": "group_increase", "sub_type": "invite", "operator_id": 5}),
                "join",
                false,
                "<20> 由 <5> 邀请加入了群",
            ),
            (
                json!({"notice_type": "group_decrease", "sub_type": "leave", "operator_id": 20}),
                "leave",
                false,
                "<20> 退出了群",
            ),
            (
                json!({"notice_type": "group_decrease", "sub_type": "kick_me", "user_id": 10_001_000, "operator_id": "5"}),
                "leave",
                true,
                "我 被 <5> 移出了群",
            ),
            (json!({"notice_type": "group_admin", "sub_type": "set"}), "admin", false, "<20> 成为了管理员"),
            (
                json!({"notice_type": "group_ban", "sub_type": "ban", "duration": 60, "operator_id": 5}),
                "ban",
                false,
                "<20> 被禁言 60 秒（<5> 操作）",
            ),
            (
                json!({"notice_type": "group_ban", "sub_type": "ban", "user_id": 0, "duration": -1, "operator_id": 5}),
                "ban",
                true,
                "全体成员 被禁言（<5> 操作）",
            ),
            (
                json!({"notice_type": "group_ban", "sub_type": "lift_ban", "duration": 0}),
                "ban",
                false,
                "<20> 被解除了禁言",
            ),
            (
                json!({"notice_type": "group_recall", "operator_id": 20, "message_id": 7}),
                "recall",
                false,
                "<20> 撤回了一条消息",
            ),
            (
                json!({"notice_type": "notify", "sub_type": "poke", "target_id": 10_001_000}),
                "poke",
                true,
                "<20> 戳了戳 我",
            ),
            (json!({"notice_type": "notify", "sub_type": "poke", "target_id": 9}), "poke", false, "<20> 戳了戳 <9>"),
            (json!({"notice_type": "friend_add", "group_id": null}), "friend-add", true, "<20> 成为了好友"),
            (
                json!({"notice_type": "group_card", "card_new": "\u{1}9\u{1}\n"}),
                "card",
                false,
                "<20> 的群名片改成了“9”",
            ),
        ] {
            assert_eq!(said(&frame), (what, about_me, words.to_owned()), "{frame}");
        }
    }

    #[test]
    fn an_upload_brings_its_file() {
        let file = json!({"id": "/a", "name": "账单.pdf", "size": 12, "busid": 1, "url": "https://x/y"});
        let notice = notice("notice", &json!({"notice_type": "group_upload", "file": file})).expect("a notice");
        assert_eq!(notice.text(str::to_owned), "20 上传了文件“账单.pdf”（12 字节）");
        assert_eq!(notice.media[0].url, "https://x/y");
    }

    #[test]
    fn who_asks_to_be_let_in_can_be_answered() {
        let request = |more: &Value| notice("request", more).expect("a request");
        let friend = request(&json!({"request_type": "friend", "group_id": null, "comment": "我是\n甲", "flag": "f1"}));
        assert_eq!(
            (friend.kind(), friend.text(|_| "甲".to_owned())),
            ("request", "甲（20）请求加为好友，附言：我是 甲".to_owned())
        );
        assert_eq!(friend.place, Place::Private("20".to_owned()));
        let group = request(&json!({"request_type": "group", "sub_type": "invite", "flag": 9}));
        assert_eq!(group.request, Some(Request { kind: "group", sub_type: "invite".to_owned(), flag: "9".to_owned() }));
    }

    #[test]
    fn unknown_and_own_happenings_are_nothing() {
        for more in [
            json!({"notice_type": "something_else"}),
            json!({"notice_type": 5}),
            json!({"notice_type": "notify", "sub_type": "poke", "user_id": 10_001_000, "target_id": 20}),
            json!({"notice_type": "group_increase", "user_id": null, "group_id": {}}),
        ] {
            assert_eq!(notice("notice", &more), None, "{more}");
        }
        assert_eq!(notice("request", &json!({"request_type": "friend"})), None, "nothing can answer it");
    }
}
