//! Tools, plugins, settings, sources, adapters and runs.

use std::time::Duration;

use homeagent_journal::RunStatus;
use hyper::Method;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;

use crate::house::House;

#[tokio::test]
async fn arguments_and_results_of_tools_keep_every_digit() {
    let house = House::open().await;
    let exact = r#"{"a":1.00000000000000000000000001,"b":123456789012345678901234567890}"#;
    let answer = house.remote(Method::POST, "/api/v1/tools/echo", exact).await;
    answer.ok();
    assert!(answer.body.contains(exact), "{}", answer.body);
    let (name, args, cause) = house.turns.calls.lock().unwrap().pop().unwrap();
    assert_eq!((name.as_str(), args.as_str()), ("echo", exact));
    assert_eq!(cause.principal.to_string(), "api:owner");

    house.remote(Method::POST, "/api/v1/tools/echo", "").await.ok();
    assert_eq!(house.turns.calls.lock().unwrap().pop().unwrap().1, "{}");
    house.remote(Method::POST, "/api/v1/tools/echo", "{\"a\":").await.problem(400);
    house.remote(Method::POST, "/api/v1/tools/echo", "[1]").await.problem(422);
    let failed = house.remote(Method::POST, "/api/v1/tools/sad", "{}").await.ok();
    assert_eq!((&failed["failed"], &failed["text"]), (&json!(true), &json!("it did not work")));
    let denied = house.remote(Method::POST, "/api/v1/tools/shy", "{}").await.problem(403);
    assert_eq!(denied["hint"], "waiter plugin grant shy http");
    house.remote(Method::POST, "/api/v1/tools/slow", "{}").await.problem(504);
    house.remote(Method::POST, "/api/v1/tools/none", "{}").await.problem(404);
    let tools = house.remote(Method::GET, "/api/v1/tools", "").await.ok();
    assert_eq!((&tools[0]["name"], &tools[0]["least_role"]), (&json!("calc"), &json!("member")));
}

#[tokio::test]
async fn a_client_that_goes_away_does_not_end_the_call_of_a_tool() {
    let house = House::open().await;
    let mut client = UnixStream::connect(house.home.path().join("homed.sock")).await.unwrap();
    let head = "POST /api/v1/tools/patient HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    client.write_all(format!("{head}content-length: 2\r\n\r\n{{}}").as_bytes()).await.unwrap();
    let House { gateway, turns, .. } = house;
    let [began, go_on, ended] = &turns.patient;
    began.notified().await;
    drop(client);
    // All connections have ended after it.
    gateway.shutdown().await;
    go_on.notify_one();
    tokio::time::timeout(Duration::from_secs(60), ended.notified()).await.expect("it runs to its end");
}

#[tokio::test]
async fn plugins_are_told_what_to_do() {
    let house = House::open().await;
    for path in ["calc/reload", "calc/load", "calc/unload", "calc/grant/http", "calc/revoke/http"] {
        let status = house.local(Method::POST, &format!("/api/v1/plugins/{path}"), "").await.ok();
        assert_eq!(status["name"], "calc");
    }
    let done = house.plugins.done.lock().unwrap().clone();
    assert_eq!(done, ["reload calc", "load calc", "unload calc", "grant calc http", "revoke calc http"]);
    house.local(Method::POST, "/api/v1/plugins/none/reload", "").await.problem(404);
    house.local(Method::POST, "/api/v1/plugins/calc/dance", "").await.problem(404);
    let list = house.local(Method::GET, "/api/v1/plugins", "").await.ok();
    assert_eq!(list.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn settings_are_read_as_their_kind_and_secrets_are_never_shown() {
    let house = House::open().await;
    let path = "/api/v1/settings/core.agent.turn_seconds";
    let set = house.local(Method::PUT, path, r#"{"value":"5min"}"#).await.ok();
    assert_eq!((&set["value"], &set["is_default"]), (&json!(300), &json!(false)));
    house.local(Method::PUT, path, r#"{"value":60}"#).await.ok();
    assert_eq!(house.settings.integer("core.agent.turn_seconds").unwrap(), 60);
    house.local(Method::PUT, path, r#"{"value":"soon"}"#).await.problem(422);
    assert_eq!(house.local(Method::DELETE, path, "").await.ok()["is_default"], true);
    let unknown = house.local(Method::GET, "/api/v1/settings/core.agent.turn_secnods", "").await.problem(404);
    assert!(unknown["detail"].as_str().unwrap().contains("did you mean"));

    let declaration = homeagent_settings::Declaration::new(
        "plugin.qq.access_token",
        homeagent_settings::Kind::Secret,
        serde_json::Value::Null,
        "what NapCat shows",
    );
    house.settings.declare_plugin("qq", vec![declaration]).unwrap();
    let path = "/api/v1/settings/plugin.qq.access_token";
    assert_eq!(house.local(Method::GET, path, "").await.ok()["value"], "not set");
    let set = house.local(Method::PUT, path, r#"{"value":"hunter2-hunter2"}"#).await;
    assert_eq!(set.ok()["value"], "set");
    let list = house.local(Method::GET, "/api/v1/settings", "").await;
    assert!(!set.body.contains("hunter2") && !list.body.contains("hunter2"));
    assert_eq!(house.secrets.get("plugin.qq.access_token").unwrap().unwrap().expose(), "hunter2-hunter2");
}

#[tokio::test]
async fn sources_keep_their_keys_to_themselves() {
    let house = House::open().await;
    let path = "/api/v1/sources/main";
    let body = r#"{"adapter":"vendor","model":"m","key":"sk-1234567890","options":{"a":"b"}}"#;
    let added = house.local(Method::PUT, path, body).await;
    assert!(!added.body.contains("sk-1234"));
    let added = added.ok();
    assert_eq!((&added["key"], &added["base_url"]), (&json!("set"), &json!("https://api.vendor.example/v1")));
    assert_eq!(house.secrets.get("source.main.key").unwrap().unwrap().expose(), "sk-1234567890");

    // Without a key it keeps the one it has.
    let again = house.local(Method::PUT, path, r#"{"adapter":"vendor","model":"m2"}"#).await.ok();
    assert_eq!((&again["key"], &again["model"]), (&json!("set"), &json!("m2")));

    // What is refused changes nothing, not even the key.
    let refused = r#"{"adapter":"vendor","model":"not a model","key":"sk-0987654321"}"#;
    house.local(Method::PUT, path, refused).await.problem(422);
    house.local(Method::PUT, "/api/v1/sources/my%20source", refused).await.problem(422);
    assert_eq!(house.secrets.names(), ["source.main.key"]);
    assert_eq!(house.secrets.get("source.main.key").unwrap().unwrap().expose(), "sk-1234567890");

    // A change keeps what it does not speak of.
    let change = r#"{"model":"m3","options":{"temperature":"0.1","a":null}}"#;
    let changed = house.local(Method::PATCH, path, change).await.ok();
    assert_eq!((&changed["model"], &changed["key"]), (&json!("m3"), &json!("set")));
    assert_eq!(changed["options"], json!({"temperature": "0.1"}));
    house.local(Method::PATCH, path, r#"{"options":{"concurrent":"many"}}"#).await.problem(422);
    house.local(Method::PATCH, path, r#"{"base_url":"https://elsewhere.example"}"#).await.problem(422);
    house.local(Method::PATCH, "/api/v1/sources/none", "{}").await.problem(404);
    assert_eq!(house.local(Method::GET, "/api/v1/sources", "").await.ok()[0]["model"], "m3");

    let spare = house.local(Method::PUT, "/api/v1/sources/spare", r#"{"adapter":"parrot"}"#).await.ok();
    assert_eq!((&spare["model"], &spare["key"]), (&json!("parrot-1"), &json!("not set")));
    house.local(Method::POST, "/api/v1/sources/spare/use", "").await.ok();
    let list = house.local(Method::GET, "/api/v1/sources", "").await.ok();
    assert_eq!(list[0]["name"], "spare");
    assert_eq!(list[0]["state"]["standing"], "ready");

    let report = house.local(Method::POST, "/api/v1/sources/spare/test", "").await.ok();
    assert_eq!((&report["ok"], &report["reply"]), (&json!(true), &json!("OK")));
    house.local(Method::POST, "/api/v1/sources/none/test", "").await.problem(404);

    house.local(Method::DELETE, path, "").await.ok();
    assert!(!house.secrets.contains("source.main.key"));
    house.local(Method::DELETE, path, "").await.problem(404);
}

#[tokio::test]
async fn a_source_that_can_never_work_is_refused() {
    let house = House::open().await;
    let put = async |body: &'static str| house.local(Method::PUT, "/api/v1/sources/s", body).await.problem(422);
    assert_eq!(put(r#"{"adapter":"none"}"#).await["hint"], "there are: parrot, vendor");
    put(r#"{"adapter":"vendor"}"#).await;
    for url in ["ftp://x", "x", "https://user:password@vendor.example", "https://"] {
        let body = json!({ "adapter": "vendor", "model": "m", "base_url": url }).to_string();
        let problem = house.local(Method::PUT, "/api/v1/sources/s", body).await.problem(422);
        assert!(!problem.to_string().contains("password@"), "{url}");
    }
    put(r#"{"adapter":"vendor","model":"m","line":"other"}"#).await;
    // The address of what is found, written so that it is taken for a source's.
    let reserved = house.local(Method::PUT, "/api/v1/sources/%6Fffers", r#"{"adapter":"parrot"}"#).await.problem(422);
    assert!(reserved["detail"].as_str().unwrap().contains("\"offers\""), "{reserved}");
    assert_eq!(house.local(Method::GET, "/api/v1/sources", "").await.ok(), json!([]));
    assert!(house.secrets.names().is_empty());
}

#[tokio::test]
async fn recorded_answers_go_through_an_adapter_in_pieces() {
    let house = House::open().await;
    let recorded = "data: one \n\ndata: two\n\n";
    for query in ["", "?chunk=1", "?chunk=7"] {
        let path = format!("/api/v1/adapters/parrot/try{query}");
        let answer = house.local(Method::POST, &path, recorded).await;
        assert_eq!(answer.ok()["text"], "one two");
        assert!(answer.body.contains("1.000000000000000000001"), "{}", answer.body);
    }
    house.local(Method::POST, "/api/v1/adapters/parrot/try?chunk=0", recorded).await.problem(422);
    house.local(Method::POST, "/api/v1/adapters/none/try", recorded).await.problem(404);
    // Larger than other bodies may be.
    let large = format!("data: {}\n\n", "x".repeat(3 * 1024 * 1024 / 4)).repeat(2);
    house.local(Method::POST, "/api/v1/adapters/parrot/try", large).await.ok();
}

#[tokio::test]
async fn runs_are_read_from_the_journal() {
    let house = House::open().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(house.journal.start_run("cli:owner", "cli:owner", &[]).await.unwrap().run);
    }
    house.journal.finish_run(&ids[0], Vec::new(), RunStatus::Completed, Some("stop"), None, json!({})).await.unwrap();

    let newest = house.local(Method::GET, "/api/v1/runs?limit=2", "").await.ok();
    assert_eq!((&newest[0]["id"], &newest[1]["id"]), (&json!(ids[2]), &json!(ids[1])));
    let older = format!("/api/v1/runs?before={}", ids[1]);
    let older = house.local(Method::GET, &older, "").await.ok();
    assert_eq!(older.as_array().unwrap().len(), 1);
    house.local(Method::GET, "/api/v1/runs?before=none", "").await.problem(404);

    let run = house.local(Method::GET, &format!("/api/v1/runs/{}", ids[0]), "").await.ok();
    assert_eq!((&run["status"], &run["events"][0]["kind"]), (&json!("completed"), &json!("run_started")));
    house.local(Method::GET, "/api/v1/runs/none", "").await.problem(404);
    let ended = house.local(Method::POST, &format!("/api/v1/runs/{}/cancel", ids[0]), "").await.problem(409);
    assert_eq!(ended["detail"], format!("the run {} has ended already: completed", ids[0]));
}

#[tokio::test]
async fn the_memory_is_searched_and_explained_for_its_owner() {
    let house = House::open().await;
    let found = house.remote(Method::GET, "/api/v1/memory/search?text=%E5%9B%A2%E5%AD%90", "").await.ok();
    assert_eq!(
        (found.as_array().unwrap().len(), &found[0]["id"], &found[0]["score"]),
        (1, &json!("said/7"), &json!(0.75))
    );
    let all = house.local(Method::GET, "/api/v1/memory/search?text=x&all=true&limit=5", "").await.ok();
    assert_eq!(all.as_array().unwrap().len(), 2);
    house.local(Method::GET, "/api/v1/memory/search?text=x&limit=0", "").await.problem(422);
    house.local(Method::GET, "/api/v1/memory/search", "").await.problem(400);
    let place = house.local(Method::GET, "/api/v1/memory/passages/said/7?around=0", "").await.ok();
    assert_eq!((&place["passage"]["speaker"], &place["after"]), (&json!("Ann"), &json!([])));
    house.local(Method::GET, "/api/v1/memory/passages/said/9", "").await.problem(404);
    assert_eq!(house.local(Method::GET, "/api/v1/memory/runs/r1", "").await.ok()["took_ms"], 12);
    assert_eq!(house.local(Method::GET, "/api/v1/memory", "").await.ok()["passages"], 42);
    house.local(Method::POST, "/api/v1/agent/stop", "").await.ok();
    house.local(Method::GET, "/api/v1/memory", "").await.ok();
}
