use homeagent_journal::RunStatus;
use homeagent_types::OutputKind;

use crate::fake::{FakePlugins, answer, channel};
use crate::home::{Home, finished, soon};

#[tokio::test]
async fn commands_do_not_reach_the_model() {
    let home = Home::new().await;
    for (text, wanted) in
        [("/help", "/status"), ("/status", "Turns running: 0"), ("/model", "No model"), ("/STOP ", "Nothing")]
    {
        home.say("me", text).await;
        let output = soon(home.plugins.next_output()).await;
        assert_eq!(output.kind, OutputKind::Reply);
        assert!(output.text.contains(wanted), "{text}: {}", output.text);
    }
    assert!(home.models.try_next().await.is_none());
    let mut asked = home.ask("/status").await;
    assert_eq!(finished(&mut asked).await.finish, "command");
}

#[tokio::test]
async fn what_only_looks_like_a_command_is_a_message() {
    let home = Home::new().await;
    home.say("me", "/new clothes?").await;
    let model = soon(home.models.next()).await;
    assert_eq!(model.said(), ["/new clothes?"]);
    model.end(answer("yes"));
    soon(home.plugins.next_output()).await;
}

#[tokio::test]
async fn new_begins_a_session() {
    let home = Home::new().await;
    home.say("me", "one").await;
    soon(home.models.next()).await.end(answer("1"));
    soon(home.plugins.next_output()).await;
    let before = home.journal.current_session("cli:me").await.unwrap();
    home.say("me", "/new").await;
    soon(home.plugins.next_output()).await;
    assert_ne!(home.journal.current_session("cli:me").await.unwrap(), before);
    home.say("me", "two").await;
    let model = soon(home.models.next()).await;
    assert_eq!(model.said(), ["two"]);
    model.end(answer("2"));
    soon(home.plugins.next_output()).await;
}

#[tokio::test]
async fn new_waits_for_the_turn_before_it() {
    let home = Home::new().await;
    home.say("me", "one").await;
    let model = soon(home.models.next()).await;
    home.say("me", "/new").await;
    home.say("me", "two").await;
    assert_eq!(home.agent.status().queued, 2);
    model.end(answer("1"));
    assert_eq!(soon(home.plugins.next_output()).await.text, "1");
    assert!(soon(home.plugins.next_output()).await.text.contains("new beginning"));
    let model = soon(home.models.next()).await;
    assert_eq!(model.said(), ["two"]);
    model.end(answer("2"));
    soon(home.plugins.next_output()).await;
}

#[tokio::test]
async fn guests_have_only_their_own() {
    let home = Home::new().await;
    for text in ["/new", "/status", "/model"] {
        home.say("stranger", text).await;
        assert!(soon(home.plugins.next_output()).await.text.contains("needs the role member"), "{text}");
    }
    home.say("stranger", "/help").await;
    let help = soon(home.plugins.next_output()).await.text;
    assert!(help.contains("/stop") && !help.contains("/new"));
    home.say("stranger", "go").await;
    let model = soon(home.models.next()).await;
    home.say("stranger", "/stop").await;
    soon(model.cancelled()).await;
    assert_eq!(soon(home.plugins.next_output()).await.kind, OutputKind::Notice("stopped".to_owned()));
}

#[tokio::test]
async fn new_that_fails_says_so_and_changes_nothing() {
    let home = Home::new().await;
    home.turn("one", vec![answer("1")]).await;
    home.break_table("sessions");
    let result = home.turn("/new", vec![]).await;
    assert_eq!((result.finish.as_str(), result.error.unwrap().code.as_str()), ("failed", "journal"));
    home.mend();
    assert_eq!(home.journal.run(&result.run).await.unwrap().unwrap().status, RunStatus::Failed);
    let mut asked = home.ask("two").await;
    let model = soon(home.models.next()).await;
    assert_eq!(model.said(), ["one", "two"]);
    model.end(answer("2"));
    finished(&mut asked).await;
}

#[tokio::test]
async fn stop_withdraws_what_waits_where_nothing_runs() {
    let plugins = FakePlugins::new();
    plugins.offer_channel(channel("cli"));
    let home = Home::with(plugins, |settings| settings.set("core.agent.parallel_conversations", 1).unwrap()).await;
    home.say("busy", "go").await;
    let model = soon(home.models.next()).await;
    let mut asked = home.ask("never mind").await;
    let mut stopped = home.ask("/stop").await;
    assert!(finished(&mut stopped).await.reply.contains("Withdrawn before I began: 1"));
    let result = finished(&mut asked).await;
    assert_eq!((result.finish.as_str(), result.error.unwrap().code.as_str()), ("stopped", "stopped"));
    assert_eq!(home.agent.status().queued, 0);
    model.end(answer("ok"));
    assert_eq!(soon(home.plugins.next_output()).await.text, "ok");
    soon(home.agent.shutdown()).await;
    assert!(home.journal.recover().await.unwrap().pending_inputs.is_empty());
}

#[tokio::test]
async fn stop_stops_and_is_answered_although_the_journal_takes_no_run() {
    let home = Home::new().await;
    home.say("me", "go").await;
    let model = soon(home.models.next()).await;
    home.break_table("runs");
    home.say("me", "/stop").await;
    soon(model.cancelled()).await;
    let mut told = [soon(home.plugins.next_output()).await, soon(home.plugins.next_output()).await];
    told.sort_by_key(|output| output.text.clone());
    assert!(told[0].text.contains("I can't write my journal") && told[0].text.contains("Stopped the turn"));
    assert_eq!(told[1].kind, OutputKind::Notice("stopped".to_owned()));
    home.say("me", "/new").await;
    let told = soon(home.plugins.next_output()).await;
    assert!(told.text.contains("/new: nothing was done"), "{}", told.text);
    home.mend();
    home.works().await;
}

#[tokio::test]
async fn a_command_of_an_earlier_start_is_not_carried_out() {
    let home = Home::new().await;
    home.turn("one", vec![answer("1")]).await;
    home.break_table("runs");
    home.say("me", "/new").await;
    assert!(soon(home.plugins.next_output()).await.text.contains("nothing was done"));
    home.mend();
    let before = home.journal.current_session("cli:me").await.unwrap();
    let Home { folder, agent, .. } = home;
    let home = Home::open(folder, FakePlugins::new(), |_| {}).await;
    home.works().await;
    assert_eq!(home.journal.current_session("cli:me").await.unwrap(), before);
    soon(home.agent.shutdown()).await;
    assert!(home.journal.recover().await.unwrap().pending_inputs.is_empty());
    drop(agent);
}
