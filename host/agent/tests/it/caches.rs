//! Vendors keep the beginning of a prompt that they have seen: what was shown once stays where it is, byte by byte.

use homeagent_types::Effect;
use homeagent_types::model::{Message, Prompt};
use homeagent_types::stage::{HandlerMode, Patch, Stage};

use crate::fake::{FakePlugins, answer, call, stage};
use crate::home::{Home, finished, soon};

/// The messages up to the one that was said last.
fn up_to_last_said(prompt: &Prompt) -> &[Message] {
    let last = prompt.messages.iter().rposition(|message| matches!(message, Message::User(_)));
    &prompt.messages[..=last.expect("somebody said something")]
}

/// Plays turns with rounds of tools, and returns all prompts.
async fn prompts(home: &Home) -> Vec<Prompt> {
    home.plugins.offer_echo("look", Effect::Read);
    let mut prompts = Vec::new();
    for turn in 0..4 {
        let mut asked = home.ask(&format!("question {turn}")).await;
        for round in 0..3 {
            let model = soon(home.models.next()).await;
            prompts.push(model.prompt.clone());
            model.end(match round {
                2 => answer("so it is"),
                _ => call("look", &format!("{{\"n\":{turn}{round}}}")),
            });
        }
        finished(&mut asked).await;
    }
    prompts
}

#[tokio::test]
async fn each_prompt_goes_on_where_the_one_before_ended() {
    let home = Home::new().await;
    for pair in prompts(&home).await.windows(2) {
        let [before, after] = pair else { unreachable!("windows of two") };
        assert!(after.messages.starts_with(&before.messages), "{before:#?}\n{after:#?}");
        assert_eq!(before.tools, after.tools);
    }
}

#[tokio::test]
async fn what_handlers_add_to_a_turn_changes_nothing_before_it() {
    let home = Home::with(FakePlugins::new(), |_| {}).await;
    let count = std::sync::atomic::AtomicU32::new(0);
    home.plugins.offer_stage("memory", stage(Stage::PreAction, HandlerMode::Add, 0), move |_| {
        let count = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(vec![Patch::AddSystem(format!("Remembered for turn {count}."))])
    });
    for pair in prompts(&home).await.windows(2) {
        let [before, after] = pair else { unreachable!("windows of two") };
        assert!(after.messages.starts_with(up_to_last_said(before)), "{before:#?}\n{after:#?}");
        let Some((Message::System(_), shown)) = before.messages.split_last() else { panic!("nothing was added") };
        assert!(after.messages.starts_with(shown), "{before:#?}\n{after:#?}");
    }
}

#[tokio::test]
async fn a_new_life_shows_what_the_one_before_showed() {
    let home = Home::new().await;
    let before = prompts(&home).await.pop().expect("there are prompts");
    soon(home.agent.shutdown()).await;
    let Home { folder, plugins, .. } = home;
    let home = Home::open(folder, plugins, |_| {}).await;
    let mut asked = home.ask("and now?").await;
    let model = soon(home.models.next()).await;
    assert!(model.prompt.messages.starts_with(&before.messages), "{before:#?}\n{:#?}", model.prompt);
    model.end(answer("the same"));
    finished(&mut asked).await;
}
