//! Guests that would be somebody else.

use homeagent_types::ports::{Haste, Listeners, PluginAdmin, Plugins};
use homeagent_types::{CallError, Principal, Role};

use super::street::{beside, reason, says, usual};
use crate::house::{self, House};

/// A house in which `hostile` lives beside the bundled `cli` and the guest `counter`.
async fn beside_cli() -> House {
    let cli = homeagent_bundle::packages().find(|package| package.name == "cli").expect("cli is bundled");
    let bundled = homeagent_runtime::Bundled { manifest: cli.manifest, component: cli.component, digest: cli.digest };
    let house = house::with_shared_cache(vec![bundled]);
    for guest in ["counter-one", "hostile"] {
        house.install(guest, guest);
    }
    house.runtime.load_all().await;
    house.grant_all().await;
    house
}

#[tokio::test]
async fn what_another_offers_can_t_be_offered_too_and_the_version_before_serves_on() {
    let house = beside_cli().await;
    let offers = [
        ("tool count", "the tool count is offered by counter already, so hostile"),
        ("channel cli", "the channel cli is offered by cli already, so hostile"),
        ("listener chat", "the listener chat is offered by cli already, so hostile"),
        ("tool output_send__cli", "must not begin with output_send__"),
        ("channel agent", "agent"),
    ];
    for (offer, words) in offers {
        house.settings.set("plugin.hostile.offers", offer).expect("it is declared");
        let refused = beside(&house, house.runtime.reload("hostile", Haste::default())).await;
        says(&reason(refused), &[words]);
        assert_eq!(house.call("hostile", "behave", "{}").await, Ok("ok".into()), "after {offer}");
    }
    assert_eq!(
        house.call("counter", "count", "{}").await,
        Ok((offers.len() + 1).to_string()),
        "the calls were counter's"
    );
}

#[tokio::test]
async fn a_forged_cause_has_no_more_rights_than_the_call_it_was_forged_in() {
    let house = usual().await;
    let mut cause = house::cause(60_000);
    cause.principal = Principal { role: Role::Guest, user: "stranger".into(), ..house::owner() };
    let called = beside(&house, house.runtime.call_tool("hostile", "forge", "{}".into(), cause)).await;
    called.expect("nobody keeps it from calling");
    let called = house.mind.called.lock().expect("no panic").clone();
    assert_eq!(called.len(), 101);
    for (caller, _, cause) in called {
        assert_eq!(caller, "hostile");
        let Principal { role, user, .. } = &cause.principal;
        let is_itself = (*role, user.as_str()) == (Role::Plugin, "hostile");
        let is_its_caller = (*role, user.as_str()) == (Role::Guest, "stranger");
        assert!(is_itself || is_its_caller, "{:?}", cause.principal);
        assert!(cause.chain.contains(&"hostile".to_owned()), "{:?}", cause.chain);
    }
}

#[tokio::test]
async fn an_input_in_the_owner_s_name_is_nobody_s_the_host_knows() {
    let house = beside_cli().await;
    let _owner = house.runtime.connect("chat", Some(house::owner()), Vec::new()).await.expect("cli listens");
    beside(&house, house.call("hostile", "pose", "{}")).await.expect("it may submit");
    let submitted = house.mind.submitted.lock().expect("no panic").clone();
    let posed = submitted.iter().filter(|(source, ..)| source == "hostile");
    assert_eq!(posed.clone().count(), 100);
    assert!(posed.clone().all(|(_, attested, _)| attested.is_none()), "{submitted:?}");
}

#[tokio::test]
async fn settings_of_others_are_not_there() {
    let house = usual().await;
    house.install("probe", "probe");
    house.runtime.load("probe").await.expect("it loads");
    house.settings.set("plugin.probe.script", "{}").expect("it is declared");
    let peek = async |key: &str| house.call("hostile", "peek", &serde_json::json!({ "key": key }).to_string()).await;
    for key in ["script", "../probe.script", "plugin.probe.script", "probe.script", "core.plugin.queue", "", "."] {
        let outcome = beside(&house, peek(key)).await;
        assert!(matches!(&outcome, Err(CallError::NotFound(_))), "{key}: {outcome:?}");
    }
    assert_eq!(peek("fault").await, Ok("\"\"".into()));
}

#[tokio::test]
async fn a_plugin_that_calls_itself_through_others_is_busy_before_long() {
    let house = usual().await;
    house.mind.through.set(house.runtime.clone()).unwrap_or_else(|_| panic!("it is set once"));
    assert_eq!(beside(&house, house.harm("again")).await, Err(CallError::Busy));
    assert_eq!(house.mind.called.lock().expect("no panic").len(), 4);
    assert_eq!(house.call("hostile", "behave", "{}").await, Ok("ok".into()));
}
