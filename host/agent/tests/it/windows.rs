//! Whatever happens in turns, what a model is shown is a valid sequence.

use std::collections::HashSet;

use homeagent_agent::Ask;
use homeagent_settings::Settings;
use homeagent_types::model::{FailureClass, Message};
use homeagent_types::{Conversation, Effect};
use proptest::prelude::*;

use crate::fake::{Asked, FakePlugins, answer, calls, channel, failure};
use crate::home::{Home, finished, owner, soon};

/// Each call has its result before anything else follows; no result is without its call; a person speaks first.
fn assert_valid(messages: &[Message]) {
    let history: Vec<&Message> = messages.iter().filter(|message| !matches!(message, Message::System(_))).collect();
    assert!(matches!(history.first(), Some(Message::User(_))), "a person speaks first: {history:?}");
    let mut open: HashSet<&str> = HashSet::new();
    for message in &history {
        match message {
            Message::Tool { call, .. } => assert!(open.remove(call.as_str()), "a result without its call: {history:?}"),
            other => {
                assert!(open.is_empty(), "a call without its result: {history:?}");
                if let Message::Assistant { tool_calls, .. } = other {
                    open = tool_calls.iter().map(|call| call.id.as_str()).collect();
                    assert_eq!(open.len(), tool_calls.len(), "ids are unique");
                }
            }
        }
    }
    assert!(open.is_empty(), "a call without its result: {history:?}");
}

/// What happens at a call of the model.
#[derive(Clone, Debug)]
enum Step {
    Answer,
    Empty,
    /// So many calls, of tools that succeed, fail, do not exist, or are wrongly called.
    Tools(Vec<u8>),
    /// A tool hangs, and the turn is stopped.
    ToolsThenStop,
    Fail,
    Interrupt,
    Stop,
    Panic,
    /// The agent dies and another takes its place.
    Die,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => Just(Step::Answer),
        1 => Just(Step::Empty),
        6 => prop::collection::vec(0u8..6, 1..4).prop_map(Step::Tools),
        1 => Just(Step::ToolsThenStop),
        1 => Just(Step::Fail),
        2 => Just(Step::Interrupt),
        2 => Just(Step::Stop),
        1 => Just(Step::Panic),
        1 => Just(Step::Die),
    ];
    prop::collection::vec(step, 1..24)
}

fn plugins() -> std::sync::Arc<FakePlugins> {
    let plugins = FakePlugins::new();
    plugins.offer_channel(channel("cli"));
    plugins.offer_echo("read", Effect::Read);
    plugins.offer_echo("own", Effect::Own);
    plugins.offer_tool("bad", crate::fake::tool("fail", Effect::Read), |_, _| {
        Box::pin(async { Err(homeagent_types::CallError::Other("no".to_owned())) })
    });
    let hanging = std::sync::Arc::clone(&plugins.hangs);
    plugins.offer_tool("hang", crate::fake::tool("hang", Effect::Own), move |_, _| {
        hanging.notify_one();
        Box::pin(std::future::pending())
    });
    plugins
}

fn set(settings: &Settings) {
    settings.set("core.agent.window_events", 8).unwrap();
    settings.set("core.agent.rounds", 3).unwrap();
}

/// The next call of the model; where nothing is going on, a turn is begun.
async fn next(home: &Home, turn: &mut Option<homeagent_agent::Asked>) -> Asked {
    loop {
        if turn.is_none() {
            let ask = Ask::text("go on", Conversation::person("cli", "me"), owner());
            *turn = Some(home.agent.ask(ask).await.unwrap());
        }
        let Some(waiting) = turn.as_mut() else { continue };
        tokio::select! {
            biased;
            asked = soon(home.models.next()) => {
                assert_valid(&asked.prompt.messages);
                return asked;
            }
            _ = finished(waiting) => *turn = None,
        }
    }
}

async fn play(steps: Vec<Step>) {
    let mut home = Home::with(plugins(), set).await;
    let mut turn = None;
    for (at, step) in steps.into_iter().enumerate() {
        let asked = next(&home, &mut turn).await;
        match step {
            Step::Answer => asked.end(answer("so it is")),
            Step::Empty => asked.end(answer("")),
            Step::Fail => asked.fail(failure("It failed.", FailureClass::Network)),
            Step::Panic => asked.panic(),
            Step::Tools(which) => {
                let args = format!("{{\"n\":{at}}}");
                let of = |kind: &u8| match kind {
                    0 | 1 => ("read", args.as_str()),
                    2 => ("own", args.as_str()),
                    3 => ("fail", args.as_str()),
                    4 => ("missing", "{}"),
                    _ => ("read", "{\"n\":"),
                };
                asked.end(calls(&which.iter().map(of).collect::<Vec<_>>()));
            }
            Step::ToolsThenStop => {
                asked.end(calls(&[("read", "{}"), ("hang", "{}"), ("own", "{}")]));
                let Some(waiting) = turn.as_mut() else { unreachable!("the model was asked in a turn") };
                tokio::select! {
                    biased;
                    () = home.plugins.hangs.notified() => drop(home.agent.stop_run(None)),
                    // A limit kept the tools from running.
                    next = soon(home.models.next()) => next.end(answer("well")),
                    _ = finished(waiting) => turn = None,
                }
            }
            Step::Interrupt => {
                asked.piece("hal");
                home.interrupt("me", "wait").await;
                // Of no effect where the interrupt has cancelled the call.
                asked.end(answer("well"));
            }
            Step::Stop => {
                asked.piece("hal");
                home.agent.stop_run(None);
                asked.end(answer("too late"));
            }
            Step::Die => {
                let Home { folder, .. } = home;
                // What runs in it hangs for ever, as if its threads were gone.
                std::mem::forget(asked);
                home = Home::open(folder, plugins(), set).await;
                turn = None;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_window_is_always_valid(steps in steps()) {
        tokio::runtime::Runtime::new().unwrap().block_on(play(steps));
    }
}
