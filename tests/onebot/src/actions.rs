//! What a client answers when it is asked for an action.

use serde_json::{Value, json};

use crate::platform::{Behaviour, Sent, State, now};

/// What comes of a request.
pub(crate) enum Outcome {
    /// This answer, after what the behaviour says.
    Answer(Value, Behaviour),
    /// No answer, and no connection any more.
    Break,
}

type Done = Result<Value, (i64, &'static str)>;

/// Does what a frame asks for.
pub(crate) fn take(state: &mut State, frame: &Value) -> Outcome {
    let action = frame["action"].as_str().unwrap_or_default().to_owned();
    let params = &frame["params"];
    state.asked.push((action.clone(), params.clone()));
    let behaviour = state.behaviour.get(&action).cloned().unwrap_or(Behaviour::Usual);
    let done = match &behaviour {
        Behaviour::Breaks => return Outcome::Break,
        Behaviour::Fails(code, words) => return Outcome::Answer(failed(*code, words, &frame["echo"]), behaviour),
        _ => act(state, &action, params),
    };
    let answer = match done {
        Ok(data) => json!({ "status": "ok", "retcode": 0, "data": data, "message": "", "wording": "",
            "echo": frame["echo"] }),
        Err((code, words)) => failed(code, words, &frame["echo"]),
    };
    Outcome::Answer(answer, behaviour)
}

fn failed(code: i64, words: &str, echo: &Value) -> Value {
    json!({ "status": "failed", "retcode": code, "data": null, "message": words, "wording": words, "echo": echo })
}

fn act(state: &mut State, action: &str, params: &Value) -> Done {
    match action {
        "send_private_msg" => send(state, None, Some(number(params, "user_id")?), &params["message"]),
        "send_group_msg" => send(state, Some(number(params, "group_id")?), None, &params["message"]),
        "send_msg" => {
            let group = params.get("group_id").filter(|_| params["message_type"] != "private");
            match group {
                Some(_) => send(state, Some(number(params, "group_id")?), None, &params["message"]),
                None => send(state, None, Some(number(params, "user_id")?), &params["message"]),
            }
        }
        "send_private_forward_msg" => send(state, None, Some(number(params, "user_id")?), &params["messages"]),
        "send_group_forward_msg" => send(state, Some(number(params, "group_id")?), None, &params["messages"]),
        "upload_private_file" | "upload_group_file" => match params["file"].as_str() {
            Some(_) => Ok(Value::Null),
            None => Err((100, "file is missing")),
        },
        "get_login_info" => Ok(json!({ "user_id": state.account, "nickname": "我" })),
        "get_status" => Ok(json!({ "online": state.online, "good": true })),
        "get_version_info" => Ok(json!({ "app_name": "played", "app_version": "1", "protocol_version": "v11" })),
        "get_msg" => {
            let id = i64::try_from(number(params, "message_id")?).unwrap_or(-1);
            state.messages.get(&id).cloned().ok_or((1404, "there is no such message"))
        }
        "get_forward_msg" => {
            let id = params["id"].as_str().or_else(|| params["message_id"].as_str()).ok_or((100, "id is missing"))?;
            let nodes = state.forwards.get(id).ok_or((1404, "there is no such forward"))?;
            Ok(json!({ "messages": nodes }))
        }
        "get_group_member_info" => {
            let (group, user) = (number(params, "group_id")?, number(params, "user_id")?);
            let it = state.person(group, user);
            Ok(json!({ "group_id": group, "user_id": user, "nickname": it.nickname, "card": it.card, "role": it.role }))
        }
        "get_stranger_info" => {
            let user = number(params, "user_id")?;
            Ok(json!({ "user_id": user, "nickname": state.person(0, user).nickname, "sex": "unknown", "age": 0 }))
        }
        "get_group_info" => {
            let group = number(params, "group_id")?;
            Ok(
                json!({ "group_id": group, "group_name": format!("g{group}"), "member_count": 3, "max_member_count": 200 }),
            )
        }
        "get_group_list" | "get_friend_list" => Ok(list(state, action == "get_group_list", None)),
        "get_group_member_list" => Ok(list(state, false, Some(number(params, "group_id")?))),
        "get_record" | "get_image" => {
            let file = params["file"].as_str().ok_or((100, "file is missing"))?;
            state.files.get(file).cloned().ok_or((1404, "there is no such file"))
        }
        "delete_msg" => {
            let id = i64::try_from(number(params, "message_id")?).unwrap_or(-1);
            state.messages.remove(&id).map(|_| Value::Null).ok_or((1404, "there is no such message"))
        }
        "send_like"
        | "set_friend_add_request"
        | "set_group_add_request"
        | "set_group_kick"
        | "set_group_ban"
        | "set_group_card"
        | "set_group_leave"
        | "set_group_name"
        | "set_group_whole_ban"
        | "set_group_admin"
        | "group_poke"
        | "friend_poke" => Ok(Value::Null),
        _ => Err((1404, "不支持的 api")),
    }
}

/// An id, in either form.
fn number(params: &Value, key: &str) -> Result<u64, (i64, &'static str)> {
    let value = &params[key];
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok());
    number.ok_or((1400, "a parameter is missing or no number"))
}

fn send(state: &mut State, group: Option<u64>, user: Option<u64>, message: &Value) -> Done {
    let is_empty = match message {
        Value::Array(segments) => segments.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Object(_) => false,
        _ => return Err((1400, "message is missing")),
    };
    if is_empty {
        return Err((100, "消息体无法解析"));
    }
    let id = state.next_id();
    let kind = if group.is_some() { "group" } else { "private" };
    let sender = json!({ "user_id": state.account, "nickname": "我" });
    state.messages.insert(
        id,
        json!({ "time": now(), "message_type": kind, "message_id": id, "real_id": id,
        "sender": sender, "message": message }),
    );
    state.sent.push(Sent { group, user, message: message.clone(), id });
    Ok(json!({ "message_id": id }))
}

/// Groups; members of one; or everybody who is known.
fn list(state: &State, groups: bool, of: Option<u64>) -> Value {
    if groups {
        let mut ids: Vec<u64> = state.people.keys().map(|(group, _)| *group).filter(|group| *group != 0).collect();
        ids.dedup();
        return ids.into_iter().map(|group| json!({ "group_id": group, "group_name": format!("g{group}") })).collect();
    }
    let of = of.unwrap_or_default();
    let people = state.people.iter().filter(|((group, _), _)| *group == of).map(|(_, person)| person);
    people.map(|it| json!({ "user_id": it.user, "nickname": it.nickname, "card": it.card, "role": it.role })).collect()
}
