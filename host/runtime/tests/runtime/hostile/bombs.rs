//! Guests that take more than they may have: memory, stack, tables, handles, instances, words.

use homeagent_contract::{Kind, SECTION};
use homeagent_types::ports::{Haste, PluginAdmin};

use super::street::{beside, reason, says, usual};
use crate::house::{self, House};

/// A component whose core module is this one, in the text format; it has the exports that are looked for first.
fn component(module: &str, instances: usize) -> Vec<u8> {
    let instances: String = (0..instances).map(|_| "(core instance (instantiate $bomb))").collect();
    let lifecycle: String = ["describe", "start", "self-check", "activated", "stop"]
        .map(|name| format!("(export \"{name}\" (func $nothing))"))
        .concat();
    let text = format!(
        "(component
           (core module $bomb {module})
           (core module $rest (func (export \"nothing\")))
           (core instance $rest (instantiate $rest))
           {instances}
           (func $nothing (canon lift (core func $rest \"nothing\")))
           (instance $lifecycle {lifecycle})
           (export \"homeagent:plugin/lifecycle@0.1.0\" (instance $lifecycle)))"
    );
    let mut bytes = wat::parse_str(text).expect("it is a component");
    let mut section = vec![u8::try_from(SECTION.len()).expect("a short name")];
    section.extend_from_slice(SECTION.as_bytes());
    section.extend(homeagent_contract::stamp(Kind::Plugin));
    bytes.push(0);
    bytes.push(u8::try_from(section.len()).expect("a short section"));
    bytes.extend(section);
    bytes
}

/// Lays such a component into the folder of plugins.
fn lay(house: &House, module: &str, instances: usize) {
    let folder = house.plugins().join("bomb");
    std::fs::create_dir_all(&folder).expect("the folder of plugins takes folders");
    let manifest = "[plugin]\nname = \"bomb\"\nversion = \"1\"\ncomponent = \"bomb.wasm\"\n";
    std::fs::write(folder.join("plugin.toml"), manifest).expect("the folder takes files");
    std::fs::write(folder.join("bomb.wasm"), component(module, instances)).expect("the folder takes files");
}

#[tokio::test]
async fn what_a_call_takes_too_much_of_is_its_error_and_the_plugin_serves_again() {
    let house = usual().await;
    let harms = [
        ("memory", "64 MiB"),
        ("stack", "memory access"),
        ("handles", "resource table"),
        ("huge", "64 MiB"),
        ("trap", "a trap on request"),
    ];
    for (harm, words) in harms {
        says(&reason(beside(&house, house.harm(harm)).await), &["hostile", "tool-provider.call", words]);
        says(&house.status("hostile").last_error.unwrap_or_default(), &[words]);
        house.pacify().await;
    }
}

#[tokio::test]
async fn a_component_that_begins_with_too_much_is_refused_and_the_reason_says_of_what() {
    let house = usual().await;
    // What a limit refuses shows by `unreachable`; were it given, the start would go well.
    let must_fail = |grow: &str| format!("(func $start (if (i32.eq ({grow}) (i32.const -1)) (then unreachable)))");
    let table = must_fail("table.grow 0 (ref.null func) (i32.const 200000)");
    let bombs = [
        ("(memory 1025)".to_owned(), 1, "it needs 65 MiB of memory to begin with and may have 64"),
        ("(memory 600) (memory 600)".to_owned(), 1, "memories"),
        ("(memory 300)".to_owned(), 4, "75 MiB of memory"),
        ("(table 200000 funcref)".to_owned(), 1, "table"),
        (format!("(table 1 funcref) (start $start) {table}"), 1, "unreachable"),
        ("(table 60000 funcref)".to_owned(), 2, "table"),
        (String::new(), 100, "instances"),
        ("(start $start) (func $start (call $start))".to_owned(), 1, "call stack exhausted"),
        ("(start $start) (func $start (loop br 0))".to_owned(), 1, "more than 2000 ms of processor time"),
    ];
    for (module, instances, words) in bombs {
        lay(&house, &module, instances);
        let refused = beside(&house, house.runtime.load("bomb")).await;
        says(&reason(refused), &["bomb", words]);
        assert_ne!(house.state("bomb"), "live");
    }
}

#[tokio::test]
async fn too_little_memory_for_anything_is_not_a_setting_and_little_of_it_is_a_clear_refusal() {
    let house = usual().await;
    house.settings.set("core.plugin.memory_mib", 1).expect_err("no component runs in that");
    house.settings.set("core.plugin.memory_mib", 2).expect("small ones do");
    house.runtime.reload("counter", Haste::default()).await.expect("it is small");
    lay(&house, "(memory 40)", 1);
    says(&reason(house.runtime.load("bomb").await), &["needs 3 MiB", "may have 2", "core.plugin.memory_mib"]);
}

#[tokio::test]
async fn a_manifest_with_ten_thousand_entries_is_refused_for_that() {
    let house = usual().await;
    let package = "[plugin]\nname = \"bomb\"\nversion = \"1\"\ncomponent = \"bomb.wasm\"\n";
    let many = |begin: &str, entry: &dyn Fn(usize) -> String| {
        let entries: String = (0..10_000).map(entry).collect();
        format!("{package}{begin}{entries}")
    };
    let manifests = [
        (many("[settings]\n", &|number| format!("s{number} = {{}}\n")), "10000 settings"),
        (many("", &|number| format!("[wants.w{number}]\n")), "unknown key"),
        (many("[limits]\n", &|number| format!("l{number} = 1\n")), "unknown key"),
        (many("", &|number| format!("[settings.a_long_name_for_a_setting_{number}]\ntype = \"text\"\n")), "bytes"),
    ];
    lay(&house, "", 1);
    for (text, words) in manifests {
        std::fs::write(house.plugins().join("bomb/plugin.toml"), text).expect("the folder takes files");
        house.runtime.load_all().await;
        let reason = house.status("bomb").reason.unwrap_or_default();
        says(&reason, &["bomb", words]);
        assert!(reason.len() < 2_000, "a reason that can be read: {} bytes", reason.len());
        assert!(house.call("counter", "count", "{}").await.is_ok());
    }
}

#[tokio::test]
async fn more_than_may_be_handed_over_is_refused_before_a_guest_sees_it() {
    let house = house::with(&["echo"]).await;
    let text = format!("{{\"text\":\"{}\"}}", "x".repeat(5 << 20));
    says(&reason(house.call("echo", "echo", &text).await), &["at most 4194304 bytes"]);
    assert_eq!(house.status("echo").restarts, 0);
}
