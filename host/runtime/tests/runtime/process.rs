//! Programs of this machine.

use std::fs;

use homeagent_types::ports::PluginAdmin;
use tempfile::TempDir;

use crate::house::{self, House};

/// A house with the guest `tenant`, which may run some programs, and a folder of the owner's, which it has as `notes`.
pub(crate) struct Workshop {
    pub(crate) house: House,
    pub(crate) owner: TempDir,
}

pub(crate) async fn workshop() -> Workshop {
    let (house, owner) = (house::empty(), tempfile::tempdir().expect("a folder"));
    let notes = owner.path().display().to_string();
    let (made, inside) = (owner.path().join("made"), house.folder.path().join("plugins-data/tenant/made"));
    let programs = ["/bin/sh", "/usr/bin/env", "/bin/pwd", "/nowhere/at/all", "/etc/passwd"].map(str::to_owned);
    let programs: Vec<_> = programs.into_iter().chain([made, inside].map(|path| path.display().to_string())).collect();
    house.install_asking(
        "tenant",
        &format!(
            "[wants.process]\nprograms = {programs:?}\nenvironment = {{ LANG = \"C\" }}\n\
             [wants.files.folders]\nnotes = {{ path = {notes:?}, write = true }}\n"
        ),
    );
    house.install("counter-one", "counter-one");
    house.runtime.load_all().await;
    house.grant_all().await;
    Workshop { house, owner }
}

impl Workshop {
    pub(crate) async fn run(&self, act: &serde_json::Value) -> String {
        self.house.call("tenant", "process", &act.to_string()).await.expect("the guest says what came of it")
    }

    /// A shell with a script; in the folder `notes`.
    pub(crate) async fn shell(&self, script: &str) -> String {
        self.run(&shell(script)).await
    }
}

pub(crate) fn shell(script: &str) -> serde_json::Value {
    serde_json::json!({ "program": "/bin/sh", "arguments": ["-c", script], "folder": "notes" })
}

#[tokio::test]
async fn a_program_reads_its_input_and_says_how_it_ended() {
    let it = workshop().await;
    let mut act = shell("cat; echo woe >&2; exit 3");
    act["input"] = "蛋".into();
    assert_eq!(it.run(&act).await, r#"["exited 3","蛋","woe\n"]"#);
    assert_eq!(it.shell("kill -9 $$").await, r#"["killed 9","",""]"#);
}

#[tokio::test]
async fn a_program_has_the_environment_that_the_package_gives_it_and_nothing_of_the_daemons() {
    let it = workshop().await;
    let said = it.run(&serde_json::json!({ "program": "/usr/bin/env" })).await;
    let said: Vec<String> = serde_json::from_str(&said).expect("a list");
    let mut names: Vec<_> = said[1].lines().map(|line| line.split('=').next().unwrap_or_default()).collect();
    names.sort_unstable();
    assert_eq!(names, ["HOMEAGENT_RUN", "LANG"]);
}

#[tokio::test]
async fn a_program_runs_in_the_plugins_own_folder_or_in_one_it_was_granted() {
    let it = workshop().await;
    let own = fs::canonicalize(it.house.folder.path()).expect("it is there").join("plugins-data/tenant");
    let pwd =
        |folder: Option<&str>| serde_json::json!({ "program": "/bin/pwd", "arguments": ["-P"], "folder": folder });
    assert_eq!(it.run(&pwd(None)).await, format!(r#"["exited 0","{}\n",""]"#, own.display()));
    let notes = fs::canonicalize(it.owner.path()).expect("it is there");
    assert_eq!(it.run(&pwd(Some("notes"))).await, format!(r#"["exited 0","{}\n",""]"#, notes.display()));
    assert!(it.run(&pwd(Some("music"))).await.contains("the plugin has no folder \"music\""));
    it.house.runtime.revoke("tenant", "files").await.expect("it is granted");
    assert!(it.run(&pwd(Some("notes"))).await.starts_with("denied: "));
    it.house.runtime.revoke("tenant", "process").await.expect("it is granted");
    assert!(it.run(&pwd(None)).await.contains("waiter plugin grant tenant process"));
}
