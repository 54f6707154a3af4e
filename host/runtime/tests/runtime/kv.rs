//! What a plugin keeps under keys of its own.

use homeagent_types::ports::{Haste, PluginAdmin};

use crate::house;

#[tokio::test]
async fn what_was_kept_is_there_after_a_reload_a_reinstallation_and_a_restart_and_gone_after_the_removal() {
    let house = house::with(&["tenant"]).await;
    house.call("tenant", "kv", r#"{"do":"set","key":"kept","value":"蛋"}"#).await.expect("it needs no grant");
    let get = r#"{"do":"get","key":"kept"}"#;
    assert_eq!(house.call("tenant", "kv", get).await, Ok("蛋".into()));
    house.runtime.reload("tenant", Haste::default()).await.expect("it loads");
    assert_eq!(house.call("tenant", "kv", get).await, Ok("蛋".into()));
    let elsewhere = tempfile::tempdir().expect("a folder");
    let package = homeagent_test_artifacts::install(elsewhere.path(), "tenant", "tenant");
    house.runtime.install(&package).await.expect("it replaces itself");
    assert_eq!(house.call("tenant", "kv", get).await, Ok("蛋".into()));
    let house = house.again().await;
    assert_eq!(house.call("tenant", "kv", get).await, Ok("蛋".into()));
    house.runtime.remove("tenant").await.expect("it is installed");
    house.runtime.install(&package).await.expect("it is installed anew");
    house.grant_all().await;
    assert_eq!(house.call("tenant", "kv", get).await, Ok("null".into()));
}

#[tokio::test]
async fn keys_are_listed_by_prefix_in_order_and_a_batch_changes_all_or_nothing() {
    let house = house::with(&["tenant"]).await;
    let batch = r#"{"do":"batch","changes":[["a/2","x"],["a/1","x"],["b","x"],["a/3","x"],["b",null]]}"#;
    assert_eq!(house.call("tenant", "kv", batch).await, Ok("kept".into()));
    let list = |rest: &str| format!(r#"{{"do":"list",{rest}}}"#);
    assert_eq!(house.call("tenant", "kv", &list(r#""prefix":"a/""#)).await, Ok(r#"["a/1","a/2","a/3"]"#.into()));
    let behind = list(r#""prefix":"a/","after":"a/1""#);
    assert_eq!(house.call("tenant", "kv", &behind).await, Ok(r#"["a/2","a/3"]"#.into()));
    assert_eq!(house.call("tenant", "kv", &list(r#""prefix":"b""#)).await, Ok("[]".into()));
    let half = r#"{"do":"batch","changes":[["c","x"],["","x"]]}"#;
    let refused = house.call("tenant", "kv", half).await.expect("the guest says it");
    assert!(refused.starts_with("invalid: a key has 1 to 1024 bytes"), "{refused}");
    assert_eq!(house.call("tenant", "kv", r#"{"do":"get","key":"c"}"#).await, Ok("null".into()));
}

#[tokio::test]
async fn an_instance_that_does_not_serve_yet_reads_and_does_not_write() {
    let house = house::with(&["tenant"]).await;
    house.call("tenant", "kv", r#"{"do":"set","key":"kept","value":"x"}"#).await.expect("it needs no grant");
    house.runtime.reload("tenant", Haste::default()).await.expect("it loads");
    let said = Ok(r#"Ok(true) Err("not-live: this instance is not the one that serves")"#.into());
    assert_eq!(house.call("tenant", "at_start", "{}").await, said);
}
