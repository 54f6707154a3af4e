//! Clients that come, go, fall silent and take each other's place.

use std::time::Duration;

use homeagent_onebot_client::{Client, Options, text};

use super::{ACCOUNT, SOMEBODY, client, sent, set, url, with_qq};
use crate::daemon::within;

#[tokio::test]
async fn with_a_token_only_who_has_it_comes_in() {
    let (daemon, vendor) = with_qq().await;
    vendor.always("好");
    set(&daemon, "access_token", "correct-horse").await;
    let with = |token: &str| {
        Client::reverse(&url(&daemon), Options { token: Some(token.to_owned()), ..Options::new(ACCOUNT) })
    };
    let stranger = with("wrong-horse");
    within("the stranger to be refused", stranger.until(|client| client.made().1 > 0)).await;
    let friend = with("correct-horse");
    within("the client to connect", friend.until(|client| client.open() == 1)).await;
    friend.private(SOMEBODY, &[text("在吗")]);
    sent(&friend, 1).await;
    assert_eq!(stranger.made().0, 0);
}

#[tokio::test]
async fn a_second_connection_of_an_account_takes_the_firsts_place() {
    let (daemon, vendor) = with_qq().await;
    vendor.always("好");
    let patient = Options { pause: Duration::from_secs(3_600), ..Options::new(ACCOUNT) };
    let first = Client::reverse(&url(&daemon), patient);
    within("the first", first.until(|client| client.open() == 1)).await;
    let second = client(&daemon).await;
    within("the first to be closed", first.until(|client| client.open() == 0)).await;
    assert!(first.closed()[0].contains("another connection of this account"), "{:?}", first.closed());
    second.private(SOMEBODY, &[text("在吗")]);
    sent(&second, 1).await;
    assert_eq!((first.sent().len(), second.open()), (0, 1));
}

#[tokio::test]
async fn a_client_whose_heart_stops_is_closed_and_comes_back() {
    let (daemon, _vendor) = with_qq().await;
    let dead = client(&daemon).await;
    let other = Client::reverse(&url(&daemon), Options::new(ACCOUNT + 1));
    within("the other", other.until(|client| client.open() == 1)).await;
    dead.happens(serde_json::json!({ "post_type": "meta_event", "meta_event_type": "heartbeat", "interval": 1_000,
        "status": { "online": true, "good": true } }));
    dead.beats(false);
    within("the silent one to be closed", dead.until(|client| !client.closed().is_empty())).await;
    assert!(dead.closed()[0].contains("nothing was heard of it"), "{:?}", dead.closed());
    dead.beats(true);
    within("it to come back", dead.until(|client| client.open() == 1)).await;
    assert_eq!(other.made().0, 1, "the other one is untouched");
    assert!(daemon.logged("taken for dead").await.contains(&format!("the QQ account {ACCOUNT} is taken for dead")));
}

#[tokio::test]
async fn a_client_that_is_the_server_is_connected_to_while_it_is_listed() {
    let (daemon, vendor) = with_qq().await;
    vendor.always("好");
    let token = || Some("correct-horse".to_owned());
    let client = Client::forward(Options { token: token(), ..Options::new(ACCOUNT) }).await;
    // Without the token it is refused, and tried again.
    set(&daemon, "forward", client.address()).await;
    within("the first attempt", client.until(|client| client.made().1 > 0)).await;
    set(&daemon, "access_token", "correct-horse").await;
    within("the connection", client.until(|client| client.open() == 1)).await;
    client.private(SOMEBODY, &[text("在吗")]);
    sent(&client, 1).await;
    // It stays through a reload, and is made again when it breaks.
    daemon.waiter(&["plugin", "reload", "qq"]).await.ok();
    client.private(SOMEBODY, &[text("还在吗")]);
    sent(&client, 2).await;
    assert_eq!(client.made().0, 1);
    client.break_off();
    within("the connection to be made again", client.until(|client| client.made().0 == 2)).await;
    client.private(SOMEBODY, &[text("又在了")]);
    assert_eq!(sent(&client, 3).await.len(), 3);
    set(&daemon, "forward", "").await;
    within("the connection to end", client.until(|client| client.open() == 0)).await;
}
