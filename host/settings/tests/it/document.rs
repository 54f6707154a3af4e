use homeagent_settings::{Applies, Declaration, ImportError, Kind, Settings};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::home::Home;

fn with_plugin(home: &Home) -> Settings {
    let settings = home.settings();
    let declared = vec![
        Declaration::new("plugin.qq.groups", Kind::List, json!([]), "群"),
        Declaration::new("plugin.qq.deep.er", Kind::Text, "", "A name with a dot\n[core.agent]\nrounds = 1"),
        Declaration::new("plugin.qq.access_token", Kind::Secret, Value::Null, "The token NapCat sends"),
    ];
    settings.declare_plugin("qq", declared).expect("are declared well");
    settings
}

fn faults(settings: &Settings, document: &str) -> Vec<String> {
    match settings.apply_toml(document, false) {
        Err(ImportError::Document { faults }) => faults.iter().map(ToString::to_string).collect(),
        other => panic!("it was taken: {other:?}"),
    }
}

#[test]
fn what_was_changed_is_written_and_read_back() {
    let home = Home::new();
    let settings = with_plugin(&home);
    settings.set("core.agent.rounds", 3).expect("sets");
    settings.set("core.model.temperature", 0.25).expect("sets");
    settings.set("plugin.qq.groups", json!(["家人", "a \"b\"\n"])).expect("sets");
    settings.set("plugin.qq.access_token", "sk-secret").expect("sets");
    let document = settings.to_toml(false);
    insta::assert_snapshot!(document, @r#"
    # Settings of homed. `waiter settings import FILE` reads this back.

    [core.agent]
    rounds = 3

    [core.model]
    temperature = 0.25

    [plugin.qq]
    # access_token is a secret, and set; `waiter settings set plugin.qq.access_token -` sets it.
    groups = ["家人", """
    a "b"
    """]
    "#);
    let other_home = Home::new();
    let other = with_plugin(&other_home);
    let import = other.apply_toml(&document, false).expect("it is its own");
    assert_eq!(import.changed.len(), 3);
    assert_eq!(other.get("plugin.qq.groups").expect("declared"), json!(["家人", "a \"b\"\n"]));
    assert_eq!(other_home.settings().get("core.agent.rounds").expect("declared"), json!(3), "it is on the disk");
}

#[test]
fn a_whole_document_explains_itself_and_changes_nothing() {
    let home = Home::new();
    let settings = with_plugin(&home);
    settings.set("core.agent.rounds", 3).expect("sets");
    let document = settings.to_toml(true);
    for line in [
        "# How often a turn may go back to the model after tool calls (rounds).",
        "# Allowed: a whole number from 1 to 1000; default: 10",
        "# Where the API listens. Takes effect when the daemon restarts.",
        "\"deep.er\" = \"\"",
    ] {
        assert!(document.lines().any(|found| found == line), "{line} is not in\n{document}");
    }
    let import = settings.apply_toml(&document, false).expect("it is its own");
    assert!(import.changed.is_empty(), "{:?}", import.changed);
    assert_eq!(settings.get("core.agent.rounds").expect("declared"), json!(3), "a description sets nothing");
}

#[test]
fn values_are_read_as_a_person_types_them() {
    let home = Home::new();
    let settings = home.settings();
    let document =
        "core.agent.turn_seconds = \"5min\"\n[core.gateway]\nbody_bytes = \"2 MiB\"\nlisten = \"0.0.0.0:1\"\n";
    let dry = settings.apply_toml(document, true).expect("is right");
    assert_eq!(settings.integer("core.agent.turn_seconds").expect("declared"), 600, "nothing is changed yet");
    let import = settings.apply_toml(document, false).expect("is right");
    assert_eq!(import, dry);
    let listen = import.changed.iter().find(|changed| changed.key == "core.gateway.listen").expect("it changed");
    assert_eq!((&listen.before, &listen.value), (&json!("127.0.0.1:8686"), &json!("0.0.0.0:1")));
    assert_eq!(listen.applies, Applies::Restart("daemon".into()));
    assert_eq!(settings.integer("core.agent.turn_seconds").expect("declared"), 300);
    assert_eq!(settings.apply_toml(document, false).expect("again").unchanged.len(), 3);
}

#[test]
fn everything_that_is_wrong_is_told_at_once_and_nothing_is_changed() {
    let home = Home::new();
    let settings = with_plugin(&home);
    let document = "\
[core.agent]
rounds = 5
round = 6
turn_seconds = 1979-05-27
[plugin.qq]
access_token = \"sk-clear\"
groups = \"a, b\"
[plugin.gone]
key = 1
[core]
\"agent.merge_ms\" = -1
\"log.level\" = { a = 1 }
";
    insta::assert_snapshot!(faults(&settings, document).join("\n"), @r#"
    line 3: there is no setting "core.agent.round"; did you mean "core.agent.rounds"?
    line 4: "core.agent.turn_seconds" can't be 1979-05-27: allowed is a time from 1 s to 86400 s, such as 1 or "10s"
    line 6: "plugin.qq.access_token" is a secret, and a document is no place for one; `waiter settings set plugin.qq.access_token -` sets it
    line 9: the plugin gone is not loaded, so nobody knows its settings; load it first, or leave "plugin.gone.key" out
    line 11: "core.agent.merge_ms" can't be -1: allowed is a time from 0 ms to 60000 ms, such as 0 or "10s"
    line 12: there is no setting "core.log.level.a"; did you mean "core.log.level"?
    "#);
    assert_eq!(settings.get("core.agent.rounds").expect("declared"), json!(10));
    insta::assert_snapshot!(faults(&settings, "[core.agent]\nrounds = = 3\n[core.log\n").join("\n"), @"
    line 2: this is not TOML: extra `=`, expected nothing
    line 2: this is not TOML: unexpected key or value, expected newline, `#`
    line 3: this is not TOML: unclosed table, expected `]`
    ");
    assert_eq!(faults(&settings, "core.agent.rounds = 1\n[core]\n\"agent.rounds\" = 2").len(), 1);
    let deep = format!("a = {}{}", "{a=".repeat(200), "1".to_owned() + &"}".repeat(200));
    assert_eq!(faults(&settings, &deep).len(), 1, "and nothing overflows");
}

proptest! {
    #[test]
    fn whatever_a_list_of_texts_holds_comes_back_as_it_was(items in proptest::collection::vec(any::<String>(), 0..4)) {
        let home = Home::new();
        let settings = with_plugin(&home);
        settings.set("plugin.qq.groups", json!(items)).expect("sets");
        settings.set("plugin.qq.deep.er", items.concat()).expect("sets");
        let other_home = Home::new();
        let other = with_plugin(&other_home);
        other.apply_toml(&settings.to_toml(true), false).expect("it is its own");
        prop_assert_eq!(other.get("plugin.qq.groups").expect("declared"), json!(items));
        prop_assert_eq!(other.get("plugin.qq.deep.er").expect("declared"), json!(items.concat()));
    }

    #[test]
    fn no_document_breaks_the_reader(document in ".*") {
        let home = Home::new();
        let _ = home.settings().apply_toml(&document, true);
    }
}
