//! What due timers have done for those who set them.

use std::sync::Arc;

use homeagent_journal::EventKind;
use homeagent_types::model::FailureClass;
use homeagent_types::ports::Mind;
use homeagent_types::{
    CallError, Cause, Conversation, Effect, Errand, OutputKind, Peer, Principal, Role, Submission, ToolOutput,
};

use crate::fake::{FakePlugins, answer, call, channel, failure, tool};
use crate::home::{Home, owner, said, soon};

/// What a timer has done that this person set in their own conversation on `cli`.
pub(crate) fn errand(user: &str, role: Role, text: &str) -> Errand {
    let conversation = Conversation::person("cli", user);
    let principal =
        Principal { namespace: "cli".to_owned(), user: user.to_owned(), role, display_name: None, attested: false };
    let cause = Cause {
        run: None,
        audience: conversation.audience(),
        conversation: Some(conversation),
        principal,
        deadline_ms: 1_000,
        chain: vec!["timer".to_owned()],
        meta: Vec::new(),
    };
    let submission = Submission { platform_id: Some(format!("{text}@1")), ..said("", text) };
    Errand { cause, to: None, interrupts: false, submission }
}

fn with_meta(mut errand: Errand, meta: &[(&str, &str)]) -> Errand {
    errand.submission.meta = meta.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    errand
}

#[tokio::test]
async fn an_errand_speaks_in_the_conversation_it_was_set_in_and_is_taken_once() {
    let home = Home::new().await;
    let first = home.agent.errand("timer", errand("ann", Role::Member, "drink tea")).await.unwrap();
    let model = soon(home.models.next()).await;
    assert_eq!(model.said(), ["[timer] drink tea"]);
    model.end(answer("tea time"));
    let output = soon(home.plugins.next_output()).await;
    assert_eq!((output.text.as_str(), output.conversation.to_string().as_str()), ("tea time", "cli:ann"));
    let again = home.agent.errand("timer", errand("ann", Role::Member, "drink tea")).await.unwrap();
    assert_eq!((again.duplicate, again.input), (true, first.input));
    home.works().await;
}

#[tokio::test]
async fn an_errand_of_the_owners_alone_goes_elsewhere() {
    let home = Home::new().await;
    let elsewhere = Conversation::person("cli", "ann");
    let mut of_a_member = errand("bob", Role::Member, "hello");
    of_a_member.to = Some(elsewhere.clone());
    let refused = home.agent.errand("timer", of_a_member).await.unwrap_err();
    assert!(matches!(&refused, CallError::Denied(denial) if denial.capability == "role owner"), "{refused}");
    let mut of_the_owner = errand("me", Role::Owner, "hello");
    of_the_owner.to = Some(elsewhere.clone());
    home.agent.errand("timer", of_the_owner).await.unwrap();
    soon(home.models.next()).await.end(answer("hi"));
    assert_eq!(soon(home.plugins.next_output()).await.conversation, elsewhere);
    let mut lost = errand("me", Role::Owner, "where to");
    lost.cause.conversation = None;
    assert!(matches!(home.agent.errand("timer", lost).await, Err(CallError::Invalid(_))));
    let mut unclaimed = errand("me", Role::Owner, "once");
    unclaimed.submission.platform_id = None;
    assert!(matches!(home.agent.errand("timer", unclaimed).await, Err(CallError::Invalid(_))));
}

#[tokio::test]
async fn an_errand_that_calls_a_tool_runs_it_in_a_turn_and_the_agent_says_what_came_of_it() {
    let home = Home::new().await;
    home.plugins.offer_echo("lamp", Effect::Own);
    let order = with_meta(errand("me", Role::Owner, "the lamp"), &[("tool", "lamp"), ("arguments", r#"{"n":7}"#)]);
    home.agent.errand("timer", order).await.unwrap();
    let model = soon(home.models.next()).await;
    assert!(model.results().last().unwrap().contains(r#"{"n":7}"#), "{:?}", model.results());
    model.end(answer("the lamp is on"));
    assert_eq!(soon(home.plugins.next_output()).await.text, "the lamp is on");
}

#[tokio::test]
async fn a_tool_whose_result_is_sent_as_it_is_needs_no_model() {
    let home = Home::new().await;
    home.plugins.offer_echo("lamp", Effect::Own);
    let meta = [("tool", "lamp"), ("arguments", r#"{"n":7}"#), ("report", "result")];
    home.agent.errand("timer", with_meta(errand("me", Role::Owner, "the lamp"), &meta)).await.unwrap();
    let output = soon(home.plugins.next_output()).await;
    assert!(output.text.contains(r#""n":7"#), "{}", output.text);
    let kinds = home.kinds(output.run.as_deref().unwrap()).await;
    assert!(kinds.contains(&EventKind::ToolStarted) && !kinds.contains(&EventKind::ModelCalled), "{kinds:?}");
    home.works().await;
}

#[tokio::test]
async fn an_errand_calls_no_tool_that_its_creator_may_not() {
    let home = Home::new().await;
    home.plugins.offer_echo("lamp", Effect::Own);
    let meta = [("tool", "lamp"), ("report", "result")];
    home.agent.errand("timer", with_meta(errand("ann", Role::Member, "the lamp"), &meta)).await.unwrap();
    let output = soon(home.plugins.next_output()).await;
    assert!(output.text.contains("needs the role owner"), "{}", output.text);
    // What a plugin says of itself orders nothing.
    let mut posed = said("stranger", "the lamp");
    posed.kind = "timer".to_owned();
    posed.meta = vec![("tool".to_owned(), "lamp".to_owned()), ("homeagent.errand".to_owned(), "x".to_owned())];
    home.agent.submit("cli", None, posed).await.unwrap();
    let model = soon(home.models.next()).await;
    assert_eq!(model.said(), ["[timer] the lamp"]);
    model.end(answer("no"));
    soon(home.plugins.next_output()).await;
}

/// How the tool `act`, which reaches the world, fares in an errand: whether the owner is asked.
async fn is_asked_about(home: &Home, errand: Errand) -> bool {
    home.agent.errand("timer", with_meta(errand, &[("tool", "act"), ("report", "result")])).await.unwrap();
    let output = soon(home.plugins.next_output()).await;
    let asked = output.kind == OutputKind::Notice("question".to_owned());
    if asked {
        let question = home.agent.questions().remove(0);
        home.agent.answer(question.id, false, &owner()).expect("it waits");
        let refused = soon(home.plugins.next_output()).await;
        assert!(refused.text.contains("said no"), "{}", refused.text);
    }
    asked
}

#[tokio::test]
async fn a_timer_that_was_set_while_others_words_were_read_has_nothing_done_unasked() {
    let home = Home::new().await;
    home.plugins.offer_echo("act", Effect::World);
    let of_the_owner = |text| errand("me", Role::Owner, text);
    assert!(!is_asked_about(&home, of_the_owner("the owner's own words")).await);
    let mut among_others = of_the_owner("a web page's words");
    among_others.cause.mark_foreign();
    assert!(is_asked_about(&home, among_others).await);
    // What it said counts as long as it is in the window.
    assert!(is_asked_about(&home, of_the_owner("own words behind it")).await);
    home.say("me", "/new").await;
    soon(home.plugins.next_output()).await;
    assert!(!is_asked_about(&home, of_the_owner("own words anew")).await);
    let mut in_a_group = of_the_owner("a group's words");
    let family = Conversation { channel: "cli".to_owned(), peer: Peer::Group("family".to_owned()) };
    in_a_group.cause.audience = family.audience();
    in_a_group.cause.conversation = Some(family);
    assert!(is_asked_about(&home, in_a_group).await);
    // Where somebody else speaks, their words are read with the owner's rights.
    let elsewhere = Errand { to: Some(Conversation::person("cli", "ann")), ..of_the_owner("at ann's") };
    assert!(is_asked_about(&home, elsewhere).await);
    // A plugin that reaches the network may say anything.
    home.plugins.reaches_out("timer");
    assert!(is_asked_about(&home, of_the_owner("from outside")).await);
}

#[tokio::test]
async fn a_tool_is_told_whether_others_words_are_read_where_it_is_called() {
    let home = Home::new().await;
    home.plugins.offer_tool("timer", tool("keep", Effect::Own), |_, cause| {
        Box::pin(async move { Ok(ToolOutput::text(if cause.is_foreign() { "others read" } else { "own words" })) })
    });
    home.say("me", "keep it").await;
    soon(home.models.next()).await.end(call("keep", "{}"));
    let model = soon(home.models.next()).await;
    assert!(model.results()[0].contains("own words"), "{:?}", model.results());
    model.end(answer("kept"));
    soon(home.plugins.next_output()).await;
    let mut forwarded = said("me", "[forwarded] keep it");
    forwarded.meta = vec![("forwarded".to_owned(), "true".to_owned())];
    home.agent.submit("cli", None, forwarded).await.unwrap();
    soon(home.models.next()).await.end(call("keep", "{}"));
    let model = soon(home.models.next()).await;
    assert!(model.results()[1].contains("others read"), "{:?}", model.results());
    model.end(answer("kept"));
}

#[tokio::test]
async fn what_the_owner_took_from_somebody_meanwhile_their_timers_do_not_have() {
    let home = Home::new().await;
    assert_eq!(home.agent.standing(&errand("ann", Role::Owner, "x").cause.principal), Role::Member);
    assert_eq!(home.agent.standing(&errand("ann", Role::Guest, "x").cause.principal), Role::Guest);
    assert_eq!(home.agent.standing(&errand("stranger", Role::Owner, "x").cause.principal), Role::Guest);
    let known = Principal { attested: true, ..errand("stranger", Role::Owner, "x").cause.principal };
    assert_eq!(home.agent.standing(&known), Role::Owner);
}

fn plugins() -> Arc<FakePlugins> {
    let plugins = FakePlugins::new();
    plugins.offer_channel(channel("cli"));
    plugins.offer_echo("look", Effect::Read);
    plugins.offer_echo("lamp", Effect::Own);
    plugins
}

/// An agent whose stop waits for nobody.
async fn hasty() -> Home {
    Home::with(plugins(), |settings| settings.set("core.agent.drain_ms", 0).unwrap()).await
}

/// The agent is stopped as it should be, and started anew.
async fn restarted(home: Home) -> Home {
    soon(home.agent.shutdown()).await;
    assert_eq!(home.plugins.rest().await.len(), 0, "nobody is told of something that is still to come");
    Home::open(home.folder, plugins(), |_| {}).await
}

#[tokio::test]
async fn what_was_due_when_the_agent_stopped_is_done_once_after_the_next_start() {
    let home = hasty().await;
    home.agent.errand("timer", errand("ann", Role::Member, "drink tea")).await.unwrap();
    soon(home.models.next()).await.end(call("look", "{}"));
    // One is cut while the model thinks about what was looked up, the other one waits behind it.
    let cut = soon(home.models.next()).await;
    home.agent.errand("timer", errand("ann", Role::Member, "take the pills")).await.unwrap();
    let home = restarted(home).await;
    drop(cut);
    for text in ["drink tea", "take the pills"] {
        let asked = soon(home.models.next()).await;
        assert_eq!(asked.said().last().unwrap(), &format!("[timer] {text}"));
        asked.end(answer(text));
        assert_eq!(soon(home.plugins.next_output()).await.text, text);
    }
    assert!(home.models.try_next().await.is_none(), "once");
}

#[tokio::test]
async fn an_errand_that_had_done_something_when_the_agent_stopped_is_not_done_again() {
    let home = hasty().await;
    let order = with_meta(errand("me", Role::Owner, "the lamp"), &[("tool", "lamp")]);
    home.agent.errand("timer", order).await.unwrap();
    let cut = soon(home.models.next()).await;
    soon(home.agent.shutdown()).await;
    let told = soon(home.plugins.next_output()).await;
    assert!(told.text.contains("shutting down"), "{}", told.text);
    let home = Home::open(home.folder, plugins(), |_| {}).await;
    drop(cut);
    home.works().await;
}

#[tokio::test]
async fn where_no_model_answers_the_words_of_a_timer_are_told_all_the_same() {
    let home = Home::new().await;
    home.agent.errand("timer", errand("ann", Role::Member, "take the pills")).await.unwrap();
    soon(home.models.next()).await.fail(failure("No source could answer.", FailureClass::Network));
    let told = soon(home.plugins.next_output()).await;
    assert!(told.text.starts_with("No source could answer.") && told.text.ends_with("take the pills"), "{}", told.text);
}

#[tokio::test]
async fn a_timer_of_the_owner_that_was_set_where_nobody_listens_speaks_where_they_are() {
    let home = Home::new().await;
    for (conversation, role, to) in [
        (Conversation::person("api", "owner"), Role::Owner, Some("cli:me")),
        (Conversation::person("api", "ann"), Role::Member, None),
    ] {
        let mut set = errand("me", role, &conversation.to_string());
        set.cause.audience = conversation.audience();
        set.cause.conversation = Some(conversation);
        home.agent.errand("timer", set).await.unwrap();
        soon(home.models.next()).await.end(answer("tea time"));
        let Some(to) = to else { continue };
        let output = soon(home.plugins.next_output()).await;
        assert_eq!((output.text.as_str(), output.conversation.to_string().as_str()), ("tea time", to));
    }
    home.works().await;
    assert_eq!(home.plugins.rest().await.len(), 0, "what others set is told nobody else");
}
