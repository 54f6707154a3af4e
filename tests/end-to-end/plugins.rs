//! Plugins, as their owner handles them.

use crate::chat::Chat;
use crate::daemon::{with_vendor, with_vendor_and, within};
use crate::vendor::Reply;

#[tokio::test]
async fn a_reload_between_two_calls_of_a_conversation_brings_the_new_code() {
    let (daemon, vendor) = with_vendor_and(&["counter-one"]).await;
    vendor.script([Reply::calls(&[("version", "{}")]), Reply::text("first")]);
    daemon.reply("which version?").await;
    daemon.home.install("counter-two", "counter-one");
    daemon.waiter(&["plugin", "reload", "counter"]).await.ok();
    vendor.script([Reply::calls(&[("version", "{}")]), Reply::text("second")]);
    daemon.reply("and now?").await;
    let asked = vendor.asked(4).await;
    assert!(asked[1].tool_results().last().is_some_and(|result| result.contains("1.0.0")));
    assert!(asked[3].tool_results().last().is_some_and(|result| result.contains("2.0.0")));
    let offered = asked[3].body["tools"].to_string();
    assert!(!offered.contains("only_in_one"), "the old registrations are gone");
}

#[tokio::test]
async fn what_is_no_component_of_ours_is_refused_in_a_sentence() {
    let (daemon, _vendor) = with_vendor_and(&["counter-one"]).await;
    let component = daemon.home.path().join("plugins/counter-one/guest_counter_one.wasm");
    let good = std::fs::read(&component).expect("it is installed");
    std::fs::write(&component, "not wasm at all").expect("the folder takes files");
    let refused = daemon.waiter(&["plugin", "reload", "counter"]).await;
    assert_eq!(refused.status.code(), Some(1));
    assert!(refused.stderr.contains("not a WebAssembly component"), "{}", refused.stderr);

    // The same component with another contract's stamp.
    let digest = homeagent_contract::PLUGIN_DIGEST.as_bytes();
    let places: Vec<_> =
        good.windows(digest.len()).enumerate().filter(|(_, it)| *it == digest).map(|(at, _)| at).collect();
    assert!(!places.is_empty(), "it is stamped");
    let mut other = good;
    for at in places {
        other[at..at + 4].copy_from_slice(b"0000");
    }
    std::fs::write(&component, other).expect("the folder takes files");
    let refused = daemon.waiter(&["plugin", "reload", "counter"]).await;
    assert!(refused.stderr.contains("rebuild it"), "{}", refused.stderr);
    assert!(daemon.waiter(&["tools", "call", "version", "{}"]).await.ok().contains("1.0.0"), "the old code goes on");
}

#[tokio::test]
async fn a_denial_names_the_grant_and_the_command() {
    let (daemon, _vendor) = with_vendor().await;
    let mut chat = Chat::open(&daemon).await;
    daemon.waiter(&["plugin", "revoke", "cli", "input"]).await.ok();
    chat.say("hello").await;
    let (denied, _) = chat.until("error").await;
    let words = denied["text"].as_str().expect("an error is a sentence");
    assert!(words.contains("input") && words.contains("waiter plugin grant cli input"), "{words}");
}

#[tokio::test]
async fn what_was_taken_from_a_plugin_it_offers_no_more() {
    let (daemon, _vendor) = with_vendor_and(&["counter-one"]).await;
    assert!(daemon.waiter(&["tools"]).await.ok().contains("counter"));
    daemon.waiter(&["plugin", "revoke", "counter", "tools"]).await.ok();
    let tools = daemon.waiter(&["tools"]).await.ok();
    assert!(!tools.contains("counter"), "{tools}");
    let plugin = daemon.plugins().await.into_iter().find(|plugin| plugin["name"] == "counter");
    assert_eq!(plugin.expect("it is listed")["missing"][0], "tools");
}

#[tokio::test]
async fn a_plugin_is_installed_edited_live_reloaded_by_the_agent_and_removed() {
    let (daemon, vendor) = with_vendor().await;
    let elsewhere = tempfile::tempdir().expect("a folder");
    let package = homeagent_test_artifacts::install(elsewhere.path(), "ledger-one", "package");
    let said = daemon.waiter(&["plugin", "install", &package.display().to_string()]).await.ok();
    assert!(said.contains("ledger 1.0.0 is live") && said.contains("`waiter plugin grant ledger tools`"), "{said}");
    daemon.grant_all().await;
    assert_eq!(daemon.waiter(&["tools", "call", "count"]).await.ok(), "1");

    daemon.home.install("ledger-two", "ledger");
    while daemon.waiter(&["tools", "call", "version"]).await.ok() != "2.0.0" {}
    assert_eq!(daemon.waiter(&["tools", "call", "count"]).await.ok(), "2", "what it knew came along");

    vendor.script([Reply::calls(&[("plgreload", r#"{"plugin":"ledger"}"#)]), Reply::text("done")]);
    daemon.reply("load the ledger anew").await;
    let asked = vendor.asked(2).await;
    assert!(asked[1].tool_results().last().is_some_and(|it| it.contains("2.0.0") && it.contains("live")));

    std::fs::create_dir(daemon.home.path().join("plugins/half")).expect("a folder");
    let listed = daemon.waiter(&["plugin", "list"]).await.ok();
    assert!(listed.contains("half is refused") && listed.contains("ledger (ledger) is live"), "{listed}");
    let said = daemon.waiter(&["plugin", "remove", "ledger"]).await.ok();
    assert!(said.contains("ledger is removed"), "{said}");
    assert!(daemon.plugins().await.iter().all(|plugin| plugin["name"] != "ledger"));
    assert!(!daemon.home.path().join("plugins/ledger").exists());
}

#[tokio::test]
async fn a_package_is_signed_packed_and_installed_and_keeps_its_grants_only_with_its_key() {
    let (daemon, _vendor) = with_vendor().await;
    let elsewhere = tempfile::tempdir().expect("a folder");
    let path = |name: &str| elsewhere.path().join(name).display().to_string();
    let (ours, theirs, file) = (path("ours.key"), path("theirs.key"), path("ledger.tar"));
    let made = daemon.waiter(&["plugin", "key", "new", "--key", &ours]).await.ok();
    let fingerprint = made.lines().next().and_then(|line| line.strip_prefix("fingerprint: ")).expect("it is said");
    daemon.waiter(&["plugin", "key", "new", "--key", &theirs]).await.ok();
    let pack = async |guest: &str, key: &str| {
        let folder = homeagent_test_artifacts::install(elsewhere.path(), guest, guest).display().to_string();
        daemon.waiter(&["plugin", "pack", &folder, "--output", &file, "--sign", "--key", key]).await.ok()
    };
    let said = pack("ledger-one", &ours).await;
    assert!(said.contains("plugin.sig") && said.contains(fingerprint), "{said}");
    let said = daemon.waiter(&["plugin", "install", &file]).await.ok();
    assert!(said.contains(&format!("ledger 1.0.0 is live, signed by {fingerprint}")), "{said}");
    daemon.waiter(&["plugin", "grant", "ledger", "--all"]).await.ok();
    pack("ledger-two", &ours).await;
    let said = daemon.waiter(&["plugin", "install", &file]).await.ok();
    assert!(said.contains("ledger 2.0.0") && said.contains("granted: events, listen, tools"), "{said}");
    assert!(daemon.waiter(&["plugin", "list"]).await.ok().contains(fingerprint));

    pack("ledger-one", &theirs).await;
    let said = daemon.waiter(&["plugin", "install", &file]).await.ok();
    assert!(said.contains(&format!("it was granted to a package signed by {fingerprint}")), "{said}");
    let mut bytes = std::fs::read(&file).expect("it is there");
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    std::fs::write(&file, bytes).expect("the folder takes files");
    let refused = daemon.waiter(&["plugin", "install", &file]).await;
    assert_eq!(refused.status.code(), Some(1));
    assert!(refused.stderr.contains("was changed after the package was signed"), "{}", refused.stderr);
}

#[tokio::test]
async fn a_plugin_that_is_busy_is_a_conflict_and_runs_on() {
    let (daemon, _vendor) = with_vendor_and(&["ledger-one"]).await;
    let nothing = serde_json::json!({});
    let compute = daemon.post("/api/v1/tools/compute", &nothing);
    let reload = async {
        loop {
            let (status, problem) = daemon.post("/api/v1/plugins/ledger/reload?wait=0", &nothing).await;
            if status != 200 {
                return (status, problem);
            }
        }
    };
    tokio::select! {
        (status, _) = compute => panic!("it computes for ever, and answered {status}"),
        (status, problem) = reload => {
            assert_eq!((status, problem["type"].as_str()), (409, Some("urn:homeagent:problem:conflict")));
            assert!(problem["detail"].as_str().is_some_and(|it| it.contains("what ran runs on")), "{problem}");
        }
    }
}

#[tokio::test]
async fn settings_of_a_plugin_that_is_unloaded_are_known_again_when_it_is_loaded() {
    let (daemon, _vendor) = with_vendor_and(&["probe"]).await;
    let script = "plugin.probe.script";
    daemon.waiter(&["settings", "set", script, "{}"]).await.ok();
    daemon.waiter(&["plugin", "unload", "probe"]).await.ok();
    let refused = daemon.waiter(&["settings", "set", script, "[]"]).await;
    assert_eq!(refused.status.code(), Some(1), "nobody knows what it may be: {}", refused.stdout);
    assert!(!daemon.waiter(&["settings", "list"]).await.ok().contains("plugin.probe"));
    daemon.waiter(&["plugin", "load", "probe"]).await.ok();
    assert_eq!(daemon.waiter(&["settings", "get", script]).await.ok(), "{}", "the value was kept");
}

#[tokio::test]
async fn events_of_the_agents_rounds_reach_subscribers() {
    let (daemon, vendor) = with_vendor_and(&["events"]).await;
    vendor.script([Reply::text("hello")]);
    daemon.reply("hi").await;
    let seen = async {
        while !daemon.waiter(&["tools", "call", "events_seen", "{}"]).await.ok().contains("agent_llm_chain") {}
    };
    within("the event of the round", seen).await;
}

#[tokio::test]
async fn adapters_are_tried_on_recorded_answers() {
    let (daemon, _vendor) = with_vendor().await;
    let corpora = std::path::PathBuf::from("../../tests/corpora/llm-streams");
    let mut tried = 0;
    for entry in std::fs::read_dir(corpora).expect("the corpora are there") {
        let stream = entry.expect("it can be listed").path();
        let name = stream.file_name().expect("a name").to_string_lossy().into_owned();
        if !name.starts_with("openai__") || !name.ends_with(".stream") {
            continue;
        }
        let expected = std::fs::read_to_string(stream.with_extension("expected.json")).expect("it has an answer");
        let expected: serde_json::Value = serde_json::from_str(&expected).expect("it is JSON");
        for chunk in ["1", "7", "100000"] {
            let file = stream.display().to_string();
            let got = daemon.waiter_json(&["adapter", "try", "openai", &file, "--chunk", chunk]).await;
            for key in ["text", "reasoning", "finish", "error", "usage"] {
                assert_eq!(got[key], expected[key], "{name} in pieces of {chunk}: {key}");
            }
            let calls = expected["tool_calls"].as_array().expect("a list");
            assert_eq!(got["tool_calls"].as_array().map(Vec::len), Some(calls.len()), "{name}");
            for (got, expected) in got["tool_calls"].as_array().into_iter().flatten().zip(calls) {
                assert_eq!((&got["name"], &got["arguments"]), (&expected["name"], &expected["arguments"]), "{name}");
            }
            tried += 1;
        }
    }
    assert!(tried >= 18, "only {tried} were tried");
}
