//! Timers that the host keeps.

use homeagent_types::CallError;
use homeagent_types::ports::{Haste, PluginAdmin};

use crate::house::{self, House, soon, until};

/// A firing as the guest noted it: id, name, intervals missed, who caused it.
pub(crate) type Told = (String, String, u64, String);

pub(crate) async fn with_timers() -> House {
    let house = house::empty();
    house.install_asking("tenant", "[wants.timers]");
    house.install("counter-one", "counter-one");
    house.runtime.load_all().await;
    house.grant_all().await;
    house
}

pub(crate) async fn timers(house: &House, act: &str) -> String {
    house.call("tenant", "timers", act).await.expect("the guest says what came of it")
}

/// What the guest noted, once there is so much.
pub(crate) async fn told(house: &House, least: usize) -> Vec<Told> {
    soon(async {
        loop {
            // It may be starting anew.
            let told = match house.call("tenant", "timers", r#"{"do":"told"}"#).await {
                Ok(told) => serde_json::from_str::<Vec<Told>>(&told).expect("a list"),
                Err(CallError::Other(_) | CallError::Retryable) => Vec::new(),
                Err(error) => panic!("{error}"),
            };
            if told.len() >= least {
                return told;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

fn names(told: &[Told]) -> Vec<&str> {
    told.iter().map(|(_, name, ..)| name.as_str()).collect()
}

/// Waits until the plugin has no timer left.
pub(crate) async fn none_left(house: &House) {
    soon(async {
        while !matches!(house.call("tenant", "timers", r#"{"do":"list"}"#).await.as_deref(), Ok("[]")) {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_timer_fires_once_and_is_gone_and_acts_for_its_plugin_alone() {
    let house = with_timers().await;
    assert_eq!(timers(&house, r#"{"do":"set","name":"eggs","at":1000}"#).await, "eggs");
    let told = told(&house, 1).await;
    assert_eq!((told[0].1.as_str(), told[0].2, told[0].3.as_str()), ("eggs", 0, "Role::Plugin tenant"));
    none_left(&house).await;
    assert_eq!(self::told(&house, 1).await.len(), 1);
}

#[tokio::test]
async fn timers_are_set_anew_by_name_listed_and_cancelled() {
    let house = with_timers().await;
    for act in [
        r#"{"do":"set","name":"b","at":99999999999999}"#,
        r#"{"do":"set","name":"a","every":86400000}"#,
        r#"{"do":"set","name":"a","every":90000000}"#,
    ] {
        timers(&house, act).await;
    }
    assert_eq!(timers(&house, r#"{"do":"list"}"#).await, r#"["a","b"]"#);
    assert_eq!(timers(&house, r#"{"do":"cancel","name":"a"}"#).await, "true");
    assert_eq!(timers(&house, r#"{"do":"cancel","name":"a"}"#).await, "false");
    let house = house.again().await;
    assert_eq!(timers(&house, r#"{"do":"list"}"#).await, r#"["b"]"#);
}

#[tokio::test]
async fn what_fell_due_while_the_daemon_was_down_is_told_once_with_what_was_missed() {
    let house = with_timers().await;
    let now = homeagent_types::now();
    let due = now - 36_500_000;
    for (plugin, name, every) in [("tenant", "often", Some(3_600_000)), ("tenant", "once", None), ("other", "x", None)]
    {
        house.data.timers.set(plugin, name, (due, every), "null", 64).expect("there is room");
    }
    let house = house.again().await;
    let told = told(&house, 2).await;
    let missed: Vec<_> = told.iter().map(|(_, name, missed, _)| (name.as_str(), *missed)).collect();
    assert_eq!(missed, [("often", 10), ("once", 0)]);
    soon(async {
        while timers(&house, r#"{"do":"list"}"#).await != r#"["often"]"# {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let next = || house.data.timers.all().expect("reads").into_iter().find(|timer| timer.name == "often");
    until(|| next().is_some_and(|timer| timer.due > now && timer.due <= now + 3_600_000)).await;
}

#[tokio::test]
async fn timers_that_fall_due_during_replacements_are_each_told_once() {
    let house = with_timers().await;
    let setting = async {
        for number in 0..10 {
            let set = format!(r#"{{"do":"set","name":"{number}","at":1}}"#);
            assert_eq!(timers(&house, &set).await, number.to_string());
        }
    };
    let replacing = async {
        for _ in 0..5 {
            house.runtime.reload("tenant", Haste::default()).await.expect("it loads");
        }
    };
    tokio::join!(setting, replacing);
    none_left(&house).await;
    let told = told(&house, 10).await;
    let mut names = names(&told);
    names.sort_unstable();
    assert_eq!(names, ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
}

#[tokio::test]
async fn a_timer_waits_for_a_plugin_that_is_unloaded_and_for_its_grant() {
    let house = with_timers().await;
    house.runtime.unload("tenant").await.expect("it is loaded");
    house.data.timers.set("tenant", "eggs", (1, None), "null", 64).expect("there is room");
    let house = house.again().await;
    house.runtime.revoke("tenant", "timers").await.expect("it asks for it");
    let denied = timers(&house, r#"{"do":"list"}"#).await;
    assert!(denied.contains("waiter plugin grant tenant timers"), "{denied}");
    house.runtime.grant("tenant", "timers").await.expect("it asks for it");
    assert_eq!(names(&told(&house, 1).await), ["eggs"]);
    none_left(&house).await;
}

#[tokio::test]
async fn a_firing_that_costs_the_instance_comes_once_more_with_the_same_id_and_is_then_given_up() {
    let house = with_timers().await;
    timers(&house, r#"{"do":"set","name":"mended","at":1,"payload":"trap once"}"#).await;
    let told = told(&house, 2).await;
    assert_eq!(names(&told), ["mended", "mended"]);
    assert_eq!(told[0].0, told[1].0);
    none_left(&house).await;
    timers(&house, r#"{"do":"set","name":"broken","at":1,"payload":"trap"}"#).await;
    let told = self::told(&house, 4).await;
    assert_eq!((told[2].0.as_str(), names(&told)[3]), (told[3].0.as_str(), "broken"));
    none_left(&house).await;
    assert_eq!(self::told(&house, 4).await.len(), 4);
    let seen = house.status("tenant").last_error.expect("the owner is told");
    assert!(seen.contains("the timer broken was not handled") && seen.contains("given up"), "{seen}");
}

#[tokio::test]
async fn a_firing_that_the_plugin_could_not_handle_yet_comes_until_it_is_handled() {
    let house = with_timers().await;
    timers(&house, r#"{"do":"set","name":"later","at":1,"payload":"busy once"}"#).await;
    let told = told(&house, 2).await;
    assert_eq!((names(&told), &told[0].0), (vec!["later", "later"], &told[1].0));
    none_left(&house).await;
    assert_eq!(house.status("tenant").last_error, None, "nothing went wrong");
    timers(&house, r#"{"do":"set","name":"never","at":1,"payload":"refuse"}"#).await;
    none_left(&house).await;
    let seen = house.status("tenant").last_error.expect("the owner is told");
    assert!(seen.contains("the timer never was not handled") && seen.contains("the payload says so"), "{seen}");
}

#[tokio::test]
async fn a_firing_is_told_again_however_often_the_daemon_is_killed_in_it_and_a_failure_is_not_forgotten() {
    let mut house = with_timers().await;
    let mut known = Vec::new();
    for _ in 0..3 {
        // What a kill leaves on the disk: the timer, as it was before the firing.
        house.data.timers.set("tenant", "milk", (1, None), "null", 64).expect("there is room");
        house = house.again().await;
        known.push(());
        assert_eq!(told(&house, known.len()).await.len(), known.len());
    }
    none_left(&house).await;
    let broken = house.data.timers.set("tenant", "broken", (1, None), r#""trap""#, 64).expect("there is room").id;
    house.data.timers.failed(broken).expect("it is there");
    let house = house.again().await;
    assert_eq!(told(&house, 4).await.len(), 4, "the second attempt");
    none_left(&house).await;
    let seen = house.status("tenant").last_error.expect("the owner is told");
    assert!(seen.contains("given up"), "{seen}");
}
