use std::time::Duration;

use homeagent_settings::{Applies, Declaration, Kind, SettingsError, core_declarations, plugin_prefix};
use serde_json::{Value, json};

use crate::home::Home;

fn qq(extra: Vec<Declaration>) -> Vec<Declaration> {
    let mut all = vec![
        Declaration::new("plugin.qq.groups", Kind::List, json!([]), "群"),
        Declaration::new("plugin.qq.access_token", Kind::Secret, Value::Null, "The token NapCat sends"),
    ];
    all.extend(extra);
    all
}

#[test]
fn every_core_setting_has_a_default_that_passes_its_own_check() {
    let home = Home::new();
    let settings = home.settings();
    let listed = settings.list();
    assert_eq!(listed.len(), core_declarations().len(), "a key is declared twice");
    for entry in &listed {
        assert!(entry.is_default && entry.problem.is_none());
        assert!(entry.declaration.kind.accepts(&entry.value), "{}", entry.declaration.key);
        assert!(!entry.declaration.description.is_empty() && !entry.declaration.description.contains('\n'));
    }
    let keys: Vec<_> = listed.iter().map(|entry| &entry.declaration.key).collect();
    assert!(keys.is_sorted());
}

#[test]
fn defaults_are_the_documented_ones() {
    let home = Home::new();
    let settings = home.settings();
    assert_eq!(settings.integer("core.agent.rounds").expect("declared"), 10);
    assert_eq!(settings.duration("core.agent.turn_seconds").expect("declared"), Duration::from_secs(600));
    assert_eq!(settings.duration("core.agent.merge_ms").expect("declared"), Duration::from_millis(1500));
    assert_eq!(settings.integer("core.agent.merge_ms").expect("declared"), 1500);
    assert_eq!(settings.integer("core.agent.max_arguments_bytes").expect("declared"), 262_144);
    assert!((settings.number("core.model.temperature").expect("declared") - 0.7).abs() < 1e-9);
    assert_eq!(settings.text("core.gateway.listen").expect("declared"), "127.0.0.1:8686");
    let listen = settings.entry("core.gateway.listen").expect("declared");
    assert_eq!(listen.declaration.applies, Applies::Restart("daemon".into()));
}

#[test]
fn values_outlive_the_program() {
    let home = Home::new();
    home.settings().set("core.agent.rounds", 3).expect("is allowed");
    home.settings().set_text("core.log.level", "debug").expect("is allowed");
    let settings = home.settings();
    assert_eq!(settings.get("core.agent.rounds").expect("declared"), json!(3));
    assert_eq!(settings.text("core.log.level").expect("declared"), "debug");
    settings.unset("core.agent.rounds").expect("unsets");
    settings.unset("core.agent.rounds").expect("twice is fine");
    assert_eq!(home.settings().get("core.agent.rounds").expect("declared"), json!(10));
}

#[test]
fn typed_text_is_read_by_kind() {
    let home = Home::new();
    let settings = home.settings();
    for (key, text, value) in [
        ("core.agent.turn_seconds", "2min", json!(120)),
        ("core.agent.turn_seconds", "90", json!(90)),
        ("core.agent.merge_ms", "0", json!(0)),
        ("core.agent.merge_ms", "2 s", json!(2000)),
        ("core.gateway.body_bytes", "2 MiB", json!(2_097_152)),
        ("core.agent.input_queue", " 2_000 ", json!(2000)),
        ("core.model.temperature", "1", json!(1.0)),
        ("core.gateway.listen", "[::1]:0", json!("[::1]:0")),
        ("core.gateway.listen", "localhost:8686", json!("localhost:8686")),
        ("core.otel.endpoint", " https://[::1]:4318/otlp ", json!("https://[::1]:4318/otlp")),
        ("core.otel.endpoint", "", json!("")),
    ] {
        settings.set_text(key, text).unwrap_or_else(|error| panic!("{key} {text}: {error}"));
        assert_eq!(settings.get(key).expect("declared"), value, "{key} {text}");
    }
}

#[test]
fn what_is_not_allowed_says_what_is() {
    let home = Home::new();
    let settings = home.settings();
    for (key, text, allowed) in [
        ("core.agent.rounds", "0", "from 1 to 1000"),
        ("core.agent.rounds", "many", "a whole number"),
        ("core.agent.turn_seconds", "1500ms", "a time from 1 s"),
        ("core.agent.turn_seconds", "99999999999999999999", "a time"),
        ("core.model.temperature", "NaN", "a number from 0 to 2"),
        ("core.log.level", "loud", "off, error, warn, info, debug, trace"),
        ("core.gateway.listen", "127.0.0.1", "a host and a port"),
        ("core.gateway.listen", "127.0.0.256:80", "a host and a port"),
        ("core.otel.endpoint", "127.0.0.1:4318", "http:// or https://"),
        ("core.otel.endpoint", "grpc://127.0.0.1:4317", "http:// or https://"),
        ("core.otel.endpoint", "http://me:pw@box:4318", "no password"),
    ] {
        let error = settings.set_text(key, text).expect_err("is refused");
        assert!(matches!(error, SettingsError::NotAllowed { .. }), "{error:?}");
        let sentence = error.to_string();
        assert!(sentence.contains(key) && sentence.contains(text) && sentence.contains(allowed), "{sentence}");
    }
    settings.set("core.agent.rounds", "10").expect_err("a text is no number");
    let long = settings.set("core.log.level", "好".repeat(10_000)).expect_err("is refused");
    assert!(long.to_string().len() < 600, "an error does not repeat everything");
}

#[test]
fn an_unknown_key_names_the_nearest() {
    let home = Home::new();
    let settings = home.settings();
    for (key, near) in [
        ("core.agent.round", Some("core.agent.rounds")),
        ("rounds", Some("core.agent.rounds")),
        ("core.modle.temperature", Some("core.model.temperature")),
        ("没有这样的设置", None),
    ] {
        let error = settings.get(key).expect_err("is unknown");
        let SettingsError::UnknownKey { nearest, .. } = &error else { panic!("{error:?}") };
        assert_eq!(nearest.as_deref(), near);
    }
}

#[test]
fn a_value_read_as_something_else_is_an_error() {
    let home = Home::new();
    let settings = home.settings();
    let error = settings.boolean("core.agent.rounds").expect_err("is no boolean");
    assert!(matches!(error, SettingsError::WrongKind { kind: "integer", .. }), "{error:?}");
    settings.duration("core.agent.rounds").expect_err("counts no time");
}

#[test]
fn damaged_rows_fall_back_to_the_default_and_are_reported() {
    let home = Home::new();
    drop(home.settings());
    home.tamper(
        "INSERT INTO settings VALUES ('core.agent.rounds', '{\"half'), ('core.log.level', '\"loud\"'),
         ('core.model.max_tokens', x'ff00'), ('core.agent.parallel_conversations', 7)",
    );
    let settings = home.settings();
    assert_eq!(settings.integer("core.agent.rounds").expect("declared"), 10);
    assert_eq!(settings.text("core.log.level").expect("declared"), "info");
    assert_eq!(settings.integer("core.model.max_tokens").expect("declared"), 4096);
    assert_eq!(settings.integer("core.agent.parallel_conversations").expect("declared"), 7);
    let problems = settings.list().into_iter().filter(|entry| entry.problem.is_some()).count();
    assert_eq!(problems, 3);
    settings.set("core.agent.rounds", 4).expect("a good value mends it");
    assert!(settings.entry("core.agent.rounds").expect("declared").problem.is_none());
}

#[test]
fn subscribers_hear_of_changes_only() {
    let home = Home::new();
    let settings = home.settings();
    let mut changes = settings.subscribe();
    settings.set("core.agent.rounds", 10).expect("is allowed");
    settings.set("core.agent.rounds", 11).expect("is allowed");
    settings.unset("core.agent.rounds").expect("unsets");
    assert_eq!(&*changes.try_recv().expect("a change"), "core.agent.rounds");
    assert_eq!(&*changes.try_recv().expect("another"), "core.agent.rounds");
    changes.try_recv().expect_err("setting the default to itself was none");
}

#[test]
fn plugins_declare_replace_and_withdraw() {
    let home = Home::new();
    let settings = home.settings();
    settings.set("plugin.qq.groups", json!(["1"])).expect_err("nobody declared it");
    settings.declare_plugin("qq", qq(Vec::new())).expect("declares");
    settings.set_text("plugin.qq.groups", "家人, 朋友，").expect("is a list");
    assert_eq!(settings.get("plugin.qq.groups").expect("declared"), json!(["家人", "朋友"]));

    let mut changes = settings.subscribe();
    let limit =
        Declaration::new("plugin.qq.limit", Kind::Integer { min: 0, max: 9 }, 5, "A limit").counted_in("messages");
    settings.declare_plugin("qq", qq(vec![limit])).expect("declares again");
    assert_eq!(settings.integer("plugin.qq.limit").expect("declared"), 5);
    assert_eq!(&*changes.try_recv().expect("a change"), "plugin.qq.limit");
    changes.try_recv().expect_err("the others kept their values");

    settings.withdraw_plugin("qq");
    settings.get("plugin.qq.groups").expect_err("is gone");
    settings.declare_plugin("qq", qq(Vec::new())).expect("declares");
    assert_eq!(settings.get("plugin.qq.groups").expect("declared"), json!(["家人", "朋友"]), "the value was kept");
    settings.withdraw_plugin("qq");
    settings.unset("plugin.qq.groups").expect("what was left behind can be removed");
    settings.unset("plugin.qq.groups").expect_err("and then it is unknown");
}

#[test]
fn bad_declarations_leave_the_good_ones() {
    let home = Home::new();
    let settings = home.settings();
    settings.declare_plugin("qq", qq(Vec::new())).expect("declares");
    let bad = [
        Declaration::new("core.agent.rounds", Kind::Bool, true, "Not its own"),
        Declaration::new("plugin.qq.", Kind::Bool, true, "No name"),
        Declaration::new("plugin.qqq.a", Kind::Bool, true, "Another's"),
        Declaration::new("plugin.qq.a", Kind::Bool, 1, "A wrong default"),
        Declaration::new("plugin.qq.a", Kind::choice(&[]), "x", "No choice"),
        Declaration::new("plugin.qq.a", Kind::Secret, "in clear", "A secret with a default"),
        Declaration::new("plugin.qq.groups", Kind::List, json!([]), "Twice"),
    ];
    for declaration in bad {
        let error = settings.declare_plugin("qq", qq(vec![declaration])).expect_err("is refused");
        assert!(matches!(error, SettingsError::BadDeclaration { .. }), "{error:?}");
    }
    settings.declare_plugin("a.b", Vec::new()).expect_err("a dot would be another plugin's key");
    assert_eq!(plugin_prefix("qq"), "plugin.qq.");
    settings.get("plugin.qq.groups").expect("is still declared");
}

#[test]
fn a_secret_setting_shows_its_name_and_hides_its_text() {
    let home = Home::new();
    let database = home.database();
    let secrets = homeagent_settings::Secrets::open(&database, home.folder.path()).expect("opens");
    let settings = homeagent_settings::Settings::open(&database, &secrets).expect("opens");
    settings.declare_plugin("qq", qq(Vec::new())).expect("declares");
    let key = "plugin.qq.access_token";
    assert_eq!(settings.get(key).expect("declared"), Value::Null);
    let mut changes = settings.subscribe();
    settings.set_text(key, "hunter2-hunter2").expect("is stored");
    assert_eq!(&*changes.try_recv().expect("a change"), key);
    assert_eq!(settings.get(key).expect("declared"), json!(key));
    settings.text(key).expect_err("a secret is no text setting");
    assert_eq!(secrets.get(key).expect("decrypts").expect("is there").expose(), "hunter2-hunter2");
    let listed = serde_json::to_string(&settings.list()).expect("serializes");
    assert!(!listed.contains("hunter2"));
    let refused = settings.set(key, json!({"hunter2": 1})).expect_err("is no text");
    assert!(!refused.to_string().contains("hunter2"));
    settings.unset(key).expect("unsets");
    assert!(!secrets.contains(key));
}

#[test]
fn what_a_plugin_left_behind_can_be_unset_and_nothing_else_that_is_not_declared() {
    let home = Home::new();
    let database = home.database();
    let secrets = homeagent_settings::Secrets::open(&database, home.folder.path()).expect("opens");
    {
        let settings = homeagent_settings::Settings::open(&database, &secrets).expect("opens");
        settings.declare_plugin("qq", qq(Vec::new())).expect("declares");
        settings.set_text("plugin.qq.access_token", "hunter2-hunter2").expect("is stored");
    }
    secrets.set("source.main.key", "sk-1234567890".into()).expect("is stored");
    let settings = homeagent_settings::Settings::open(&database, &secrets).expect("opens, with no plugin");
    settings.unset("plugin.qq.access_token").expect("unsets");
    assert!(!secrets.contains("plugin.qq.access_token"));
    let unknown = settings.unset("plugin.qq.access_token").expect_err("it is gone");
    assert!(matches!(unknown, SettingsError::UnknownKey { .. }), "{unknown:?}");
    settings.unset("source.main.key").expect_err("a source's key is no setting");
    assert!(secrets.contains("source.main.key"));
}

#[test]
fn declarations_come_from_manifests() {
    let text = r#"{"key": "plugin.qq.limit", "type": "integer", "min": 0, "default": 5, "description": "上限"}"#;
    let declaration: Declaration = serde_json::from_str(text).expect("parses");
    assert_eq!(declaration.kind, Kind::Integer { min: 0, max: i64::MAX });
    let text =
        r#"{"key": "plugin.qq.pause", "type": "duration", "in": "milliseconds", "default": 5, "description": "x"}"#;
    let declaration: Declaration = serde_json::from_str(text).expect("parses");
    Home::new().settings().declare_plugin("qq", vec![declaration]).expect("declares");
}

#[test]
fn many_threads_agree_with_the_disk() {
    let home = Home::new();
    let settings = home.settings();
    std::thread::scope(|scope| {
        for thread in 1..=4 {
            let settings = &settings;
            scope.spawn(move || {
                for round in 0..5 {
                    settings.set("core.agent.rounds", thread * 100 + round).expect("is allowed");
                }
            });
        }
    });
    let last = settings.integer("core.agent.rounds").expect("declared");
    assert_eq!(home.settings().integer("core.agent.rounds").expect("declared"), last);
}
