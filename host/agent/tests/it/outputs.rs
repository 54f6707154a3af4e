use std::sync::Arc;

use homeagent_journal::EventKind;
use homeagent_types::{CallError, Conversation, OutputCapabilities, OutputKind, Shown};
use tokio::sync::Notify;

use crate::fake::{answer, call, calls, channel};
use crate::home::{Home, finished, soon};

#[tokio::test]
async fn what_a_tool_has_sent_is_not_sent_again() {
    let home = Home::new().await;
    home.say("me", "tell me").await;
    soon(home.models.next()).await.end(call("output_send__cli", "{\"payload\":\"the answer\"}"));
    let output = soon(home.plugins.next_output()).await;
    assert_eq!((output.text.as_str(), &output.kind), ("the answer", &OutputKind::Message));
    let model = soon(home.models.next()).await;
    assert!(model.results()[0].contains("will not be sent again"));
    model.piece("Sent.");
    model.end(answer("Sent."));
    soon(home.agent.shutdown()).await;
    assert!(home.plugins.rest().await.is_empty(), "said once");
    assert_eq!(home.plugins.shown.lock().unwrap().last(), Some(&Shown::Void), "nor left standing as provisional");
    let run = home.journal.run(&output.run.unwrap()).await.unwrap().unwrap();
    assert_eq!(run.finish_reason.as_deref(), Some("stop"));
}

#[tokio::test]
async fn sending_elsewhere_does_not_answer_here() {
    let home = Home::new().await;
    home.plugins.offer_channel(channel("mail"));
    home.say("me", "tell ann").await;
    let args = "{\"payload\":\"hi\",\"meta\":{\"to\":\"mail:ann\",\"subject\":\"hello\"}}";
    soon(home.models.next()).await.end(call("output_send__mail", args));
    let output = soon(home.plugins.next_output()).await;
    assert_eq!(output.conversation, Conversation::person("mail", "ann"));
    assert_eq!(output.meta, [("subject".to_owned(), "hello".to_owned())]);
    soon(home.models.next()).await.end(answer("I told her."));
    assert_eq!(soon(home.plugins.next_output()).await.text, "I told her.");
}

#[tokio::test]
async fn sends_that_can_not_be_are_explained() {
    let home = Home::new().await;
    home.plugins.offer_channel(channel("mail"));
    let mut asked = home.ask("go").await;
    soon(home.models.next()).await.end(calls(&[
        ("output_send__cli", "{\"payload\":\"x\"}"),
        ("output_send__cli", "{\"payload\":\"https://x/y.png\",\"type\":\"image\",\"meta\":{\"to\":\"cli:me\"}}"),
        ("output_send__cli", "{\"payload\":\"x\",\"meta\":{\"to\":\"mail:ann\"}}"),
        ("output_send__cli", "{\"payload\":\"{\",\"type\":\"structured\",\"meta\":{\"to\":\"cli:me\"}}"),
        ("output_send__cli", "{\"payload\":\" \",\"meta\":{\"to\":\"cli:me\"}}"),
        ("output_send__cli_help", "{}"),
        ("output_list_channels", "{}"),
    ]));
    let model = soon(home.models.next()).await;
    let results = model.results();
    assert!(results[0].contains("say whom it is for"), "{results:?}");
    assert!(results[1].contains("can't carry image; it carries text, structured"), "{results:?}");
    assert!(results[2].contains("\"mail:ann\" is no address on cli"), "{results:?}");
    assert!(results[3].contains("not valid JSON"), "{results:?}");
    assert!(results[4].contains("empty"), "{results:?}");
    assert!(results[5].contains("Plain text, in one piece."), "{results:?}");
    assert!(results[6].contains("\"mail\"") && results[6].contains("\"cli\""), "{results:?}");
    model.end(answer("ok"));
    finished(&mut asked).await;
    assert!(home.plugins.rest().await.is_empty());
}

#[tokio::test]
async fn only_the_owner_has_messages_sent_to_others() {
    let home = Home::new().await;
    home.say("stranger", "go").await;
    let model = soon(home.models.next()).await;
    assert_eq!(model.tools(), ["output_send__cli", "output_send__cli_help"]);
    model.end(calls(&[
        ("output_send__cli", "{\"payload\":\"spam\",\"meta\":{\"to\":\"cli:me\"}}"),
        ("output_send__cli", "{\"payload\":\"to myself\"}"),
        ("output_set_channel", "{\"channel\":\"cli\",\"to\":\"cli:me\"}"),
    ]));
    let output = soon(home.plugins.next_output()).await;
    assert_eq!((output.text.as_str(), output.conversation), ("to myself", Conversation::person("cli", "stranger")));
    let model = soon(home.models.next()).await;
    assert!(model.results()[0].contains("only the owner"), "{:?}", model.results());
    assert!(model.results()[2].starts_with("refused:"), "{:?}", model.results());
    model.end(answer("done"));
    soon(home.agent.shutdown()).await;
    assert!(home.plugins.rest().await.is_empty());
}

#[tokio::test]
async fn the_answer_goes_where_the_turn_was_told() {
    let home = Home::new().await;
    home.plugins.offer_channel(channel("mail"));
    home.say("me", "mail me that").await;
    soon(home.models.next()).await.end(call("output_set_channel", "{\"channel\":\"mail\",\"to\":\"mail:me\"}"));
    soon(home.models.next()).await.end(answer("as asked"));
    let output = soon(home.plugins.next_output()).await;
    assert_eq!((output.text.as_str(), output.conversation), ("as asked", Conversation::person("mail", "me")));
    soon(home.agent.shutdown()).await;
    assert!(home.plugins.rest().await.is_empty(), "never twice");
}

#[tokio::test]
async fn a_channel_that_is_being_swapped_is_tried_again() {
    let home = Home::new().await;
    home.plugins.delivery.lock().unwrap().push(CallError::Retryable);
    home.say("me", "hello").await;
    soon(home.models.next()).await.end(answer("hi"));
    assert_eq!(soon(home.plugins.next_output()).await.text, "hi");
}

#[tokio::test]
async fn a_delivery_that_fails_is_recorded_and_the_text_is_kept() {
    let home = Home::new().await;
    home.plugins.delivery.lock().unwrap().push(CallError::Timeout);
    home.say("me", "hello").await;
    soon(home.models.next()).await.end(answer("hi"));
    soon(home.agent.shutdown()).await;
    assert!(home.plugins.rest().await.is_empty(), "it may have been sent: it is not repeated");
    let run = home.journal.runs(1, None).await.unwrap().remove(0);
    let events = home.events(&run.id).await;
    let unknown = events.iter().find(|event| event.kind == EventKind::OutputUnknown).unwrap();
    assert_eq!(unknown.payload["code"], "timeout");
    let history = home.journal.conversation_history("cli:me", 10).await.unwrap();
    assert_eq!(history[1].payload["message"]["assistant"]["text"], "hi");
}

#[tokio::test]
async fn without_channels_there_are_no_tools_that_send() {
    let home = Home::with(crate::fake::FakePlugins::new(), |_| {}).await;
    let mut asked = home.ask("go").await;
    let model = soon(home.models.next()).await;
    assert!(model.tools().is_empty());
    model.end(answer("ok"));
    finished(&mut asked).await;
}

#[tokio::test]
async fn pictures_go_where_they_can() {
    let home = Home::new().await;
    let mut gallery = channel("gallery");
    gallery.capabilities = OutputCapabilities::IMAGE;
    home.plugins.offer_channel(gallery);
    home.say("me", "hang it").await;
    let args =
        "{\"payload\":\"https://x/y.png\",\"type\":\"image\",\"meta\":{\"to\":\"gallery:me\",\"caption\":\"y\"}}";
    soon(home.models.next()).await.end(call("output_send__gallery", args));
    let output = soon(home.plugins.next_output()).await;
    assert_eq!((output.media.len(), output.text.as_str()), (1, "y"));
    soon(home.models.next()).await.end(answer("hung"));
    assert_eq!(soon(home.plugins.next_output()).await.text, "hung");
}

#[tokio::test]
async fn what_was_being_sent_when_the_turn_was_stopped_is_recorded_as_sent() {
    let home = Home::new().await;
    let (began, release) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    *home.plugins.held.lock().unwrap() = Some((Arc::clone(&began), Arc::clone(&release)));
    let mut asked = home.ask("tell them").await;
    let args = "{\"payload\":\"hi\",\"meta\":{\"to\":\"cli:ann\"}}";
    soon(home.models.next()).await.end(call("output_send__cli", args));
    soon(began.notified()).await;
    home.agent.stop_run(None);
    let result = finished(&mut asked).await;
    assert_eq!(result.finish, "stopped");
    release.notify_one();
    assert_eq!(soon(home.plugins.next_output()).await.text, "hi");
    soon(home.agent.shutdown()).await;
    assert!(home.kinds(&result.run).await.contains(&EventKind::OutputSent));
    assert!(home.journal.recover().await.unwrap().unknown_outputs.is_empty());
}

#[tokio::test]
async fn the_owner_is_told_where_they_can_be_spoken_to_in_private() {
    let home = Home::new().await;
    home.agent.tell_owner("limit", "four fifths are spent".to_owned());
    let output = soon(home.plugins.next_output()).await;
    assert_eq!(output.kind, OutputKind::Notice("limit".to_owned()));
    assert_eq!((output.text.as_str(), output.run), ("four fifths are spent", None));
    assert_eq!(output.conversation, Conversation::person("cli", "me"));
}
