use std::time::Duration;

use homeagent_providers::transport::{Endpoint, Timeouts, Transport};
use homeagent_types::model::{Failure, FailureClass, HttpRequest, KeyPlacement};

use crate::vendor::{Ending, Reply, Vendor, text};

fn request(path: &str) -> HttpRequest {
    HttpRequest { method: "POST".to_owned(), path: path.to_owned(), headers: Vec::new(), body: b"{}".to_vec() }
}

async fn fetch(url: &str, request: HttpRequest, timeouts: Timeouts) -> Result<Vec<u8>, Failure> {
    let transport = Transport::new(timeouts).expect("set up");
    let endpoint = Endpoint { base_url: url, placement: &KeyPlacement::Bearer, key: None };
    transport.send(&endpoint, request, timeouts).await?.body.whole(1000).await
}

#[tokio::test]
async fn silence_is_bounded_before_and_within_an_answer() {
    let short = Duration::from_millis(50);
    let patient = Timeouts::default();
    let cases = [
        (Reply::Mute, Timeouts { first_byte: short, ..patient }, "did not begin"),
        (
            Reply::Stream { pieces: Vec::new(), ending: Ending::Silent },
            Timeouts { first_byte: short, ..patient },
            "did not begin",
        ),
        (
            Reply::Stream { pieces: vec![text("x")], ending: Ending::Silent },
            Timeouts { silence: short, ..patient },
            "in the middle",
        ),
    ];
    for (reply, timeouts, words) in cases {
        let mut vendor = Vendor::start(vec![reply]).await;
        let failure = fetch(&vendor.url, request("/x"), timeouts).await.expect_err("it is silent");
        assert_eq!(failure.class, FailureClass::Timeout);
        assert!(failure.message.contains(words) && failure.message.contains("127.0.0.1:"), "{}", failure.message);
        vendor.gone.recv().await.expect("the connection is closed");
    }
}

#[tokio::test]
async fn a_body_is_capped() {
    let vendor = Vendor::start(vec![Reply::Stream { pieces: vec!["x".repeat(600); 2], ending: Ending::Silent }]).await;
    let failure = fetch(&vendor.url, request("/x"), Timeouts::default()).await.expect_err("too large");
    assert_eq!(failure.class, FailureClass::Protocol);
}

#[tokio::test]
async fn an_adapter_cannot_send_the_request_elsewhere() {
    for path in ["x", "@elsewhere.example/", ":1/", ""] {
        let failure = fetch("http://127.0.0.1", request(path), Timeouts::default()).await.expect_err("refused");
        assert_eq!(failure.class, FailureClass::Protocol, "{path}");
    }
    let vendor = Vendor::start(vec![crate::vendor::says("x")]).await;
    let mut odd = request("/x?y=1");
    odd.headers = [("Host", "elsewhere.example"), ("Content-Length", "7"), ("x-own", "1")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec();
    fetch(&format!("{}/", vendor.url), odd, Timeouts::default()).await.expect("it answers");
    let seen = &vendor.requests()[0];
    assert!(seen.starts_with("POST /v1/x?y=1 HTTP/1.1\r\n") && seen.contains("x-own: 1\r\n"), "{seen}");
    assert!(!seen.contains("elsewhere") && seen.contains("content-length: 2\r\n"), "{seen}");
}

#[tokio::test]
async fn a_connection_that_never_stands_is_no_time_out_of_an_answer() {
    // One connection fills the queue of those that wait to be taken; the next gets no answer.
    let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.1:0".parse().expect("an address")).expect("bound");
    let listener = socket.listen(0).expect("it listens");
    let address = listener.local_addr().expect("an address");
    let _waiting = tokio::net::TcpStream::connect(address).await.expect("connected");
    let timeouts = Timeouts { connect: Duration::from_millis(50), ..Timeouts::default() };
    let failure = fetch(&format!("http://{address}"), request("/x"), timeouts).await.expect_err("it can't be reached");
    assert_eq!(failure.class, FailureClass::Network, "{}", failure.message);
}
