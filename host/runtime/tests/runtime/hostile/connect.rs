//! Connections to others: where they may lead, and how they live.

use homeagent_types::ports::{Haste, PluginAdmin as _};
use serde_json::{Value, json};

use crate::house::{self, House};
use crate::wire::Wire;

const KEY: &str = "sk-socket-0123456789";

async fn home() -> (House, Wire) {
    let (wire, network) = Wire::new().await;
    let house = house::with_network(network, &["dialler"]).await;
    house.settings.set("plugin.dialler.api_key", KEY).expect("it is kept");
    (house, wire)
}

async fn call(house: &House, tool: &str, arguments: Value) -> Value {
    let answer = house.call("dialler", tool, &arguments.to_string()).await.expect("the guest tells what came of it");
    assert!(!answer.contains(KEY), "the guest has the secret: {answer}");
    serde_json::from_str(&answer).expect("it tells it in JSON")
}

/// What the guest has seen, once it is so.
async fn seen(house: &House, is_so: impl Fn(&Value) -> bool) -> Value {
    house::soon(async {
        loop {
            let seen = call(house, "seen", json!({})).await;
            if is_so(&seen) {
                return seen;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

fn has(seen: &Value, key: &str, count: usize) -> bool {
    seen[key].as_array().is_some_and(|list| list.len() >= count)
}

#[tokio::test]
async fn a_web_socket_outlives_the_code_that_asked_for_it() {
    let (house, wire) = home().await;
    let open = json!({ "name": "gateway", "url": "wss://api.example.com/ws", "secrets": ["api_key"] });
    assert_eq!(call(&house, "open", open.clone()).await, Value::Null);
    seen(&house, |seen| has(seen, "opened", 1)).await;
    call(&house, "send", json!({ "text": "hello" })).await;
    // The server says again what it hears, and before that how it was asked.
    let told = seen(&house, |seen| has(seen, "frames", 2)).await;
    assert!(told["frames"][0].as_str().expect("a text").contains("Bearer [secret plugin.dialler.api_key]"), "{told}");
    assert_eq!(told["frames"][1], "hello");
    assert!(wire.requests()[0].contains(KEY), "{:?}", wire.requests());
    house.runtime.reload("dialler", Haste::default()).await.expect("the code is good");
    let told = seen(&house, |seen| has(seen, "opened", 1)).await;
    assert_eq!(told["opened"], json!([["gateway", true]]));
    // Asking again for what is there changes nothing.
    assert_eq!(call(&house, "open", open).await, Value::Null);
    call(&house, "send", json!({ "text": "still there" })).await;
    let told = seen(&house, |seen| has(seen, "frames", 1)).await;
    assert_eq!(told["frames"], json!(["still there"]));
    assert_eq!(wire.connected().len(), 1);
    assert_eq!(call(&house, "close", json!({ "text": "gateway" })).await, Value::Null);
    seen(&house, |seen| has(seen, "closed", 1)).await;
    wire.open(0).await;
}

#[tokio::test]
async fn lines_come_as_lines_and_a_lost_connection_comes_back() {
    let (house, wire) = home().await;
    let open = json!({ "name": "broker", "url": "tcp://plain.example.com:1883", "lines": true, "reconnect": true });
    assert_eq!(call(&house, "open", open).await, Value::Null);
    seen(&house, |seen| has(seen, "opened", 1)).await;
    call(&house, "send", json!({ "text": "one\ntwo" })).await;
    let told = seen(&house, |seen| has(seen, "frames", 2)).await;
    assert_eq!(told["frames"], json!(["one", "two"]));
    // The server hangs up when it hears this.
    call(&house, "send", json!({ "text": "bye" })).await;
    let told = seen(&house, |seen| has(seen, "opened", 2)).await;
    assert_eq!(told["opened"], json!([["broker", false], ["broker", false]]));
    assert_eq!(told["closed"], json!(["its other side closed it"]));
    call(&house, "send", json!({ "text": "again" })).await;
    seen(&house, |seen| seen["frames"].as_array().is_some_and(|frames| frames.contains(&json!("again")))).await;
    assert_eq!(wire.connected().len(), 2);
    house.runtime.unload("dialler").await.expect("it runs");
    wire.open(0).await;
}

#[tokio::test]
async fn a_connection_leads_where_it_may_and_nowhere_else() {
    let (house, wire) = home().await;
    wire.name("inside.example.org", &[&["10.0.0.1"]]);
    let open = |url: &str| json!({ "name": "x", "url": url });
    let with = |url: &str, more: Value| {
        let mut open = open(url);
        open.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        open
    };
    for (request, kind, words) in [
        (open("wss://evil.example/"), "denied", "[wants.connect]"),
        (open("ws://api.example.com/"), "denied", "[wants.connect]"),
        (open("wss://127.0.0.1/"), "denied", "[wants.connect]"),
        (open("tcp://127.0.0.1:1883"), "denied", "[wants.connect]"),
        (open("tcp://0x7f.1:1883"), "denied", "[wants.connect]"),
        (open("tcp://192.168.1.21:1883"), "denied", "[wants.connect]"),
        (open("tcp://plain.example.com:22"), "denied", "[wants.connect]"),
        (open("wss://inside.example.org/"), "denied", "10.0.0.1, a private address"),
        (open("https://api.example.com/"), "invalid", "wss://"),
        (open("tcp://plain.example.com"), "invalid", "a host and a port"),
        (open("tcp://plain.example.com:1883/x"), "invalid", "a host and a port"),
        (open("wss://api.example.com/no-socket"), "other", "in the place of a WebSocket"),
        (with("wss://api.example.com/ws", json!({ "headers": [["Host", "evil"]] })), "invalid", "the host's own"),
        (
            with("wss://api.example.com/ws", json!({ "headers": [["Sec-WebSocket-Key", "x"]] })),
            "invalid",
            "the host's own",
        ),
        (with("tcp://plain.example.com:1883", json!({ "secrets": ["api_key"] })), "invalid", "a WebSocket's alone"),
        (with("wss://a.example.org/", json!({ "secrets": ["api_key"] })), "denied", "wss://api.example.com alone"),
    ] {
        let answer = call(&house, "open", request.clone()).await;
        assert_eq!(answer["kind"], kind, "{request}: {answer}");
        assert!(answer["message"].as_str().expect("words").contains(words), "{request}: {answer}");
        assert!(house.status("dialler").last_error.expect("the owner reads it").contains(words), "{request}");
    }
    assert_eq!(wire.connected(), ["93.184.215.14:443"], "for the one that was no WebSocket");
    assert_eq!(call(&house, "open", open("tcp://192.168.1.20:1883")).await, Value::Null, "granted apart");
    house.runtime.revoke("dialler", "connect").await.expect("it has it");
    wire.open(0).await;
    let answer = call(&house, "open", open("wss://api.example.com/ws")).await;
    assert!(answer["message"].as_str().expect("words").contains("waiter plugin grant dialler connect"), "{answer}");
}

#[tokio::test]
async fn a_connection_ends_when_the_owner_does_not_list_its_place_any_more() {
    let (house, wire) = home().await;
    wire.name("broker.example.net", &[&["93.184.215.14"]]);
    let place = "tcp://broker.example.net:1883";
    let open = |name: &str, url: &str| json!({ "name": name, "url": url, "lines": true, "reconnect": true });
    house.settings.set("plugin.dialler.places", json!([place])).expect("the owner may");
    assert_eq!(call(&house, "open", open("listed", place)).await, Value::Null);
    assert_eq!(call(&house, "open", open("other", "tcp://plain.example.com:1883")).await, Value::Null);
    seen(&house, |seen| has(seen, "opened", 2)).await;
    house.settings.set("plugin.dialler.places", json!([])).expect("the owner may");
    seen(&house, |seen| has(seen, "closed", 1)).await;
    wire.open(1).await;
    assert_eq!(call(&house, "open", open("listed", place)).await["kind"], "denied");
}

#[tokio::test]
async fn a_plugin_holds_so_many_connections_and_no_more() {
    let (house, wire) = home().await;
    house.settings.set("core.network.connections", 2).expect("it is allowed");
    let open = |name: &str| json!({ "name": name, "url": "wss://api.example.com/ws" });
    for name in ["one", "two"] {
        assert_eq!(call(&house, "open", open(name)).await, Value::Null);
    }
    assert_eq!(call(&house, "open", open("three")).await["kind"], "busy");
    assert_eq!(call(&house, "close", json!({ "text": "one" })).await, Value::Null);
    assert_eq!(call(&house, "open", open("three")).await, Value::Null);
    house.runtime.unload("dialler").await.expect("it runs");
    wire.open(0).await;
}
