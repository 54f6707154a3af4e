//! Who may come in.

use hyper::Method;

use crate::house::House;

const STATUS: &str = "/api/v1/status";

#[tokio::test]
async fn ping_is_all_there_is_without_a_token() {
    let house = House::open().await;
    let host = house.gateway.addr().to_string();
    let host = ("host", host.as_str());
    let ping = house.bare(Method::GET, "/api/v1/ping", &[host], "").await.ok();
    assert_eq!(ping["name"], "homed");
    assert!(ping["version"].is_string());

    let refused = house.bare(Method::GET, STATUS, &[host], "").await;
    assert_eq!(refused.problem(401)["type"], "urn:homeagent:problem:unauthorized");
    assert_eq!(refused.header("www-authenticate"), "Bearer realm=\"homed\"");
    assert!(refused.body.contains("api-token"), "{}", refused.body);
    let folder = house.home.path().display().to_string();
    assert!(!refused.body.contains(&folder), "nothing about the home for strangers: {}", refused.body);
    for wrong in ["Bearer wrong", "Basic b3duZXI6eA==", "Bearer", ""] {
        let answer = house.bare(Method::GET, STATUS, &[host, ("authorization", wrong)], "").await;
        answer.problem(401);
    }
    let unknown = house.bare(Method::GET, "/api/v1/nothing", &[host], "").await;
    unknown.problem(401);

    let token = format!("bearer {}", house.token());
    house.bare(Method::GET, STATUS, &[host, ("authorization", &token)], "").await.ok();
}

#[tokio::test]
async fn names_that_others_can_point_here_are_refused() {
    let house = House::open().await;
    let token = format!("Bearer {}", house.token());
    let authorization = ("authorization", token.as_str());
    for (host, status) in [("evil.example", 421), ("127.0.0.1", 200), ("localhost:1", 200)] {
        let answer = house.bare(Method::GET, STATUS, &[authorization, ("host", host)], "").await;
        assert_eq!(answer.status.as_u16(), status, "{host}");
    }
    house.bare(Method::GET, "/api/v1/ping", &[("host", "evil.example")], "").await.problem(421);
    house.bare(Method::GET, STATUS, &[authorization], "").await.problem(400);
}

#[tokio::test]
async fn pages_of_other_sites_are_refused() {
    let house = House::open().await;
    let token = format!("Bearer {}", house.token());
    let host = house.gateway.addr().to_string();
    let own = format!("http://{host}");
    for (origin, status) in [("http://evil.example", 403), ("null", 403), (own.as_str(), 200)] {
        let headers = [("authorization", token.as_str()), ("host", &host), ("origin", origin)];
        let answer = house.bare(Method::GET, STATUS, &headers, "").await;
        assert_eq!(answer.status.as_u16(), status, "{origin}");
    }
}

#[tokio::test]
async fn the_daemons_own_user_needs_no_token_on_the_socket() {
    let house = House::open().await;
    let status = house.local(Method::GET, STATUS, "").await.ok();
    assert_eq!(status["home"], house.home.path().display().to_string());
    assert_eq!(status["plugins"]["live"], 1);
    assert_eq!(status["plugins"]["not_live"][0]["name"], "qq");
}

#[tokio::test]
async fn what_is_not_there_and_what_is_not_taken_are_problems() {
    let house = House::open().await;
    let unknown = house.remote(Method::GET, "/api/v1/nothing", "").await;
    assert_eq!(unknown.problem(404)["detail"], "there is nothing at /api/v1/nothing");
    let wrong = house.remote(Method::DELETE, "/api/v1/tools", "").await;
    wrong.problem(405);
    assert_eq!(wrong.header("allow"), "GET,HEAD");
    house.remote(Method::GET, "/channels/chat", "").await.problem(404);
    house.remote(Method::POST, "/api/v1/tools/%ff", "{}").await.problem(400);
    house.remote(Method::GET, "/api/v1/runs?limit=many", "").await.problem(400);
}

#[tokio::test]
async fn bodies_have_a_limit_that_is_a_setting() {
    let house = House::open().await;
    let long = format!("{{\"text\":\"{}\"}}", "x".repeat(4000));
    house.remote(Method::POST, "/api/v1/chat", long.clone()).await.ok();
    house.settings.set("core.gateway.body_bytes", 2000).unwrap();
    let refused = house.remote(Method::POST, "/api/v1/chat", long).await.problem(413);
    assert_eq!(refused["detail"], "the body has more than 2000 bytes");
    house.remote(Method::POST, "/api/v1/chat", "{").await.problem(400);
    house.remote(Method::POST, "/api/v1/chat", "[]").await.problem(422);
    house.remote(Method::POST, "/api/v1/chat", "{\"txet\":\"\"}").await.problem(422);
}
