//! `[wants.listen]`: paths at the daemon's own address that a plugin serves.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use super::{Details, Want};

/// The most paths of one plugin.
const MOST_PATHS: usize = 16;
/// The longest path, in bytes.
const LONGEST_PATH: usize = 128;
/// Beginnings of paths that are the daemon's own.
const OWN: [&str; 6] = ["/api", "/channels", "/health", "/mcp", "/metrics", "/web"];

/// What a plugin listens to, besides listeners that the daemon names itself.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Listen {
    /// WebSocket paths, by the name of the listener whose connections they make.
    #[serde(default)]
    pub(crate) websocket: BTreeMap<String, WebSocketPath>,
}

/// One WebSocket path.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WebSocketPath {
    /// Such as `/onebot/v11/ws`.
    pub(crate) path: String,
    /// The plugin's secret setting that holds what clients have to bring. While it is not set, as where none is named,
    /// clients of this machine alone may connect.
    pub(crate) token: Option<String>,
    /// Sub-protocols that the plugin speaks, the preferred first.
    #[serde(default)]
    pub(crate) protocols: Vec<String>,
    /// The plugin's text setting that holds a TCP address at which the path is served, too, while it is set.
    pub(crate) address: Option<String>,
}

impl Want for Listen {
    const CAPABILITY: &'static str = "listen";

    fn check(&self) -> Result<(), String> {
        if self.websocket.len() > MOST_PATHS {
            return Err(format!("it has {} paths; {MOST_PATHS} are the most", self.websocket.len()));
        }
        let mut seen = BTreeSet::new();
        for (listener, WebSocketPath { path, protocols, .. }) in &self.websocket {
            check_path(path).map_err(|reason| format!("websocket.{listener}: path = {path:?} {reason}"))?;
            if !seen.insert(path) {
                return Err(format!("websocket.{listener}: the path {path} has another listener already"));
            }
            let is_token = |text: &String| {
                !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+".contains(&byte))
            };
            if let Some(bad) = protocols.iter().find(|protocol| !is_token(protocol)) {
                return Err(format!("websocket.{listener}: {bad:?} is not the name of a sub-protocol"));
            }
        }
        Ok(())
    }
}

/// A path that asks for a token has one, also where it was granted without: that lets fewer in.
pub(super) fn keep_tokens(asked: &Details, both: &mut Details) {
    let Some(Value::Object(paths)) = both.get_mut("websocket") else { return };
    for (listener, path) in paths {
        let token = asked.get("websocket").and_then(|all| all.get(listener)?.get("token"));
        if let (Value::Object(path), Some(token)) = (path, token) {
            path.entry("token").or_insert_with(|| token.clone());
        }
    }
}

/// A path that can be told from every other, and that is not the daemon's own.
fn check_path(path: &str) -> Result<(), &'static str> {
    let Some(rest) = path.strip_prefix('/') else { return Err("has to begin with a slash") };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let segment = |part: &str| !part.is_empty() && part != "." && part != ".." && part.bytes().all(plain);
    if path.len() > LONGEST_PATH || !rest.split('/').all(segment) {
        return Err("has to be made of letters, digits, -, ., _ and ~ between single slashes, 128 at most");
    }
    let under = |own: &&str| path.strip_prefix(*own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    if OWN.iter().any(under) {
        return Err("is the daemon's own");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_is_asked_for_later_is_asked_of_callers() {
        let details = |value: Value| value.as_object().cloned().expect("a table");
        let asked = details(serde_json::json!({ "websocket": { "a": { "path": "/a", "token": "t" } } }));
        let granted = details(serde_json::json!({ "websocket": { "a": { "path": "/a" } } }));
        assert_eq!(super::super::narrow("listen", &asked, &granted), Some(asked));
    }

    fn checked(text: &str) -> Result<(), String> {
        let table: toml::Table = toml::from_str(text).expect("it is TOML");
        table.try_into::<Listen>().map_err(|error| error.to_string())?.check()
    }

    #[test]
    fn paths_are_plain_and_nobody_else_s() {
        checked("websocket.onebot = { path = \"/onebot/v11/ws\", token = \"access_token\" }").expect("it is good");
        checked("").expect("nothing is asked for");
        let faults = [
            ("websocket.a = { path = \"onebot\" }", "begin with a slash"),
            ("websocket.a = { path = \"/a/../api\" }", "single slashes"),
            ("websocket.a = { path = \"/a//b\" }", "single slashes"),
            ("websocket.a = { path = \"/a?b\" }", "single slashes"),
            ("websocket.a = { path = \"/api/v1/x\" }", "the daemon's own"),
            ("websocket.a = { path = \"/a\" }\nwebsocket.b = { path = \"/a\" }", "another listener"),
            ("websocket.a = { path = \"/a\", protocols = [\"a b\"] }", "sub-protocol"),
            ("websocket.a = { paht = \"/a\" }", "paht"),
        ];
        for (text, words) in faults {
            let refused = checked(text).expect_err(text);
            assert!(refused.contains(words), "{text}: {refused}");
        }
        checked("websocket.a = { path = \"/apiary\" }").expect("it only begins alike");
    }
}
