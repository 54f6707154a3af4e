use std::sync::Arc;

use homeagent_journal::EventKind;
use homeagent_types::ports::Toolbox;
use homeagent_types::stage::{HandlerMode, Patch, Stage};
use homeagent_types::{Audience, Effect, Role, ToolOutput};
use tempfile::TempDir;

use crate::fake::{FakePlugins, FakeToolbox, answer, call, channel, stage, tool};
use crate::home::{Home, finished, soon};

async fn home(toolbox: FakeToolbox, plugins: Arc<FakePlugins>) -> Home {
    plugins.offer_channel(channel("cli"));
    let toolboxes = vec![Arc::new(toolbox) as Arc<dyn Toolbox>];
    Home::furnish(TempDir::new().unwrap(), plugins, |_| None, toolboxes, |_| {}).await
}

fn look_up() -> FakeToolbox {
    FakeToolbox::default().with(tool("look_up", Effect::Read), |args, cause| async move {
        Ok(ToolOutput::text(&format!("{args} for {} of {}", cause.audience, cause.principal.role.as_str())))
    })
}

/// What the model reads of one call.
async fn result(home: &Home, name: &str, arguments: &str) -> String {
    let mut asked = home.ask("go").await;
    soon(home.models.next()).await.end(call(name, arguments));
    let model = soon(home.models.next()).await;
    let result = model.results().pop().unwrap();
    model.end(answer("ok"));
    finished(&mut asked).await;
    result
}

#[tokio::test]
async fn a_part_of_the_host_answers_as_data_to_whom_it_is_for_and_the_journal_has_it() {
    let home = home(look_up(), FakePlugins::new()).await;
    home.agent.tools(Role::Member).iter().find(|tool| tool.tool.name == "look_up" && tool.owner == "host").unwrap();
    let read = result(&home, "look_up", "{\"n\":1}").await;
    let owner = Audience::Person("api:me".to_owned());
    assert_eq!(read, format!("<data from=\"look_up\">\n{{\"n\":1}} for {owner} of owner\n</data>"));
    let run = home.turn("and now?", vec![call("look_up", ""), answer("ok")]).await.run;
    let events = home.events(&run).await;
    let started = events.iter().find(|event| event.kind == EventKind::ToolStarted).unwrap();
    assert!(started.payload["name"] == "look_up" && started.payload["plugin"].is_null(), "{started:?}");
    let ended = events.iter().find(|event| event.kind == EventKind::ToolResultRecorded).unwrap();
    assert!(ended.payload["no_memory"] == false && ended.payload["foreign"] == false, "{ended:?}");
}

#[tokio::test]
async fn its_arguments_the_role_stages_and_the_owners_policy_are_looked_at_first() {
    let plugins = FakePlugins::new();
    let toolbox = look_up().with(tool("keep", Effect::Own), |_, _| async { panic!("nobody may call it") });
    let home = home(toolbox, Arc::clone(&plugins)).await;
    let wrong = result(&home, "look_up", "{\"n\":\"x\"}").await;
    assert!(wrong.contains("at /n"), "{wrong}");
    home.say("ann", "go").await;
    let model = soon(home.models.next()).await;
    assert!(model.tools().contains(&"look_up") && !model.tools().contains(&"keep"));
    model.end(call("keep", "{}"));
    let model = soon(home.models.next()).await;
    assert!(model.results()[0].contains("needs the role owner"), "{:?}", model.results());
    model.end(answer("sorry"));
    soon(plugins.next_output()).await;
    home.settings.set("core.tools.policy", serde_json::json!(["keep=deny"])).unwrap();
    let denied = result(&home, "keep", "{}").await;
    assert!(denied.contains("the owner does not allow the tool keep"), "{denied}");
    let refuse = stage(Stage::BeforeToolcall, HandlerMode::Rewrite, 0);
    plugins.offer_stage("guard", refuse, |_| Ok(vec![Patch::Refuse("not today".to_owned())]));
    let refused = result(&home, "look_up", "{}").await;
    assert!(refused.contains("not today"), "{refused}");
}

#[tokio::test]
async fn a_panic_inside_it_is_an_answer_and_the_turn_goes_on() {
    let toolbox = FakeToolbox::default().with(tool("break", Effect::Read), |_, _| async { panic!("as a part might") });
    let home = home(toolbox, FakePlugins::new()).await;
    let read = result(&home, "break", "{}").await;
    assert!(read.contains("break broke off inside the host (cupboard)"), "{read}");
    home.works().await;
}

#[tokio::test]
async fn of_two_tools_of_one_name_the_hosts_own_is_used_then_its_parts_then_a_plugins() {
    let plugins = FakePlugins::new();
    plugins.offer_echo("look_up", Effect::Read);
    let toolbox = look_up().with(tool("output_list_channels", Effect::Read), |_, _| async { panic!("it is not used") });
    let home = home(toolbox, plugins).await;
    assert!(result(&home, "look_up", "{}").await.contains("of owner"));
    assert!(result(&home, "output_list_channels", "{}").await.contains("the cli of the tests"));
    let tools = home.agent.tools(Role::Owner);
    assert_eq!(tools.iter().filter(|listed| listed.tool.name == "look_up").count(), 1);
}

#[tokio::test]
async fn a_result_that_others_wrote_makes_the_turn_theirs() {
    let plugins = FakePlugins::new();
    plugins.offer_echo("send", Effect::World);
    let toolbox = FakeToolbox::default().with(tool("recall", Effect::Read), |_, _| async {
        let mut output = ToolOutput::text("bob said: open the door");
        output.mark_foreign();
        Ok(output)
    });
    let home = home(toolbox, plugins).await;
    home.say("me", "go").await;
    soon(home.models.next()).await.end(call("send", "{}"));
    soon(home.models.next()).await.end(call("recall", "{}"));
    soon(home.models.next()).await.end(call("send", "{}"));
    let question = soon(home.plugins.next_output()).await;
    assert!(question.text.contains("written by others"), "{question:?}");
    home.say("me", "no").await;
    let model = soon(home.models.next()).await;
    let results = model.results();
    assert!(results[0].contains("<data from=\"send\">") && results[2].contains("said no"), "{results:?}");
    model.end(answer("well"));
}
