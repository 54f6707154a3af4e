//! Whatever is pushed, kept, dropped and put back: a window is a valid sequence for a model.

use std::collections::HashSet;

use homeagent_memory::context::{Budget, Entry, Window, choose};
use homeagent_types::ToolCall;
use homeagent_types::model::Message;
use proptest::prelude::*;

/// Each call has its result before anything else follows; no result is without its call; a person speaks first.
fn assert_valid(window: &Window) {
    let messages: Vec<&Message> = window.messages().collect();
    assert!(matches!(messages.first(), None | Some(Message::User(_))), "a person speaks first: {messages:?}");
    let mut open: HashSet<&str> = HashSet::new();
    for message in &messages {
        match message {
            Message::Tool { call, .. } => {
                assert!(open.remove(call.as_str()), "a result without its call: {messages:?}");
            }
            other => {
                assert!(open.is_empty(), "a call without its result: {messages:?}");
                if let Message::Assistant { tool_calls, .. } = other {
                    open = tool_calls.iter().map(|call| call.id.as_str()).collect();
                }
            }
        }
    }
    assert!(open.is_empty(), "a call without its result: {messages:?}");
}

#[derive(Clone, Debug)]
enum Piece {
    Said,
    Answered,
    /// So many calls at once.
    Called(u8),
    /// The result of the call of this number, whether it is open or was ever made.
    Result(u8),
}

fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    let piece = prop_oneof![
        3 => Just(Piece::Said),
        3 => Just(Piece::Answered),
        3 => (1u8..4).prop_map(Piece::Called),
        5 => (0u8..8).prop_map(Piece::Result),
    ];
    prop::collection::vec(piece, 0..60)
}

fn entries(pieces: &[Piece], first: i64) -> Vec<Entry> {
    let call =
        |number: u8| ToolCall { id: format!("call_{number}"), name: "look".to_owned(), arguments: "{}".to_owned() };
    let mut calls = 0u8;
    let message = |piece: &Piece| match piece {
        Piece::Said => Message::user("说"),
        Piece::Answered => crate::home::assistant("答"),
        Piece::Called(count) => {
            let made: Vec<ToolCall> = (calls..calls + count).map(|number| call(number % 8)).collect();
            calls = (calls + count) % 8;
            Message::Assistant { text: String::new(), reasoning: String::new(), tool_calls: made, opaque: Vec::new() }
        }
        Piece::Result(number) => homeagent_memory::context::tool_message(&call(*number), "so".to_owned(), false),
    };
    let messages: Vec<Message> = pieces.iter().map(message).collect();
    messages.into_iter().zip(first..).map(|(message, at_ms)| entry(at_ms, message)).collect()
}

fn entry(at_ms: i64, message: Message) -> Entry {
    Entry {
        id: format!("run/{at_ms}"),
        conversation: "cli:me".to_owned(),
        audience: "person:cli:me".to_owned(),
        at_ms,
        message,
        foreign: false,
        time: None,
        no_memory: false,
        cleaner: None,
        document: None,
    }
}

proptest! {
    #[test]
    fn a_window_is_always_valid(
        told in pieces(),
        returned in pieces(),
        first in -40i64..40,
        relevance in prop::collection::vec(-1.0f64..1.0, 64),
        (events, messages, protected) in (1usize..20, 1usize..40, 0usize..12),
    ) {
        let mut window = Window::from_entries(entries(&told, 0));
        assert_valid(&window);
        let returned: Vec<Entry> = entries(&returned, first).into_iter().map(|entry| Entry { id: format!("back/{}", entry.id), ..entry }).collect();
        let current = window.exchanges().last().map(|range| window.entries()[range.clone()].to_vec());
        window.put_back(returned);
        assert_valid(&window);
        if let Some(current) = current {
            prop_assert!(window.entries().ends_with(&current), "what goes on stays last");
        }
        let before = window.entries().to_vec();
        let candidates = window.candidates(|at| relevance[at % relevance.len()]);
        let verdicts = choose(&candidates, Budget { events, messages, protected });
        let left = window.retain(|at| verdicts[at].stays());
        assert_valid(&window);
        // What stays and what goes is all that there was.
        let mut after: Vec<&str> = window.entries().iter().chain(left.iter().flatten()).map(|entry| entry.id.as_str()).collect();
        let mut all: Vec<&str> = before.iter().map(|entry| entry.id.as_str()).collect();
        after.sort_unstable();
        all.sort_unstable();
        prop_assert_eq!(after, all);
        // Going on with it keeps it valid.
        window.push(entry(1_000, Message::user("weiter")));
        window.close();
        assert_valid(&window);
    }
}
