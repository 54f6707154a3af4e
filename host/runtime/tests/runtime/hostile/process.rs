//! Guests that run what they may not, and programs that take more than their share or stay.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use homeagent_types::CallError;
use homeagent_types::ports::PluginAdmin;
use serde_json::json;

use crate::house::until;
use crate::process::{Workshop, shell, workshop};

impl Workshop {
    /// Whether the process whose number is in a file in `notes` still runs.
    fn runs(&self, file: &str) -> bool {
        let pid = fs::read_to_string(self.owner.path().join(file)).expect("it wrote its number");
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        // One that has ended may be listed until its parent has looked.
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
    }

    fn last_error(&self) -> String {
        self.house.status("tenant").last_error.unwrap_or_default()
    }
}

#[tokio::test]
async fn nothing_is_run_but_the_programs_that_the_package_lists() {
    let it = workshop().await;
    let made = it.owner.path().join("made");
    fs::write(&made, "#!/bin/sh\n").expect("the folder takes files");
    fs::set_permissions(&made, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let inside = it.house.folder.path().join("plugins-data/tenant");
    fs::create_dir_all(&inside).expect("the home takes folders");
    fs::copy(&made, inside.join("made")).expect("the folder takes files");
    let rows = [
        ("/bin/rm".to_owned(), "none of the programs that [wants.process] lists"),
        ("sh".to_owned(), "none of the programs that [wants.process] lists"),
        ("/bin/../bin/sh".to_owned(), "none of the programs that [wants.process] lists"),
        ("/bin/sh -c true".to_owned(), "none of the programs that [wants.process] lists"),
        ("".to_owned(), "none of the programs that [wants.process] lists"),
        ("/nowhere/at/all".to_owned(), "there is no program /nowhere/at/all"),
        ("/etc/passwd".to_owned(), "is no program"),
        (made.display().to_string(), "lies where plugins write"),
        (inside.join("made").display().to_string(), "lies where plugins write"),
    ];
    for (program, words) in rows {
        let said = it.run(&json!({ "program": program })).await;
        assert!(said.contains(words), "{program}: {said} does not say {words}");
        assert!(it.last_error().contains("was refused"), "the owner reads of {program}: {}", it.last_error());
    }
    it.house.runtime.revoke("tenant", "files").await.expect("it is granted");
    fs::set_permissions(&made, fs::Permissions::from_mode(0o4755)).expect("it is ours");
    let said = it.run(&json!({ "program": made.display().to_string() })).await;
    assert!(said.contains("the rights of somebody else"), "{said}");
    let many = vec!["x"; 300];
    let said = it.run(&json!({ "program": "/bin/sh", "arguments": many })).await;
    assert!(said.contains("at most 256 arguments"), "{said}");
    let said = it.run(&json!({ "program": "/bin/sh", "arguments": ["-c\u{0}x"] })).await;
    assert!(said.contains("has a zero in it"), "{said}");
}

#[tokio::test]
async fn arguments_are_words_and_no_shell_reads_them() {
    let it = workshop().await;
    let act = json!({ "program": "/bin/sh", "arguments": ["-c", "printf %s \"$1\"", "sh", "; touch woe $(id) `id` | * ~"],
        "folder": "notes" });
    assert_eq!(it.run(&act).await, r#"["exited 0","; touch woe $(id) `id` | * ~",""]"#);
    assert!(!it.owner.path().join("woe").exists());
}

#[tokio::test]
async fn a_program_that_takes_too_long_is_ended_with_all_it_started() {
    let it = workshop().await;
    let mut act = shell("echo $$ > first; sleep 1000 & echo $! > second; echo begun; wait");
    act["timeout_ms"] = 1500.into();
    assert_eq!(it.run(&act).await, r#"["timeout","begun\n",""]"#);
    assert!(!it.runs("first") && !it.runs("second"));
    let seen = it.last_error();
    assert!(seen.contains("running /bin/sh took longer than 1.5s and was ended"), "{seen}");
}

#[tokio::test]
async fn what_a_program_leaves_behind_ends_with_it_even_what_left_its_group() {
    let it = workshop().await;
    let script = "sleep 1000 & echo $! > child
        setsid sh -c 'echo $$ > stray; exec sleep 1000' &
        while [ ! -s stray ]; do :; done; echo done";
    assert_eq!(it.shell(script).await, r#"["exited 0","done\n",""]"#);
    assert!(!it.runs("child") && !it.runs("stray"));
    let many = "i=0; while [ $i -lt 100 ]; do sleep 1000 & i=$((i+1)); done; echo $! > last; echo done";
    assert_eq!(it.shell(many).await, r#"["exited 0","done\n",""]"#);
    assert!(!it.runs("last"));
    assert_eq!(it.house.call("counter", "count", "{}").await, Ok("1".into()));
}

#[tokio::test]
async fn output_without_an_end_has_one() {
    let it = workshop().await;
    assert_eq!(it.shell("yes").await, r#"["overflow","1048576 bytes",""]"#);
    assert_eq!(it.shell("yes >&2").await, r#"["overflow","","1048576 bytes"]"#);
    assert!(it.last_error().contains("wrote more than 1 MiB and was ended"), "{}", it.last_error());
}

#[tokio::test]
async fn a_flood_of_programs_is_told_busy() {
    let it = workshop().await;
    it.house.settings.set("core.plugin.processes", 2).expect("a valid number");
    let mut act = shell("read x");
    act["times"] = 6.into();
    let said: Vec<serde_json::Value> = serde_json::from_str(&it.run(&act).await).expect("a list");
    let busy = said.iter().filter(|one| **one == "busy: busy, try again later").count();
    assert_eq!((said.len(), busy), (6, 4), "{said:?}");
    assert_eq!(it.shell("echo free").await, r#"["exited 0","free\n",""]"#);
}

#[tokio::test]
async fn a_program_has_no_more_memory_and_writes_no_larger_file_than_it_may() {
    let it = workshop().await;
    it.house.settings.set("core.plugin.process_memory_mib", 64).expect("a valid number");
    it.house.settings.set("core.plugin.file_mib", 1).expect("a valid number");
    // It reads what comes after the limits are set.
    let greedy = |script: &str| {
        let mut act = shell(&format!("read x; {script}"));
        act["input"] = "go\n".into();
        act
    };
    let said = it.run(&greedy("dd if=/dev/zero of=/dev/null bs=512M count=1; echo $?")).await;
    assert!(said.contains(r#""1\n""#) && said.contains("memory"), "{said}");
    it.run(&greedy("dd if=/dev/zero of=large bs=1k count=9999")).await;
    assert_eq!(fs::metadata(it.owner.path().join("large")).expect("it began").len(), 1 << 20);
    let limits: Vec<String> = serde_json::from_str(&it.run(&greedy("ulimit -c; ulimit -n")).await).expect("a list");
    assert_eq!(limits[1], "0\n256\n");
}

#[tokio::test]
async fn a_program_ends_with_the_instance_that_ran_it_and_with_the_plugin() {
    let it = workshop().await;
    it.house.settings.set("core.plugin.grace_ms", 50).expect("a valid grace");
    // Longer than anything here is waited for: what ends has another reason.
    it.house.settings.set("core.plugin.process_seconds", 600).expect("a valid time");
    let act = |file: &str| shell(&format!("echo $$ > {file}; exec sleep 1000")).to_string();
    let begun = |file: &str| fs::read_to_string(it.owner.path().join(file)).is_ok_and(|pid| pid.ends_with('\n'));
    let lost = it.house.call_within("tenant", "process", &act("first"), 3000).await;
    assert_eq!(lost, Err(CallError::Timeout));
    until(|| begun("first") && !it.runs("first")).await;
    let asked = act("second");
    let running = it.house.call("tenant", "process", &asked);
    let unloading = async {
        until(|| begun("second")).await;
        it.house.runtime.unload("tenant").await.expect("it is loaded");
    };
    let (ended, ()) = tokio::join!(running, unloading);
    assert!(ended.is_err(), "{ended:?}");
    until(|| !it.runs("second")).await;
}
