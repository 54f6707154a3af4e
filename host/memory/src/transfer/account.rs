//! A person's account where rows have to stay on which others' words hang: another name takes its place there.

use homeagent_types::CallError;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

/// From how many characters on an account's user is looked for without its namespace, where it is a number.
const TELLING: usize = 5;

/// An account, and the name that takes its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Account {
    namespace: String,
    user: String,
    stand_in: String,
}

impl Account {
    /// Reads `namespace:user`, and thinks of a name that nobody has.
    pub(super) fn read(account: &str) -> Result<Self, CallError> {
        match account.split_once(':') {
            Some((namespace, user)) if !namespace.is_empty() && !user.is_empty() => Ok(Self {
                namespace: namespace.to_owned(),
                user: user.to_owned(),
                stand_in: format!("forgotten-{}", Uuid::now_v7().simple()),
            }),
            _ => {
                let why = format!("\"{account}\" is no account; one is namespace:user, such as qq:10001");
                Err(CallError::Invalid(why))
            }
        }
    }

    /// `namespace:user`.
    pub(super) fn name(&self) -> String {
        format!("{}:{}", self.namespace, self.user)
    }

    /// Whether somebody is named in a document by namespace and user.
    pub(super) fn is_named_in(&self, value: &Value) -> bool {
        match value {
            Value::Object(fields) => self.is(fields) || fields.values().any(|value| self.is_named_in(value)),
            Value::Array(list) => list.iter().any(|value| self.is_named_in(value)),
            _ => false,
        }
    }

    fn is(&self, fields: &serde_json::Map<String, Value>) -> bool {
        let of = |name: &str| fields.get(name).and_then(Value::as_str);
        of("namespace") == Some(self.namespace.as_str()) && of("user") == Some(self.user.as_str())
    }

    /// How it may stand in a text, the longest first: with its namespace, as part of a conversation's name, and a number of
    /// some length also alone.
    pub(super) fn spellings(&self) -> Vec<String> {
        let mut spellings = vec![self.user.clone()];
        spellings.extend(self.pairs().map(|(spelt, _)| spelt));
        spellings.sort_by_key(|spelt| std::cmp::Reverse(spelt.len()));
        spellings.dedup();
        spellings
    }

    fn pairs(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let escaped = self.user.replace('%', "%25").replace('/', "%2F");
        let other = format!("{}:{}", self.namespace, self.stand_in);
        let whole = [self.user.clone(), escaped].map(|user| (format!("{}:{user}", self.namespace), other.clone()));
        let is_telling = self.user.len() >= TELLING && self.user.bytes().all(|byte| byte.is_ascii_digit());
        whole.into_iter().chain(is_telling.then(|| (self.user.clone(), self.stand_in.clone())))
    }

    /// What a text becomes in which it stands; none for others. Part of a longer name is not it.
    pub(super) fn renamed(&self, text: &str) -> Option<String> {
        let mut renamed = None;
        for (spelt, other) in self.pairs() {
            let from: &str = renamed.as_deref().unwrap_or(text);
            renamed = replaced(from, &spelt, &other).or(renamed);
        }
        renamed
    }

    /// Renames in all of a document; false: it stands nowhere in it.
    pub(super) fn rename_in(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => match self.renamed(text) {
                Some(other) => {
                    *text = other;
                    true
                }
                None => false,
            },
            Value::Array(list) => list.iter_mut().fold(false, |any, one| self.rename_in(one) | any),
            Value::Object(fields) => {
                let is = self.is(fields);
                if is {
                    fields.insert("user".to_owned(), Value::from(self.stand_in.clone()));
                    fields.remove("display_name");
                }
                fields.values_mut().fold(is, |any, one| self.rename_in(one) | any)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
}

/// The text with another name in the place of one, wherever that stands by itself; none where it does not.
fn replaced(text: &str, spelt: &str, other: &str) -> Option<String> {
    // Chinese has no spaces around a number.
    let goes_on = |char: Option<char>| char.is_some_and(|char| char.is_ascii_alphanumeric() || char == '_');
    let (mut written, mut done, mut any) = (String::new(), 0, false);
    for (at, found) in text.match_indices(spelt) {
        let end = at + found.len();
        // A person's name may end in what is no letter.
        let goes_on_after = goes_on(found.chars().next_back()) && goes_on(text[end..].chars().next());
        let is_whole = !goes_on(text[..at].chars().next_back()) && !goes_on_after;
        if is_whole {
            written.push_str(&text[done..at]);
            written.push_str(other);
            done = end;
            any = true;
        }
    }
    any.then(|| written + &text[done..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn account(name: &str) -> Account {
        Account { stand_in: "forgotten-1".to_owned(), ..Account::read(name).expect("an account") }
    }

    #[test]
    fn an_account_gets_another_name_wherever_it_stands_by_itself() {
        let who = account("qq:10001");
        for (text, other) in [
            ("person:qq:10001", Some("person:qq:forgotten-1")),
            ("qq:10001", Some("qq:forgotten-1")),
            ("问10001吧，qq:10001。", Some("问forgotten-1吧，qq:forgotten-1。")),
            ("[CQ:at,qq=10001]", Some("[CQ:at,qq=forgotten-1]")),
            ("qq:100012 and 210001", None),
            ("qq:group/7", None),
        ] {
            assert_eq!(who.renamed(text).as_deref(), other, "{text}");
        }
        assert_eq!(
            account("cli:me").renamed("tell me, cli:me and cli:mel"),
            Some("tell me, cli:forgotten-1 and cli:mel".into())
        );
        assert_eq!(account("web:a/b").renamed("web:a%2Fb"), Some("web:forgotten-1".into()));
    }

    #[test]
    fn who_is_named_by_namespace_and_user_is_renamed_with_what_they_are_called() {
        let mut value = json!({ "speaker": { "namespace": "cli", "user": "me", "display_name": "Mei", "role": "owner" },
            "to": ["cli:me"], "other": { "namespace": "qq", "user": "me" } });
        assert!(account("cli:me").is_named_in(&value));
        assert!(account("cli:me").rename_in(&mut value));
        let renamed = json!({ "speaker": { "namespace": "cli", "user": "forgotten-1", "role": "owner" },
            "to": ["cli:forgotten-1"], "other": { "namespace": "qq", "user": "me" } });
        assert_eq!(value, renamed);
        assert!(!account("cli:me").rename_in(&mut value));
    }

    proptest! {
        #[test]
        fn no_text_is_cut_apart_and_nothing_is_left_to_rename(text in "[qq:10a码 ,é]{0,40}") {
            let who = account("qq:10001");
            if let Some(other) = who.renamed(&text) {
                prop_assert_eq!(who.renamed(&other), None);
            }
        }
    }
}
