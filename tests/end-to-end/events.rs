//! Following the daemon from outside.

use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;

use crate::daemon::{Daemon, with_vendor, with_vendor_and, within};
use crate::vendor::Reply;

/// A stream of events, read one by one.
pub(crate) struct Following {
    body: Incoming,
    read: String,
}

impl Following {
    pub(crate) async fn open(daemon: &Daemon, query: &str, headers: &[(&str, &str)]) -> Self {
        let response = daemon.respond("GET", &format!("/api/v1/events{query}"), headers, String::new()).await;
        assert_eq!(response.status(), 200);
        Self { body: response.into_body(), read: String::new() }
    }

    /// The next event: its name, its id, its data.
    async fn next(&mut self) -> (String, Option<String>, Value) {
        loop {
            if let Some((event, rest)) = self.read.split_once("\n\n") {
                let field = |name: &str| {
                    let line = event.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
                    line.map(str::to_owned)
                };
                let (name, id, data) = (field("event"), field("id"), field("data"));
                self.read = rest.to_owned();
                if let (Some(name), Some(data)) = (name, data) {
                    return (name, id, serde_json::from_str(&data).expect("data is JSON"));
                }
                continue;
            }
            let frame = within("the next event", self.body.frame()).await;
            let frame = frame.expect("the stream goes on").expect("it is not cut");
            let bytes = frame.into_data().expect("there are no trailers");
            self.read.push_str(std::str::from_utf8(&bytes).expect("events are UTF-8"));
        }
    }

    pub(crate) async fn until(&mut self, wanted: impl Fn(&str, &Value) -> bool) -> Vec<(String, Option<String>)> {
        let mut seen = Vec::new();
        loop {
            let (name, id, data) = self.next().await;
            let found = wanted(&name, &data);
            seen.push((name, id));
            if found {
                return seen;
            }
        }
    }
}

#[tokio::test]
async fn a_turn_can_be_followed_and_read_again_after_a_restart() {
    let (daemon, vendor) = with_vendor().await;
    let mut following = Following::open(&daemon, "?hidden=true", &[]).await;
    vendor.script([Reply::text("hello")]);
    daemon.reply("hi").await;
    let seen = following.until(|name, _| name == "run_completed").await;
    let kinds: Vec<&str> = seen.iter().map(|(name, _)| name.as_str()).collect();
    for kind in ["input_accepted", "run_started", "user_message_added", "model_called", "assistant_message_added"] {
        assert!(kinds.contains(&kind), "{kind} is missing in {kinds:?}");
    }
    let first = seen[0].1.clone().expect("an event of the journal has an id");
    let Daemon { mut child, home, .. } = daemon;
    child.kill().await.expect("it ends");
    let daemon = home.start().await;
    let mut again = Following::open(&daemon, "?hidden=true", &[("last-event-id", &first)]).await;
    let rest = again.until(|name, _| name == "run_completed").await;
    assert_eq!(rest, seen[1..], "the rest is the same, with the same ids");
}

#[tokio::test]
async fn a_plugin_that_fails_and_comes_back_is_told() {
    let (daemon, _vendor) = with_vendor_and(&["traps"]).await;
    let mut following = Following::open(&daemon, "", &[]).await;
    daemon.waiter(&["tools", "call", "trap"]).await;
    following.until(|name, data| name == "plugin" && data["state"] == "backing-off").await;
    following.until(|name, data| name == "plugin" && data["state"] == "live").await;
}
