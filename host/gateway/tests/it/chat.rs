//! Turns over the API.

use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::Method;
use hyper::body::Incoming;

use crate::house::House;

const CHAT: &str = "/api/v1/chat";

/// Reads a stream until `until` is in it; panics where it ends before.
pub async fn read_until(body: &mut Incoming, read: &mut String, until: &str) {
    while !read.contains(until) {
        let frame = body.frame().await.unwrap_or_else(|| panic!("no {until} in {read}")).unwrap();
        read.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
    }
}

#[tokio::test]
async fn a_turn_answers_with_its_result() {
    let house = House::open().await;
    let result = house.remote(Method::POST, CHAT, r#"{"text":"你好"}"#).await.ok();
    insta::assert_json_snapshot!(result, @r#"
    {
      "error": null,
      "finish": "stop",
      "model": null,
      "reply": "you said: 你好",
      "run": "run-1",
      "session": "s",
      "source": "fake",
      "tool_rounds": 0,
      "usage": {
        "input": 0,
        "output": 0
      }
    }
    "#);
    let asked = house.turns.asked.lock().unwrap().pop().unwrap();
    assert_eq!(asked.conversation.to_string(), "api:owner");
    assert_eq!(asked.principal.role, homeagent_types::Role::Owner);

    house.remote(Method::POST, CHAT, r#"{"text":"x","conversation":"kitchen"}"#).await.ok();
    let asked = house.turns.asked.lock().unwrap().pop().unwrap();
    assert_eq!(asked.conversation.to_string(), "api:kitchen");
    for bad in [r#"{"text":"  "}"#, r#"{"text":"x","conversation":""}"#, r#"{"text":"x","conversation":"a b"}"#] {
        house.remote(Method::POST, CHAT, bad).await.problem(422);
    }
    let busy = house.remote(Method::POST, CHAT, r#"{"text":"busy"}"#).await;
    assert_eq!(busy.problem(429)["type"], "urn:homeagent:problem:busy");
    assert_eq!(busy.header("retry-after"), "1");
}

#[tokio::test]
async fn a_turn_can_be_followed() {
    let house = House::open().await;
    let headers = [("accept", "application/json;q=0.1, text/event-stream")];
    let response = house.stream(Method::POST, CHAT, &headers, r#"{"text":"hi"}"#).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let body = response.into_body().collect().await.unwrap().to_bytes();
    insta::assert_snapshot!(String::from_utf8(body.into()).unwrap(), @r#"
    event: started
    data: {"run":"run-1"}

    event: delta
    data: {"kind":"reasoning","text":"hm"}

    event: delta
    data: {"kind":"tool-started","text":"calc"}

    event: delta
    data: {"kind":"tool-ended","text":"calc"}

    event: delta
    data: {"kind":"text","text":"you said: "}

    event: delta
    data: {"kind":"text","text":"hi"}

    event: finished
    data: {"session":"s","run":"run-1","reply":"you said: hi","finish":"stop","tool_rounds":0,"source":"fake","model":null,"usage":{"input":0,"output":0},"error":null}
    "#);
}

#[tokio::test]
async fn a_client_that_goes_away_leaves_the_turn_running_and_another_can_cancel_it() {
    let house = House::open().await;
    house.settings.set("core.gateway.streams", 1).unwrap();
    let stream = [("accept", "text/event-stream")];
    let response = house.stream(Method::POST, CHAT, &stream, r#"{"text":"wait"}"#).await;
    let mut body = response.into_body();
    read_until(&mut body, &mut String::new(), "started").await;
    drop(body);
    // Its place is free when the daemon has noticed.
    while house.stream(Method::GET, "/api/v1/events", &[], "").await.status() != 200 {}

    let status = house.local(Method::GET, "/api/v1/status", "").await.ok();
    assert_eq!(status["active"][0]["run"], "run-1");
    let stopped = house.local(Method::POST, "/api/v1/runs/run-1/cancel", "").await.ok();
    assert_eq!(stopped["stopped"][0], "run-1");
    house.local(Method::POST, "/api/v1/runs/run-1/cancel", "").await.problem(404);
}

#[tokio::test]
async fn stopping_names_what_it_stopped_and_the_stream_ends() {
    let house = House::open().await;
    let stream = [("accept", "text/event-stream")];
    let response = house.stream(Method::POST, CHAT, &stream, r#"{"text":"wait"}"#).await;
    let (mut body, mut read) = (response.into_body(), String::new());
    read_until(&mut body, &mut read, "tool-ended").await;
    let stopped = house.local(Method::POST, "/api/v1/stop", "").await.ok();
    assert_eq!(stopped["stopped"], serde_json::json!(["run-1"]));
    read_until(&mut body, &mut read, "\"finish\":\"stopped\"").await;
    let stopped = house.local(Method::POST, "/api/v1/stop", "").await.ok();
    assert_eq!(stopped["stopped"], serde_json::json!([]));
    house.local(Method::POST, "/api/v1/stop", r#"{"run":"run-9"}"#).await.problem(404);
}

#[tokio::test]
async fn stopping_the_gateway_lets_turns_that_end_give_their_results() {
    let house = House::open().await;
    let response = house.stream(Method::POST, CHAT, &[("accept", "text/event-stream")], r#"{"text":"wait"}"#).await;
    let (mut body, mut read) = (response.into_body(), String::new());
    read_until(&mut body, &mut read, "started").await;
    let House { gateway, turns, home, .. } = house;
    let shutdown = tokio::spawn(gateway.shutdown());
    homeagent_gateway::Turns::stop_run(&*turns, None);
    read_until(&mut body, &mut read, "finished").await;
    shutdown.await.unwrap();
    assert!(!home.path().join("homed.sock").exists());
}

#[tokio::test]
async fn a_request_that_does_not_end_is_cut_when_the_gateway_has_stopped() {
    let house = House::open().await;
    let response = house.stream(Method::POST, CHAT, &[("accept", "text/event-stream")], r#"{"text":"wait"}"#).await;
    let mut body = response.into_body();
    read_until(&mut body, &mut String::new(), "started").await;
    let House { gateway, turns, .. } = house;
    gateway.shutdown().await;
    let end = async { while let Some(Ok(_)) = body.frame().await {} };
    tokio::time::timeout(Duration::from_secs(60), end).await.expect("the connection has ended");
    drop(turns);
}
