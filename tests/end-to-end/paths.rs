//! WebSocket paths that plugins serve at the daemon's own address.

use futures::{SinkExt as _, StreamExt as _};
use serde_json::Value;
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
    connect_to(daemon.base.strip_prefix("http://").expect("the ready line names an address"), path, headers).await
}

/// The same at any address.
async fn connect_to(
    authority: &str,
    path: &str,
    headers: &[(&'static str, &str)],
) -> Result<Socket, Response<Option<Vec<u8>>>> {
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

/// What is known of the plugin's own address, once it is as it has to be.
async fn own_address(daemon: &Daemon, fits: impl Fn(&Value) -> bool) -> Value {
    let looking = async {
        loop {
            let plugins = daemon.plugins().await;
            let plugin = plugins.into_iter().find(|plugin| plugin["name"] == "switchboard").expect("it is installed");
            if fits(&plugin["addresses"]) {
                return plugin["addresses"].clone();
            }
        }
    };
    within("the address to be told", looking).await
}

async fn bound(daemon: &Daemon) -> String {
    let addresses = own_address(daemon, |all| all[0]["bound"].is_string()).await;
    addresses[0]["bound"].as_str().expect("an address").to_owned()
}

#[tokio::test]
async fn a_path_is_served_at_an_address_of_its_own_as_long_as_that_is_set() {
    let (daemon, _vendor) = with_vendor_and(&["switchboard"]).await;
    let path = "/switchboard/line";
    daemon.waiter(&["settings", "set", "plugin.switchboard.listen", "127.0.0.1:0"]).await.ok();
    let first = bound(&daemon).await;
    assert!(!first.ends_with(":0"), "{first}");
    let listed = daemon.waiter(&["plugin", "list"]).await.ok();
    assert!(listed.contains(&format!("switchboard is served at {first}")), "{listed}");
    let mut own = connect_to(&first, path, &[]).await.expect("it is this machine");
    let mut usual = connect(&daemon, path, &[]).await.expect("it is served there as before");
    assert_eq!(say(&mut own, "hello").await, "hello");
    assert_eq!(say(&mut usual, "hello").await, "hello");

    // There is nothing else, whoever asks.
    let bearer = format!("Bearer {}", daemon.token);
    for other in ["/api/v1/status", "/api/v1/ping", "/metrics", "/channels/chat", "/", "/switchboard"] {
        let (status, body) = refusal(connect_to(&first, other, &[("authorization", &bearer)]).await);
        assert_eq!(status, 404, "{other}: {body}");
    }
    let rebound = [("host", "evil.example"), ("origin", "http://evil.example")];
    assert_eq!(refusal(connect_to(&first, path, &rebound).await).0, 421);
    assert_eq!(refusal(connect_to(&first, path, &[("origin", "https://evil.example")]).await).0, 403);
    daemon.waiter(&["settings", "set", "plugin.switchboard.access_token", "open-sesame"]).await.ok();
    assert_eq!(refusal(connect_to(&first, path, &[]).await).0, 401);
    connect_to(&first, path, &[("authorization", "Bearer open-sesame")]).await.expect("it has the token");

    // A change takes effect at once, and cuts off nobody.
    daemon.waiter(&["plugin", "reload", "switchboard"]).await.ok();
    assert!(say(&mut own, "who").await.starts_with("resumed true"));
    daemon.waiter(&["settings", "unset", "plugin.switchboard.listen"]).await.ok();
    own_address(&daemon, |all| all.as_array().is_some_and(Vec::is_empty)).await;
    TcpStream::connect(&first).await.expect_err("nobody listens there any more");
    assert_eq!(say(&mut own, "still here").await, "still here");
}

#[tokio::test]
async fn an_own_address_that_is_in_use_is_said_and_tried_again_and_closed_with_its_plugin() {
    let (daemon, _vendor) = with_vendor_and(&["switchboard"]).await;
    let other = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = other.local_addr().expect("it is bound").to_string();
    daemon.waiter(&["settings", "set", "plugin.switchboard.listen", &address]).await.ok();
    daemon.logged("the plugin is not served at its own address").await;
    let addresses = own_address(&daemon, |all| all[0]["problem"].is_string()).await;
    assert!(addresses[0]["problem"].as_str().is_some_and(|problem| problem.contains(&address)), "{addresses}");
    drop(other);
    assert_eq!(bound(&daemon).await, address);

    for [end, again] in [["unload", "load"], ["revoke", "grant"]] {
        let capability = if end == "revoke" { &["listen"][..] } else { &[] };
        daemon.waiter(&[&["plugin", end, "switchboard"], capability].concat()).await.ok();
        let gone = async { while TcpStream::connect(&address).await.is_ok() {} };
        within("the address to be given up", gone).await;
        daemon.waiter(&[&["plugin", again, "switchboard"], capability].concat()).await.ok();
        bound(&daemon).await;
        let mut socket = connect_to(&address, "/switchboard/line", &[]).await.expect("it is served again");
        assert_eq!(say(&mut socket, "hello").await, "hello");
    }
}
