//! What a sudden end of the daemon costs: what was only thought about is thought about again, what was done is not done
//! twice.

use std::sync::Arc;

use homeagent_journal::EventKind;
use homeagent_types::model::Message;
use homeagent_types::{Effect, OutputKind};

use crate::fake::{Asked, FakePlugins, answer, call, channel};
use crate::home::{Home, soon};

fn plugins() -> Arc<FakePlugins> {
    let plugins = FakePlugins::new();
    plugins.offer_channel(channel("cli"));
    plugins.offer_echo("look", Effect::Read);
    plugins.offer_echo("act", Effect::World);
    plugins
}

/// The daemon dies while the model is asked: nothing is flushed, nothing is closed. What ran in it hangs for ever, as if
/// its threads were gone.
async fn die(home: Home, asked: Asked) -> Home {
    let Home { folder, agent, .. } = home;
    std::mem::forget((agent, asked));
    Home::open(folder, plugins(), |_| {}).await
}

/// Everything but what the host says.
fn history(asked: &Asked) -> Vec<&Message> {
    asked.prompt.messages.iter().filter(|message| !matches!(message, Message::System(_))).collect()
}

#[tokio::test]
async fn a_turn_that_had_only_looked_is_begun_anew_with_every_word_once() {
    let home = Home::with(plugins(), |_| {}).await;
    home.say("me", "what is new?").await;
    soon(home.models.next()).await.end(call("look", "{}"));
    let asked = soon(home.models.next()).await;
    assert_eq!(asked.results().len(), 1);

    let home = die(home, asked).await;
    let asked = soon(home.models.next()).await;
    assert_eq!(history(&asked).len(), 1, "neither the call nor its result is left: {:?}", history(&asked));
    assert_eq!(asked.said(), ["what is new?"]);
    asked.end(answer("nothing"));
    assert_eq!(soon(home.plugins.next_output()).await.text, "nothing");
    home.say("me", "sure?").await;
    let asked = soon(home.models.next()).await;
    assert_eq!(asked.said(), ["what is new?", "sure?"]);
    asked.end(answer("sure"));
    soon(home.plugins.next_output()).await;
    assert!(home.models.try_next().await.is_none(), "answered once");
}

#[tokio::test]
async fn a_turn_that_had_acted_is_history() {
    let home = Home::with(plugins(), |_| {}).await;
    home.say("me", "switch it on").await;
    soon(home.models.next()).await.end(call("act", "{}"));
    let asked = soon(home.models.next()).await;

    let home = die(home, asked).await;
    home.say("me", "is it on?").await;
    let asked = soon(home.models.next()).await;
    assert_eq!(asked.said(), ["switch it on", "is it on?"]);
    assert_eq!(asked.results().len(), 1);
    asked.end(answer("it is"));
    assert_eq!(soon(home.plugins.next_output()).await.text, "it is");
}

#[tokio::test]
async fn what_interrupted_the_turn_is_answered_too() {
    let home = Home::with(plugins(), |_| {}).await;
    home.say("me", "one").await;
    let first = soon(home.models.next()).await;
    home.interrupt("me", "two").await;
    let asked = soon(home.models.next()).await;
    assert_eq!(asked.said(), ["one", "[打断消息] two"]);
    drop(first);

    let home = die(home, asked).await;
    let asked = soon(home.models.next()).await;
    assert_eq!(asked.said(), ["one"], "each has a turn of its own now: one of them may be what the daemon died of");
    asked.end(answer("first"));
    assert_eq!(soon(home.plugins.next_output()).await.text, "first");
    let asked = soon(home.models.next()).await;
    assert_eq!(asked.said(), ["one", "two"]);
    asked.end(answer("second"));
    assert_eq!(soon(home.plugins.next_output()).await.text, "second");
    assert!(home.models.try_next().await.is_none());
}

#[tokio::test]
async fn what_the_daemon_dies_of_again_and_again_is_closed_and_its_sender_told() {
    let mut home = Home::with(plugins(), |_| {}).await;
    let input = home.say("ann", "the deadly question").await;
    for _ in 0..3 {
        let asked = soon(home.models.next()).await;
        assert_eq!(asked.said(), ["the deadly question"]);
        home = die(home, asked).await;
    }
    let output = soon(home.plugins.next_output()).await;
    assert_eq!(output.kind, OutputKind::Notice("crashed".to_owned()));
    assert_eq!(output.conversation.to_string(), "cli:ann");
    assert!(output.text.contains("\"the deadly question\""), "{}", output.text);
    let session = home.journal.current_session("cli:ann").await.unwrap();
    let events = home.journal.session_events(&session, true, 0, 100).await.unwrap();
    let refused = events.iter().find(|event| event.kind == EventKind::InputRefused).expect("it is recorded");
    assert_eq!((&refused.payload["input_id"], &refused.payload["code"]), (&input.into(), &"crashed".into()));
    home.say("ann", "another").await;
    let asked = soon(home.models.next()).await;
    assert_eq!(asked.said(), ["another"], "the model is not shown it any more");
    asked.end(answer("well"));
    assert_eq!(soon(home.plugins.next_output()).await.text, "well");
    assert!(home.journal.recover().await.unwrap().pending_inputs.is_empty());
}

#[tokio::test]
async fn what_the_clean_stop_has_told_of_is_not_taken_again() {
    let home = Home::with(plugins(), |settings| settings.set("core.agent.drain_ms", 0).unwrap()).await;
    home.say("me", "a long question").await;
    let model = soon(home.models.next()).await;
    soon(home.agent.shutdown()).await;
    let output = soon(home.plugins.next_output()).await;
    assert_eq!(output.kind, OutputKind::Notice("shutting-down".to_owned()));

    let home = die(home, model).await;
    home.say("me", "another").await;
    let asked = soon(home.models.next()).await;
    assert_eq!(asked.said(), ["a long question", "another"]);
    asked.end(answer("well"));
    assert_eq!(soon(home.plugins.next_output()).await.text, "well");
}
