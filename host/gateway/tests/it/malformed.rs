//! Requests that are no HTTP, or more of it than is read.

use hyper::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::house::House;

/// Sends bytes and reads until the daemon closes the connection.
async fn raw(house: &House, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(house.gateway.addr()).await.unwrap();
    // The daemon may close before it has read everything.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn what_is_no_http_is_refused_and_the_connection_closed() {
    let house = House::open().await;
    for request in [
        "nonsense\r\n\r\n",
        "GET /api/v1/ping\r\n\r\n",
        "GET  HTTP/1.1\r\n\r\n",
        "GET /api/v1/ping HTTP/1.1\r\nhost: 127.0.0.1\r\nbad header\r\n\r\n",
        "GET /api/v1/ping HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: many\r\n\r\n",
        "POST /api/v1/chat HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx",
    ] {
        let answer = raw(&house, request.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{request:?}: {answer:?}");
    }
    house.remote(Method::GET, "/api/v1/status", "").await.ok();
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let house = House::open().await;
    let many = "x: y\r\n".repeat(1000);
    let answer = raw(&house, format!("GET /api/v1/ping HTTP/1.1\r\nhost: 127.0.0.1\r\n{many}\r\n").as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer:?}");
    let long = "x".repeat(70_000);
    let answer = raw(&house, format!("GET /{long} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n").as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 414 "), "{answer:?}");
    house.remote(Method::GET, "/api/v1/status", "").await.ok();
}

#[tokio::test]
async fn odd_bodies_are_problems() {
    let house = House::open().await;
    let nested = format!("{{\"text\":{}", "[".repeat(100_000));
    for body in
        ["{\"text\":\"\\ud800\"}", "{\"text\":\"\u{0}\"}", "{\"text\":1e999}", "", "\u{feff}{}", nested.as_str()]
    {
        let answer = house.remote(Method::POST, "/api/v1/chat", body.to_owned()).await;
        assert!(matches!(answer.status.as_u16(), 400 | 422), "{}: {}", answer.status, answer.body);
        answer.problem(answer.status.as_u16());
    }
    house.remote(Method::POST, "/api/v1/chat", vec![b'{', 0xff]).await.problem(400);
    house.remote(Method::PUT, "/api/v1/settings/core.agent.rounds", "{\"value\":1e999}").await.problem(400);
    let huge = "{\"value\":123456789012345678901234567890}";
    house.remote(Method::PUT, "/api/v1/settings/core.agent.rounds", huge).await.problem(422);
}

#[tokio::test]
async fn odd_names_in_the_path_are_names_that_nothing_has() {
    let house = House::open().await;
    for name in ["%00", "%20", "..%2f..%2fetc", "%F0%9F%A6%80", "%E2%80%AE", &"x".repeat(5000)] {
        for path in [format!("/api/v1/runs/{name}"), format!("/api/v1/settings/{name}")] {
            house.remote(Method::GET, &path, "").await.problem(404);
        }
        house.remote(Method::DELETE, &format!("/api/v1/sources/{name}"), "").await.problem(404);
    }
}

#[tokio::test]
async fn methods_that_a_path_does_not_take_say_which_it_takes() {
    let house = House::open().await;
    for method in ["OPTIONS", "TRACE", "PATCH", "DELETE", "BREW"] {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let answer = house.remote(method, "/api/v1/chat", "").await;
        answer.problem(405);
        assert_eq!(answer.header("allow"), "POST");
    }
    let head = house.remote(Method::HEAD, "/api/v1/status", "").await;
    assert_eq!((head.status.as_u16(), &*head.body), (200, ""));
    let head = house.remote(Method::HEAD, "/api/v1/chat", "").await;
    assert_eq!((head.status.as_u16(), head.header("allow")), (405, "POST"));
}
