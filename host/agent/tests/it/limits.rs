use homeagent_settings::Settings;
use homeagent_types::Effect;
use homeagent_types::stage::{HandlerMode, Patch, Stage, StageData};

use crate::fake::{FakePlugins, answer, call, calls, stage};
use crate::home::{Home, finished, soon};

async fn limited(key: &'static str, value: i64) -> Home {
    let home = Home::with(FakePlugins::new(), |settings: &Settings| settings.set(key, value).unwrap()).await;
    home.plugins.offer_echo("look", Effect::Read);
    home.plugins.offer_echo("other", Effect::Read);
    home
}

#[tokio::test]
async fn the_rounds_of_a_turn_are_limited_and_that_is_said() {
    let home = limited("core.agent.rounds", 2).await;
    let mut last = calls(&[("look", "{\"n\":3}"), ("other", "{}")]);
    last.text = "Let me see.".to_owned();
    let result = home.turn("go", vec![call("look", "{\"n\":1}"), call("look", "{\"n\":2}"), last]).await;
    assert_eq!((result.finish.as_str(), result.tool_rounds), ("rounds", 2));
    assert!(result.reply.starts_with("Let me see.\n\n"), "{}", result.reply);
    assert!(result.reply.contains("2 rounds") && result.reply.ends_with("look, other."), "{}", result.reply);
    home.works().await;
}

#[tokio::test]
async fn identical_calls_in_a_row_break_the_turn() {
    let home = limited("core.agent.identical_calls", 2).await;
    // The same in another spelling is the same.
    let answers = vec![call("look", "{\"n\":1}"), call("look", "{ \"n\": 1 }"), call("look", "{\"n\":1}")];
    let result = home.turn("go", answers).await;
    assert_eq!((result.finish.as_str(), result.tool_rounds), ("identical-calls", 2));
    assert!(result.reply.contains("look was called 2 times in a row"), "{}", result.reply);
    home.works().await;
}

#[tokio::test]
async fn calls_that_alternate_do_not() {
    let home = limited("core.agent.identical_calls", 1).await;
    let answers = vec![call("look", "{}"), call("other", "{}"), call("look", "{}"), answer("done")];
    assert_eq!(home.turn("go", answers).await.finish, "stop");
}

#[tokio::test]
async fn calls_that_come_again_and_again_to_the_same_result_break_the_turn() {
    let home = limited("core.agent.identical_calls", 2).await;
    let (a, b) = (("look", "{\"n\":1,\"m\":2}"), ("other", "{}"));
    // Alternating, side by side, and in another order and spelling.
    let answers = vec![
        calls(&[a, b]),
        call("other", " {} "),
        calls(&[("look", "{ \"m\": 2, \"n\": 1 }"), b, a]),
        calls(&[("other", "{\"n\":3}"), a]),
    ];
    let result = home.turn("go", answers).await;
    assert_eq!((result.finish.as_str(), result.tool_rounds), ("identical-calls", 3));
    assert!(result.reply.contains("look was called 3 times with the same arguments"), "{}", result.reply);
    home.works().await;
}

#[tokio::test]
async fn an_interrupt_does_not_hide_a_loop() {
    let home = Home::new().await;
    home.settings.set("core.agent.identical_calls", 2).unwrap();
    home.plugins.offer_echo("look", Effect::Read);
    home.say("me", "go").await;
    soon(home.models.next()).await.end(call("look", "{}"));
    soon(home.models.next()).await.end(call("look", "{}"));
    let model = soon(home.models.next()).await;
    home.interrupt("me", "well?").await;
    soon(model.cancelled()).await;
    soon(home.models.next()).await.end(call("look", "{}"));
    let output = soon(home.plugins.next_output()).await;
    assert!(output.text.contains("2 times in a row"), "{}", output.text);
}

#[tokio::test]
async fn calls_whose_result_changes_go_on() {
    let home = limited("core.agent.identical_calls", 2).await;
    let count = std::sync::atomic::AtomicU32::new(0);
    home.plugins.offer_tool("clock", crate::fake::tool("clock", Effect::Read), move |_, _| {
        let count = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Box::pin(async move { Ok(homeagent_types::ToolOutput::text(&format!("tick {count}"))) })
    });
    let mut answers: Vec<_> = (0..6).map(|at| call(if at % 2 == 0 { "clock" } else { "look" }, "{}")).collect();
    answers.truncate(5);
    answers.push(answer("done"));
    assert_eq!(home.turn("go", answers).await.finish, "stop");
}

#[tokio::test]
async fn a_tool_that_fails_the_same_way_again_and_again_breaks_the_turn() {
    let home = limited("core.agent.identical_calls", 2).await;
    home.plugins.offer_tool("light", crate::fake::tool("light", Effect::Read), |args, _| {
        Box::pin(async move { Err(homeagent_types::CallError::NotFound(format!("the light {args}"))) })
    });
    let answers = (0..5).map(|at| call("light", &format!("{{\"n\":{at}}}"))).collect();
    let result = home.turn("go", answers).await;
    assert_eq!((result.finish.as_str(), result.tool_rounds), ("identical-errors", 4));
    assert!(result.reply.contains("light failed 4 times in the same way"), "{}", result.reply);
    home.works().await;
}

#[tokio::test]
async fn many_calls_of_one_answer_do_not_all_fail_in_the_same_way() {
    let home = limited("core.agent.identical_calls", 2).await;
    let count = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let runs = std::sync::Arc::clone(&count);
    home.plugins.offer_tool("light", crate::fake::tool("light", Effect::Own), move |args, _| {
        runs.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Box::pin(async move { Err(homeagent_types::CallError::NotFound(format!("the light {args}"))) })
    });
    let mut asked = home.ask("go").await;
    let arguments: Vec<String> = (0..30).map(|at| format!("{{\"n\":{at}}}")).collect();
    let wanted: Vec<(&str, &str)> = arguments.iter().map(|args| ("light", args.as_str())).collect();
    soon(home.models.next()).await.end(calls(&wanted));
    let model = soon(home.models.next()).await;
    assert_eq!(model.results().len(), 30, "each call has its result");
    assert!(model.results()[29].contains("failed 4 times in the same way"), "{}", model.results()[29]);
    model.end(answer("There are no such lights."));
    assert_eq!(finished(&mut asked).await.finish, "stop");
    assert_eq!(count.load(std::sync::atomic::Ordering::Relaxed), 4);
}

#[tokio::test]
async fn the_tokens_of_a_turn_are_limited_and_that_is_said() {
    let home = limited("core.agent.turn_tokens", 2000).await;
    let dear = |n: u32| {
        let mut answer = call("look", &format!("{{\"n\":{n}}}"));
        answer.usage = Some(homeagent_types::model::Usage { input: 1500, output: 1, ..Default::default() });
        answer
    };
    let result = home.turn("go", vec![dear(1), dear(2)]).await;
    assert_eq!((result.finish.as_str(), result.tool_rounds), ("tokens", 1));
    assert!(result.reply.contains("2000 tokens, and this one took 3002"), "{}", result.reply);
    home.works().await;
    // A vendor that tells no numbers is no way around it.
    let mut long = call("look", "{}");
    (long.usage, long.text) = (None, "word ".repeat(3000));
    assert_eq!(home.turn("go", vec![long]).await.finish, "tokens");
}

#[tokio::test]
async fn long_results_are_cut_at_a_character() {
    let home = limited("core.agent.max_tool_result_bytes", 1024).await;
    home.plugins.offer_tool("long", crate::fake::tool("long", Effect::Read), |_, _| {
        Box::pin(async { Ok(homeagent_types::ToolOutput::text(&"汉".repeat(1000))) })
    });
    let mut asked = home.ask("go").await;
    soon(home.models.next()).await.end(call("long", "{}"));
    let model = soon(home.models.next()).await;
    let result = model.results().remove(0);
    assert_eq!(result.matches('汉').count(), 341);
    assert!(result.contains("the result has 3000 bytes, of which 1023 are shown"), "{result}");
    model.end(answer("ok"));
    finished(&mut asked).await;
}

#[tokio::test]
async fn long_arguments_are_not_run() {
    let home = limited("core.agent.max_arguments_bytes", 1024).await;
    let mut asked = home.ask("go").await;
    let long = format!("{{\"n\":{}}}", "1".repeat(2000));
    soon(home.models.next()).await.end(call("look", &long));
    let model = soon(home.models.next()).await;
    assert!(model.results()[0].contains("at most 1024 are taken"));
    model.end(answer("ok"));
    finished(&mut asked).await;
}

#[tokio::test]
async fn an_answer_that_grows_too_long_is_cut() {
    let home = limited("core.agent.max_reply_bytes", 1024).await;
    let mut asked = home.ask("go").await;
    let model = soon(home.models.next()).await;
    model.piece(&"汉".repeat(400));
    soon(model.cancelled()).await;
    let result = finished(&mut asked).await;
    let words = result.reply.strip_suffix("\n[unfinished: the answer was cut off here]").expect("it says so");
    assert_eq!((result.finish.as_str(), words.chars().count()), ("length", 341));
    home.works().await;
}

#[tokio::test]
async fn what_was_cut_is_judged_like_any_answer() {
    let home = limited("core.agent.max_reply_bytes", 1024).await;
    home.plugins.offer_stage("editor", stage(Stage::PostAction, HandlerMode::Rewrite, 0), |context| {
        let StageData::Answer(answer) = context.data else { panic!("no answer") };
        Ok(vec![Patch::SetText(answer.text.replace("zebra", "***"))])
    });
    let mut asked = home.ask("go").await;
    let model = soon(home.models.next()).await;
    model.piece("zebra");
    model.piece(&"x".repeat(2000));
    soon(model.cancelled()).await;
    let result = finished(&mut asked).await;
    assert_eq!(result.finish, "length");
    assert!(result.reply.starts_with("***x"), "{}", result.reply);
    let events = home.events(&result.run).await;
    assert!(events.iter().all(|event| !event.payload.to_string().contains("zebra")), "nor in the journal");
}

#[tokio::test]
async fn a_turn_that_takes_too_long_is_ended() {
    let home = limited("core.agent.turn_seconds", 1).await;
    let mut asked = home.ask("go").await;
    let model = soon(home.models.next()).await;
    soon(model.cancelled()).await;
    let result = finished(&mut asked).await;
    assert_eq!((result.finish.as_str(), result.error.unwrap().code.as_str()), ("timeout", "timeout"));
    home.works().await;
}

#[tokio::test]
async fn a_tool_that_says_itself_that_it_failed_breaks_the_turn_just_so() {
    let home = limited("core.agent.identical_calls", 2).await;
    home.plugins.offer_tool("light", crate::fake::tool("light", Effect::Own), |args, _| {
        let output = homeagent_types::ToolOutput::text(&format!("there is no light {args}"));
        Box::pin(async move { Ok(homeagent_types::ToolOutput { failed: true, ..output }) })
    });
    let answers = (0..5).map(|at| call("light", &format!("{{\"n\":{at}}}"))).collect();
    let result = home.turn("go", answers).await;
    assert_eq!((result.finish.as_str(), result.tool_rounds), ("identical-errors", 4));
    home.works().await;
}
