//! Guests that keep more than they may, or look for what others keep.

use homeagent_settings::Change;

use crate::house;

#[tokio::test]
async fn a_plugin_finds_nothing_of_what_another_keeps_however_it_asks() {
    let house = house::with(&["tenant"]).await;
    let theirs = [Change::Set("secret".into(), b"theirs".to_vec())];
    for other in ["tenant2", "tenan", "tenant\0x", ""] {
        house.data.keys.apply(other, &theirs, 1 << 20).expect("there is room");
    }
    for key in ["secret", "../tenant2/secret", "tenant2/secret", "tenant2\\u0000secret", "%", "2secret", "' OR '1'='1"]
    {
        let get = format!(r#"{{"do":"get","key":"{key}"}}"#);
        assert_eq!(house.call("tenant", "kv", &get).await, Ok("null".into()), "{key}");
    }
    for prefix in ["", "%", "s", "../"] {
        let list = format!(r#"{{"do":"list","prefix":"{prefix}"}}"#);
        assert_eq!(house.call("tenant", "kv", &list).await, Ok("[]".into()), "{prefix}");
    }
}

#[tokio::test]
async fn a_plugin_keeps_as_much_as_it_may_and_the_owner_reads_why_no_more() {
    let house = house::with(&["tenant", "counter-one"]).await;
    house.settings.set("core.plugin.kv_mib", 1).expect("a valid number");
    let fill = |key: &str, bytes: usize| format!(r#"{{"do":"fill","key":"{key}","bytes":{bytes}}}"#);
    assert_eq!(house.call("tenant", "kv", &fill("half", 600_000)).await, Ok("kept".into()));
    let rows = [
        (fill("rest", 600_000), "other: the plugin would keep 1200008 bytes and may keep 1048576"),
        (fill("large", (1 << 20) + 1), "invalid: a value has at most 1048576 bytes; this one has 1048577"),
        (fill(&"k".repeat(1025), 1), "invalid: a key has 1 to 1024 bytes; this one has 1025"),
        (fill("", 1), "invalid: a key has 1 to 1024 bytes; this one has 0"),
    ];
    for (act, word) in rows {
        let refused = house.call("tenant", "kv", &act).await.expect("the guest says it");
        assert!(refused.contains(word), "{refused} does not say {word}");
    }
    let seen = house.status("tenant").last_error.expect("the owner is told");
    assert!(seen.contains("keeping a value was refused") && seen.contains("core.plugin.kv_mib"), "{seen}");
    assert_eq!(house.call("tenant", "kv", &fill("half", 500_000)).await, Ok("kept".into()), "less is allowed");
    assert_eq!(house.call("counter", "count", "{}").await, Ok("1".into()));
}

#[tokio::test]
async fn a_flood_of_values_is_told_busy_and_holds_up_neither_the_others_nor_the_settings() {
    let house = house::with(&["tenant", "counter-one"]).await;
    let flood = r#"{"do":"flood","times":300,"bytes":400000}"#;
    let others = async {
        for number in 1..=50 {
            assert_eq!(house.call("counter", "count", "{}").await, Ok(number.to_string()));
        }
        house.settings.set("core.plugin.grace_ms", 2001).expect("the disk is there for others, too");
    };
    let (flooded, ()) = tokio::join!(house.call("tenant", "kv", flood), others);
    let flooded: serde_json::Value = serde_json::from_str(&flooded.expect("it ends")).expect("JSON");
    assert!(flooded["busy"].as_u64() > Some(0) && flooded["kept"].as_u64() > Some(0), "{flooded}");
    assert_eq!(house.call("tenant", "kv", r#"{"do":"delete","key":"flood/0"}"#).await, Ok("true".into()));
}

#[tokio::test]
async fn a_known_secret_that_is_kept_in_clear_is_told_to_the_owner() {
    let house = house::with(&["tenant"]).await;
    house.secrets.set("source.x.key", "sk-marked-0123456789".into()).expect("a secret");
    let set = r#"{"do":"set","key":"k","value":"the key is sk-marked-0123456789"}"#;
    assert_eq!(house.call("tenant", "kv", set).await, Ok("kept".into()));
    let seen = house.status("tenant").last_error.expect("the owner is told");
    assert!(seen.contains("it holds the secret source.x.key in clear") && !seen.contains("sk-marked"), "{seen}");
}
