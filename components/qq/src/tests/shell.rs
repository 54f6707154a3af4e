//! The component as the host calls it, without a host.

use homeagent_sdk::sockets::Frame;
use homeagent_sdk::{Arguments, Channel, Error, OutputCapabilities, Peer, Plugin, Snapshot, Sockets, Tools, testing};
use serde_json::json;

use super::{connection, output};
use crate::QqChannel;
use crate::samples::private;

#[test]
fn what_it_offers_is_described() {
    let descriptor = QqChannel::describe();
    assert_eq!((descriptor.name.as_str(), descriptor.listeners[0].name.as_str()), ("qq", "onebot"));
    assert!(descriptor.channels[0].capabilities.contains(OutputCapabilities::IMAGE | OutputCapabilities::STRUCTURED));
    let manifest: toml::Table = toml::from_str(include_str!("../../plugin.toml")).expect("plugin.toml is TOML");
    assert!(manifest["wants"]["listen"]["websocket"].get(&descriptor.listeners[0].name).is_some());
}

#[test]
fn calls_come_to_an_end_whatever_becomes_of_their_requests() {
    testing::run(QqChannel::on_open(connection(71, &[("x-self-id", "7100")], false)));
    let mut words = output(Peer::Person("20".to_owned()), "在");
    words.meta.push(("account".to_owned(), "7100".to_owned()));
    // Twice: the second one finds the lane free again.
    for _ in 0..2 {
        let refused = testing::run(QqChannel::deliver(words.clone(), testing::cause())).expect_err("there is no host");
        assert_eq!(refused.message(), Error::NotLive.message());
    }
    let arguments = Arguments::new(json!({"user_id": 5, "account": "7100"}).to_string());
    let poked = testing::run(QqChannel::call("qq_friend_poke", arguments, testing::cause())).expect("an output");
    assert!(poked.failed);
    let nothing = QqChannel::call("qq_nothing", Arguments::new("{}"), testing::cause());
    assert!(matches!(testing::run(nothing), Err(Error::NotFound(_))));
    let accounts = QqChannel::call("qq_accounts", Arguments::new("{}"), testing::cause());
    assert!(testing::run(accounts).expect("an output").value.contains("7100"));
}

#[test]
fn frames_of_any_kind_break_nothing() {
    testing::run(QqChannel::on_open(connection(72, &[("x-self-id", "7200")], false)));
    let mut frame = private(1, &json!([{"type": "forward", "data": {"id": "f"}}]));
    frame["self_id"] = json!(7200);
    let frames = vec![
        Frame::Text("nonsense".to_owned()),
        Frame::Binary(vec![0xff, 0]),
        Frame::Text(frame.to_string()),
        Frame::Binary(private(2, &json!("hi")).to_string().into_bytes()),
    ];
    testing::run(QqChannel::on_frames(72, frames));
    testing::run(QqChannel::on_frames(404, vec![Frame::Text("{}".to_owned())]));
    testing::run(QqChannel::show(Vec::new()));
    testing::run(QqChannel::on_close(72, "bye".to_owned()));
}

#[test]
fn its_state_is_read_again() {
    // Without a host the agent takes nothing, so what is said has to be handed on.
    testing::run(QqChannel::on_open(connection(73, &[("x-self-id", "7300")], false)));
    let mut frame = private(3, &json!("还没有人听到"));
    frame["self_id"] = json!(7300);
    testing::run(QqChannel::on_frames(73, vec![Frame::Text(frame.to_string())]));
    for _ in 0..2 {
        let state = testing::run(QqChannel::save());
        assert!(String::from_utf8_lossy(&state).contains("还没有人听到"), "it was seen and would not be heard again");
        assert_eq!(testing::run(QqChannel::load(state)), Ok(()));
    }
    assert!(testing::run(QqChannel::load(b"?".to_vec())).is_err());
}
