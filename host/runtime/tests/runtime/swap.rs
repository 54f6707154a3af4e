//! A plugin that hands on what it knows, replaced while it is used; and every way in which that can fail.

use std::time::Duration;

use homeagent_types::CallError;
use homeagent_types::ports::{Haste, PluginAdmin};

use crate::house::{self, House};

const AT_ONCE: Haste = Haste { wait: Some(Duration::ZERO), force: false };
const BY_FORCE: Haste = Haste { wait: Some(Duration::ZERO), force: true };
/// Longer than any test.
const PATIENT: Haste = Haste { wait: Some(Duration::from_secs(600)), force: false };

/// A runtime with the ledger's first version, which has counted once.
async fn with_ledger() -> House {
    let house = house::empty();
    house.install("ledger-one", "ledger");
    house.runtime.load_all().await;
    house.grant_all().await;
    assert_eq!(house.call("ledger", "count", "{}").await, Ok("1".into()));
    house
}

/// The caller of a tool that changes something is told that nobody knows whether it did.
fn assert_unknown(answer: &Result<String, CallError>) {
    let words = "it is not known whether it was done";
    assert!(matches!(answer, Err(CallError::Other(reason)) if reason.contains(words)), "{answer:?}");
}

impl House {
    fn fault(&self, fault: &str) {
        self.settings.set("plugin.ledger.fault", fault).expect("the ledger has the setting");
    }

    async fn version(&self) -> String {
        self.call("ledger", "version", "{}").await.expect("it says its version")
    }

    async fn counts(&self) -> serde_json::Value {
        let counts = self.call("ledger", "counts", "{}").await.expect("it says its counts");
        serde_json::from_str(&counts).expect("they are JSON")
    }
}

#[tokio::test]
async fn the_new_version_goes_on_with_what_the_old_one_knew() {
    let house = with_ledger().await;
    house.install("ledger-two", "ledger");
    house.runtime.reload("ledger", Haste::default()).await.expect("the code is good");
    assert_eq!(house.version().await, "2.0.0");
    assert_eq!(house.call("ledger", "count", "{}").await, Ok("2".into()));
    assert_eq!(house.counts().await["loads"], 1);
}

#[tokio::test]
async fn files_that_are_no_plugin_of_ours_leave_the_old_version_serving() {
    let house = with_ledger().await;
    let component = house.install("ledger-two", "ledger").join("ledger.wasm");
    let good = std::fs::read(&component).expect("the guest is installed");
    let digest = homeagent_contract::PLUGIN_DIGEST.as_bytes();
    let stamps = good.windows(digest.len()).enumerate().filter(|(_, part)| *part == digest).map(|(at, _)| at);
    let mut other = good.clone();
    for at in stamps {
        other[at..at + 4].copy_from_slice(b"0000");
    }
    let files: [(&[u8], &str); 4] = [
        (b"not wasm at all", "not a WebAssembly component"),
        (b"", "not a WebAssembly component"),
        (&good[..good.len() / 2], "damaged"),
        (&other, "rebuild it"),
    ];
    for (number, (bytes, words)) in files.into_iter().enumerate() {
        std::fs::write(&component, bytes).expect("the folder takes files");
        let refused = house.runtime.reload("ledger", Haste::default()).await.expect_err(words).to_string();
        assert!(refused.contains(words) && refused.contains("ledger"), "{refused}");
        assert_eq!(house.version().await, "1.0.0");
        assert_eq!(house.call("ledger", "count", "{}").await, Ok((number + 2).to_string()), "after {words}");
    }
}

#[tokio::test]
async fn a_new_version_that_fails_before_it_serves_leaves_the_old_one_as_it_was() {
    let house = with_ledger().await;
    house.settings.set("core.plugin.start_timeout_ms", 500).expect("a valid time");
    house.settings.set("core.plugin.state_timeout_ms", 500).expect("a valid time");
    house.install("ledger-two", "ledger");
    let faults = [
        ("start-traps", "lifecycle.start"),
        ("start-hangs", "start took longer than 500ms"),
        ("start-fails", "it does not want to"),
        ("start-publishes", "does not serve now"),
        ("self-check-fails", "two and two are five"),
        ("save-hangs", "did not save its state within 500ms"),
        ("load-refuses", "this state is of another house"),
        ("load-traps", "snapshot.load"),
        ("load-hangs", "loading the state took longer than 500ms"),
        ("activated-traps", "lifecycle.activated"),
    ];
    for (number, (fault, words)) in faults.into_iter().enumerate() {
        house.fault(fault);
        let refused = house.runtime.reload("ledger", Haste::default()).await.expect_err(fault).to_string();
        assert!(refused.contains(words), "{fault}: {refused}");
        house.fault("");
        assert_eq!(house.version().await, "1.0.0", "after {fault}");
        assert_eq!(house.call("ledger", "count", "{}").await, Ok((number + 2).to_string()), "after {fault}");
    }
    let status = house.status("ledger");
    assert_eq!((status.state.as_str(), status.version.as_str(), status.restarts), ("live", "1.0.0", 0));
    assert_eq!(house.counts().await["loads"], 0, "the old one was never touched");
}

#[tokio::test]
async fn a_new_version_that_fails_leaves_the_settings_of_the_old_one() {
    let house = with_ledger().await;
    let manifest = house.install("ledger-two", "ledger").join("plugin.toml");
    let text = std::fs::read_to_string(&manifest).expect("it is installed");
    let setting = "\n[settings.further]\ntype = \"integer\"\ndefault = 7\ndescription = \"A number\"\n";
    std::fs::write(&manifest, text + setting).expect("a file");
    house.fault("start-fails");
    house.runtime.reload("ledger", Haste::default()).await.expect_err("it does not want to");
    house.settings.get("plugin.ledger.further").expect_err("what runs has no such setting");
    house.fault("");
    house.runtime.reload("ledger", Haste::default()).await.expect("it wants to now");
    assert_eq!(house.settings.get("plugin.ledger.further").expect("it is declared"), 7);
}

#[tokio::test]
async fn a_state_of_a_gigabyte_is_refused_with_a_sentence() {
    let house = house::empty();
    house.settings.set("core.plugin.memory_mib", 1024).expect("a valid size");
    house.settings.set("core.plugin.state_timeout_ms", 600_000).expect("a valid time");
    house.install("ledger-one", "ledger");
    house.runtime.load_all().await;
    house.grant_all().await;
    house.call("ledger", "count", "{}").await.expect("it counts");
    house.fault("state-huge");
    let refused = house.runtime.reload("ledger", Haste::default()).await.expect_err("it is too large").to_string();
    assert!(
        refused.contains("1000000000 bytes") && refused.contains("core.plugin.state_mib allows 64 MiB"),
        "{refused}"
    );
    house.fault("");
    assert_eq!(house.call("ledger", "count", "{}").await, Ok("2".into()));
}

#[tokio::test]
async fn an_old_version_that_traps_while_it_saves_is_started_again() {
    let house = with_ledger().await;
    house.install("ledger-two", "ledger");
    house.fault("save-traps");
    let refused = house.runtime.reload("ledger", Haste::default()).await.expect_err("it traps").to_string();
    for words in ["could not be saved", "snapshot.save", "a trap in save", "started again"] {
        assert!(refused.contains(words), "{refused}");
    }
    assert_eq!(house.call_again("ledger", "version").await, Ok("1.0.0".into()));
    assert_eq!(house.call("ledger", "count", "{}").await, Ok("1".into()), "what it knew went with the trap");
}

#[tokio::test]
async fn a_plugin_with_a_call_under_way_is_busy_and_the_call_is_answered_by_the_old_version() {
    let house = with_ledger().await;
    house.install("ledger-two", "ledger");
    let call = house.call("ledger", "count_after", "{}");
    let swap = async {
        house.at_gate(1).await;
        let busy = house.runtime.reload("ledger", AT_ONCE).await.expect_err("a call is under way");
        assert!(matches!(busy, CallError::Conflict(_)), "{busy:?}");
        assert!(busy.to_string().contains("a call is still under way"), "{busy}");
        assert_eq!(house.version().await, "1.0.0", "it serves on beside the call");
        house.mind.gate.add_permits(1);
    };
    let (answer, ()) = tokio::join!(call, swap);
    assert_eq!(answer, Ok("2".into()));
}

#[tokio::test]
async fn a_patient_replacement_waits_for_the_call_and_loses_nothing() {
    let house = with_ledger().await;
    house.install("ledger-two", "ledger");
    let under_way = house.call("ledger", "count_after", "{}");
    let swap = async {
        house.at_gate(1).await;
        let swap = house.runtime.reload("ledger", PATIENT);
        let release = async {
            // This one waits in the slot, or runs before the slot is closed; it is answered either way.
            let meanwhile = house.call("ledger", "count", "{}");
            house.mind.gate.add_permits(1);
            meanwhile.await
        };
        let (swapped, meanwhile) = tokio::join!(swap, release);
        swapped.expect("the call ends");
        meanwhile
    };
    let (first, second) = tokio::join!(under_way, swap);
    let mut answers = [first.expect("it is answered"), second.expect("it is answered")];
    answers.sort_unstable();
    assert_eq!(answers, ["2", "3"]);
    assert_eq!(house.version().await, "2.0.0");
    assert_eq!(house.counts().await["calls"], 3);
}

#[tokio::test]
async fn a_forced_replacement_lets_the_callers_go() {
    let house = with_ledger().await;
    house.install("ledger-two", "ledger");
    let call = house.call("ledger", "count_after", "{}");
    let swap = async {
        house.at_gate(1).await;
        house.runtime.reload("ledger", BY_FORCE).await.expect("by force");
    };
    let (answer, ()) = tokio::join!(call, swap);
    assert_unknown(&answer);
    assert_eq!(house.version().await, "2.0.0");
    assert_eq!(house.call("ledger", "count", "{}").await, Ok("2".into()), "the call that was let go never counted");
}

#[tokio::test]
async fn a_call_that_changes_something_and_is_lost_beside_a_trap_is_not_said_to_be_repeatable() {
    let house = house::empty();
    house.install("ledger-two", "ledger");
    house.runtime.load_all().await;
    house.grant_all().await;
    let lost = house.call("ledger", "count_after", "{}");
    let trap = async {
        house.at_gate(1).await;
        house.fault("calls-trap");
        house.call("ledger", "version", "{}").await.expect_err("it traps");
    };
    let (answer, ()) = tokio::join!(lost, trap);
    assert_unknown(&answer);
}

#[tokio::test]
async fn an_old_version_that_is_lost_while_it_is_waited_for_gives_way() {
    for (fault, version) in [("", "2.0.0"), ("activated-traps", "1.0.0")] {
        let house = with_ledger().await;
        house.settings.set("core.plugin.grace_ms", 0).expect("a valid grace");
        house.install("ledger-two", "ledger");
        house.fault(fault);
        // The gate stays closed, so this call costs its instance.
        let call = house.call_within("ledger", "count_after", "{}", 2_000);
        let swap = async {
            house.at_gate(1).await;
            let swapped = house.runtime.reload("ledger", PATIENT).await;
            assert_eq!(swapped.is_ok(), fault.is_empty(), "{swapped:?}");
            house.fault("");
        };
        let (answer, ()) = tokio::join!(call, swap);
        answer.expect_err("it takes too long");
        assert_eq!(house.call_again("ledger", "version").await, Ok(version.into()));
        assert_eq!(house.call("ledger", "count", "{}").await, Ok("1".into()), "what was known went with the instance");
    }
}

#[tokio::test]
async fn a_guest_that_computes_is_busy_whatever_is_asked_for() {
    let house = with_ledger().await;
    house.settings.set("core.plugin.grace_ms", 0).expect("a valid grace");
    let before = house.status("ledger").calls;
    let call = house.call_within("ledger", "compute", "{}", 20_000);
    let swap = async {
        let computes = || house.status("ledger").calls != before && house.status("ledger").waiting == 0;
        house::until(computes).await;
        for haste in [AT_ONCE, BY_FORCE] {
            let busy = house.runtime.reload("ledger", haste).await.expect_err("it computes");
            assert!(matches!(&busy, CallError::Conflict(words) if words.contains("computed")), "{busy:?}");
        }
    };
    let (answer, ()) = tokio::join!(call, swap);
    assert_eq!(answer, Err(CallError::Timeout));
    assert_eq!(house.call_again("ledger", "version").await, Ok("1.0.0".into()));
}

#[tokio::test]
async fn a_version_that_asks_for_more_runs_without_it_and_the_list_says_so() {
    let house = with_ledger().await;
    let manifest = house.install("ledger-two", "ledger").join("plugin.toml");
    let text = std::fs::read_to_string(&manifest).expect("it is installed");
    std::fs::write(&manifest, text.replace("[wants.tools]", "[wants.tools]\n\n[wants.http]")).expect("a file");
    let status = house.runtime.reload("ledger", Haste::default()).await.expect("it runs with what it has");
    assert_eq!((status.version.as_str(), status.missing), ("2.0.0", vec!["http".to_owned()]));
    assert_eq!(house.call("ledger", "count", "{}").await, Ok("2".into()));
}

#[tokio::test]
async fn two_replacements_at_once_happen_one_after_the_other() {
    let house = with_ledger().await;
    let reload = || house.runtime.reload("ledger", Haste::default());
    let (first, second) = tokio::join!(reload(), reload());
    first.expect("the code is good");
    second.expect("the code is good");
    assert_eq!(house.counts().await["loads"], 2);
    assert_eq!(house.call("ledger", "count", "{}").await, Ok("2".into()));
}

#[tokio::test]
async fn an_unload_or_an_end_during_a_replacement_waits_for_no_new_code() {
    for end in [true, false] {
        let house = with_ledger().await;
        house.install("ledger-two", "ledger");
        let call = house.call("ledger", "count_after", "{}");
        let ending = async {
            house.at_gate(1).await;
            let swap = house.runtime.reload("ledger", PATIENT);
            let end = async {
                // A call that finds the slot closed shows that the replacement waits for the one under way.
                let closed = async {
                    while house.call_within("ledger", "version", "{}", 100).await != Err(CallError::Timeout) {}
                };
                house::soon(closed).await;
                if end { house.runtime.shutdown().await } else { house.runtime.unload("ledger").await.expect("loaded") }
            };
            let (swapped, ()) = tokio::join!(swap, end);
            let refused = swapped.expect_err("its slot is gone").to_string();
            assert!(refused.contains("unloaded"), "{refused}");
        };
        let (answer, ()) = tokio::join!(call, ending);
        answer.expect_err("nobody answers it any more");
        assert!(house.tools().is_empty());
    }
}

#[tokio::test]
async fn a_version_that_fails_three_times_in_its_first_minute_is_taken_back() {
    let house = with_ledger().await;
    house.install("ledger-two", "ledger");
    house.fault("calls-trap");
    house.runtime.reload("ledger", Haste::default()).await.expect("it only fails later");
    assert_eq!(house.status("ledger").version, "2.0.0");
    for _ in 0..3 {
        let reason = house.call_again("ledger", "count").await.expect_err("it traps").to_string();
        assert!(reason.contains("a trap in a call"), "{reason}");
    }
    assert_eq!(house.call_again("ledger", "version").await, Ok("1.0.0".into()));
    assert_eq!(house.call("ledger", "count", "{}").await, Ok("2".into()), "with what it knew when it was replaced");
    let status = house.status("ledger");
    assert_eq!((status.state.as_str(), status.version.as_str()), ("live", "1.0.0"));
    let said = status.reason.expect("it is said");
    for words in ["2.0.0", "taken back", "1.0.0", "a trap in a call"] {
        assert!(said.contains(words), "{said}");
    }
    house.fault("");
    house.runtime.reload("ledger", Haste::default()).await.expect("the owner may try again");
    assert_eq!((house.version().await.as_str(), house.status("ledger").reason), ("2.0.0", None));
}
