//! Secrets that a plugin uses and never sees.

use homeagent_types::ports::{PluginAdmin as _, Plugins as _};
use homeagent_types::{Conversation, Output, OutputKind};
use serde_json::{Value, json};

use crate::house::{self, House};
use crate::logged;
use crate::wire::Wire;

const API_KEY: &str = "sk-api-0123456789";
const QUERY_KEY: &str = "q key/0123456789";
const SIGNING_KEY: &str = "signing-0123456789";
/// Of another part of the daemon.
const OTHER: &str = "sk-vendor-9876543210";

async fn home() -> (House, Wire) {
    let (wire, network) = Wire::new().await;
    let house = house::with_network(network, &["network"]).await;
    for (key, value) in [("api_key", API_KEY), ("query_key", QUERY_KEY), ("signing_key", SIGNING_KEY)] {
        house.settings.set(&format!("plugin.network.{key}"), value).expect("it is kept");
    }
    house.secrets.set("source.vendor.key", OTHER.into()).expect("it is kept");
    (house, wire)
}

async fn call(house: &House, tool: &str, arguments: Value) -> Value {
    let answer = house.call("network", tool, &arguments.to_string()).await.expect("the guest tells what came of it");
    for secret in [API_KEY, QUERY_KEY, "q+key%2F", SIGNING_KEY, OTHER] {
        assert!(!answer.contains(secret), "the guest has {secret}: {answer}");
    }
    // A text is told as it is.
    serde_json::from_str(&answer).unwrap_or(Value::String(answer))
}

#[tokio::test]
async fn a_secret_goes_where_it_belongs_and_what_repeats_it_is_cleaned() {
    let (house, wire) = home().await;
    let request = json!({ "url": "https://api.example.com/x?a=1", "secrets": ["api_key", "query_key"] });
    let answer = call(&house, "fetch", request).await;
    let sent = wire.requests().remove(0);
    assert!(sent.starts_with("GET /x?a=1&key=q+key%2F0123456789 HTTP/1.1\r\n"), "{sent}");
    assert!(sent.contains(&format!("authorization: Bearer {API_KEY}\r\n")), "{sent}");
    // The server repeats what it was asked in the body and in a header.
    assert!(answer["text"].as_str().expect("a text").contains("[secret plugin.network.api_key]"), "{answer}");
    assert!(answer["headers"].to_string().contains("[secret plugin.network.api_key]"), "{answer}");
    assert_eq!(answer["url"], "https://api.example.com/x?a=1", "without what the host put in");
}

#[tokio::test]
async fn a_secret_goes_nowhere_else() {
    let (house, wire) = home().await;
    for (url, kind, words) in [
        ("https://a.example.org/", "denied", "lets it go to https://api.example.com alone"),
        ("http://plain.example.com/", "denied", "lets it go to https://api.example.com alone"),
        ("https://other.example.com:8443/", "denied", "lets it go to https://api.example.com alone"),
    ] {
        let answer = call(&house, "fetch", json!({ "url": url, "secrets": ["api_key"] })).await;
        assert_eq!(answer["kind"], kind, "{answer}");
        let last_error = house.status("network").last_error.expect("the owner reads it");
        assert!(
            answer["message"].as_str().expect("words").contains(words) && last_error.contains(words),
            "{last_error}"
        );
    }
    assert!(wire.requests().is_empty());
    // A redirect to another host goes on without.
    let url = "https://api.example.com/redirect?302,https://a.example.org/";
    let answer = call(&house, "fetch", json!({ "url": url, "secrets": ["api_key"] })).await;
    assert_eq!(answer["status"], 200, "{answer}");
    let second = &wire.requests()[1];
    assert!(!second.contains(API_KEY) && !second.contains("key") && !second.contains("authorization"), "{second}");
    // One that has what was put in written into it is not followed.
    let answer = call(&house, "fetch", json!({ "url": url, "secrets": ["query_key"] })).await;
    let words = "a redirect to https://a.example.org has a secret in its URL";
    assert!(answer["message"].as_str().expect("words").contains(words), "{answer}");
    assert!(house.status("network").last_error.expect("the owner reads it").contains(words));
    assert_eq!(wire.requests().len(), 3);
    // One to the same host goes on with it, once.
    let url = "https://api.example.com/redirect?302,/y?key=stale";
    call(&house, "fetch", json!({ "url": url, "secrets": ["api_key", "query_key"] })).await;
    let last = wire.requests().pop().expect("it came");
    assert!(last.starts_with("GET /y?key=q+key%2F0123456789 ") && last.contains(API_KEY), "{last}");
}

#[tokio::test]
async fn a_secret_that_is_not_there_says_what_to_do() {
    let (house, wire) = home().await;
    let fetch = |name: &str| json!({ "url": "https://api.example.com/", "secrets": [name] });
    let cases = [("nothing", "has no [wants.secrets.nothing]"), ("signing_key", "go to no host alone")];
    for (name, words) in cases {
        let answer = call(&house, "fetch", fetch(name)).await;
        assert!(answer["message"].as_str().expect("words").contains(words), "{answer}");
    }
    house.settings.unset("plugin.network.api_key").expect("it is known");
    let answer = call(&house, "fetch", fetch("api_key")).await;
    assert!(
        answer["message"].as_str().expect("words").contains("waiter settings set plugin.network.api_key"),
        "{answer}"
    );
    house.settings.set("plugin.network.api_key", "short").expect("it is kept");
    let answer = call(&house, "fetch", fetch("api_key")).await;
    assert!(answer["message"].as_str().expect("words").contains("fewer than 8 bytes"), "{answer}");
    house.runtime.revoke("network", "secrets").await.expect("it has it");
    let answer = call(&house, "fetch", fetch("api_key")).await;
    assert!(answer["message"].as_str().expect("words").contains("waiter plugin grant network secrets"), "{answer}");
    assert!(wire.requests().is_empty(), "{:?}", wire.requests());
}

#[tokio::test]
async fn a_secret_that_a_guest_has_got_hold_of_does_not_go_out() {
    let (house, wire) = home().await;
    let encoded = "%73k-vendor-9876543210";
    let letter_by_letter = format!("https://api.example.com/{encoded}");
    let answer = call(&house, "fetch", json!({ "url": letter_by_letter })).await;
    assert_eq!(answer["kind"], "invalid", "{answer}");
    let request = json!({
        "url": format!("https://a.example.org/{OTHER}?q={OTHER}"),
        "method": "POST",
        "headers": [["X-Key", OTHER], ["Authorization", format!("Bearer {API_KEY}")]],
        "body": format!("this is {OTHER}, and {SIGNING_KEY}"),
    });
    let answer = call(&house, "fetch", request).await;
    assert_eq!(answer["status"], 200, "{answer}");
    let sent = wire.requests().remove(0);
    for secret in [API_KEY, SIGNING_KEY, OTHER] {
        assert!(!sent.contains(secret), "{sent}");
    }
    assert!(sent.contains("[secret source.vendor.key]"), "{sent}");
    let last_error = house.status("network").last_error.expect("the owner reads it");
    assert!(last_error.contains("https://a.example.org had a secret in it, which was taken out"), "{last_error}");
    assert_eq!(wire.requests().len(), 1);
}

#[tokio::test]
async fn no_line_of_the_log_has_a_secret_in_it() {
    logged::keep();
    let (house, _wire) = home().await;
    call(&house, "say", json!({ "text": format!("the marked word, then {OTHER}") })).await;
    let lines = logged::with("the marked word");
    assert!(lines.len() == 1 && lines[0].contains("[secret source.vendor.key]"), "{lines:?}");
    assert!(!lines[0].contains(OTHER), "{lines:?}");
}

#[tokio::test]
async fn no_message_to_a_channel_has_a_secret_in_it() {
    let house = house::with(&["greeter-rust"]).await;
    house.secrets.set("source.vendor.key", OTHER.into()).expect("it is kept");
    let output = Output {
        id: "1".to_owned(),
        run: None,
        conversation: Conversation::person("greeter", "owner"),
        reply_route: None,
        kind: OutputKind::Message,
        text: format!("the key is {OTHER}"),
        media: Vec::new(),
        structured: None,
        meta: vec![("key".to_owned(), OTHER.to_owned())],
    };
    house.runtime.deliver("greeter", output, house::cause(30_000)).await.expect("it is taken");
    let report = house.call("greeter", "greeter_report", "{}").await.expect("it tells what was written");
    assert!(report.contains("[secret source.vendor.key]") && !report.contains(OTHER), "{report}");
}

#[tokio::test]
async fn a_guest_reads_that_a_secret_is_set_and_does_not_set_it() {
    let (house, _wire) = home().await;
    assert_eq!(call(&house, "setting", json!({ "key": "api_key" })).await, "plugin.network.api_key");
    let answer = call(&house, "setting", json!({ "key": "api_key", "value": "mine, from now on" })).await;
    assert!(answer["message"].as_str().expect("words").contains("the owner alone sets"), "{answer}");
    let kept = house.secrets.get("plugin.network.api_key").expect("it can be read").expect("it is there");
    assert_eq!(kept.expose(), API_KEY);
    house.settings.unset("plugin.network.api_key").expect("it is known");
    assert_eq!(call(&house, "setting", json!({ "key": "api_key" })).await, Value::Null);
}

#[tokio::test]
async fn data_is_signed_with_what_the_guest_never_sees() {
    let (house, _wire) = home().await;
    house.settings.set("plugin.network.signing_key", "JefeJefeJefe").expect("it is kept");
    let sign =
        |name: &str, algorithm: &str| json!({ "name": name, "algorithm": algorithm, "data": "what do ya want?" });
    for (algorithm, digits) in [("hmac-sha256", 64), ("hmac-sha512", 128), ("hmac-sha1", 40)] {
        let signed = call(&house, "sign", sign("signing_key", algorithm)).await;
        assert_eq!(signed.as_str().expect("digits").len(), digits);
    }
    let signed = call(&house, "sign", sign("signing_key", "hmac-sha256")).await;
    assert_eq!(signed, "e669553cfc1cbd2eb2c7388f8f7311a1f2616bc08885fa8a49607921ac8eefe1");
    let answer = call(&house, "sign", sign("signing_key", "md5")).await;
    assert_eq!(answer["kind"], "invalid", "{answer}");
    let answer = call(&house, "sign", sign("api_key", "hmac-sha256")).await;
    assert_eq!(answer["kind"], "denied", "{answer}");
    assert!(house.status("network").last_error.expect("the owner reads it").contains("sign = true"));
}
