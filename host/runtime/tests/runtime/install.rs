//! Packages that come and go while everything runs.

use std::fs;
use std::path::PathBuf;

use homeagent_types::CallError;
use homeagent_types::ports::PluginAdmin;
use tempfile::TempDir;

use crate::house::{self, House};

/// A guest's package in a folder elsewhere.
fn package(guest: &str) -> (TempDir, PathBuf) {
    let elsewhere = tempfile::tempdir().expect("a folder");
    let folder = homeagent_test_artifacts::install(elsewhere.path(), guest, "package");
    (elsewhere, folder)
}

async fn install(house: &House, guest: &str) -> Result<homeagent_types::ports::PluginStatus, CallError> {
    let (_elsewhere, folder) = package(guest);
    house.runtime.install(&folder).await
}

/// What lies in the folder of packages, by name.
fn laid(house: &House) -> Vec<String> {
    let entries = fs::read_dir(house.plugins()).expect("it is there");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn an_installed_package_runs_says_what_it_wants_and_outlives_where_it_came_from() {
    let house = house::empty();
    let status = install(&house, "ledger-one").await.expect("the package is good");
    assert_eq!((status.state.as_str(), status.version.as_str()), ("live", "1.0.0"));
    assert_eq!(status.missing, ["events", "listen", "tools"]);
    assert_eq!(status.folder, Some(house.plugins().join("ledger").display().to_string()));
    assert_eq!(laid(&house), ["ledger"]);
    house.grant_all().await;
    assert_eq!(house.call("ledger", "count", "{}").await, Ok("1".into()));

    let status = install(&house, "ledger-two").await.expect("the package is good");
    assert_eq!((status.version.as_str(), status.missing), ("2.0.0", Vec::new()), "its grants stay");
    assert_eq!(house.call("ledger", "count", "{}").await, Ok("2".into()), "and what it knew");
    assert_eq!(laid(&house), ["ledger"]);
}

#[tokio::test]
async fn a_package_that_asks_for_more_runs_with_what_it_was_granted_and_asks_again() {
    let house = house::empty();
    let (_elsewhere, folder) = package("echo");
    house.runtime.install(&folder).await.expect("the package is good");
    house.grant_all().await;
    let manifest = folder.join("plugin.toml");
    let text = fs::read_to_string(&manifest).expect("it is there");
    fs::write(&manifest, format!("{text}\n[wants.input]\n")).expect("a file");
    let status = house.runtime.install(&folder).await.expect("the package is good");
    assert_eq!((status.granted, status.missing), (vec!["tools".to_owned()], vec!["input".to_owned()]));
    let states: Vec<_> = status.capabilities.iter().map(|it| (it.name.as_str(), it.state.as_str())).collect();
    assert_eq!(states, [("input", "missing"), ("tools", "granted")]);
    let refused = house.runtime.grant("echo", "timers").await.expect_err("nobody asks for it").to_string();
    assert!(refused.contains("echo does not ask for timers"), "{refused}");
}

#[tokio::test]
async fn a_package_that_does_not_run_is_not_installed_and_the_one_before_stays() {
    let house = house::empty();
    install(&house, "ledger-one").await.expect("the package is good");
    house.grant_all().await;
    house.call("ledger", "count", "{}").await.expect("it counts");
    let installed = house.plugins().join("ledger/ledger.wasm");
    let good = fs::read(&installed).expect("it is there");

    house.settings.set("plugin.ledger.fault", "start-fails").expect("the ledger has the setting");
    let refused = install(&house, "ledger-two").await.expect_err("it does not start").to_string();
    assert!(refused.contains("it does not want to"), "{refused}");
    let (_elsewhere, folder) = package("ledger-two");
    fs::write(folder.join("ledger.wasm"), "not wasm").expect("a file");
    let refused = house.runtime.install(&folder).await.expect_err("it is no component").to_string();
    assert!(refused.contains("not a WebAssembly component"), "{refused}");

    assert_eq!(fs::read(&installed).expect("it is there"), good);
    assert_eq!(laid(&house), ["ledger"]);
    assert_eq!(house.call("ledger", "count", "{}").await, Ok("2".into()));
    house.runtime.install(&house.plugins().join("ledger")).await.expect_err("it is there already");
    house.runtime.install("here".as_ref()).await.expect_err("no absolute path");
    house.runtime.install(&house.plugins().join("nothing")).await.expect_err("there is nothing");
}

#[tokio::test]
async fn removing_takes_package_offers_and_grants_and_gives_the_bundled_one_its_place_again() {
    let cli = homeagent_bundle::packages().find(|package| package.name == "cli").expect("cli is bundled");
    let house = house::with_bundled(vec![homeagent_runtime::Bundled {
        manifest: cli.manifest,
        component: cli.component,
        digest: cli.digest,
    }]);
    let folder = house.plugins().join("cli");
    fs::create_dir_all(&folder).expect("a folder");
    let manifest = cli.manifest.replace("version = \"", "version = \"9.");
    fs::write(folder.join("plugin.toml"), manifest).expect("a file");
    fs::write(folder.join(format!("{}.wasm", cli.name)), cli.component).expect("a file");
    house.install("counter-one", "counter");
    house.runtime.load_all().await;
    house.grant_all().await;
    assert!(house.status("cli").version.starts_with("9."), "an installed package wins");

    let removed = house.runtime.remove("counter").await.expect("it is installed");
    assert_eq!((removed.removed.as_str(), removed.bundled), ("counter", None));
    assert!(house.tools().is_empty());
    assert!(house.runtime.list().iter().all(|plugin| plugin.name != "counter"));
    let removed = house.runtime.remove("cli").await.expect("it is installed");
    assert_eq!(removed.bundled.map(|plugin| plugin.origin).as_deref(), Some("bundled"));
    assert!(laid(&house).is_empty());
    let refused = house.runtime.remove("cli").await.expect_err("it came with homed").to_string();
    assert!(refused.contains("waiter plugin unload cli"), "{refused}");
    house.runtime.remove("nobody").await.expect_err("there is none");

    let again = install(&house, "counter-one").await.expect("the package is good");
    assert_eq!(again.missing, ["tools"], "what it was granted went with it");
}

#[tokio::test]
async fn every_folder_is_told_with_what_became_of_it() {
    let house = house::empty();
    assert_eq!(house.runtime.folders().entries, []);
    house.install("counter-one", "counter");
    house.install("counter-two", "z-another");
    house.install("ledger-one", "ledger");
    fs::create_dir_all(house.plugins().join("empty")).expect("a folder");
    fs::create_dir_all(house.plugins().join(".hidden")).expect("a folder");
    fs::write(house.plugins().join("README"), "").expect("a file");
    house.runtime.load_all().await;
    house.install("traps", "later");
    let folders = house.runtime.folders();
    assert_eq!(folders.problem, None);
    let told: Vec<_> = folders
        .entries
        .iter()
        .map(|entry| {
            let name = entry.path.rsplit('/').next().expect("a name");
            (name, entry.plugin.as_deref(), entry.state.as_str(), entry.reason.as_deref().unwrap_or_default())
        })
        .collect();
    let expected = [
        (".hidden", None, "passed-over", "dot"),
        ("README", None, "passed-over", "not a folder"),
        ("counter", Some("counter"), "live", ""),
        ("empty", None, "refused", "plugin.toml"),
        ("later", Some("traps"), "not-loaded", "waiter plugin load traps"),
        ("ledger", Some("ledger"), "live", ""),
        ("z-another", Some("counter"), "passed-over", "plugins/counter"),
    ];
    assert_eq!(told.len(), expected.len(), "{told:?}");
    for (told, expected) in told.iter().zip(expected) {
        assert_eq!((told.0, told.1, told.2), (expected.0, expected.1, expected.2));
        assert!(told.3.contains(expected.3), "{told:?}");
    }
}

#[tokio::test]
async fn an_installation_that_a_crash_cut_off_leaves_the_package_before() {
    let house = house::empty();
    house.install("ledger-one", ".ledger.before");
    house.install("ledger-two", ".ledger.staged");
    house.install("counter-two", ".counter.before");
    house.install("counter-one", "counter");
    house.runtime.load_all().await;
    assert_eq!(house.status("ledger").version, "1.0.0");
    assert_eq!(house.status("counter").version, "1.0.0");
    assert_eq!(laid(&house), ["counter", "ledger"]);
}

#[tokio::test]
async fn what_lies_where_a_package_would_go_is_left_alone() {
    let house = house::with(&[]).await;
    house.install("echo", "ledger");
    house.runtime.reload("echo", homeagent_types::ports::Haste::default()).await.expect("echo is good");
    let refused = install(&house, "ledger-one").await.expect_err("its place is taken").to_string();
    assert!(refused.contains("holds the plugin echo") && refused.contains("out of the way"), "{refused}");
    fs::create_dir_all(house.plugins().join("upper")).expect("a folder");
    fs::write(house.plugins().join("upper/notes"), "mine").expect("a file");
    let refused = install(&house, "upper").await.expect_err("its place is taken").to_string();
    assert!(refused.contains("something that is no package"), "{refused}");
    assert!(house.plugins().join("ledger/plugin.toml").exists() && house.plugins().join("upper/notes").exists());
    assert_eq!(laid(&house), ["ledger", "upper"]);
}

#[tokio::test]
async fn a_plugin_without_its_folder_can_be_removed_with_its_grants() {
    let house = house::empty();
    install(&house, "echo").await.expect("the package is good");
    house.grant_all().await;
    fs::remove_dir_all(house.plugins().join("echo")).expect("it is there");
    assert_eq!(house.state("echo"), "live", "it runs on");
    house.runtime.remove("echo").await.expect("it is known");
    assert_eq!(house.state("echo"), "");
    let again = install(&house, "echo").await.expect("the package is good");
    assert_eq!(again.missing, ["tools"], "a later one is another");

    house.runtime.unload("echo").await.expect("it runs");
    fs::remove_dir_all(house.plugins().join("echo")).expect("it is there");
    assert_eq!(house.state("echo"), "", "what is gone and does not run is not listed");
}

#[tokio::test]
async fn a_folder_that_took_another_name_is_not_deleted_under_who_runs_from_it() {
    let house = house::empty();
    install(&house, "echo").await.expect("the package is good");
    let manifest = house.plugins().join("echo/plugin.toml");
    let renamed = fs::read_to_string(&manifest).expect("it is there").replace("\"echo\"", "\"renamed\"");
    fs::write(&manifest, renamed).expect("it can be written");
    let refused = house.runtime.remove("renamed").await.expect_err("echo runs from it").to_string();
    assert!(refused.contains("echo runs from"), "{refused}");
    house.runtime.remove("echo").await.expect("it runs");
    assert_eq!(house.state("echo"), "");
    assert_eq!(laid(&house), ["echo"], "the folder is the other's now");
}

#[tokio::test]
async fn a_folder_laid_beside_takes_no_place_from_what_runs() {
    let house = house::empty();
    install(&house, "echo").await.expect("the package is good");
    house.grant_all().await;
    house.install("upper", "aaa");
    let manifest = house.plugins().join("aaa/plugin.toml");
    let other = fs::read_to_string(&manifest).expect("it is there").replace("\"upper\"", "\"echo\"");
    fs::write(&manifest, other).expect("it can be written");
    let status = house.runtime.reload("echo", homeagent_types::ports::Haste::default()).await.expect("reloads");
    assert_eq!(status.folder, Some(house.plugins().join("echo").display().to_string()));
    assert_eq!(house.call("echo", "echo", "{}").await, Ok("{}".into()));
}

#[tokio::test]
async fn what_lies_beside_a_package_is_not_deleted_with_it() {
    let house = house::empty();
    install(&house, "echo").await.expect("the package is good");
    let notes = house.plugins().join("echo/src");
    fs::create_dir(&notes).expect("a folder");
    let refused = install(&house, "echo").await.expect_err("there is something else").to_string();
    assert!(refused.contains("echo/src would be deleted"), "{refused}");
    assert!(notes.exists());
    fs::remove_dir(&notes).expect("it is there");
    install(&house, "echo").await.expect("there is the package alone");
}
