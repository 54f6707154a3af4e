//! Timers for those who ask for them, by a clock that tests set.

use homeagent_types::ports::{PluginAdmin, Plugins as _};
use homeagent_types::{Cause, Conversation, Role};

use crate::house::{self, House, owner, soon, until};
use crate::timers::{none_left, timers};

const HOUR: i64 = 3_600_000;

async fn with_errands() -> House {
    let house = house::empty();
    house.install_asking("tenant", "[wants.timers]\n[wants.errands]");
    house.runtime.load_all().await;
    house.grant_all().await;
    house
}

/// What the agent was asked to do, in order.
fn claims(house: &House) -> Vec<String> {
    let errands = house.mind.errands.lock().expect("no panic");
    errands.iter().filter_map(|(_, errand)| errand.submission.platform_id.clone()).collect()
}

async fn taken(house: &House, count: usize) {
    until(|| claims(house).len() >= count).await;
}

async fn set(house: &House, name: &str, at: u64, times: u64) {
    let act = format!(r#"{{"do":"errand","name":"{name}","at":{at},"times":{times}}}"#);
    assert_eq!(timers(house, &act).await, name);
}

#[tokio::test]
async fn an_errand_has_the_rights_and_the_conversation_of_the_call_it_was_set_in() {
    let house = with_errands().await;
    set(&house, "eggs", 1_000, 0).await;
    taken(&house, 1).await;
    none_left(&house).await;
    let errands = house.mind.errands.lock().expect("no panic");
    let (source, errand) = &errands[0];
    let cause = house::cause(1_000);
    assert_eq!((source.as_str(), &errand.cause.principal), ("tenant", &owner()));
    assert_eq!((&errand.cause.conversation, &errand.cause.audience), (&cause.conversation, &cause.audience));
    assert_eq!(errand.to.as_ref().map(Conversation::to_string), None);
}

#[tokio::test]
async fn whoever_has_lost_their_role_has_errands_with_what_is_left() {
    let house = with_errands().await;
    let due = house.clock.now() + 60_000;
    set(&house, "eggs", due, 0).await;
    house.mind.demoted.store(true, std::sync::atomic::Ordering::Release);
    house.jump(HOUR);
    taken(&house, 1).await;
    assert_eq!(house.mind.errands.lock().expect("no panic")[0].1.cause.principal.role, Role::Guest);
}

#[tokio::test]
async fn nobody_has_errands_without_the_grant_or_with_a_cause_that_is_not_theirs() {
    let house = with_errands().await;
    house.runtime.revoke("tenant", "errands").await.expect("it asks for it");
    let denied = timers(&house, r#"{"do":"errand","name":"x","at":1,"times":0}"#).await;
    assert!(denied.contains("waiter plugin grant tenant errands"), "{denied}");
    house.runtime.grant("tenant", "errands").await.expect("it asks for it");
    for act in [r#"{"do":"errand-of","job":1}"#, r#"{"do":"submit-now"}"#] {
        let refused = timers(&house, act).await;
        assert!(refused.starts_with("invalid: the cause is that of no call"), "{act}: {refused}");
    }
    assert_eq!(claims(&house), Vec::<String>::new());
}

#[tokio::test]
async fn a_plugin_gets_no_timer_with_the_rights_that_it_has_for_a_call() {
    let house = with_errands().await;
    let act = r#"{"do":"errand","name":"x","at":1,"times":0}"#.to_owned();
    let through = Cause { chain: vec!["stranger".to_owned()], ..house::cause(1_000) };
    let told = house.runtime.call_tool("tenant", "timers", act, through).await.expect("the guest says what came of it");
    let told = told.for_model();
    assert!(told.contains("for the plugin stranger") && told.contains("`errands`"), "{told}");
    assert_eq!(timers(&house, r#"{"do":"list"}"#).await, "[]");
}

#[tokio::test]
async fn an_errand_that_the_agent_could_not_take_yet_is_brought_until_it_is_taken() {
    let house = with_errands().await;
    house.mind.busy.store(3, std::sync::atomic::Ordering::Release);
    set(&house, "eggs", 1_000, 0).await;
    taken(&house, 1).await;
    none_left(&house).await;
    assert_eq!(claims(&house), ["eggs@1000"]);
}

#[tokio::test]
async fn a_calendar_fires_once_for_each_time_across_restarts_and_jumps_of_the_clock() {
    let house = with_errands().await;
    let due = house.clock.now() + 3_600_000;
    set(&house, "tea", due, 3).await;
    assert_eq!(claims(&house), Vec::<String>::new());
    house.jump(HOUR + 1_000);
    taken(&house, 1).await;
    // Back before it was due: it is looked at anew, and nothing fires.
    house.jump(-3 * HOUR);
    let house = house.again().await;
    house.jump(4 * HOUR);
    taken(&house, 1).await;
    house.jump(10 * HOUR);
    none_left(&house).await;
    let hour = 3_600_000;
    // The agent of the last start has what came since.
    assert_eq!(claims(&house), [1, 2, 3].map(|hours| format!("tea@{}", due + hours * hour)));
}

#[tokio::test]
async fn a_timer_that_is_changed_keeps_whose_it_is_and_one_that_is_cancelled_while_it_fires_stays_away() {
    let house = with_errands().await;
    let far = house.clock.now() + 86_400_000;
    set(&house, "tea", far, 0).await;
    assert_eq!(
        timers(&house, &format!(r#"{{"do":"change","name":"tea","at":{}}}"#, far + 5)).await,
        (far + 5).to_string()
    );
    assert_eq!(timers(&house, r#"{"do":"change","name":"none","at":5}"#).await, "null");
    house.jump(25 * HOUR);
    taken(&house, 1).await;
    assert_eq!(house.mind.errands.lock().expect("no panic")[0].1.cause.principal, owner());
    none_left(&house).await;
    house.mind.busy.store(u64::MAX, std::sync::atomic::Ordering::Release);
    set(&house, "again", 1_000, 9).await;
    until(|| house.mind.busy.load(std::sync::atomic::Ordering::Acquire) < u64::MAX).await;
    assert_eq!(timers(&house, r#"{"do":"cancel","name":"again"}"#).await, "true");
    house.mind.busy.store(0, std::sync::atomic::Ordering::Release);
    set(&house, "other", 1_000, 0).await;
    soon(async {
        while !claims(&house).contains(&"other@1000".to_owned()) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    none_left(&house).await;
}
