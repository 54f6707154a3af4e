//! Packages whose files change under a runtime that looks.

use std::fs;
use std::path::{Path, PathBuf};

use homeagent_types::ports::{PluginAdmin, PluginStatus};

use crate::house::{self, House};

/// The ledger's first version and another plugin, both looked after.
async fn watched() -> House {
    let house = house::empty();
    house.install("ledger-one", "ledger");
    house.install("traps", "traps");
    house.runtime.load_all().await;
    house.grant_all().await;
    house.runtime.watch();
    assert_eq!(house.call("ledger", "count", "{}").await, Ok("1".into()));
    house
}

impl House {
    /// Waits until the plugin's status is so.
    async fn until(&self, plugin: &str, fits: impl Fn(&PluginStatus) -> bool) {
        let mut changes = self.runtime.subscribe();
        while !self.runtime.list().iter().any(|status| status.name == plugin && fits(status)) {
            changes.recv().await.expect("the runtime lives as long as the house");
        }
    }

    async fn until_version(&self, plugin: &str, version: &str) {
        self.until(plugin, |status| status.version == version && status.state == "live").await;
    }

    /// Has the other plugin changed to this version and loaded: what was written before has been looked at by then.
    async fn look_round(&self, version: &str) {
        self.lay_other(version);
        self.until_version("traps", version).await;
    }

    fn lay_other(&self, version: &str) {
        let (manifest, _) = homeagent_test_artifacts::guest("traps");
        let manifest = manifest.replace("version = \"0.1.0\"", &format!("version = \"{version}\""));
        fs::write(self.plugins().join("traps/plugin.toml"), manifest).expect("the folder takes files");
    }

    async fn loads(&self) -> serde_json::Value {
        let counts = self.call("ledger", "counts", "{}").await.expect("it says its counts");
        serde_json::from_str::<serde_json::Value>(&counts).expect("they are JSON")["loads"].clone()
    }
}

fn second() -> (&'static str, &'static [u8]) {
    homeagent_test_artifacts::guest("ledger-two")
}

/// Writes in place what is not there yet, as a program does that truncates first.
fn in_place(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).expect("the folder takes files");
}

/// Writes beside and renames over, as careful editors do.
fn renamed(path: &Path, bytes: &[u8]) {
    let beside = path.with_extension("swp");
    fs::write(&beside, bytes).expect("the folder takes files");
    fs::rename(beside, path).expect("it can be renamed");
}

/// Removes it first.
fn afresh(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).expect("it was there");
    fs::write(path, bytes).expect("the folder takes files");
}

#[tokio::test]
async fn a_package_that_changes_is_loaded_however_it_is_written() {
    let ways: [fn(&Path, &[u8]); 3] = [in_place, renamed, afresh];
    for write in ways {
        let house = watched().await;
        let (manifest, component) = second();
        write(&house.plugins().join("ledger/ledger.wasm"), component);
        write(&house.plugins().join("ledger/plugin.toml"), manifest.as_bytes());
        house.until_version("ledger", "2.0.0").await;
        assert_eq!(house.call("ledger", "count", "{}").await, Ok("2".into()));
        assert_eq!(house.loads().await, 1, "once for both files");
    }
}

#[tokio::test]
async fn half_a_file_is_not_loaded_and_the_whole_one_is() {
    let house = watched().await;
    let (_, component) = second();
    let path: PathBuf = house.plugins().join("ledger/ledger.wasm");
    in_place(&path, &component[..component.len() / 2]);
    house.until("ledger", |status| status.last_error.as_deref().is_some_and(|it| it.contains("damaged"))).await;
    assert_eq!(house.call("ledger", "version", "{}").await, Ok("1.0.0".into()));
    let before = house.status("ledger").digest;
    in_place(&path, component);
    house.until("ledger", |status| status.digest != before).await;
    assert_eq!(house.call("ledger", "version", "{}").await, Ok("2.0.0".into()));
    assert_eq!(house.call("ledger", "count", "{}").await, Ok("2".into()));
}

#[tokio::test]
async fn the_same_bytes_and_other_files_are_no_change() {
    let house = watched().await;
    let folder = house.install("ledger-one", "ledger");
    fs::write(folder.join("notes.txt"), "nothing of the plugin's").expect("a file");
    house.look_round("7").await;
    assert_eq!(house.loads().await, 0);
    house.install("ledger-two", "ledger");
    house.until_version("ledger", "2.0.0").await;
    assert_eq!(house.loads().await, 1);
}

#[tokio::test]
async fn a_package_that_is_laid_into_the_folder_is_loaded_without_any_right() {
    let house = watched().await;
    house.install("events", "a-stranger");
    house.until("events", |status| status.state == "live").await;
    let status = house.status("events");
    assert_eq!((status.granted, status.missing), (Vec::new(), vec!["events".to_owned(), "tools".to_owned()]));
}

#[tokio::test]
async fn what_is_switched_off_stays_off() {
    let house = watched().await;
    house.runtime.unload("ledger").await.expect("it is loaded");
    house.install("ledger-two", "ledger");
    house.look_round("7").await;
    assert_eq!(house.state("ledger"), "unloaded");
    // Also when its package is broken for a while.
    let manifest = house.plugins().join("ledger/plugin.toml");
    let good = fs::read(&manifest).expect("it is there");
    in_place(&manifest, b"[plugin");
    house.look_round("8").await;
    in_place(&manifest, &good);
    house.look_round("9").await;
    assert_eq!(house.state("ledger"), "unloaded");
}

#[tokio::test]
async fn code_that_was_taken_back_is_not_loaded_again_by_a_touch() {
    let house = watched().await;
    house.settings.set("plugin.ledger.fault", "calls-trap").expect("the ledger has the setting");
    house.install("ledger-two", "ledger");
    house.until_version("ledger", "2.0.0").await;
    for _ in 0..3 {
        house.call_again("ledger", "count").await.expect_err("it traps");
    }
    house.until_version("ledger", "1.0.0").await;
    house.install("ledger-two", "ledger");
    house.look_round("7").await;
    assert_eq!(house.status("ledger").version, "1.0.0");
}
