//! HTTP routes that plugins mount.

use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::daemon::{Daemon, with_vendor_and, within};

const WEATHER: &str = "/hooks/weather";

/// Without the daemon's own token.
const STRANGER: (&str, &str) = ("authorization", "");

async fn ask(daemon: &Daemon, method: &str, path: &str, body: &str) -> (u16, Value) {
    daemon.request(method, path, &[STRANGER], body.to_owned()).await
}

fn authority(daemon: &Daemon) -> &str {
    daemon.base.strip_prefix("http://").expect("the ready line names an address")
}

/// Sends these bytes as they are, and returns the status line of what comes back.
async fn raw(daemon: &Daemon, request: &str) -> String {
    let mut stream = TcpStream::connect(authority(daemon)).await.expect("the daemon listens");
    stream.write_all(request.as_bytes()).await.expect("it takes what comes");
    let mut answer = Vec::new();
    // Some are cut off in the middle, which is an answer, too.
    drop(within("an answer", stream.read_to_end(&mut answer)).await);
    String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned()
}

/// A client that follows events.
struct Follower {
    answer: hyper::Response<hyper::body::Incoming>,
    heard: String,
}

impl Follower {
    async fn of(daemon: &Daemon, name: &str) -> Self {
        Self::at(daemon, &format!("{WEATHER}?follow={name}")).await
    }

    async fn at(daemon: &Daemon, path: &str) -> Self {
        let answer = daemon.respond("GET", path, &[STRANGER], String::new()).await;
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        Self { answer, heard: String::new() }
    }

    /// Waits until this has been heard.
    async fn hears(&mut self, words: &str) {
        let hearing = async {
            while !self.heard.contains(words) {
                let frame = self.answer.body_mut().frame().await.expect("the stream goes on").expect("it is whole");
                if let Ok(data) = frame.into_data() {
                    self.heard.push_str(std::str::from_utf8(&data).expect("events are UTF-8"));
                }
            }
        };
        within(words, hearing).await;
    }
}

#[tokio::test]
async fn a_plugin_answers_requests_at_its_routes_and_nobody_else_gets_there() {
    let (daemon, _vendor) = with_vendor_and(&["webhook"]).await;
    let headers = [STRANGER, ("x-hub-signature", "abc"), ("cookie", "a=b")];
    let (status, told) = daemon.request("POST", &format!("{WEATHER}?city=Bern"), &headers, "雨".to_owned()).await;
    assert_eq!(status, 200, "{told}");
    let expected = json!(["weather", "POST", WEATHER, "city=Bern", "雨", "Role::Plugin"]);
    let known = ["route", "method", "path", "query", "body", "role"].map(|key| told[key].clone());
    assert_eq!(json!(known), expected, "{told}");
    assert!(told["headers"].to_string().contains("x-hub-signature"), "{told}");
    assert_eq!(told["meta"], json!([["peer", "127.0.0.1"]]));

    let answer = daemon.respond("GET", WEATHER, &[STRANGER], String::new()).await;
    assert!(answer.headers()["content-security-policy"].to_str().is_ok_and(|it| it.starts_with("sandbox")));
    assert_eq!(answer.headers()["x-content-type-options"], "nosniff");

    let answer = daemon.respond("DELETE", WEATHER, &[STRANGER], String::new()).await;
    assert_eq!((answer.status().as_u16(), answer.headers()["allow"].to_str().expect("it is text")), (405, "GET, POST"));
    assert_eq!(ask(&daemon, "GET", "/hooks/files/a/b.txt", "").await.1["route"], "below");
    // What is not there, or only seems to be, is behind the daemon's own token.
    let tricks = [
        "/hooks",
        "/hooks/weather/",
        "/hooks/weather/x",
        "/hooks//weather",
        "/hooks/files",
        "/hooks/files/",
        "/hooks/files//a",
        "/hooks/files/../weather",
        "/hooks/files/%2e%2e/weather",
        "/hooks/files/a%2fb",
        "/hooks/files/%5c",
        "/hooks/%66iles/a",
        "//hooks/weather",
        "/api/v1/status",
    ];
    for trick in tricks {
        assert_eq!(ask(&daemon, "GET", trick, "").await.0, 401, "{trick}");
    }

    let (status, problem) =
        daemon.request("GET", WEATHER, &[STRANGER, ("origin", "https://evil.example")], String::new()).await;
    assert_eq!(status, 403, "{problem}");
    // A picture in a page, with which no browser sends an origin.
    for (site, wanted) in [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)] {
        let headers = [STRANGER, ("sec-fetch-site", site)];
        assert_eq!(daemon.request("GET", WEATHER, &headers, String::new()).await.0, wanted, "{site}");
    }
    daemon.waiter(&["settings", "set", "plugin.webhook.access_token", "open-sesame"]).await.ok();
    let (status, problem) = daemon.request("GET", WEATHER, &[], String::new()).await;
    assert_eq!(status, 403, "the daemon's own token is another one: {problem}");
    let bearer = ("authorization", "Bearer open-sesame");
    for (path, headers) in
        [(WEATHER.to_owned(), vec![bearer]), (format!("{WEATHER}?access_token=open-sesame&a=1"), vec![STRANGER])]
    {
        let (status, told) = daemon.request("GET", &path, &headers, String::new()).await;
        assert_eq!(status, 200, "{told}");
        assert!(!told.to_string().contains("open-sesame"), "the plugin is not told the token: {told}");
    }

    daemon.waiter(&["plugin", "revoke", "webhook", "listen"]).await.ok();
    assert_eq!(daemon.request("GET", WEATHER, &[bearer], String::new()).await.0, 401);
}

#[tokio::test]
async fn answers_that_can_t_be_are_problems_and_the_plugin_goes_on() {
    let (daemon, _vendor) = with_vendor_and(&["webhook"]).await;
    let cases = [
        ("status=101", "", 500, "the status 101"),
        ("status=0", "", 500, "the status 0"),
        ("header=x-a", "1\r\nset-cookie: b=c", 500, "a bad header"),
        ("header=content-length", "5", 500, "the host's own"),
        ("header=transfer-encoding", "chunked", 500, "the host's own"),
        ("header=connection", "close", 500, "the host's own"),
        ("many", "", 500, "more than 100 headers"),
        ("large", "", 500, "are the most"),
        ("fail", "", 422, "that is no weather"),
        ("trap", "", 500, "as it was asked to"),
    ];
    for (query, body, status, words) in cases {
        let (given, problem) = ask(&daemon, "POST", &format!("{WEATHER}?{query}"), body).await;
        assert_eq!(given, status, "{query}: {problem}");
        assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains(words)), "{query}: {problem}");
    }
    let again = async { while ask(&daemon, "GET", WEATHER, "").await.0 != 200 {} };
    within("the plugin to be started again", again).await;
    assert_eq!(ask(&daemon, "POST", &format!("{WEATHER}?status=404"), "").await.0, 404);
    assert_eq!(ask(&daemon, "POST", &format!("{WEATHER}?header=x-own"), "1").await.0, 200);
}

#[tokio::test]
async fn bodies_heads_and_clients_without_an_end_cost_their_own_connection() {
    let (daemon, _vendor) = with_vendor_and(&["webhook"]).await;
    let (status, problem) = ask(&daemon, "POST", WEATHER, &"x".repeat((1 << 20) + 1)).await;
    assert_eq!(status, 413, "{problem}");
    assert_eq!(ask(&daemon, "POST", &format!("{WEATHER}?status=200"), &"x".repeat(1 << 20)).await.0, 200);
    let host = authority(&daemon);
    let flood: String = (0..150).map(|at| format!("x-{at}: y\r\n")).collect();
    let line =
        raw(&daemon, &format!("GET {WEATHER} HTTP/1.1\r\nhost: {host}\r\n{flood}connection: close\r\n\r\n")).await;
    assert!(line.contains(" 431"), "{line}");
    let announced = format!("POST {WEATHER} HTTP/1.1\r\nhost: {host}\r\ncontent-length: 99999999999\r\n\r\n");
    assert!(raw(&daemon, &announced).await.contains(" 413"));
    let both = "content-length: 3\r\ntransfer-encoding: chunked\r\n";
    let line =
        raw(&daemon, &format!("POST {WEATHER} HTTP/1.1\r\nhost: {host}\r\n{both}connection: close\r\n\r\n0\r\n\r\n"))
            .await;
    assert!(line.contains(" 200") || line.contains(" 400"), "one reading of it, and no second request: {line}");

    // Clients that begin and say no more hold up nobody.
    let mut idle = Vec::new();
    for _ in 0..100 {
        let mut stream = TcpStream::connect(host).await.expect("the daemon listens");
        let begun = format!("POST {WEATHER} HTTP/1.1\r\nhost: {host}\r\ncontent-length: 10\r\n\r\nx");
        stream.write_all(begun.as_bytes()).await.expect("it takes what comes");
        idle.push(stream);
    }
    assert_eq!(ask(&daemon, "GET", WEATHER, "").await.0, 200);
}

#[tokio::test]
async fn a_stream_of_events_stays_open_while_its_plugin_is_replaced() {
    let (daemon, _vendor) = with_vendor_and(&["webhook"]).await;
    let (mut one, mut other) = (Follower::of(&daemon, "one").await, Follower::of(&daemon, "two").await);
    one.hears("data: weather one resumed false\n\n").await;
    other.hears("data: weather two resumed false\n\n").await;
    let say = |name: &str| format!("{WEATHER}?say={name}");
    assert_eq!(ask(&daemon, "POST", &say("one"), "rain\nid: 7\nsun").await.0, 204);
    one.hears("data: rain\ndata: id: 7\ndata: sun\n\n").await;

    daemon.waiter(&["plugin", "reload", "webhook"]).await.ok();
    one.hears("data: weather one resumed true\n\n").await;
    assert_eq!(ask(&daemon, "POST", &say("two"), "snow").await.0, 204);
    other.hears("data: snow\n\n").await;
    assert!(!one.heard.contains("snow"), "it was said to another: {}", one.heard);

    // A client that goes is gone for the plugin, and a stream that it ends is over.
    drop(other);
    let gone = async { while ask(&daemon, "GET", &format!("{WEATHER}?open"), "").await.1 != 1 {} };
    within("the plugin to be told", gone).await;
    assert_eq!(ask(&daemon, "POST", &format!("{WEATHER}?end=one"), "").await.0, 204);
    while let Some(frame) = within("the end", one.answer.body_mut().frame()).await {
        frame.expect("it ends in order");
    }
}

#[tokio::test]
async fn requests_that_come_while_the_plugin_is_replaced_are_answered() {
    let (daemon, _vendor) = with_vendor_and(&["webhook"]).await;
    for _ in 0..3 {
        let reload = daemon.waiter(&["plugin", "reload", "webhook", "--wait", "60"]);
        let asking = async {
            for _ in 0..20 {
                assert_eq!(ask(&daemon, "POST", WEATHER, "x").await.0, 200);
            }
        };
        let (reloaded, ()) = tokio::join!(reload, asking);
        reloaded.ok();
    }
}

#[tokio::test]
async fn a_script_answers_requests_and_feeds_streams_of_events() {
    let (daemon, _vendor) = with_vendor_and(&[]).await;
    let folder = daemon.folder.join("parlour");
    std::fs::create_dir(&folder).expect("the home takes folders");
    let manifest = "[plugin]\nname = \"parlour\"\nversion = \"1.0.0\"\nscript = \"main.lua\"\n\n\
                    [wants.listen]\nhttp.room = { path = \"/parlour/*\" }\n";
    let main = r#"
        local homeagent = require("homeagent")
        local open = {}
        homeagent.on_open(function(about)
            open[about.meta.who] = about.connection
            homeagent.send(about.connection, about.listener .. " " .. about.meta.who)
        end)
        homeagent.on_request(function(request)
            local what = request.path:match("([^/]+)$")
            if what == "follow" then return { events = { who = request.query } } end
            if what == "say" then homeagent.send(open[request.query], request.body) return nil end
            if what == "end" then homeagent.close(open[request.query], "enough") return { status = 202 } end
            if what == "bad" then homeagent.raise("invalid", "that is no room") end
            return { status = 201, json = { method = request.method, body = request.body }, headers = { ["x-own"] = "1" } }
        end)
    "#;
    std::fs::write(folder.join("plugin.toml"), manifest).expect("the folder takes files");
    std::fs::write(folder.join("main.lua"), main).expect("the folder takes files");
    daemon.waiter(&["plugin", "install", &folder.display().to_string()]).await.ok();
    daemon.waiter(&["plugin", "grant", "parlour", "listen"]).await.ok();
    let answer = ask(&daemon, "POST", "/parlour/x", "雨").await;
    assert_eq!(answer, (201, json!({ "method": "POST", "body": "雨" })));
    let (status, problem) = ask(&daemon, "POST", "/parlour/bad", "").await;
    assert!(status == 422 && problem["detail"].to_string().contains("that is no room"), "{status} {problem}");

    let mut follower = Follower::at(&daemon, "/parlour/follow?ada").await;
    follower.hears("data: room ada\n\n").await;
    assert_eq!(ask(&daemon, "POST", "/parlour/say?ada", "hello").await.0, 204);
    follower.hears("data: hello\n\n").await;
    assert_eq!(ask(&daemon, "POST", "/parlour/end?ada", "").await.0, 202);
    while let Some(frame) = within("the end", follower.answer.body_mut().frame()).await {
        frame.expect("it ends in order");
    }
}
