//! Whatever the history, what is shown of it is valid, whole, and within the window.

use std::borrow::Cow;
use std::collections::HashSet;

use homeagent_types::ToolCall;
use homeagent_types::fit::{INTERRUPT, fit};
use homeagent_types::model::{ContentPart, Message, ModelMedia, Prompt, ToolSpec};
use homeagent_types::tokens::of_prompt;
use proptest::prelude::*;

/// What happens in a turn, each with a length in words.
#[derive(Clone, Debug)]
enum Step {
    /// So many calls side by side, with their results.
    Tools(Vec<u16>),
    Interrupt(u16),
    Note(u16),
    Words(u16),
    Picture,
}

fn words(count: u16) -> String {
    "the kettle 水壶 ".repeat(count.into())
}

fn user(text: String) -> Message {
    Message::user(text)
}

fn assistant(text: String, tool_calls: Vec<ToolCall>) -> Message {
    Message::Assistant { text, reasoning: String::new(), tool_calls, opaque: Vec::new() }
}

fn write(step: &Step, messages: &mut Vec<Message>) {
    match step {
        Step::Tools(sizes) => {
            let id = |at: usize| format!("c{}_{at}", messages.len());
            let call = |at| ToolCall { id: id(at), name: "look".to_owned(), arguments: "{}".to_owned() };
            let calls: Vec<ToolCall> = (0..sizes.len()).map(call).collect();
            messages.push(assistant(String::new(), calls.clone()));
            for (call, size) in calls.iter().zip(sizes) {
                let content = vec![ContentPart::Text(words(*size))];
                let (call, name) = (call.id.clone(), call.name.clone());
                messages.push(Message::Tool { call, name, content, failed: size % 7 == 0 });
            }
        }
        Step::Interrupt(size) => messages.push(user(format!("{INTERRUPT} {}", words(*size)))),
        Step::Note(size) => messages.push(Message::System(words(*size))),
        Step::Words(size) => messages.push(assistant(words(*size), Vec::new())),
        Step::Picture => {
            let medium = ModelMedia { mime: "image/png".to_owned(), name: None, data: vec![1], url: None };
            messages.push(Message::User(vec![ContentPart::Text(words(1)), ContentPart::Image(medium)]));
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => prop::collection::vec(0u16..600, 1..4).prop_map(Step::Tools),
        1 => (0u16..20).prop_map(Step::Interrupt),
        1 => (0u16..20).prop_map(Step::Note),
        2 => (0u16..100).prop_map(Step::Words),
        1 => Just(Step::Picture),
    ]
}

fn prompt(turns: &[(u16, Vec<Step>)]) -> Prompt {
    let mut messages = vec![Message::System("You are kind.".to_owned()), Message::System(words(10))];
    for (size, steps) in turns {
        messages.push(user(words(*size)));
        for step in steps {
            write(step, &mut messages);
        }
    }
    messages.push(Message::System("It rains.".to_owned()));
    let parameters = serde_json::json!({ "type": "object" });
    let tools = vec![ToolSpec { name: "look".to_owned(), description: "Looks.".to_owned(), parameters }];
    Prompt { messages, tools, ..Prompt::default() }
}

fn assert_valid(messages: &[Message]) {
    let spoken: Vec<&Message> = messages.iter().filter(|message| !matches!(message, Message::System(_))).collect();
    assert!(matches!(spoken.first(), Some(Message::User(_))), "a person speaks first");
    let mut open = HashSet::new();
    for message in messages {
        match message {
            Message::Tool { call, .. } => assert!(open.remove(call.as_str()), "a result without its call"),
            other => {
                assert!(open.is_empty(), "a call without its result");
                if let Message::Assistant { tool_calls, .. } = other {
                    open = tool_calls.iter().map(|call| call.id.as_str()).collect();
                }
            }
        }
    }
    assert!(open.is_empty(), "a call without its result");
}

/// Each message is one of the whole, in its order; a result may have given way to a line.
fn assert_whole(fitted: &[Message], whole: &[Message]) {
    let mut rest = whole.iter();
    for message in fitted {
        let found = rest.any(|original| match (message, original) {
            (Message::Tool { call, content, .. }, Message::Tool { call: same, .. }) if call == same => {
                let [ContentPart::Text(text)] = content.as_slice() else { return false };
                message == original || text.starts_with("[left out")
            }
            _ => message == original,
        });
        assert!(found, "nobody said {message:?}");
    }
}

fn newest_user(messages: &[Message]) -> Option<&Message> {
    messages.iter().rev().find(|message| matches!(message, Message::User(_)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn what_is_shown_is_valid_and_within_the_window(
        turns in prop::collection::vec((0u16..60, prop::collection::vec(step(), 0..6)), 1..12),
        budget in 50u64..30_000,
    ) {
        let whole = prompt(&turns);
        assert_valid(&whole.messages);
        match fit(&whole, budget) {
            Ok(fitted) => {
                assert!(of_prompt(&fitted) <= budget);
                assert_valid(&fitted.messages);
                assert_whole(&fitted.messages, &whole.messages);
                assert_eq!(newest_user(&fitted.messages), newest_user(&whole.messages));
                assert_eq!(fitted.messages[..2], whole.messages[..2]);
                assert_eq!(fitted.messages.last(), whole.messages.last());
                assert_eq!(fitted.tools, whole.tools);
                if of_prompt(&whole) <= budget {
                    assert!(matches!(fitted, Cow::Borrowed(_)), "what fits is left alone");
                }
            }
            Err(too_long) => {
                assert!(too_long.least > budget);
                assert!(fit(&whole, too_long.least).is_ok(), "with room for that much, it would do");
            }
        }
    }
}

#[test]
fn what_is_old_gives_way_first() {
    let results = |size| vec![Step::Tools(vec![size]), Step::Words(1)];
    let whole = prompt(&[(5, results(500)), (5, results(500)), (5, results(500))]);
    let given_way = |prompt: &Prompt| -> Vec<bool> {
        let results = prompt.messages.iter().filter_map(|message| match message {
            Message::Tool { content, .. } => Some(content),
            _ => None,
        });
        results
            .map(|content| matches!(&content[..], [ContentPart::Text(text)] if text.starts_with("[left out")))
            .collect()
    };
    let all = of_prompt(&whole);
    assert_eq!(given_way(&fit(&whole, all).unwrap()), [false, false, false]);
    assert_eq!(given_way(&fit(&whole, all - 1).unwrap()), [true, false, false]);
    assert_eq!(given_way(&fit(&whole, all / 2).unwrap()), [true, true, false]);
    assert_eq!(given_way(&fit(&whole, 600).unwrap()), [true], "of the turn under way, only its results give way");
    fit(&whole, 50).unwrap_err();
}

#[test]
fn an_interrupt_does_not_part_a_turn_from_what_was_asked() {
    let steps = vec![Step::Tools(vec![10]), Step::Interrupt(1), Step::Tools(vec![10])];
    let whole = prompt(&[(50, Vec::new()), (5, steps)]);
    let fitted = fit(&whole, of_prompt(&whole) - 1).unwrap();
    let asked = fitted.messages.iter().filter(|message| matches!(message, Message::User(_))).count();
    assert_eq!(asked, 2, "what was asked and the interrupt");
}

#[test]
fn a_history_that_grows_keeps_its_beginning_for_many_turns() {
    let steps = || vec![Step::Words(4)];
    let turns: Vec<_> = (0..120).map(|_| (4, steps())).collect();
    let budget = of_prompt(&prompt(&turns[..40]));
    let mut before: Vec<Message> = Vec::new();
    let mut changes = 0;
    for count in 1..=turns.len() {
        let whole = prompt(&turns[..count]);
        let fitted = fit(&whole, budget).unwrap().into_owned();
        // But for the last message, which is about the turn under way.
        let (_, shown) = fitted.messages.split_last().unwrap();
        changes += usize::from(!shown.starts_with(&before));
        before = shown.to_vec();
    }
    assert!(changes <= 10, "the beginning changed {changes} times in 120 turns");
}
