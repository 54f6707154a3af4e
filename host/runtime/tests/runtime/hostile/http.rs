//! Requests that should not go out, and answers that should not come in.

use homeagent_settings::Settings;
use homeagent_types::ports::{Haste, PluginAdmin as _};
use serde_json::{Value, json};

use crate::greeters::interpreters;
use crate::house::{self, House};
use crate::wire::Wire;

/// What the guest has of its request.
async fn fetch(house: &House, request: Value) -> Value {
    let answer = house.call("network", "fetch", &request.to_string()).await.expect("the guest tells what came of it");
    serde_json::from_str(&answer).expect("it tells it in JSON")
}

async fn get(house: &House, url: &str) -> Value {
    fetch(house, json!({ "url": url })).await
}

async fn home() -> (House, Wire) {
    let (wire, network) = Wire::new().await;
    (house::with_network(network, &["network"]).await, wire)
}

/// One request of the guest's, and what has to come back: the kind of error, words in it, and words that the owner reads
/// in the plugin's status.
struct Row {
    what: &'static str,
    request: Value,
    kind: &'static str,
    words: &'static [&'static str],
}

fn row(what: &'static str, request: Value, kind: &'static str, words: &'static [&'static str]) -> Row {
    Row { what, request, kind, words }
}

fn url(what: &'static str, url: &str, kind: &'static str, words: &'static [&'static str]) -> Row {
    row(what, json!({ "url": url }), kind, words)
}

/// Sends each, and sees that another plugin answers meanwhile, and that nothing was connected to but the listed.
async fn refused(rows: Vec<Row>) {
    let (wire, network) = Wire::new().await;
    let house = house::with_network(network, &["network", "echo"]).await;
    wire.name("inside.example.org", &[&["10.0.0.1"]]);
    wire.name("loop.example.org", &[&["127.0.0.1"]]);
    wire.name("six.example.org", &[&["::1"]]);
    wire.name("mapped.example.org", &[&["::ffff:10.0.0.1"]]);
    wire.name("nat64.example.org", &[&["64:ff9b::a00:1"]]);
    wire.name("meta.example.org", &[&["169.254.169.254"]]);
    wire.name("shared.example.org", &[&["100.64.0.1"]]);
    wire.name("one.example.org", &[&["93.184.215.14", "192.168.1.1"]]);
    wire.name("empty.example.org", &[&[]]);
    wire.name("nas.lan", &[&["127.0.0.1"]]);
    for Row { what, request, kind, words } in rows {
        let request = request.to_string();
        let beside = house.call("echo", "echo", r#"{"text":"still here"}"#);
        let (answer, beside) = tokio::join!(house.call("network", "fetch", &request), beside);
        beside.unwrap_or_else(|error| panic!("{what}: the other plugin: {error}"));
        let answer: Value = serde_json::from_str(&answer.expect("the guest tells it")).expect("in JSON");
        assert_eq!(answer["kind"], kind, "{what}: {answer}");
        let message = answer["message"].as_str().unwrap_or_default().to_owned();
        let status = house.status("network").last_error.unwrap_or_default();
        for word in words {
            assert!(message.contains(word), "{what}: the guest reads {message:?}, without {word:?}");
            assert!(status.contains(word), "{what}: the owner reads {status:?}, without {word:?}");
        }
    }
    let allowed = ["93.184.215.14:443", "93.184.215.14:80", "93.184.215.14:8443"];
    let others: Vec<_> = wire.connected().into_iter().filter(|to| !allowed.contains(&to.as_str())).collect();
    assert!(others.is_empty(), "{others:?} were connected to");
    assert_eq!(house.status("network").restarts, 0, "no refusal costs the instance");
}

#[tokio::test]
async fn what_is_not_listed_is_not_asked_however_it_is_spelled() {
    let not_listed: &[&str] = &["[wants.", "has to list"];
    let mut rows: Vec<Row> = [
        "https://127.0.0.1/",
        "https://127.0.0.1:8686/api/v1/status",
        "https://[::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://[::ffff:7f00:1]/",
        "https://10.0.0.1/",
        "https://100.64.0.1/",
        "https://169.254.169.254/latest/meta-data/",
        "https://0x7f.1/",
        "https://2130706433/",
        "https://017700000001/",
        "https://127.1/",
        "https://127.0.0.1./",
        "https://0.0.0.0/",
        "https://localhost/",
        "https://evil.example/",
        "https://api.example.com.evil.example/",
        "https://evilexample.org/",
        "https://example.org/",
        // The right host by another scheme or port.
        "http://api.example.com/",
        "https://api.example.com:8443/",
        "https://plain.example.com/",
        "http://plain.example.com:8080/",
        // Listed with a scheme and a port of their own.
        "https://192.168.1.20:8123/",
        "http://192.168.1.20/",
        "http://192.168.1.21:8123/",
    ]
    .map(|it| url("a place that is not listed", it, "denied", not_listed))
    .into();
    for it in ["https://１２７.0.0.1/", "https://api。example。com.evil.example/"] {
        rows.push(url("letters of other scripts", it, "denied", not_listed));
    }
    // The owner reads which list it belongs on.
    rows.push(url("a machine of the home", "https://10.0.0.1/", "denied", &["[wants.private-network]"]));
    rows.push(url("a machine elsewhere", "https://evil.example/", "denied", &["[wants.http]"]));
    let method = |method: &str| json!({ "url": "https://api.example.com/", "method": method });
    for it in ["PUT", "DELETE", "CONNECT", "TRACE", "get"] {
        rows.push(row(
            "a method that is not listed",
            method(it),
            "denied",
            &["has to list the method", "GET, HEAD, POST"],
        ));
    }
    refused(rows).await;
}

#[tokio::test]
async fn a_listed_name_that_leads_inside_is_not_followed_there() {
    refused(vec![
        url("a private address", "https://inside.example.org/", "denied", &["10.0.0.1, a private address"]),
        url("this machine", "https://loop.example.org/", "denied", &["127.0.0.1, an address of this machine"]),
        url("this machine in IPv6", "https://six.example.org/", "denied", &["::1, an address of this machine"]),
        url("a mapped address", "https://mapped.example.org/", "denied", &["stands for an IPv4 one", "nothing allows"]),
        url("a translated address", "https://nat64.example.org/", "denied", &["stands for an IPv4 one"]),
        url("a cloud's keys", "https://meta.example.org/", "denied", &["a link-local address", "nothing allows that"]),
        url("a provider's network", "https://shared.example.org/", "denied", &["100.64.0.1, a private address"]),
        url("one of several", "https://one.example.org/", "denied", &["192.168.1.1, a private address"]),
        url("no address at all", "https://empty.example.org/", "other", &[]),
        url("no such name", "https://nobody.example.org/", "other", &[]),
        url("a granted name of the home that is this machine", "https://nas.lan/", "denied", &["of this machine"]),
    ])
    .await;
}

#[tokio::test]
async fn a_redirect_is_a_new_request_to_which_everything_applies() {
    let to = |target: &str| format!("https://api.example.com/redirect?302,{target}");
    let mut rows: Vec<Row> = [
        "http://127.0.0.1/",
        "https://10.0.0.1/",
        "https://[::1]/",
        "http://169.254.169.254/",
        "https://evil.example/",
        "http://api.example.com/",
        "https://api.example.com:8443/",
        "//evil.example/x",
    ]
    .map(|target| url("a redirect to elsewhere", &to(target), "denied", &["[wants.", "has to list"]))
    .into();
    rows.push(url("a redirect inside", &to("https://inside.example.org/"), "denied", &["10.0.0.1, a private address"]));
    rows.push(url("a redirect with a user", &to("https://a:b@api.example.com/"), "other", &["a user or a password"]));
    rows.push(url("a redirect to a file", &to("file:///etc/passwd"), "other", &["does not begin with https://"]));
    rows.push(url("round and round", "https://api.example.com/round", "other", &["redirects more than 3 times"]));
    let handed_on = json!({
        "url": "https://api.example.com/redirect?307,https://a.example.org/",
        "method": "POST",
        "body": "private",
    });
    rows.push(row("a body for somebody else", handed_on, "other", &["a body is sent to one host alone"]));
    refused(rows).await;
}

#[tokio::test]
async fn what_would_be_a_second_request_or_another_host_is_not_sent() {
    let header = |name: &str, value: &str| json!({ "url": "https://api.example.com/", "headers": [[name, value]] });
    let mut rows: Vec<Row> = Vec::new();
    for name in ["Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "TE", "Trailer", "Keep-Alive"]
    {
        rows.push(row("a header of the connection", header(name, "x"), "invalid", &["is the host's own"]));
    }
    rows.push(row("a header for a proxy", header("Proxy-Authorization", "Basic eA=="), "invalid", &["the host's own"]));
    for (name, value) in [("x", "a\r\nHost: evil"), ("x", "a\nb"), ("x", "a\0b")] {
        rows.push(row("a line in a value", header(name, value), "invalid", &["characters that no header can hold"]));
    }
    for name in ["x\r\nHost", "x y", "x:", ""] {
        rows.push(row("a line in a name", header(name, "x"), "invalid", &["is no name of a header"]));
    }
    for (text, word) in [
        ("https://api.example.com/\r\nHost: evil", "a space or a control character"),
        ("https://api.example.com/ HTTP/1.1\r\n\r\n", "a space or a control character"),
        ("https://api.example.com/\u{0}", "a space or a control character"),
        ("https://user:pass@api.example.com/", "a user or a password"),
        ("https://api.example.com@evil.example/", "a user or a password"),
        ("ftp://api.example.com/", "does not begin with https://"),
        ("file:///etc/passwd", "does not begin with https://"),
        ("/relative", "the URL is none"),
        ("https://", "the URL is none"),
    ] {
        rows.push(Row { what: "a URL", request: json!({ "url": text }), kind: "invalid", words: leak(word) });
    }
    let long = format!("https://api.example.com/{}", "x".repeat(9000));
    rows.push(url("a long URL", &long, "invalid", &["8192 are the most"]));
    let many: Vec<_> = (0..200).map(|number| (format!("x-{number}"), "y")).collect();
    let many = json!({ "url": "https://api.example.com/", "headers": many });
    rows.push(row("many headers", many, "invalid", &["more than 100 headers"]));
    let large = json!({ "url": "https://api.example.com/", "method": "POST", "body": "0123456789", "times": 200_000 });
    rows.push(row("a large body", large, "invalid", &["2000000 bytes", "1048576 are the most"]));
    let method = json!({ "url": "https://api.example.com/", "method": "GET / HTTP/1.1\r\nHost: evil" });
    rows.push(row("lines in a method", method, "invalid", &["the method is none"]));
    refused(rows).await;
}

/// A list of one word, for a table.
fn leak(word: &'static str) -> &'static [&'static str] {
    Box::leak(Box::new([word]))
}

#[tokio::test]
async fn what_comes_back_has_an_end() {
    refused(vec![
        url("a body without end", "https://api.example.com/endless", "other", &["more than 8388608 bytes"]),
        url("a head without end", "https://api.example.com/endless-head", "other", &["more than 100 headers"]),
        url("heads without end", "https://api.example.com/endless-interim", "other", &["more than 16 heads"]),
        url("a body that is said to be large", "https://api.example.com/declared", "other", &["api.example.com"]),
        url("a bomb", "https://api.example.com/bomb", "other", &["more than 8388608 bytes"]),
        url("an encoding of their own", "https://api.example.com/brotli", "other", &["encoded as br"]),
        url("something else than HTTP", "https://api.example.com/broken", "other", &["does not speak HTTP"]),
        url("half of it", "https://api.example.com/cut", "other", &["broke the connection"]),
        row("nothing at all", json!({ "url": "https://api.example.com/silent", "timeout_ms": 50 }), "timeout", &[]),
    ])
    .await;
}

#[tokio::test]
async fn a_name_that_changes_its_mind_is_asked_once_and_what_was_looked_at_is_connected_to() {
    let (house, wire) = home().await;
    wire.name("api.example.com", &[&["93.184.215.14"], &["127.0.0.1"]]);
    assert_eq!(get(&house, "https://api.example.com/").await["status"], 200);
    assert_eq!(
        (wire.looked_up(), wire.connected()),
        (vec!["api.example.com".into()], vec!["93.184.215.14:443".into()])
    );
    assert_eq!(get(&house, "https://api.example.com/").await["kind"], "denied", "the second time it leads inside");
    assert_eq!(wire.connected().len(), 1);
}

#[tokio::test]
async fn a_good_request_arrives_and_its_answer_comes_back() {
    let (house, wire) = home().await;
    let request = json!({
        "url": "https://api.example.com/x?y=1#z",
        "method": "POST",
        "headers": [["X-Mine", "yes"], ["Accept-Encoding", "br"]],
        "body": "hello",
    });
    let answer = fetch(&house, request).await;
    assert_eq!((&answer["status"], &answer["url"]), (&json!(200), &json!("https://api.example.com/x?y=1")), "{answer}");
    let sent = wire.requests().remove(0);
    assert!(sent.starts_with("POST /x?y=1 HTTP/1.1\r\n") && sent.ends_with("\r\n\r\nhello"), "{sent}");
    for line in ["host: api.example.com\r\n", "x-mine: yes\r\n", "accept-encoding: gzip, deflate\r\n"] {
        assert!(sent.contains(line), "{sent} lacks {line}");
    }
    let zipped = get(&house, "https://api.example.com/zipped").await;
    assert_eq!(zipped["bytes"], 1000, "{zipped}");
    let plain = get(&house, "http://93.184.215.14/").await;
    assert_eq!(plain["status"], 200, "a public address that is listed: {plain}");
}

#[tokio::test]
async fn a_redirect_takes_nothing_along_to_another_host() {
    let (house, wire) = home().await;
    let headers = json!([["Authorization", "mine"], ["X-Key", "mine"], ["Cookie", "mine"], ["Accept", "text/plain"]]);
    let url = "https://api.example.com/redirect?302,https://a.example.org/there";
    let answer = fetch(&house, json!({ "url": url, "method": "POST", "body": "x", "headers": headers })).await;
    assert_eq!(answer["kind"], Value::Null, "{answer}");
    assert_eq!(answer["url"], "https://a.example.org/there");
    let (first, second) = (&wire.requests()[0], &wire.requests()[1]);
    assert!(first.contains("authorization: mine"), "{first}");
    assert!(second.starts_with("GET /there ") && second.contains("accept: text/plain"), "{second}");
    assert!(!second.contains("mine") && !second.contains("content-type"), "{second}");
    // To the same host everything goes along.
    let url = "https://api.example.com/redirect?307,/there";
    let answer = fetch(&house, json!({ "url": url, "method": "POST", "body": "x", "headers": headers })).await;
    assert_eq!(answer["url"], "https://api.example.com/there", "{answer}");
    let last = wire.requests().pop().expect("it came");
    assert!(last.starts_with("POST /there ") && last.contains("x-key: mine") && last.ends_with("x"), "{last}");
}

#[tokio::test]
async fn places_that_the_owner_lists_are_open_and_no_plugin_lists_one() {
    let (house, wire) = home().await;
    wire.name("nas.home", &[&["192.168.1.40"]]);
    wire.name("api.elsewhere.example", &[&["93.184.215.14"]]);
    let (here, there, name) = ("http://192.168.1.50:80/a", "http://api.elsewhere.example/b", "http://nas.home/");
    for url in [here, there, name] {
        assert_eq!(get(&house, url).await["kind"], "denied", "{url}");
    }
    let places = json!(["http://192.168.1.50/dav?x", "http://*.elsewhere.example", "http://nas.home", "no place"]);
    let set = json!({ "key": "places", "value": places.clone() }).to_string();
    let own = house.call("network", "setting", &set).await.expect("the guest tells what came of it");
    assert!(own.contains("which the owner alone sets"), "{own}");
    assert_eq!(get(&house, here).await["kind"], "denied");
    house.settings.set("plugin.network.places", places).expect("the owner may");
    house.settings.set("plugin.network.home_key", "sk-home-0123456789").expect("it is kept");
    let with_key = |url: &str| json!({ "url": url, "secrets": ["home_key"] });
    assert_eq!(fetch(&house, with_key(here)).await["status"], 200);
    assert!(wire.requests()[0].contains("authorization: Bearer sk-home-0123456789"), "the owner wrote http://");
    assert_eq!(get(&house, name).await["status"], 200);
    assert_eq!(get(&house, there).await["status"], 200);
    assert_eq!(fetch(&house, with_key(there)).await["kind"], "denied", "a star names nobody");
    assert_eq!(get(&house, "http://192.168.1.50:8080/").await["kind"], "denied", "the port is another one");
    assert_eq!(get(&house, "https://192.168.1.50/").await["kind"], "denied", "so is the scheme");
    house.runtime.revoke("network", "private-network").await.expect("it has it");
    assert_eq!(get(&house, here).await["kind"], "denied", "machines of the home take their own grant");
    assert_eq!(get(&house, there).await["status"], 200);
    house.settings.set("plugin.network.places", json!([])).expect("the owner may");
    assert_eq!(get(&house, there).await["kind"], "denied");
}

/// Replaces the guest by a package that says something else in places.
async fn update(house: &House, changes: &[(&str, &str)]) {
    let manifest = house.plugins().join("network/plugin.toml");
    let mut text = std::fs::read_to_string(&manifest).expect("it is there");
    for (before, after) in changes {
        assert!(text.contains(before), "{before}");
        text = text.replace(before, after);
    }
    std::fs::write(&manifest, text).expect("the folder takes files");
    house.runtime.reload("network", Haste::default()).await.expect("the update is good");
}

#[tokio::test]
async fn an_update_that_does_not_name_its_setting_any_more_does_not_get_to_set_it() {
    let (house, _wire) = home().await;
    let there = "http://192.168.1.50/a";
    update(&house, &[("settings = [\"places\"]\n", ""), ("setting = \"places\"", "host = \"api.example.com\"")]).await;
    let set = json!({ "key": "places", "value": ["http://192.168.1.50"] }).to_string();
    let own = house.call("network", "setting", &set).await.expect("the guest tells what came of it");
    assert!(own.contains("which the owner alone sets"), "{own}");
    assert_eq!(get(&house, there).await["kind"], "denied");
    house.settings.set("plugin.network.places", json!(["http://192.168.1.50"])).expect("the owner may");
    assert_eq!(get(&house, there).await["status"], 200, "what was granted holds");
}

#[tokio::test]
async fn an_update_with_another_default_opens_nothing() {
    let (house, _wire) = home().await;
    let there = "http://192.168.1.50/a";
    update(&house, &[("default = []", "default = [\"http://192.168.1.50\"]")]).await;
    assert_eq!(get(&house, there).await["kind"], "denied");
    let with_key = json!({ "url": there, "secrets": ["home_key"] });
    assert_eq!(fetch(&house, with_key).await["kind"], "denied");
    house.settings.set("plugin.network.places", json!(["http://192.168.1.50"])).expect("the owner may");
    assert_eq!(get(&house, there).await["status"], 200);
}

#[tokio::test]
async fn a_machine_of_the_home_is_reached_with_a_grant_of_its_own_and_not_without() {
    let (house, wire) = home().await;
    let url = "http://192.168.1.20:8123/api/";
    assert_eq!(get(&house, url).await["status"], 200);
    assert_eq!(wire.connected(), ["192.168.1.20:8123"]);
    wire.name("nas.lan", &[&["192.168.1.30"]]);
    assert_eq!(get(&house, "https://nas.lan/").await["status"], 200);
    house.runtime.revoke("network", "private-network").await.expect("it has it");
    let denied = get(&house, url).await;
    assert_eq!(denied["kind"], "denied");
    assert!(
        denied["message"].as_str().expect("words").contains("waiter plugin grant network private-network"),
        "{denied}"
    );
    assert!(house.status("network").missing.contains(&"private-network".to_owned()));
    assert_eq!(get(&house, "https://api.example.com/").await["status"], 200, "the others are as before");
    house.runtime.revoke("network", "http").await.expect("it has it");
    let denied = get(&house, "https://api.example.com/").await;
    assert!(denied["message"].as_str().expect("words").contains("waiter plugin grant network http"), "{denied}");
    assert_eq!(wire.connected().len(), 3);
}

#[tokio::test]
async fn a_plugin_has_so_many_requests_under_way_and_no_more_and_the_others_have_theirs() {
    let (wire, network) = Wire::new().await;
    let house = house::with_network(network, &["network", "echo"]).await;
    limit(&house.settings, "core.network.requests", 2);
    let silent = json!({ "url": "https://api.example.com/silent" }).to_string();
    let hang = || house.call("network", "fetch", &silent);
    let crowd = async {
        wire.open(2).await;
        let third = get(&house, "https://api.example.com/").await;
        assert_eq!(third["kind"], "busy", "{third}");
        house.call("echo", "echo", r#"{"text":"still here"}"#).await.expect("the others go on");
    };
    tokio::select! {
        _ = hang() => panic!("nobody answers that"),
        _ = hang() => panic!("nobody answers that"),
        () = crowd => {}
    }
}

#[tokio::test]
async fn a_request_ends_before_its_call_does_and_with_whoever_asked() {
    let (house, wire) = home().await;
    // Longer than anything here is waited for: a request that ends has another reason.
    house.settings.set("core.network.timeout_ms", 600_000).expect("a valid time");
    let silent = json!({ "url": "https://api.example.com/silent" }).to_string();
    let answer = house.call_within("network", "fetch", &silent, 4_000).await.expect("the guest still tells it");
    assert!(answer.contains("\"timeout\""), "{answer}");
    wire.open(0).await;
    // Let go by the guest itself.
    house.call("network", "give_up", &silent).await.expect("it gave up");
    wire.open(0).await;
    // Let go with the instance.
    let reloaded = async {
        wire.open(1).await;
        let haste = Haste { force: true, ..Default::default() };
        house.runtime.reload("network", haste).await.expect("it is loaded anew");
    };
    let (lost, ()) = tokio::join!(house.call("network", "fetch", &silent), reloaded);
    lost.expect_err("its instance is gone");
    wire.open(0).await;
    assert_eq!(get(&house, "https://api.example.com/").await["status"], 200);
}

#[tokio::test]
async fn the_owners_limits_hold_at_once() {
    let (house, _wire) = home().await;
    limit(&house.settings, "core.network.response_bytes", 1024);
    let large = get(&house, "https://api.example.com/endless").await;
    assert!(large["message"].as_str().expect("words").contains("1024 bytes"), "{large}");
    limit(&house.settings, "core.network.request_bytes", 1024);
    let request = json!({ "url": "https://api.example.com/", "method": "POST", "body": "x", "times": 1025 });
    assert_eq!(fetch(&house, request).await["kind"], "invalid");
    limit(&house.settings, "core.network.timeout_ms", 50);
    assert_eq!(get(&house, "https://api.example.com/silent").await["kind"], "timeout");
}

fn limit(settings: &Settings, key: &str, value: i64) {
    settings.set(key, value).expect("it is allowed");
}

/// The same request as a script, and what is no concern of a script's language.
#[tokio::test]
async fn a_script_sends_requests_like_any_other_plugin() {
    const MANIFEST: &str = r#"
        [plugin]
        name = "script"
        version = "1.0.0"
        script = "main.lua"

        [wants.tools]

        [wants.http]
        hosts = ["api.example.com"]
        methods = ["GET", "POST"]

        [wants.secrets.key]
        host = "api.example.com"
        header = "x-key"
        sign = true

        [settings.key]
        type = "secret"
        description = "A key"
    "#;
    const SCRIPT: &str = r#"
        local homeagent = require("homeagent")
        homeagent.tool {
          name = "ask", description = "Asks.", effect = "read",
          call = function(arguments)
            local answer = homeagent.http { url = arguments.url, json = { a = 1 }, secrets = { "key" } }
            local signed = homeagent.sign("key", "hmac-sha256", "x")
            return { status = answer.status, body = answer.body, signed = #signed }
          end,
        }
    "#;
    let (wire, network) = Wire::new().await;
    let house = house::with_shared_cache_on(network, interpreters());
    let folder = house.plugins().join("script");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("plugin.toml"), MANIFEST).expect("the folder takes files");
    std::fs::write(folder.join("main.lua"), SCRIPT).expect("the folder takes files");
    house.runtime.load_all().await;
    house.grant_all().await;
    house.settings.set("plugin.script.key", "sk-script-0123456789").expect("it is kept");
    let answer = house.call("script", "ask", r#"{"url":"https://api.example.com/x"}"#).await.expect("it asks");
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    assert_eq!((&answer["status"], &answer["signed"]), (&json!(200), &json!(64)), "{answer}");
    let body = answer["body"].as_str().expect("a text");
    assert!(body.contains("x-key: [secret plugin.script.key]") && body.ends_with(r#"{"a":1}"#), "{body}");
    assert!(wire.requests()[0].contains("x-key: sk-script-0123456789"), "{:?}", wire.requests());
    let refused = house.call("script", "ask", r#"{"url":"https://127.0.0.1/"}"#).await.expect_err("it is refused");
    assert!(refused.to_string().contains("lets it go to https://api.example.com alone"), "{refused}");
}

#[tokio::test]
async fn what_a_later_version_asks_for_is_denied_with_the_command_that_grants_it() {
    let (house, _wire) = home().await;
    let manifest = house.plugins().join("network/plugin.toml");
    let text = std::fs::read_to_string(&manifest).expect("it is installed");
    let text = text.replace("\"api.example.com\",\n", "\"api.example.com\",\n    \"later.example.net\",\n");
    let text = text.replace("\"POST\"]", "\"POST\", \"DELETE\"]");
    std::fs::write(&manifest, text).expect("the folder takes files");
    house.runtime.reload("network", Default::default()).await.expect("it runs with what was granted");
    let delete = json!({ "url": "https://api.example.com/", "method": "DELETE" });
    for request in [json!({ "url": "https://later.example.net/" }), delete] {
        let answer = fetch(&house, request).await;
        assert_eq!(answer["kind"], "denied", "{answer}");
        let remedy = answer["message"].as_str().expect("words");
        assert!(remedy.contains("waiter plugin grant network http"), "{answer}");
    }
    let never = get(&house, "https://never.example.net/").await;
    assert!(never["message"].as_str().expect("words").contains("has to list it"), "{never}");
}
