//! Actions of the OneBot standard that the model may ask for, as tools.

use homeagent_sdk::{Arguments, Effect, Error, Role, Tool};
use serde_json::{Map, Value, json};

use crate::account::Offer;
use crate::field;
use crate::outbox::Call;

/// The name of the tool that tells how the accounts are; it asks no client.
pub(crate) const ACCOUNTS: &str = "qq_accounts";

/// Entries of a list that the model is shown.
const MOST_ENTRIES: usize = 100;

/// One action.
struct Action {
    name: &'static str,
    description: &'static str,
    kind: Kind,
    parameters: &'static [Parameter],
}

/// Who may ask for it, and what it does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Looks something up that everybody there sees.
    Open,
    /// Looks something up that is the owner's own.
    Private,
    /// The same, with a list as its answer.
    List,
    /// Does something that others notice; for the owner alone.
    World,
}

/// A parameter: name, form, whether it has to be there, what it means.
struct Parameter(&'static str, Form, bool, &'static str);

#[derive(Clone, Copy)]
enum Form {
    Id,
    Text,
    Count,
    Truth,
}

const GROUP: Parameter = Parameter("group_id", Form::Id, true, "The group.");
const USER: Parameter = Parameter("user_id", Form::Id, true, "The person, by account number.");
const ENABLE: Parameter = Parameter("enable", Form::Truth, false, "False to take it back. Default: true.");
const APPROVE: Parameter = Parameter("approve", Form::Truth, true, "Whether they are let in.");
const FLAG: Parameter = Parameter("flag", Form::Text, true, "The flag that came with the request.");
const MESSAGE: Parameter = Parameter("message_id", Form::Id, true, "The message's id.");

const ACTIONS: &[Action] = &[
    open("get_group_info", "Tells a QQ group's name and size.", &[GROUP]),
    open("get_group_member_info", "Tells a member's name, title and role in a QQ group.", &[GROUP, USER]),
    open("get_stranger_info", "Tells a QQ account's nickname.", &[USER]),
    private("get_msg", "Reads a QQ message by its id.", &[MESSAGE]),
    private(
        "get_forward_msg",
        "Reads the messages of a merged forward by its id.",
        &[Parameter("id", Form::Text, true, "The forward's id.")],
    ),
    private(
        "get_group_honor_info",
        "Tells the honours of a QQ group.",
        &[GROUP, Parameter("type", Form::Text, true, "talkative, performer, legend, strong_newbie, emotion or all.")],
    ),
    private("get_version_info", "Tells which OneBot client serves a QQ account.", &[]),
    list("get_group_list", "Lists the QQ groups that the account is in.", &[]),
    list("get_group_member_list", "Lists the members of a QQ group.", &[GROUP]),
    list("get_friend_list", "Lists the QQ account's friends.", &[]),
    world(
        "send_like",
        "Gives a friend likes on their profile.",
        &[USER, Parameter("times", Form::Count, false, "1 to 10. Default: 1.")],
    ),
    world(
        "delete_msg",
        "Takes a QQ message back: our own for two minutes, others' where we are the group's admin.",
        &[MESSAGE],
    ),
    world(
        "set_group_kick",
        "Removes a member from a QQ group.",
        &[
            GROUP,
            USER,
            Parameter("reject_add_request", Form::Truth, false, "Also refuse them in future. Default: false."),
        ],
    ),
    world(
        "set_group_ban",
        "Mutes a member of a QQ group.",
        &[GROUP, USER, Parameter("duration", Form::Count, true, "In seconds, at most 30 days; 0 ends it.")],
    ),
    world("set_group_whole_ban", "Mutes a whole QQ group, or ends that.", &[GROUP, ENABLE]),
    world("set_group_admin", "Makes a member of a QQ group its admin, or ends that.", &[GROUP, USER, ENABLE]),
    world(
        "set_group_card",
        "Sets what a member is called in a QQ group.",
        &[GROUP, USER, Parameter("card", Form::Text, true, "The name; empty takes it away.")],
    ),
    world("set_group_name", "Renames a QQ group.", &[GROUP, Parameter("group_name", Form::Text, true, "The name.")]),
    world(
        "set_group_special_title",
        "Gives a member of a QQ group a title.",
        &[GROUP, USER, Parameter("special_title", Form::Text, true, "The title; empty takes it away.")],
    ),
    world("set_group_anonymous", "Allows or forbids anonymous messages in a QQ group.", &[GROUP, ENABLE]),
    world(
        "set_group_anonymous_ban",
        "Mutes an anonymous member of a QQ group.",
        &[
            GROUP,
            Parameter("flag", Form::Text, true, "The flag of the anonymous member."),
            Parameter("duration", Form::Count, true, "In seconds."),
        ],
    ),
    world(
        "set_group_leave",
        "Leaves a QQ group.",
        &[GROUP, Parameter("is_dismiss", Form::Truth, false, "Dissolve it, where it is ours. Default: false.")],
    ),
    world("group_poke", "Pokes a member of a QQ group.", &[GROUP, USER]),
    world("friend_poke", "Pokes a friend on QQ.", &[USER]),
    world(
        "set_friend_add_request",
        "Answers somebody who wants to be a friend on QQ.",
        &[FLAG, APPROVE, Parameter("remark", Form::Text, false, "What the friend is to be called here.")],
    ),
    world(
        "set_group_add_request",
        "Answers somebody who wants to join a QQ group, or who invites us into one.",
        &[
            FLAG,
            Parameter("sub_type", Form::Text, true, "add or invite, as the request said."),
            APPROVE,
            Parameter("reason", Form::Text, false, "Why not, where they are refused."),
        ],
    ),
];

const fn open(name: &'static str, description: &'static str, parameters: &'static [Parameter]) -> Action {
    Action { name, description, kind: Kind::Open, parameters }
}

const fn private(name: &'static str, description: &'static str, parameters: &'static [Parameter]) -> Action {
    Action { name, description, kind: Kind::Private, parameters }
}

const fn list(name: &'static str, description: &'static str, parameters: &'static [Parameter]) -> Action {
    Action { name, description, kind: Kind::List, parameters }
}

const fn world(name: &'static str, description: &'static str, parameters: &'static [Parameter]) -> Action {
    Action { name, description, kind: Kind::World, parameters }
}

/// The tools that are offered.
pub(crate) fn offered(offer: Offer) -> Vec<Tool> {
    let mut tools = tools();
    match offer {
        Offer::All => {}
        Offer::Accounts => tools.retain(|tool| tool.name == ACCOUNTS),
        Offer::Nothing => tools.clear(),
    }
    tools
}

/// All tools.
pub(crate) fn tools() -> Vec<Tool> {
    let accounts = Tool::with_schema(
        ACCOUNTS,
        "Tells which QQ accounts are ours and whether they are connected.",
        json!({ "type": "object", "properties": {}, "additionalProperties": false }).to_string(),
    );
    let accounts = accounts.effect(Effect::Read).no_memory();
    std::iter::once(accounts).chain(ACTIONS.iter().map(tool)).collect()
}

fn tool(action: &Action) -> Tool {
    let tool = Tool::with_schema(&format!("qq_{}", action.name), action.description, schema(action).to_string());
    match action.kind {
        Kind::Open => tool.effect(Effect::Read),
        Kind::Private => tool.effect(Effect::Read).min_role(Role::Owner),
        Kind::List => tool.effect(Effect::Read).min_role(Role::Owner).no_memory(),
        Kind::World => tool.effect(Effect::World).min_role(Role::Owner),
    }
}

fn schema(action: &Action) -> Value {
    let mut properties = Map::new();
    for Parameter(name, form, _, description) in action.parameters {
        let kind = match form {
            Form::Id => json!(["string", "integer"]),
            Form::Text => json!("string"),
            Form::Count => json!("integer"),
            Form::Truth => json!("boolean"),
        };
        properties.insert((*name).to_owned(), json!({ "type": kind, "description": description }));
    }
    if action.kind == Kind::List {
        let find = "Only entries with this in a name or number.";
        properties.insert("find".to_owned(), json!({ "type": "string", "description": find }));
    }
    let account = "Our account that does it, where there are several.";
    properties.insert("account".to_owned(), json!({ "type": ["string", "integer"], "description": account }));
    let required: Vec<&str> =
        action.parameters.iter().filter(|parameter| parameter.2).map(|parameter| parameter.0).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// A tool call, read.
#[derive(Debug, PartialEq)]
pub(crate) struct Asked {
    pub(crate) call: Call,
    /// The account that is to do it, where the call says so.
    pub(crate) account: Option<String>,
    /// The group or person it is about, as the name of a conversation.
    pub(crate) about: Option<String>,
    /// What is looked for in the list.
    find: Option<String>,
    kind: Option<&'static str>,
}

/// Reads a call of a tool.
pub(crate) fn read(name: &str, arguments: &Arguments) -> Result<Asked, Error> {
    let unknown = || Error::no_tool(name);
    let action = name.strip_prefix("qq_").ok_or_else(unknown)?;
    let action = ACTIONS.iter().find(|known| known.name == action).ok_or_else(unknown)?;
    let given: Map<String, Value> = arguments.parse()?;
    let mut params = Map::new();
    for Parameter(name, form, is_required, _) in action.parameters {
        let value = given.get(*name).filter(|value| !value.is_null());
        let Some(value) = value else {
            if *is_required {
                return Err(Error::invalid(format!("argument `{name}` is missing")));
            }
            continue;
        };
        let read = match form {
            Form::Id => field::party(value).map(|id| field::number(&id)),
            Form::Text => field::text(value).map(Value::from),
            Form::Count => field::integer(value).filter(|count| *count >= 0).map(Value::from),
            Form::Truth => field::truth(value).map(Value::from),
        };
        let read = read.ok_or_else(|| Error::invalid(format!("argument `{name}` can't be {value}")))?;
        params.insert((*name).to_owned(), read);
    }
    if action.parameters.iter().any(|parameter| parameter.0 == "enable") {
        params.entry("enable").or_insert(Value::Bool(true));
    }
    let of = |key: &str| params.get(key).and_then(field::id);
    let about = of("group_id").map(|group| format!("group:{group}"));
    let about = about.or_else(|| of("user_id").map(|user| format!("private:{user}")));
    Ok(Asked {
        call: Call::new(action.name, Value::Object(params)),
        account: given.get("account").and_then(field::party),
        about,
        find: given.get("find").and_then(field::text).map(|text| text.to_lowercase()),
        kind: (action.kind == Kind::World).then_some(action.name),
    })
}

impl Asked {
    /// What the model is shown of the client's answer.
    pub(crate) fn shown(&self, data: Value) -> Value {
        match data {
            Value::Array(entries) => self.entries(entries),
            Value::Null => json!("done"),
            _ if self.kind.is_some() => json!("done"),
            data => data,
        }
    }

    fn entries(&self, mut entries: Vec<Value>) -> Value {
        let all = entries.len();
        if let Some(find) = &self.find {
            let holds = |value: &Value| field::text(value).is_some_and(|text| text.to_lowercase().contains(find));
            entries.retain(|entry| entry.as_object().is_some_and(|entry| entry.values().any(holds)));
        }
        let found = entries.len();
        entries.truncate(MOST_ENTRIES);
        if entries.len() == all {
            return Value::from(entries);
        }
        json!({ "entries": entries, "found": found, "of": all })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(name: &str, arguments: &Value) -> Result<Asked, Error> {
        read(name, &Arguments::new(arguments.to_string()))
    }

    #[test]
    fn what_others_notice_is_for_the_owner_alone() {
        let tools = tools();
        assert_eq!(tools.len(), ACTIONS.len() + 1);
        for tool in &tools {
            let name = tool.name.strip_prefix("qq_").expect("our prefix");
            let changes =
                ["set_", "send_", "delete_"].iter().any(|start| name.starts_with(start)) || name.ends_with("_poke");
            assert_eq!(tool.effect == Effect::World, changes, "{name}");
            assert!(!changes || tool.min_role == Some(Role::Owner), "{name}");
            let schema: Value = serde_json::from_str(&tool.parameters).expect("a schema is JSON");
            assert_eq!(schema["type"], "object", "{name}");
        }
    }

    #[test]
    fn arguments_become_parameters() {
        let ban = asked("qq_set_group_ban", &json!({"group_id": "30", "user_id": 20, "duration": 60})).expect("a call");
        assert_eq!(ban.call, Call::new("set_group_ban", json!({"group_id": 30, "user_id": 20, "duration": 60})));
        assert_eq!(ban.about.as_deref(), Some("group:30"));
        let whole = asked("qq_set_group_whole_ban", &json!({"group_id": 30, "account": 1})).expect("a call");
        assert_eq!((whole.call.params["enable"].clone(), whole.account.as_deref()), (json!(true), Some("1")));
        for (name, arguments, word) in [
            ("qq_set_group_ban", json!({"group_id": 30, "user_id": 20}), "`duration` is missing"),
            ("qq_set_group_ban", json!({"group_id": 30, "user_id": 20, "duration": -5}), "`duration` can't be -5"),
            ("qq_get_msg", json!({"message_id": {}}), "`message_id` can't be {}"),
        ] {
            let error = asked(name, &arguments).expect_err("wrong").message();
            assert!(error.contains(word), "{error}");
        }
        for name in ["qq_get_cookies", "get_msg", "qq_", "qq_accounts"] {
            assert!(matches!(asked(name, &json!({})), Err(Error::NotFound(_))), "{name}");
        }
    }

    #[test]
    fn long_lists_are_cut_and_can_be_searched() {
        let people: Vec<Value> = (0..500).map(|n| json!({"user_id": n, "nickname": format!("P{n}")})).collect();
        let all = asked("qq_get_friend_list", &json!({})).expect("a call").shown(Value::from(people.clone()));
        assert_eq!((all["entries"].as_array().map(Vec::len), &all["of"]), (Some(100), &json!(500)));
        let found = asked("qq_get_friend_list", &json!({"find": "p499"})).expect("a call").shown(Value::from(people));
        assert_eq!((&found["found"], &found["entries"][0]["user_id"]), (&json!(1), &json!(499)));
        let done = asked("qq_friend_poke", &json!({"user_id": 1})).expect("a call");
        assert_eq!(done.shown(json!({"result": 0})), json!("done"));
    }
}
