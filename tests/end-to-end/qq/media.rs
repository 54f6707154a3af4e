//! Pictures, voices and forwards.

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use homeagent_onebot_client::text;
use serde_json::{Value, json};

use super::{SOMEBODY, client, sent, set, with_qq};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nnot much of a picture";

/// A server of pictures; its address.
async fn pictures() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = format!("http://{}", listener.local_addr().expect("it has an address"));
    let router = Router::new()
        .route("/here.png", get(|| async { PNG }))
        .route("/gone.png", get(|| async { (StatusCode::GONE, "expired") }));
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

/// A server of one picture, which takes its time with it; where that is.
pub(super) async fn slow_picture() -> (String, String) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let host = format!("http://{}", listener.local_addr().expect("it has an address"));
    let slowly = || async {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        PNG
    };
    let router = Router::new().route("/slow.png", get(slowly));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let picture = format!("{host}/slow.png");
    (host, picture)
}

pub(super) fn image(name: &str, url: &str) -> Value {
    json!({ "type": "image", "data": { "file": name, "url": url } })
}

#[tokio::test]
async fn a_picture_is_fetched_at_once_and_shown_to_the_model() {
    let (daemon, vendor) = with_qq().await;
    vendor.always("一张图");
    let host = pictures().await;
    set(&daemon, "picture_hosts", &host).await;
    let client = client(&daemon).await;
    let (here, gone) = (format!("{host}/here.png"), format!("{host}/gone.png"));
    client.private(SOMEBODY, &[text("这是什么"), image("A.image", &here), image("B.image", &gone)]);
    // It waits for its turn behind the picture.
    client.private(SOMEBODY, &[text("快说")]);
    sent(&client, 2).await;
    let asked = vendor.asked_so_far();
    assert!(asked[0].says("data:image/png;base64,iVBORw0KGgpub3Qg"), "{}", asked[0].body);
    assert!(asked[0].says("B.image，取不到了") && !asked[0].says("gone.png"), "{}", asked[0].body);
    assert!(!asked[0].says("快说") && asked[1].says("快说"), "they stay in order");
}

#[tokio::test]
async fn a_voice_is_heard_and_a_picture_of_the_clients_is_seen() {
    let (daemon, vendor) = with_qq().await;
    vendor.always("听到了");
    let client = client(&daemon).await;
    client.holds_file("v.amr", json!({ "file": "/tmp/v.mp3", "base64": "SUQzBAAAAAA=" }));
    client.holds_file("p.jpg", json!({ "file": "/tmp/p.jpg", "base64": "/9j/4AAQSkZJRg==" }));
    client.private(SOMEBODY, &[json!({ "type": "record", "data": { "file": "v.amr" } })]);
    client.private(SOMEBODY, &[json!({ "type": "image", "data": { "file": "p.jpg" } })]);
    sent(&client, 2).await;
    assert_eq!(client.parameters("get_record"), [json!({ "file": "v.amr", "out_format": "mp3" })]);
    let asked = vendor.asked_so_far();
    assert!(asked[0].says("SUQzBAAAAAA=") && asked[0].says("input_audio"), "{}", asked[0].body);
    assert!(asked[1].says("data:image/jpeg;base64,/9j/4AAQSkZJRg=="), "{}", asked[1].body);
}

#[tokio::test]
async fn a_forward_is_opened() {
    let (daemon, vendor) = with_qq().await;
    vendor.always("看了");
    let client = client(&daemon).await;
    let node = |name: &str, content: Value| json!({ "sender": { "nickname": name }, "message": content });
    client.holds_forward("inner", vec![node("丙", json!([text("最里面")]))]);
    let inner = json!([{ "type": "forward", "data": { "id": "inner" } }]);
    client.holds_forward("outer", vec![node("乙", json!([text("早上好")])), node("乙", inner)]);
    client.private(SOMEBODY, &[json!({ "type": "forward", "data": { "id": "outer" } })]);
    sent(&client, 1).await;
    let asked = vendor.asked_so_far();
    assert!(asked[0].says("乙: 早上好") && asked[0].says("丙: 最里面"), "{}", asked[0].body);
    assert_eq!(client.asked("get_forward_msg"), 2);
}
