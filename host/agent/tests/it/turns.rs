use homeagent_agent::{TurnEvent, TurnResult};
use homeagent_journal::{EventKind, RunStatus};
use homeagent_types::model::{FailureClass, FinishReason, Message, Usage};
use homeagent_types::stage::{HandlerMode, Patch, Stage};
use homeagent_types::{Effect, OutputKind, Shown};

use crate::fake::{answer, call, failure, stage};
use crate::home::{Home, finished, soon};

#[tokio::test]
async fn a_message_is_answered_where_it_was_said() {
    let home = Home::new().await;
    let input = home.say("me", "hello").await;
    let asked = soon(home.models.next()).await;
    assert_eq!(asked.said(), ["hello"]);
    asked.end(answer("hi"));
    let output = soon(home.plugins.next_output()).await;
    assert_eq!((output.text.as_str(), &output.kind), ("hi", &OutputKind::Reply));
    assert_eq!(output.conversation.to_string(), "cli:me");
    let run = output.run.unwrap();
    soon(home.agent.shutdown()).await;
    let kinds = home.kinds(&run).await;
    let wanted = [
        EventKind::RunStarted,
        EventKind::UserMessageAdded,
        EventKind::SystemPromptSnapshotted,
        EventKind::ToolSelectionSnapshotted,
        EventKind::ModelCalled,
        EventKind::AssistantMessageAdded,
        EventKind::OutputQueued,
        EventKind::OutputSent,
        EventKind::RunCompleted,
    ];
    assert_eq!(kinds, wanted);
    assert_eq!(home.events(&run).await[0].payload["inputs"][0], input);
}

#[tokio::test]
async fn those_who_wait_see_the_answer_grow_and_get_the_result() {
    let home = Home::new().await;
    let mut asked = home.ask("tell me").await;
    let model = soon(home.models.next()).await;
    model.piece("on");
    model.piece("e");
    model.end(answer("one"));
    let mut seen = String::new();
    let result = loop {
        match soon(asked.events.recv()).await.unwrap() {
            TurnEvent::Delta(Shown::Text(text)) => seen.push_str(&text),
            TurnEvent::Finished(result) => break result,
            _ => {}
        }
    };
    assert_eq!(seen, "one");
    assert_eq!(
        result,
        TurnResult {
            reply: "one".to_owned(),
            finish: "stop".to_owned(),
            source: Some("main".to_owned()),
            model: Some("fake-1".to_owned()),
            usage: Usage { input: 10, output: 2, cached: None, cache_written: None },
            session: result.session.clone(),
            run: result.run.clone(),
            ..TurnResult::default()
        }
    );
}

#[tokio::test]
async fn the_prompt_is_persona_rules_and_history_with_the_time_behind_what_is_said() {
    let home = Home::new().await;
    std::fs::write(home.folder.path().join("personal.md"), "You are 小满.").unwrap();
    home.turn("one", vec![answer("1")]).await;
    let mut asked = home.ask("two").await;
    let model = soon(home.models.next()).await;
    let kinds: Vec<&str> = model
        .prompt
        .messages
        .iter()
        .map(|message| match message {
            Message::System(_) => "system",
            Message::User(_) => "user",
            Message::Assistant { .. } => "assistant",
            Message::Tool { .. } => "tool",
        })
        .collect();
    assert_eq!(kinds, ["system", "system", "user", "system", "assistant", "user", "system"]);
    assert_eq!(model.prompt.messages[0], Message::System("You are 小满.".to_owned()));
    assert!(model.last_system().starts_with("It is "));
    assert!(model.tools().is_sorted());
    // A changed persona is read again.
    std::fs::write(home.folder.path().join("personal.md"), "You are somebody else.").unwrap();
    model.end(answer("2"));
    finished(&mut asked).await;
    let mut asked = home.ask("three").await;
    let model = soon(home.models.next()).await;
    assert_eq!(model.prompt.messages[0], Message::System("You are somebody else.".to_owned()));
    model.end(answer("3"));
    let run = finished(&mut asked).await.run;
    assert!(home.kinds(&run).await.contains(&EventKind::SystemPromptSnapshotted));
}

#[tokio::test]
async fn the_prompt_is_recorded_only_when_it_changes() {
    let home = Home::new().await;
    let first = home.turn("one", vec![answer("1")]).await;
    let second = home.turn("two", vec![answer("2")]).await;
    assert!(home.kinds(&first.run).await.contains(&EventKind::SystemPromptSnapshotted));
    assert!(!home.kinds(&second.run).await.contains(&EventKind::SystemPromptSnapshotted));
}

#[tokio::test]
async fn a_failed_model_ends_the_turn_with_its_sentence_and_keeps_what_was_shown() {
    let home = Home::new().await;
    home.say("me", "hello").await;
    let model = soon(home.models.next()).await;
    model.piece("half an ans");
    model.fail(failure("No source could answer.", FailureClass::Network));
    let output = soon(home.plugins.next_output()).await;
    assert_eq!(output.kind, OutputKind::Notice("failed".to_owned()));
    assert_eq!(output.text, "No source could answer.");
    home.say("me", "and now?").await;
    let model = soon(home.models.next()).await;
    let kept = model.prompt.messages.iter().any(|message| {
        matches!(message, Message::Assistant { text, .. } if text.contains("half an ans") && text.contains("unfinished"))
    });
    assert!(kept, "{:?}", model.prompt.messages);
    model.end(answer("fine"));
    assert_eq!(soon(home.plugins.next_output()).await.text, "fine");
    let runs = home.journal.runs(10, None).await.unwrap();
    assert!(runs.iter().any(|run| run.status == RunStatus::Failed));
}

#[tokio::test]
async fn a_source_that_takes_over_voids_what_the_other_showed() {
    let home = Home::new().await;
    home.say("me", "hello").await;
    let model = soon(home.models.next()).await;
    model.piece("wrong");
    model.restart();
    model.piece("right");
    model.end(answer("right"));
    assert_eq!(soon(home.plugins.next_output()).await.text, "right");
    let shown = home.plugins.shown.lock().unwrap().clone();
    assert_eq!(shown, [Shown::Text("wrong".to_owned()), Shown::Void, Shown::Text("right".to_owned())]);
}

#[tokio::test]
async fn a_window_too_long_for_the_model_is_halved_once() {
    let home = Home::new().await;
    for text in ["one", "two", "three"] {
        home.turn(text, vec![answer("ok")]).await;
    }
    let mut asked = home.ask("four").await;
    let model = soon(home.models.next()).await;
    assert_eq!(model.said().len(), 4);
    model.fail(failure("Too long.", FailureClass::ContextOverflow));
    let model = soon(home.models.next()).await;
    assert_eq!(model.said(), ["three", "four"]);
    model.fail(failure("Too long.", FailureClass::ContextOverflow));
    let result = finished(&mut asked).await;
    assert_eq!(result.error.unwrap().text, "Too long.");
}

#[tokio::test]
async fn a_backup_that_fails_otherwise_does_not_hide_that_the_window_is_too_long() {
    let home = Home::new().await;
    for text in ["one", "two", "three"] {
        home.turn(text, vec![answer("ok")]).await;
    }
    let mut asked = home.ask("four").await;
    let mut failed = failure("No source could answer.", FailureClass::ContextOverflow);
    failed.tried.extend(failure("", FailureClass::Network).tried);
    soon(home.models.next()).await.fail(failed);
    let model = soon(home.models.next()).await;
    assert_eq!(model.said(), ["three", "four"]);
    model.end(answer("ok"));
    assert_eq!(finished(&mut asked).await.finish, "stop");
}

#[tokio::test]
async fn a_panic_ends_the_turn_and_nothing_else() {
    let home = Home::new().await;
    let mut asked = home.ask("hello").await;
    soon(home.models.next()).await.panic();
    let result = finished(&mut asked).await;
    assert_eq!(result.error.unwrap().code, "internal");
    assert_eq!(home.journal.run(&result.run).await.unwrap().unwrap().status, RunStatus::Failed);
    home.works().await;
}

#[tokio::test]
async fn no_words_is_said_in_words() {
    let home = Home::new().await;
    let result = home.turn("hello", vec![answer("")]).await;
    assert_eq!(result.finish, "empty");
    assert!(!result.reply.is_empty());
    home.plugins.offer_echo("look", Effect::Read);
    let result = home.turn("look it up", vec![call("look", "{}"), answer("  "), answer("")]).await;
    assert_eq!((result.finish.as_str(), result.tool_rounds), ("empty", 1));
    assert!(result.reply.contains("tools have run"));
}

#[tokio::test]
async fn a_model_without_words_after_its_tools_is_asked_for_them_once() {
    let home = Home::new().await;
    home.plugins.offer_echo("look", Effect::Read);
    let mut asked = home.ask("look it up").await;
    soon(home.models.next()).await.end(call("look", "{}"));
    soon(home.models.next()).await.end(answer(""));
    let model = soon(home.models.next()).await;
    assert!(model.last_system().contains("Say in words"), "{}", model.last_system());
    model.end(answer("It is seven."));
    let result = finished(&mut asked).await;
    assert_eq!((result.finish.as_str(), result.reply.as_str()), ("stop", "It is seven."));
}

#[tokio::test]
async fn the_reason_of_the_model_is_the_reason_of_the_turn() {
    let home = Home::new().await;
    let mut cut = answer("as far as");
    cut.finish = Some(FinishReason::Length);
    assert_eq!(home.turn("go", vec![cut]).await.finish, "length");
}

#[tokio::test]
async fn each_round_is_published() {
    let home = Home::new().await;
    home.plugins.offer_echo("look", Effect::Read);
    let result = home.turn("go", vec![call("look", "{\"n\":1}"), answer("done")]).await;
    let published = home.plugins.published.lock().unwrap().clone();
    assert_eq!(published.len(), 2);
    assert!(published.iter().all(|(topic, chain)| topic == "agent_llm_chain" && chain["run"] == result.run));
    assert_eq!(published[0].1["calls"][0]["name"], "look");
    assert_eq!(published[1].1["round"], 2);
    assert_eq!(published[1].1["text"], "done");
}

#[tokio::test]
async fn what_a_rewriter_took_out_is_not_published() {
    let home = Home::new().await;
    home.plugins.offer_stage("redactor", stage(Stage::PostAction, HandlerMode::Rewrite, 0), |_| {
        Ok(vec![Patch::SetText("[redacted]".to_owned())])
    });
    home.turn("go", vec![answer("the secret word")]).await;
    let published = home.plugins.published.lock().unwrap().clone();
    assert_eq!(published[0].1["text"], "[redacted]");
}
