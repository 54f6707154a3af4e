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
async fn a_head_that_is_too_large_is_refused_in_words_as_far_as_it_is_read() {
    let house = House::open().await;
    let many = |count| "x: y\r\n".repeat(count);
    let large = |size| format!("x: {}\r\n", "y".repeat(size));
    let (long, far_too_long) = (format!("/{}", "x".repeat(20_000)), format!("/{}", "x".repeat(70_000)));
    let rows = [
        ("/api/v1/ping", many(120), "431", "the request has 122 headers"),
        ("/api/v1/ping", large(70_000), "431", "more than 65536 bytes together"),
        (long.as_str(), String::new(), "414", "more than 16384 bytes"),
        // Beyond what is read nothing is said but the status.
        ("/api/v1/ping", many(1000), "431", ""),
        (far_too_long.as_str(), String::new(), "414", ""),
    ];
    for (target, headers, status, words) in rows {
        let request = format!("GET {target} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n{headers}\r\n");
        let answer = raw(&house, request.as_bytes()).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer:?}");
        assert!(answer.contains(words), "{answer:?}");
        assert_eq!(answer.contains("application/problem+json"), !words.is_empty(), "{answer:?}");
    }
    // What is not even read to its end is answered while bytes are on their way, and the system may drop the answer.
    let request = format!("GET /api/v1/ping HTTP/1.1\r\nhost: 127.0.0.1\r\n{}\r\n", large(500_000));
    let answer = raw(&house, request.as_bytes()).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer:?}");
    house.remote(Method::GET, "/api/v1/status", "").await.ok();
}

#[tokio::test]
async fn a_body_of_another_type_or_of_none_is_refused_with_the_type_to_send() {
    let house = House::open().await;
    let (chat, import, say) = ("/api/v1/chat", "/api/v1/settings/import", r#"{"text":"hi"}"#);
    let rows: [(&str, Option<&str>, &str, u16); 11] = [
        (chat, None, say, 415),
        (chat, Some("text/plain"), say, 415),
        (chat, Some("application/x-www-form-urlencoded"), say, 415),
        (chat, Some("application/json garbage"), say, 415),
        (chat, Some("Application/JSON; charset=utf-8"), say, 200),
        ("/api/v1/tools/echo", None, "{}", 415),
        ("/api/v1/tools/echo", None, "", 200),
        ("/api/v1/stop", Some("text/plain"), "{}", 415),
        ("/api/v1/stop", None, " ", 200),
        (import, Some("application/json"), "{}", 415),
        (import, Some("application/toml"), "", 200),
    ];
    for (path, kind, body, status) in rows {
        let headers: Vec<_> = kind.map(|kind| ("content-type", kind)).into_iter().collect();
        let answer = house.remote_with(Method::POST, path, &headers, body).await;
        if status == 200 {
            answer.ok();
            continue;
        }
        let wanted = if path == import { "application/toml" } else { "application/json" };
        let problem = answer.problem(415);
        assert_eq!(problem["type"], "urn:homeagent:problem:unsupported-media-type", "{path} {kind:?}");
        assert_eq!(problem["hint"], format!("send it with the header \"Content-Type: {wanted}\""), "{path} {kind:?}");
    }
    // Recordings are bytes, whatever they say that they are.
    house.remote_with(Method::POST, "/api/v1/adapters/parrot/try", &[], "data: one\n\n").await.ok();
}

#[tokio::test]
async fn numbers_out_of_range_are_refused_with_those_that_are_not() {
    let house = House::open().await;
    for (path, words) in [
        ("/api/v1/runs?limit=0", "`limit` is 0; it has to be 1 to 1000"),
        ("/api/v1/runs?limit=-1", "`limit` is -1; it has to be 1 to 1000"),
        ("/api/v1/runs?limit=1001", "`limit` is 1001; it has to be 1 to 1000"),
        ("/api/v1/runs?limit=5000000000", "`limit` is 5000000000; it has to be 1 to 1000"),
        ("/api/v1/events?after=-1", "`after` is -1; it has to be 0 or more"),
    ] {
        assert_eq!(house.remote(Method::GET, path, "").await.problem(422)["detail"], words);
    }
    let chunk = house.remote(Method::POST, "/api/v1/adapters/parrot/try?chunk=0", "").await.problem(422);
    assert_eq!(chunk["detail"], "`chunk` is 0; it has to be 1 or more");
    house.remote(Method::GET, "/api/v1/runs?limit=1000", "").await.ok();
}

#[tokio::test]
async fn words_that_a_query_does_not_know_are_refused() {
    let house = House::open().await;
    for (method, path) in [
        (Method::GET, "/api/v1/runs?limt=5"),
        (Method::GET, "/api/v1/events?run_id=x"),
        (Method::POST, "/api/v1/adapters/parrot/try?chnk=5"),
        (Method::GET, "/channels/chat?conversatoin=x"),
    ] {
        let problem = house.local(method, path, "").await.problem(400);
        assert!(problem["detail"].as_str().unwrap().contains("unknown field"), "{path}: {problem}");
    }
}

#[tokio::test]
async fn a_recording_that_is_too_large_is_refused_with_what_allows_more() {
    let house = House::open().await;
    let head = format!(
        "POST /api/v1/adapters/parrot/try HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n",
        house.token()
    );
    let answer = raw(&house, format!("{head}connection: close\r\ncontent-length: 67108865\r\n\r\n").as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.contains("more than 64 MiB"), "{answer}");
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
