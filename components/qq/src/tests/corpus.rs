//! `tests/corpora/onebot`: frames, and the input that has to come of them.

use homeagent_sdk::inputs::Submission;
use homeagent_sdk::{MediaSource, Peer};
use serde_json::{Value, json};

use super::{Bench, meta, text_of};

/// A channel that takes whatever is said for the agent's.
fn listening() -> Bench {
    Bench::with(&json!({"group_policy": "all"}))
}

/// An input in the shape of the corpus.
fn shape(input: &Submission) -> Value {
    let conversation = match &input.peer {
        Peer::Person(user) => format!("private:{user}"),
        Peer::Group(group) => format!("group:{group}"),
        Peer::Other(other) => other.clone(),
    };
    let media = input.media.iter().map(|media| {
        let MediaSource::Url(url) = &media.source else { panic!("an address") };
        json!({ "kind": media.meta[0].1, "url": url })
    });
    let mentions = meta(input, "mentions").into_iter().flat_map(|mentions| mentions.split(','));
    let mut shape = json!({
        "ignored": false,
        "conversation": conversation,
        "sender": {
            "id": input.user, "name": input.display_name, "platform_role": meta(input, "platform_role"),
        },
        "text": meta(input, "text").unwrap_or_else(|| text_of(input)),
        "mentions_me": meta(input, "mentions_me") == Some("true"),
        "mentions": mentions.collect::<Vec<_>>(),
        "reply_to": meta(input, "reply_to"),
        "media": media.collect::<Vec<_>>(),
    });
    if let Some(group) = meta(input, "reply_group") {
        shape["reply_group"] = json!(group);
    }
    shape
}

#[test]
fn every_frame_of_the_corpus_makes_the_input_it_has_to() {
    let corpus = include_str!("../../../../tests/corpora/onebot/inbound.json");
    let cases: Vec<Value> = serde_json::from_str(corpus).expect("the corpus is JSON");
    assert!(!cases.is_empty(), "the corpus has cases");
    for case in &cases {
        let mut bench = listening();
        let frames = case["frame"].as_array().cloned().unwrap_or_else(|| vec![case["frame"].clone()]);
        for frame in frames {
            bench.hear(&frame);
        }
        // What the frames name is on no server: the input has to be right without it.
        while !bench.requests.is_empty() {
            let (_, _, echo) = bench.asked();
            bench.refuse(&echo, 100, "");
        }
        let name = &case["name"];
        if case["want"]["ignored"] == true {
            assert!(bench.inputs.is_empty(), "{name}: {:?}", bench.inputs);
        } else {
            assert_eq!(shape(bench.input()), case["want"], "{name}");
        }
    }
}

#[test]
fn temporary_sessions_and_anonymous_people_have_their_places() {
    for (more, role, group) in [
        (json!({"message_type": "private", "sub_type": "group", "group_id": 30}), "temp", Some("30")),
        (json!({"message_type": "private", "sub_type": "friend"}), "friend", None),
        (
            json!({"message_type": "group", "sub_type": "anonymous", "group_id": 30, "anonymous": {"name": "x"}}),
            "anonymous",
            None,
        ),
        (json!({"message_type": "group", "group_id": "30", "sender": {"role": "admin"}}), "group-admin", None),
    ] {
        let mut frame = json!({"post_type": "message", "self_id": 1, "message_id": 5, "user_id": 2, "message": "hi"});
        frame.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let mut bench = listening();
        bench.hear(&frame);
        assert_eq!(meta(bench.input(), "platform_role"), Some(role), "{frame}");
        assert_eq!(meta(bench.input(), "reply_group"), group, "{frame}");
    }
}
