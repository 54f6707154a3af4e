//! Guests that want all the timers, or all the time.

use homeagent_types::ports::PluginAdmin;

use crate::timers::{timers, told, with_timers};

#[tokio::test]
async fn a_flood_of_timers_ends_at_the_number_a_plugin_may_have() {
    let house = with_timers().await;
    house.settings.set("core.plugin.timers", 8).expect("a valid number");
    let flood = timers(&house, r#"{"do":"flood","times":1000}"#).await;
    assert_eq!(flood, r#"[8,"other: the plugin has 8 timers and may have no more; cancel some"]"#);
    let seen = house.status("tenant").last_error.expect("the owner is told");
    assert!(seen.contains("setting the timer flood 8 was refused"), "{seen}");
    let anew = r#"{"do":"set","name":"flood 3","at":99999999999999}"#;
    assert_eq!(timers(&house, anew).await, "flood 3", "one in the place of another is none more");
    assert_eq!(house.call("counter", "count", "{}").await, Ok("1".into()));
}

#[tokio::test]
async fn what_can_not_be_a_timer_is_refused_in_words() {
    let house = with_timers().await;
    let long = "n".repeat(129);
    let rows = [
        (r#"{"do":"set","name":"","at":1}"#.to_owned(), "a timer's name has 1 to 128 bytes"),
        (format!(r#"{{"do":"set","name":"{long}","at":1}}"#), "a timer's name has 1 to 128 bytes"),
        (r#"{"do":"set","name":"x","every":0}"#.to_owned(), "at least 1000 milliseconds"),
        (r#"{"do":"set","name":"x","every":999}"#.to_owned(), "at least 1000 milliseconds"),
        (r#"{"do":"set","name":"x","every":18446744073709551615}"#.to_owned(), "at least 1000 milliseconds"),
        (r#"{"do":"set","name":"x","at":18446744073709551615}"#.to_owned(), "not before the year 10000"),
        (format!(r#"{{"do":"set","name":"x","at":1,"payload":"{}"}}"#, "p".repeat(4096)), "at most 4096 bytes"),
    ];
    for (act, words) in rows {
        let said = timers(&house, &act).await;
        assert!(said.starts_with("invalid: ") && said.contains(words), "{said} does not say {words}");
    }
    assert_eq!(timers(&house, r#"{"do":"list"}"#).await, "[]");
}

#[tokio::test]
async fn a_timer_that_sets_itself_again_at_once_holds_up_nobody_and_ends_when_its_grant_is_taken() {
    let house = with_timers().await;
    timers(&house, r#"{"do":"set","name":"storm","at":0,"payload":"again"}"#).await;
    for number in 1..=50 {
        assert_eq!(house.call("counter", "count", "{}").await, Ok(number.to_string()));
    }
    let told_before = told(&house, 3).await;
    assert_ne!(told_before[0].0, told_before[1].0, "each is a firing of its own");
    house.runtime.revoke("tenant", "timers").await.expect("it is granted");
    let denied = timers(&house, r#"{"do":"list"}"#).await;
    assert!(denied.starts_with("denied: "), "{denied}");
}

#[tokio::test]
async fn a_plugin_finds_and_ends_no_timer_of_anothers() {
    let house = with_timers().await;
    house.data.timers.set("other", "theirs", (99_999_999_999_999, None), "null", 64).expect("there is room");
    let house = house.again().await;
    assert_eq!(timers(&house, r#"{"do":"list"}"#).await, "[]");
    for name in ["theirs", "other/theirs", "%"] {
        assert_eq!(timers(&house, &format!(r#"{{"do":"cancel","name":"{name}"}}"#)).await, "false", "{name}");
    }
    assert_eq!(house.data.timers.all().expect("reads").len(), 1);
}
