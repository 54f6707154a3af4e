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
            Some((namespace, user)) if !namespace.is_empty() && !user.is_empty() => {
                Ok(Self { namespace: namespace.to_owned(), user: user.to_owned(), stand_in: stand_in() })
            }
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

    /// The same with a name that takes its place anew: where a death cut a renaming, somebody may have come back.
    pub(super) fn anew(&self) -> Self {
        Self { stand_in: stand_in(), ..self.clone() }
    }

    /// How it may stand in a document, as JSON is written.
    pub(super) fn fragments(&self) -> Vec<String> {
        let written = |text: &str| Value::from(text).to_string();
        let inside = |text: &str| written(text).trim_matches('"').to_owned();
        let mut fragments: Vec<String> = self.pairs().map(|(spelt, _)| inside(&spelt)).collect();
        fragments.push(format!("\"user\":{}", written(&self.user)));
        fragments
    }

    /// How it may stand in a text, whole: with its namespace, as part of a conversation's name, and a number of some length
    /// also alone.
    fn pairs(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let escaped = self.user.replace('%', "%25").replace('/', "%2F");
        let other = format!("{}:{}", self.namespace, self.stand_in);
        let whole = [self.user.clone(), escaped].map(|user| (format!("{}:{user}", self.namespace), other.clone()));
        whole.into_iter().chain(self.is_telling().then(|| (self.user.clone(), self.stand_in.clone())))
    }

    /// Whether the user alone, without its namespace, says who it is.
    fn is_telling(&self) -> bool {
        self.user.len() >= TELLING && self.user.bytes().all(|byte| byte.is_ascii_digit())
    }

    /// How it is spelt where it is looked for byte by byte.
    pub(super) fn spelt(&self) -> Vec<String> {
        self.pairs().map(|(spelt, _)| spelt).collect()
    }

    /// What a name becomes that is this account's as a whole: a principal, its private conversation, or who reads that. None
    /// for those of others, of groups too.
    pub(super) fn named(&self, name: &str) -> Option<String> {
        let (before, rest) = match name.strip_prefix("person:") {
            Some(rest) => ("person:", rest),
            None => ("", name),
        };
        let escaped = self.user.replace('%', "%25").replace('/', "%2F");
        let user = rest.strip_prefix(self.namespace.as_str())?.strip_prefix(':')?;
        (user == self.user || user == escaped).then(|| format!("{before}{}:{}", self.namespace, self.stand_in))
    }

    /// What words become in which it stands; none for others. Part of a longer name, or of a group's, is not it.
    pub(super) fn renamed(&self, text: &str) -> Option<String> {
        if let Some(named) = self.named(text) {
            return Some(named);
        }
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
                let mut any = fields.values_mut().fold(is, |any, one| self.rename_in(one) | any);
                if fields.keys().any(|key| self.renamed(key).is_some()) {
                    let all = std::mem::take(fields).into_iter();
                    *fields = all.map(|(key, one)| (self.renamed(&key).unwrap_or(key), one)).collect();
                    any = true;
                }
                any
            }
            Value::Number(number) if self.is_telling() && number.to_string() == self.user => {
                *value = Value::from(0);
                true
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
}

/// A name that nobody has.
fn stand_in() -> String {
    format!("forgotten-{}", Uuid::now_v7().simple())
}

/// The text with another name in the place of one, wherever that stands by itself; none where it does not.
fn replaced(text: &str, spelt: &str, other: &str) -> Option<String> {
    let (mut written, mut done, mut any) = (String::new(), 0, false);
    for (at, found) in text.match_indices(spelt) {
        let (before, after) = (&text[..at], &text[at + found.len()..]);
        if at >= done && !goes_on_before(before, found) && !goes_on_after(found, after) {
            written.push_str(&text[done..at]);
            written.push_str(other);
            done = at + found.len();
            any = true;
        }
    }
    any.then(|| written + &text[done..])
}

fn is_of_a_name(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '_' | '-')
}

/// Whether what stands before belongs to the name, or makes it a group's.
fn goes_on_before(before: &str, name: &str) -> bool {
    // A number alone may have its channel before it: `group:qq:10001`.
    let outer = before.strip_suffix(':').map_or(before, |before| before.trim_end_matches(is_of_a_name));
    let is_group = outer.ends_with("group:")
        || before.ends_with("group:")
        || before.ends_with("group/")
        || before.ends_with("other/");
    // Chinese has no spaces around a number.
    let belongs = |char: char| is_of_a_name(char) || (!name.is_ascii() && char.is_alphanumeric());
    is_group || before.chars().next_back().is_some_and(belongs)
}

/// Whether what stands behind belongs to the name, as in `ada@x.org` and `小明明`.
fn goes_on_after(name: &str, after: &str) -> bool {
    let mut chars = after.chars();
    let belongs = |char: char| is_of_a_name(char) || (!name.is_ascii() && char.is_alphanumeric());
    match chars.next() {
        Some('@' | '.' | '%' | '/') => chars.next().is_some_and(belongs),
        Some(next) => belongs(next),
        None => false,
    }
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
            ("qq:group/10001", None),
            ("group:qq:10001", None),
            ("qq:10001/7 and qq:10001.5", None),
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
    fn nobody_else_is_renamed_whose_name_begins_so_and_no_group() {
        for (who, others) in [
            ("mail:ada", ["mail:ada@x.org", "mail:ada-lovelace", "mail:ada.lovelace", "person:mail:ada_1"]),
            ("wx:小明", ["wx:小明明", "person:wx:小明明", "wx:小明1", "wx:group/小明"]),
            ("qq:7", ["qq:77", "group:qq:7", "qq:group/7", "person:qq:7-1"]),
            ("qq:10001", ["qq:100012", "group:qq:10001", "qq:group/10001", "qq:other/10001"]),
        ] {
            let account = account(who);
            for other in others {
                assert_eq!((account.named(other), account.renamed(other)), (None, None), "{who} {other}");
            }
            assert_eq!(account.named(&format!("person:{who}")), account.renamed(&format!("person:{who}")));
            assert!(account.named(who).is_some() && account.renamed(&format!("问 {who}。")).is_some(), "{who}");
        }
    }

    #[test]
    fn who_is_named_by_namespace_and_user_is_renamed_with_what_they_are_called() {
        let mut value = json!({ "speaker": { "namespace": "cli", "user": "me", "display_name": "Mei", "role": "owner" },
            "to": ["cli:me"], "cli:me": 1, "other": { "namespace": "qq", "user": "me" } });
        assert!(account("cli:me").is_named_in(&value));
        assert!(account("cli:me").rename_in(&mut value));
        let renamed = json!({ "speaker": { "namespace": "cli", "user": "forgotten-1", "role": "owner" },
            "to": ["cli:forgotten-1"], "cli:forgotten-1": 1, "other": { "namespace": "qq", "user": "me" } });
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
