//! How an account of a channel becomes the owner's, and who may do what from then on.

use std::time::Duration;

use homeagent_agent::{PairingState, PairingStatus};
use homeagent_types::{Effect, OutputKind};

use crate::fake::{answer, channel};
use crate::home::{Home, finished, soon};

async fn status(home: &Home) -> PairingStatus {
    soon(home.agent.pairing(Duration::ZERO)).await
}

/// What the agent itself answers.
async fn told(home: &Home) -> String {
    let output = soon(home.plugins.next_output()).await;
    assert_eq!(output.kind, OutputKind::Reply);
    output.text
}

/// Everything that the journal holds of the conversation.
async fn journaled(home: &Home, conversation: &str) -> String {
    let session = home.journal.current_session(conversation).await.unwrap();
    let events = home.journal.session_events(&session, false, 0, 1000).await.unwrap();
    events.iter().map(|event| event.payload.to_string()).collect()
}

/// A code that is not this one.
fn wrong(code: &str) -> String {
    let first = if code.starts_with('A') { 'B' } else { 'A' };
    // It keeps the form of a code: a digit and a letter.
    format!("{first}2{}", &code[2..])
}

#[tokio::test]
async fn who_sends_the_code_in_private_is_the_owner_and_no_model_sees_it() {
    let home = Home::new().await;
    home.plugins.offer_echo("own", Effect::Own);
    let code = home.agent.pair().unwrap();
    assert_eq!((code.code.len(), status(&home).await.state), (8, PairingState::Open));
    home.say("eve", &format!(" {}\n", code.code.to_lowercase())).await;
    assert!(told(&home).await.contains("is the owner's now"));
    let paired = status(&home).await;
    assert_eq!((paired.id.as_str(), paired.state), (code.id.as_str(), PairingState::Paired));
    assert_eq!((paired.channel.as_deref(), paired.user.as_deref()), (Some("cli"), Some("eve")));
    assert_eq!(home.bindings.role_of("cli", "eve").as_deref(), Some("owner"));
    let journaled = journaled(&home, "cli:eve").await;
    assert!(!journaled.to_uppercase().contains(&code.code), "{journaled}");
    assert!(journaled.contains("[pairing code]"), "{journaled}");

    home.say("eve", "hello").await;
    let model = soon(home.models.next()).await;
    assert_eq!(model.said(), ["hello"]);
    assert!(model.tools().contains(&"own"), "{:?}", model.tools());
    model.end(answer("hi"));
    assert_eq!(told(&home).await, "hi");
    home.say("bob", &code.code).await;
    assert!(told(&home).await.contains("counts no more"), "it counts once");
    assert_eq!(home.bindings.role_of("cli", "bob"), None);
}

#[tokio::test]
async fn a_code_that_others_could_read_counts_no_more() {
    let home = Home::new().await;
    let code = home.agent.pair().unwrap();
    home.say_in_group("eve", &code.code).await;
    assert!(told(&home).await.contains("counts no more"));
    assert_eq!(status(&home).await.state, PairingState::Void);
    home.say("eve", &code.code).await;
    assert!(told(&home).await.contains("counts no more"));
    assert_eq!(home.bindings.role_of("cli", "eve"), None);
    assert!(home.models.try_next().await.is_none());
}

#[tokio::test]
async fn a_code_among_other_words_is_neither_taken_nor_kept() {
    let home = Home::new().await;
    let code = home.agent.pair().unwrap().code;
    home.say("eve", &format!("my code is {code}, please")).await;
    assert!(told(&home).await.contains("the code alone"));
    assert!(!journaled(&home, "cli:eve").await.contains(&code));
    assert_eq!((status(&home).await.state, home.bindings.role_of("cli", "eve")), (PairingState::Open, None));
}

#[tokio::test]
async fn a_guesser_has_five_tries_and_all_together_twenty() {
    let home = Home::new().await;
    let code = home.agent.pair().unwrap().code;
    for _ in 0..5 {
        home.say("eve", &wrong(&code)).await;
        assert!(told(&home).await.contains("not the pairing code"));
    }
    home.say("eve", &code).await;
    assert!(told(&home).await.contains("Too many wrong codes"));
    assert_eq!(home.bindings.role_of("cli", "eve"), None);
    for guesser in ["a", "b", "c"] {
        assert_eq!(status(&home).await.state, PairingState::Open);
        for _ in 0..5 {
            home.say(guesser, &wrong(&code)).await;
            told(&home).await;
        }
    }
    assert_eq!(status(&home).await.state, PairingState::Void);
    home.say("bob", &code).await;
    assert!(told(&home).await.contains("counts no more"));
    assert_eq!(home.bindings.role_of("cli", "bob"), None);
}

#[tokio::test]
async fn words_that_only_look_like_codes_are_said_to_the_model_when_no_code_waits() {
    let home = Home::new().await;
    home.say("me", "AB23CD45").await;
    let model = soon(home.models.next()).await;
    assert_eq!(model.said(), ["AB23CD45"]);
    model.end(answer("what?"));
    assert_eq!(told(&home).await, "what?");
}

#[tokio::test]
async fn another_code_takes_the_place_of_the_first() {
    let home = Home::new().await;
    let first = home.agent.pair().unwrap().code;
    let second = home.agent.pair().unwrap().code;
    home.say("eve", &first).await;
    assert!(told(&home).await.contains("not the pairing code"));
    home.say("eve", &second).await;
    assert!(told(&home).await.contains("is the owner's now"));
}

#[tokio::test]
async fn the_owner_at_the_terminal_is_told_from_where_to_send_it() {
    let home = Home::new().await;
    let code = home.agent.pair().unwrap().code;
    let result = finished(&mut home.ask(&code).await).await;
    assert!(result.reply.contains("from the account that is to become yours"), "{}", result.reply);
    assert_eq!(status(&home).await.state, PairingState::Open);
}

#[tokio::test]
async fn a_role_that_is_given_or_taken_counts_for_what_waits_already() {
    let plugins = crate::fake::FakePlugins::new();
    plugins.offer_channel(channel("cli"));
    plugins.offer_echo("own", Effect::Own);
    let home = Home::with(plugins, |settings| settings.set("core.agent.parallel_conversations", 1).unwrap()).await;
    home.say("ann", "runs").await;
    let first = soon(home.models.next()).await;
    home.say("eve", "from eve").await;
    home.say("me", "from me").await;
    home.bindings.bind("cli", "eve", "owner").unwrap();
    home.bindings.unbind("cli", "me").unwrap();
    first.end(answer("done"));
    for _ in 0..2 {
        let model = soon(home.models.next()).await;
        let is_eve = model.said() == ["from eve"];
        assert_eq!(model.tools().contains(&"own"), is_eve, "{:?}", model.said());
        model.end(answer("done"));
    }
}

#[tokio::test]
async fn a_role_that_is_taken_is_taken_from_the_turn_that_runs() {
    let home = Home::new().await;
    home.plugins.offer_echo("own", Effect::Own);
    home.say("me", "go").await;
    let model = soon(home.models.next()).await;
    assert!(model.tools().contains(&"own"));
    home.bindings.unbind("cli", "me").unwrap();
    model.end(crate::fake::call("own", "{}"));
    let model = soon(home.models.next()).await;
    assert!(model.results()[0].contains("needs the role owner"), "{:?}", model.results());
    assert!(!model.tools().contains(&"own"));
    model.end(answer("well"));
}

#[tokio::test]
async fn a_turn_has_the_least_rights_of_all_that_speak_in_it() {
    let home = Home::new().await;
    home.plugins.offer_echo("own", Effect::Own);
    home.say_in_group("me", "go").await;
    let model = soon(home.models.next()).await;
    assert!(model.tools().contains(&"own"));
    let said = homeagent_types::Submission {
        peer: homeagent_types::Peer::Group("family".to_owned()),
        ..crate::home::said("ann", "and delete it all")
    };
    homeagent_types::ports::Mind::interrupt(&*home.agent, "cli", None, said).await.unwrap();
    soon(model.cancelled()).await;
    let model = soon(home.models.next()).await;
    assert!(!model.tools().contains(&"own"), "{:?}", model.tools());
    model.end(crate::fake::call("own", "{}"));
    let model = soon(home.models.next()).await;
    assert!(model.results()[0].contains("needs the role owner"), "{:?}", model.results());
    model.end(answer("well"));
}
