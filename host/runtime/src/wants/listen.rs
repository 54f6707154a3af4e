//! `[wants.listen]`: paths at the daemon's own address that a plugin serves, and unix sockets of its own.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use super::unix::{UnixSocket, check_files};
use super::{Details, Want};

/// The most paths of one plugin, and the most unix sockets.
const MOST_PATHS: usize = 16;
/// The longest path, in bytes.
const LONGEST_PATH: usize = 128;
/// Beginnings of paths that are the daemon's own.
const OWN: [&str; 7] = ["/api", "/channels", "/health", "/mcp", "/media", "/metrics", "/web"];

/// What a plugin listens to, besides listeners that the daemon names itself.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Listen {
    /// WebSocket paths, by the name of the listener whose connections they make.
    #[serde(default)]
    pub(crate) websocket: BTreeMap<String, WebSocketPath>,
    /// HTTP routes, by the names under which their requests come.
    #[serde(default)]
    pub(crate) http: BTreeMap<String, HttpRoute>,
    /// Unix sockets, by the name of the listener whose connections they make.
    #[serde(default)]
    pub(crate) unix: BTreeMap<String, UnixSocket>,
}

/// One HTTP route.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HttpRoute {
    /// Such as `/hooks/weather`; with `/*` at its end, everything below.
    pub(crate) path: String,
    /// As of a WebSocket path.
    pub(crate) token: Option<String>,
    /// As of a WebSocket path.
    pub(crate) address: Option<String>,
    /// The methods that are taken.
    #[serde(default = "usual_methods")]
    pub(crate) methods: Vec<String>,
}

/// The methods that a route can take.
const METHODS: [&str; 7] = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"];

fn usual_methods() -> Vec<String> {
    ["GET", "HEAD", "POST"].map(str::to_owned).into()
}

/// What is behind a path, in whatever way it is spoken to.
pub(crate) struct PathWant<'a> {
    /// `websocket` or `http`.
    pub(crate) kind: &'static str,
    pub(crate) name: &'a str,
    pub(crate) path: &'a str,
    pub(crate) token: Option<&'a String>,
    pub(crate) address: Option<&'a String>,
}

impl Listen {
    /// All paths.
    pub(crate) fn paths(&self) -> impl Iterator<Item = PathWant<'_>> {
        let sockets = self.websocket.iter().map(|(name, it)| PathWant {
            kind: "websocket",
            name,
            path: &it.path,
            token: it.token.as_ref(),
            address: it.address.as_ref(),
        });
        let routes = self.http.iter().map(|(name, it)| PathWant {
            kind: "http",
            name,
            path: &it.path,
            token: it.token.as_ref(),
            address: it.address.as_ref(),
        });
        sockets.chain(routes)
    }
}

/// Whether a request's path is one that a route or a WebSocket path holds. What is below a path is there by its plain
/// name alone: nothing empty, no dots that lead elsewhere, and nothing encoded that would be one of them.
pub(crate) fn holds(path: &str, asked: &str) -> bool {
    let Some(above) = path.strip_suffix("/*") else { return path == asked };
    let Some(below) = asked.strip_prefix(above).and_then(|rest| rest.strip_prefix('/')) else { return false };
    below.split('/').all(is_plain)
}

fn is_plain(segment: &str) -> bool {
    let lower = segment.to_ascii_lowercase();
    let is_hidden = ["%2e", "%2f", "%5c", "%00", "%25"].iter().any(|hidden| lower.contains(hidden));
    !segment.is_empty() && segment != "." && segment != ".." && !segment.contains('\\') && !is_hidden
}

/// Whether some request would be at both paths.
pub(crate) fn overlap(one: &str, other: &str) -> bool {
    let below = |path: &str, of: &str| {
        let above = of.strip_suffix("/*");
        above.is_some_and(|above| path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/')))
    };
    one == other || below(one, other) || below(other, one)
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
        let count = self.paths().count();
        if count > MOST_PATHS {
            return Err(format!("it has {count} paths; {MOST_PATHS} are the most"));
        }
        if self.unix.len() > MOST_PATHS {
            return Err(format!("it has {} unix sockets; {MOST_PATHS} are the most", self.unix.len()));
        }
        check_files(&self.unix)?;
        let (mut seen, mut names) = (Vec::<&str>::new(), BTreeSet::new());
        for PathWant { kind, name, path, .. } in self.paths() {
            let exact = if kind == "http" { path.strip_suffix("/*").unwrap_or(path) } else { path };
            check_path(exact).map_err(|reason| format!("{kind}.{name}: path = {path:?} {reason}"))?;
            if seen.iter().any(|other| overlap(path, other)) {
                return Err(format!("{kind}.{name}: the path {path} has another listener already"));
            }
            seen.push(path);
            if !names.insert(name) {
                return Err(format!("{kind}.{name}: a listener has this name already"));
            }
        }
        if let Some(name) = self.unix.keys().find(|name| names.contains(name.as_str())) {
            return Err(format!("unix.{name}: a listener has this name already"));
        }
        for (name, HttpRoute { methods, .. }) in &self.http {
            let bad = methods.iter().find(|method| !METHODS.contains(&method.as_str()));
            if bad.is_some() || methods.is_empty() {
                let bad = bad.map_or_else(String::new, |bad| format!("{bad:?} is none; "));
                return Err(format!("http.{name}: methods: {bad}there are {}", METHODS.join(", ")));
            }
        }
        for (listener, WebSocketPath { protocols, .. }) in &self.websocket {
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
    for kind in ["websocket", "http"] {
        let Some(Value::Object(paths)) = both.get_mut(kind) else { continue };
        for (listener, path) in paths {
            let token = asked.get(kind).and_then(|all| all.get(listener)?.get("token"));
            if let (Value::Object(path), Some(token)) = (path, token) {
                path.entry("token").or_insert_with(|| token.clone());
            }
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

    #[test]
    fn a_socket_that_is_another_now_is_not_had() {
        let details = |file: &str, framing: &str| {
            let both = serde_json::json!({ "unix": { "a": { "file": file, "framing": framing } } });
            both.as_object().cloned().expect("a table")
        };
        let granted = details("a.sock", "lines");
        assert_eq!(super::super::narrow("listen", &granted, &granted), Some(granted.clone()));
        for asked in [details("b.sock", "lines"), details("a.sock", "pieces")] {
            let had = super::super::narrow("listen", &asked, &granted).expect("the rest of it");
            assert_eq!(had["unix"], serde_json::json!({}), "{asked:?}");
        }
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
            ("websocket.a = { path = \"/a/*\" }", "single slashes"),
            ("http.a = { path = \"/a/*/b\" }", "single slashes"),
            ("http.a = { path = \"/*\" }", "begin with a slash"),
            ("http.a = { path = \"/metrics/*\" }", "the daemon's own"),
            ("http.a = { path = \"/a/*\" }\nwebsocket.b = { path = \"/a/b\" }", "another listener"),
            ("http.a = { path = \"/a/*\" }\nhttp.b = { path = \"/a/b/*\" }", "another listener"),
            ("http.a = { path = \"/a\" }\nwebsocket.a = { path = \"/b\" }", "this name"),
            ("http.a = { path = \"/a\", methods = [\"CONNECT\"] }", "CONNECT"),
            ("unix.a = { file = \"../a\", framing = \"lines\" }", "has to be made of"),
            ("unix.a = { file = \"a/b\", framing = \"lines\" }", "has to be made of"),
            ("unix.a = { file = \".a\", framing = \"lines\" }", "begin with a dot"),
            ("unix.a = { file = \"\", framing = \"lines\" }", "has to be made of"),
            ("unix.a = { file = \"a\", framing = \"words\" }", "words"),
            ("unix.a = { file = \"a\" }", "framing"),
            (
                "unix.a = { file = \"a\", framing = \"lines\" }\nunix.b = { file = \"a\", framing = \"lines\" }",
                "another listener",
            ),
            ("unix.a = { file = \"a\", framing = \"lines\" }\nwebsocket.a = { path = \"/a\" }", "this name"),
            ("http.a = { path = \"/a\", methods = [] }", "there are"),
        ];
        for (text, words) in faults {
            let refused = checked(text).expect_err(text);
            assert!(refused.contains(words), "{text}: {refused}");
        }
        checked("websocket.a = { path = \"/apiary\" }").expect("it only begins alike");
        checked("http.a = { path = \"/a\" }\nhttp.b = { path = \"/a/*\" }").expect("what is below is not it");
    }

    #[test]
    fn what_is_below_a_route_is_there_by_its_plain_name_alone() {
        for below in ["/a/b", "/a/b/c.txt", "/a/%E5%A4%A9"] {
            assert!(holds("/a/*", below), "{below}");
        }
        let tricks = [
            "/a",
            "/a/",
            "/ab",
            "/a//b",
            "/a/b/",
            "/a/../api",
            "/a/./b",
            "/a/%2e%2e/b",
            "/a/%2E./b",
            "/a/b%2fc",
            "/a/b%5Cc",
            "/a/b\\c",
            "/a/%252e%252e",
            "/a/%00",
            "/A/b",
            "//a/b",
        ];
        for trick in tricks {
            assert!(!holds("/a/*", trick), "{trick}");
        }
        assert!(holds("/a", "/a") && !holds("/a", "/a/") && !holds("/a", "/%61"));
    }
}
