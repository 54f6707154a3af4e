//! Chat connections over the unix socket.

use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use homeagent_types::Role;
use homeagent_types::ports::{Frame, ToPeer};
use hyper::Method;
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::Frame as WsFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::fakes::{ChatEnd, FakeListeners};
use crate::house::House;

async fn dial(house: &House, query: &str) -> Result<WebSocketStream<UnixStream>, Error> {
    let stream = UnixStream::connect(house.home.path().join("homed.sock")).await.unwrap();
    let url = format!("ws://localhost/channels/chat{query}");
    tokio_tungstenite::client_async(url, stream).await.map(|(socket, _)| socket)
}

async fn chat(room: usize) -> (House, WebSocketStream<UnixStream>, ChatEnd) {
    let (listeners, mut ends): (_, UnboundedReceiver<ChatEnd>) = FakeListeners::new(room);
    let house = House::with(listeners).await;
    let client = dial(&house, "?conversation=kitchen").await.unwrap();
    let end = ends.recv().await.unwrap();
    (house, client, end)
}

async fn closed(client: &mut WebSocketStream<UnixStream>) -> (CloseCode, String) {
    loop {
        match client.next().await.unwrap().unwrap() {
            Message::Close(Some(CloseFrame { code, reason })) => return (code, reason.to_string()),
            Message::Close(None) => panic!("no reason was given"),
            _ => {}
        }
    }
}

#[tokio::test]
async fn frames_go_both_ways_and_pings_are_answered() {
    let (_house, mut client, mut slot) = chat(4).await;
    let principal = slot.attested.clone().unwrap();
    assert_eq!((principal.to_string().as_str(), principal.role), ("cli:kitchen", Role::Owner));
    let meta = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(slot.meta, [meta("conversation", "kitchen"), meta("user", "kitchen")]);

    client.send(Message::text("你好")).await.unwrap();
    assert_eq!(slot.next().await, Ok(Frame::Text("你好".into())));
    client.send(Message::binary(vec![0, 255])).await.unwrap();
    assert_eq!(slot.next().await, Ok(Frame::Binary(vec![0, 255])));

    slot.say("hello");
    slot.to_peer.send(ToPeer::Frame(Frame::Binary(vec![1]))).unwrap();
    assert_eq!(client.next().await.unwrap().unwrap(), Message::text("hello"));
    assert_eq!(client.next().await.unwrap().unwrap(), Message::binary(vec![1]));

    client.send(Message::Ping("are you there".into())).await.unwrap();
    assert_eq!(client.next().await.unwrap().unwrap(), Message::Pong("are you there".into()));
}

#[tokio::test]
async fn reasons_to_close_are_passed_on_both_ways() {
    let (_house, mut client, slot) = chat(4).await;
    slot.to_peer.send(ToPeer::Close("that is enough".into())).unwrap();
    assert_eq!(closed(&mut client).await, (CloseCode::Normal, "that is enough".into()));

    let (_house, mut client, slot) = chat(4).await;
    slot.to_peer.send(ToPeer::GivenUp("it was not read".into())).unwrap();
    assert_eq!(closed(&mut client).await, (CloseCode::Policy, "it was not read".into()));

    let (_house, mut client, mut slot) = chat(4).await;
    let frame = CloseFrame { code: CloseCode::Normal, reason: "good night".into() };
    client.close(Some(frame)).await.unwrap();
    assert_eq!(slot.next().await, Err("good night".into()));

    let (_house, client, mut slot) = chat(4).await;
    drop(client);
    assert!(slot.next().await.is_err());
}

#[tokio::test]
async fn a_slot_that_is_gone_and_a_daemon_that_stops_say_so() {
    let (_house, mut client, slot) = chat(4).await;
    drop(slot);
    let (code, reason) = closed(&mut client).await;
    assert_eq!((code, reason.as_str()), (CloseCode::Restart, "the plugin that serves this connection was unloaded"));

    let (house, mut client, mut slot) = chat(4).await;
    let stopping = tokio::spawn(house.gateway.shutdown());
    assert_eq!(closed(&mut client).await, (CloseCode::Away, "homed is stopping".into()));
    assert_eq!(slot.next().await, Err("homed is stopping".into()));
    stopping.await.unwrap();
}

#[tokio::test]
async fn a_frame_that_is_too_large_ends_the_connection_with_a_sentence() {
    let (_house, mut client, mut slot) = chat(4).await;
    let limit = 1024 * 1024;
    client.send(Message::text("x".repeat(limit))).await.unwrap();
    assert!(slot.next().await.is_ok());
    client.send(Message::text("x".repeat(limit + 1))).await.unwrap();
    let (code, reason) = closed(&mut client).await;
    assert_eq!((code, reason.as_str()), (CloseCode::Size, "a frame may have 1048576 bytes; this one has 1048577"));
}

#[tokio::test]
async fn frames_that_can_not_be_read_end_the_connection_with_the_code_that_belongs_to_it() {
    let text = |bytes: Vec<u8>| WsFrame::message(bytes, OpCode::Data(Data::Text), true);
    let (_house, mut client, _slot) = chat(4).await;
    // More than is read at all.
    let _ = client.send(Message::Frame(text(vec![b'x'; 5 * 1024 * 1024]))).await;
    assert_eq!(closed(&mut client).await.0, CloseCode::Size);

    // In pieces, of which more may come.
    let (_house, mut client, _slot) = chat(4).await;
    for data in [Data::Text, Data::Continue] {
        let piece = WsFrame::message(vec![b'x'; 600 * 1024], OpCode::Data(data), false);
        let _ = client.send(Message::Frame(piece)).await;
    }
    assert_eq!(closed(&mut client).await.0, CloseCode::Size);

    let (_house, mut client, _slot) = chat(4).await;
    client.send(Message::Frame(text(vec![0xff, 0xfe]))).await.unwrap();
    assert_eq!(closed(&mut client).await.0, CloseCode::Invalid);

    let (_house, mut client, _slot) = chat(4).await;
    // A reserved kind of frame, masked, empty.
    client.get_mut().write_all(&[0x83, 0x80, 0, 0, 0, 0]).await.unwrap();
    assert_eq!(closed(&mut client).await.0, CloseCode::Protocol);
}

#[tokio::test]
async fn a_full_slot_holds_the_client_up_and_loses_nothing() {
    let (_house, mut client, mut slot) = chat(1).await;
    let frames = 1000;
    let (sent, mut progress) = watch::channel(0);
    let sender = tokio::spawn(async move {
        for number in 0..frames {
            client.send(Message::text(format!("{number:>8192}"))).await.unwrap();
            sent.send_replace(number + 1);
        }
        (client, sent)
    });
    // Until it gets no further: the sockets' own buffers hold a fraction of it.
    while let Ok(Ok(())) = tokio::time::timeout(Duration::from_secs(1), progress.changed()).await {}
    assert!(*progress.borrow() < frames, "it was not held up");
    for number in 0..frames {
        assert_eq!(slot.next().await, Ok(Frame::Text(format!("{number:>8192}"))));
    }
    sender.await.unwrap();
}

#[tokio::test]
async fn without_a_plugin_that_holds_the_chat_the_answer_says_whom_to_look_at() {
    let house = House::open().await;
    let Err(Error::Http(response)) = dial(&house, "").await else { panic!("it was accepted") };
    assert_eq!(response.status(), 404);
    let plain = house.local(Method::GET, "/channels/chat", "").await;
    assert_eq!(plain.problem(426)["hint"], "this path speaks WebSocket; `waiter` is a client for it");
    let Err(Error::Http(response)) = dial(&house, "?conversation=a%20b").await else { panic!("it was accepted") };
    assert_eq!(response.status(), 422);
}
