//! The plugin's settings, read anew for each call, so that a change takes effect at once.

use std::collections::BTreeMap;

use homeagent_sdk::settings;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::event::Place;
use crate::group::Policy;

/// Hosts of QQ's that pictures lie on.
const PICTURE_HOSTS: [&str; 4] =
    ["https://*.qpic.cn", "https://*.nt.qq.com.cn", "https://*.gtimg.cn", "https://gxh.vip.qq.com"];

/// Clients that we connect to.
const MOST_FORWARD: usize = 8;

/// What the owner decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) private_policy: String,
    pub(crate) group_policy: Policy,
    /// Groups with a policy of their own.
    pub(crate) group_policies: BTreeMap<String, Policy>,
    pub(crate) keywords: Vec<String>,
    pub(crate) allow_users: Vec<String>,
    pub(crate) block_users: Vec<String>,
    pub(crate) allow_groups: Vec<String>,
    pub(crate) block_groups: Vec<String>,
    /// Clients to connect to.
    pub(crate) forward: Vec<String>,
    /// The access token is set.
    pub(crate) token: bool,
    /// Where pictures are fetched from.
    pub(crate) picture_hosts: Vec<String>,
    /// What the agent is told of although it is not about it.
    pub(crate) notices: Vec<String>,
    /// Where requests to be let in are told.
    pub(crate) requests_to: Option<Place>,
    /// Messages of a group that are offered as background.
    pub(crate) background: usize,
    pub(crate) rate_per_minute: u32,
    /// In characters.
    pub(crate) message_size: usize,
    /// In characters; 0: never.
    pub(crate) forward_above: usize,
    pub(crate) quote: bool,
    pub(crate) stream: bool,
    /// Messages are CQ strings.
    pub(crate) as_string: bool,
    /// In milliseconds.
    pub(crate) answer_timeout: u64,
}

impl Settings {
    /// What the host has; where it has none or it can't be read, what `plugin.toml` gives as default.
    pub(crate) fn read() -> (Self, Vec<String>) {
        Self::from(|key| settings::get(key).ok())
    }

    /// Whether answers are shown while they are being written: asked for each piece, so nothing else is read.
    pub(crate) fn streams() -> bool {
        settings::get("stream").unwrap_or(false)
    }

    /// Reads the values that `get` has; also, what is wrong with them.
    pub(crate) fn from(get: impl Fn(&str) -> Option<Value>) -> (Self, Vec<String>) {
        let mut wrong = Vec::new();
        let policy = policy(&text(&get, "group_policy", "mentioned+replied-to"), "group_policy", &mut wrong);
        let settings = Self {
            private_policy: text(&get, "private_policy", "all"),
            group_policy: policy.unwrap_or_else(Policy::when_called),
            group_policies: policies(&value::<Vec<String>>(&get, "group_policies").unwrap_or_default(), &mut wrong),
            keywords: list(&get, "keywords"),
            allow_users: list(&get, "allow_users"),
            block_users: list(&get, "block_users"),
            allow_groups: list(&get, "allow_groups"),
            block_groups: list(&get, "block_groups"),
            forward: addresses(list(&get, "forward"), &mut wrong),
            // The host gives the secret's name in the place of its value.
            token: get("access_token").is_some_and(|token| !token.is_null()),
            picture_hosts: value(&get, "picture_hosts").unwrap_or_else(|| PICTURE_HOSTS.map(str::to_owned).to_vec()),
            notices: list(&get, "notices"),
            requests_to: place(&text(&get, "requests_to", "")),
            background: value(&get, "background").unwrap_or(30),
            rate_per_minute: value(&get, "rate_per_minute").unwrap_or(20),
            message_size: value(&get, "message_size").unwrap_or(2_000).max(1),
            forward_above: value(&get, "forward_above").unwrap_or(8_000),
            quote: value(&get, "quote").unwrap_or(true),
            stream: value(&get, "stream").unwrap_or(false),
            as_string: text(&get, "message_format", "array") == "string",
            answer_timeout: value::<u64>(&get, "answer_timeout").unwrap_or(20).saturating_mul(1_000),
        };
        (settings, wrong)
    }

    /// The policy of a group.
    pub(crate) fn policy(&self, group: &str) -> &Policy {
        self.group_policies.get(group).unwrap_or(&self.group_policy)
    }

    /// Whether nothing that somebody says or asks is listened to, wherever it is.
    pub(crate) fn blocks(&self, user: &str) -> bool {
        self.block_users.iter().any(|blocked| blocked == user)
    }

    /// Whether anything that comes from there and from them is listened to.
    pub(crate) fn listens(&self, place: &Place, user: &str, platform_role: &str) -> bool {
        let has = |list: &[String], id: &str| list.iter().any(|listed| listed == id);
        let allowed =
            |allow: &[String], block: &[String], id: &str| !has(block, id) && (allow.is_empty() || has(allow, id));
        let place = match place {
            Place::Group(group) => {
                allowed(&self.allow_groups, &self.block_groups, group) && !self.policy(group).is_off()
            }
            Place::Private(_) => match self.private_policy.as_str() {
                "off" => false,
                "friends" => platform_role == "friend",
                _ => true,
            },
        };
        place && allowed(&self.allow_users, &self.block_users, user)
    }
}

fn value<T: DeserializeOwned>(get: &impl Fn(&str) -> Option<Value>, key: &str) -> Option<T> {
    serde_json::from_value(get(key)?).ok()
}

fn text(get: &impl Fn(&str) -> Option<Value>, key: &str, default: &str) -> String {
    value(get, key).unwrap_or_else(|| default.to_owned())
}

fn list(get: &impl Fn(&str) -> Option<Value>, key: &str) -> Vec<String> {
    let texts = value::<Vec<String>>(get, key).unwrap_or_default();
    texts.iter().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()).collect()
}

/// Addresses of WebSockets, each once.
fn addresses(lines: Vec<String>, wrong: &mut Vec<String>) -> Vec<String> {
    let mut addresses: Vec<String> = Vec::new();
    for line in lines {
        let host = line.strip_prefix("ws://").or_else(|| line.strip_prefix("wss://"));
        let is_local = |host: &str| host.split(['/', ':', '?']).next().is_some_and(|name| name == "localhost");
        match host {
            None | Some("") => wrong.push(format!("the setting forward: `{line}` is not of the form ws://HOST:PORT")),
            Some(host) if is_local(host) => {
                wrong.push(format!("the setting forward: `{line}` needs an address: write 127.0.0.1 for localhost"));
            }
            Some(_) if addresses.len() >= MOST_FORWARD && !addresses.contains(&line) => {
                wrong.push(format!("the setting forward: `{line}` is one too many; {MOST_FORWARD} are the most"));
            }
            Some(_) if addresses.contains(&line) => {}
            Some(_) => addresses.push(line),
        }
    }
    addresses
}

fn policy(words: &str, key: &str, wrong: &mut Vec<String>) -> Option<Policy> {
    Policy::parse(words).map_err(|error| wrong.push(format!("the setting {key}: {error}"))).ok()
}

/// Lines of the form `GROUP=POLICY`.
fn policies(lines: &[String], wrong: &mut Vec<String>) -> BTreeMap<String, Policy> {
    let mut policies = BTreeMap::new();
    for line in lines {
        match line.split_once('=') {
            Some((group, words)) => {
                // A group whose policy can't be read is left alone rather than listened to.
                let policy = policy(words, "group_policies", wrong).unwrap_or_else(Policy::never);
                policies.insert(group.trim().to_owned(), policy);
            }
            None => wrong.push(format!("the setting group_policies: `{line}` is not of the form GROUP=POLICY")),
        }
    }
    policies
}

/// An account, or `group:ID`.
fn place(text: &str) -> Option<Place> {
    let text = text.trim();
    match text.strip_prefix("group:") {
        Some(group) if !group.trim().is_empty() => Some(Place::Group(group.trim().to_owned())),
        None if !text.is_empty() => Some(Place::Private(text.trim_start_matches("private:").to_owned())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with(values: &Value) -> (Settings, Vec<String>) {
        Settings::from(|key| values.get(key).cloned())
    }

    #[test]
    fn every_setting_is_declared_with_the_default_that_is_used() {
        let manifest: toml::Table = toml::from_str(include_str!("../plugin.toml")).expect("plugin.toml is TOML");
        let declared = manifest["settings"].as_table().expect("a table");
        // The host reads these.
        let of_the_host = ["listen".to_owned()];
        let asked = std::cell::RefCell::new(std::collections::BTreeSet::from(of_the_host));
        let defaults = |key: &str| {
            asked.borrow_mut().insert(key.to_owned());
            serde_json::to_value(declared[key].get("default")).ok()
        };
        assert_eq!(Settings::from(defaults), with(&json!({})));
        assert!(asked.borrow().iter().eq(declared.keys()), "{:?} are not {declared:?}", asked.borrow());
    }

    #[test]
    fn lists_decide_who_is_listened_to() {
        let (settings, wrong) = with(&json!({
            "allow_groups": ["30"], "block_users": [" 66 "], "private_policy": "friends",
            "group_policies": ["31=all", "32=off", "33=loud", "34"],
        }));
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        let group = |id: &str| Place::Group(id.to_owned());
        let private = |id: &str| Place::Private(id.to_owned());
        assert!(settings.listens(&group("30"), "20", "group-member"));
        assert!(!settings.listens(&group("30"), "66", "group-owner"));
        assert!(!settings.listens(&group("31"), "20", "group-member"), "it is not on the list");
        assert!(settings.listens(&private("20"), "20", "friend"));
        assert!(!settings.listens(&private("20"), "20", "temp"));
        let (settings, _) = with(&json!({"group_policies": ["32=off", "33=loud"]}));
        assert!(!settings.listens(&group("32"), "20", "group-member"));
        assert!(!settings.listens(&group("33"), "20", "group-member"), "a policy that can't be read is none");
        assert!(settings.listens(&group("35"), "20", "group-member"));
    }

    #[test]
    fn requests_are_told_where_the_owner_wants() {
        let told = |to: &str| with(&json!({ "requests_to": to })).0.requests_to;
        assert_eq!(told("20"), Some(Place::Private("20".to_owned())));
        assert_eq!(told("group: 30"), Some(Place::Group("30".to_owned())));
        assert_eq!((told(""), told("group:")), (None, None));
    }
}
