//! WebSocket paths that plugins serve at the daemon's own address.

use futures::{SinkExt as _, StreamExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::{HeaderValue, Response};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::daemon::{Daemon, with_vendor_and, within};

type Socket = WebSocketStream<TcpStream>;

/// Connects with these headers.
async fn connect(
    daemon: &Daemon,
    path: &str,
    headers: &[(&'static str, &str)],
) -> Result<Socket, Response<Option<Vec<u8>>>> {
    let authority = daemon.base.strip_prefix("http://").expect("the ready line names an address");
    let stream = TcpStream::connect(authority).await.expect("the daemon listens");
    let mut request = format!("ws://{authority}{path}").into_client_request().expect("a good address");
    for (name, value) in headers {
        request.headers_mut().insert(*name, HeaderValue::from_str(value).expect("a header"));
    }
    match within("the handshake", client_async(request, stream)).await {
        Ok((socket, _)) => Ok(socket),
        Err(Error::Http(response)) => Err(*response),
        Err(error) => panic!("{error}"),
    }
}

async fn say(socket: &mut Socket, text: &str) -> String {
    socket.send(Message::text(text)).await.expect("it is open");
    loop {
        match within("an answer", socket.next()).await.expect("it is open").expect("a frame") {
            Message::Text(text) => return text.to_string(),
            Message::Ping(_) | Message::Pong(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

fn refusal(refused: Result<Socket, Response<Option<Vec<u8>>>>) -> (u16, String) {
    let response = refused.expect_err("it is refused");
    let body = response.body().clone().unwrap_or_default();
    (response.status().as_u16(), String::from_utf8_lossy(&body).into_owned())
}

#[tokio::test]
async fn a_plugin_serves_its_path_to_this_machine_and_to_whoever_brings_its_token() {
    let (daemon, _vendor) = with_vendor_and(&["switchboard"]).await;
    let path = "/switchboard/line";
    let mut near = connect(&daemon, path, &[("x-self-id", "10001")]).await.expect("no token is set");
    assert_eq!(say(&mut near, "hello").await, "hello");
    let known = say(&mut near, "who").await;
    assert!(
        known.contains("(\"x-self-id\", \"10001\")") && known.contains("(\"path\", \"/switchboard/line\")"),
        "{known}"
    );

    daemon.waiter(&["settings", "set", "plugin.switchboard.access_token", "open-sesame"]).await.ok();
    let (status, body) = refusal(connect(&daemon, path, &[]).await);
    assert_eq!(status, 401, "{body}");
    assert!(body.contains("access_token"), "{body}");
    let (status, body) = refusal(connect(&daemon, path, &[("authorization", "Bearer wrong")]).await);
    assert_eq!(status, 403, "{body}");
    let bearer = [("authorization", "Bearer open-sesame"), ("host", "homebox.example:8686")];
    let mut by_header = connect(&daemon, path, &bearer).await.expect("it has the token");
    let known = say(&mut by_header, "who").await;
    assert!(!known.contains("open-sesame"), "the plugin is not told the token: {known}");
    let query = format!("{path}?access_token=open-sesame");
    let mut by_query = connect(&daemon, &query, &[]).await.expect("it has the token");
    assert_eq!(say(&mut by_query, "hello").await, "hello");
    assert_eq!(say(&mut near, "still here").await, "still here", "who was let in stays");
}

#[tokio::test]
async fn a_page_that_a_browser_was_led_to_does_not_get_in() {
    let (daemon, _vendor) = with_vendor_and(&["switchboard"]).await;
    let foreign = [("origin", "https://evil.example")];
    let (status, body) = refusal(connect(&daemon, "/switchboard/line", &foreign).await);
    assert_eq!(status, 403, "{body}");
    let rebound = [("host", "evil.example"), ("origin", "http://evil.example")];
    let (status, body) = refusal(connect(&daemon, "/switchboard/line", &rebound).await);
    assert_eq!(status, 421, "{body}");
}

#[tokio::test]
async fn the_path_goes_with_its_grant_and_the_api_stays_behind_its_own_token() {
    let (daemon, _vendor) = with_vendor_and(&["switchboard"]).await;
    let mut open = connect(&daemon, "/switchboard/line", &[]).await.expect("it is granted");
    assert_eq!(say(&mut open, "hello").await, "hello");
    for path in ["/switchboard", "/switchboard/line/", "/switchboard//line", "/api/v1/status"] {
        let (status, body) = refusal(connect(&daemon, path, &[]).await);
        assert_eq!(status, 401, "{path}: {body}");
    }
    daemon.waiter(&["plugin", "revoke", "switchboard", "listen"]).await.ok();
    let (status, _) = refusal(connect(&daemon, "/switchboard/line", &[]).await);
    assert_eq!(status, 401);
    let end = within("the end of the open one", open.next()).await.expect("it is told").expect("a frame");
    let Message::Close(Some(close)) = end else { panic!("{end:?}") };
    assert!(close.reason.contains("may not serve connections any more"), "{close:?}");
}

#[tokio::test]
async fn a_connection_stays_open_while_its_plugin_is_replaced_again_and_again() {
    let (daemon, _vendor) = with_vendor_and(&["switchboard"]).await;
    let mut socket = connect(&daemon, "/switchboard/line", &[]).await.expect("it is granted");
    for round in 0..5 {
        assert_eq!(say(&mut socket, &round.to_string()).await, round.to_string());
        daemon.waiter(&["plugin", "reload", "switchboard"]).await.ok();
    }
    assert!(say(&mut socket, "who").await.starts_with("resumed true"));
}
