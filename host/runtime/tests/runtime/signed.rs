//! Packages that are signed, and by whom.

use std::fs;
use std::path::{Path, PathBuf};

use homeagent_package::{File, SIGNATURE, SigningKey};
use homeagent_types::CallError;
use homeagent_types::ports::{Frame, Listeners, PluginAdmin, PluginStatus, ToPeer};
use tempfile::TempDir;

use crate::house::{self, House};

fn key(digit: char) -> SigningKey {
    let digits: String = std::iter::repeat_n(digit, 64).collect();
    SigningKey::from_text(&format!("homeagent signing key: {digits}\n")).expect("it is a key")
}

/// The files of a guest's package.
fn files(guest: &str) -> Vec<File> {
    let elsewhere = tempfile::tempdir().expect("a folder");
    read(&homeagent_test_artifacts::install(elsewhere.path(), guest, "package"))
}

fn read(folder: &Path) -> Vec<File> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    let file = |entry: fs::DirEntry| File {
        name: entry.file_name().to_string_lossy().into_owned(),
        bytes: fs::read(entry.path()).expect("a file"),
    };
    entries.map(file).collect()
}

fn signed(mut files: Vec<File>, key: &SigningKey) -> Vec<File> {
    let signature = homeagent_package::sign(&files, key);
    files.push(File { name: SIGNATURE.to_owned(), bytes: signature });
    files
}

/// An archive of these files, in a folder elsewhere.
fn archive(files: &[File]) -> (TempDir, PathBuf) {
    let elsewhere = tempfile::tempdir().expect("a folder");
    let path = elsewhere.path().join("package.tar");
    fs::write(&path, homeagent_package::pack(files).expect("it can be packed")).expect("a file");
    (elsewhere, path)
}

async fn install(house: &House, files: &[File]) -> Result<PluginStatus, CallError> {
    let (_elsewhere, path) = archive(files);
    house.runtime.install(&path).await
}

#[tokio::test]
async fn a_publisher_s_next_version_keeps_its_grants_and_what_it_knew_and_another_s_has_neither() {
    let house = house::empty();
    let (ours, theirs) = (key('1'), key('2'));
    let status = install(&house, &signed(files("ledger-one"), &ours)).await.expect("the package is good");
    assert_eq!(status.publisher, Some(ours.public().fingerprint()));
    house.grant_all().await;
    assert_eq!(house.call("ledger", "count", "{}").await, Ok("1".into()));

    let status = install(&house, &signed(files("ledger-two"), &ours)).await.expect("the package is good");
    assert_eq!((status.version.as_str(), status.missing), ("2.0.0", Vec::new()));
    assert_eq!(house.call("ledger", "count", "{}").await, Ok("2".into()));

    for (other, publisher) in [(signed(files("ledger-one"), &theirs), Some(theirs)), (files("ledger-two"), None)] {
        let status = install(&house, &other).await.expect("the package is good");
        assert_eq!(status.publisher, publisher.map(|key| key.public().fingerprint()));
        assert_eq!(status.missing, ["events", "listen", "tools"], "nothing was granted to this one");
        let reason = status.capabilities[0].reason.clone().unwrap_or_default();
        assert!(reason.contains(&ours.public().fingerprint()), "{reason}");
        house.call("ledger", "count", "{}").await.expect_err("it may offer no tools");
    }
    house.grant_all().await;
    assert_eq!(house.call("ledger", "count", "{}").await, Ok("1".into()), "it knows nothing of the first one's");
    let status = install(&house, &signed(files("ledger-one"), &ours)).await.expect("the package is good");
    assert_eq!(status.missing, ["events", "listen", "tools"], "the grants are the other's now");
}

#[tokio::test]
async fn what_one_publisher_s_package_kept_is_not_found_by_another_s_and_is_there_when_it_comes_back() {
    let house = house::empty();
    let (ours, theirs) = (key('1'), key('2'));
    let get = r#"{"do":"get","key":"token"}"#;
    install(&house, &signed(files("tenant"), &ours)).await.expect("the package is good");
    house.grant_all().await;
    house.call("tenant", "kv", r#"{"do":"set","key":"token","value":"ours"}"#).await.expect("it keeps it");
    for other in [signed(files("tenant"), &theirs), files("tenant")] {
        install(&house, &other).await.expect("the package is good");
        house.grant_all().await;
        assert_eq!(house.call("tenant", "kv", get).await, Ok("null".into()));
        house.call("tenant", "kv", r#"{"do":"set","key":"token","value":"theirs"}"#).await.expect("it keeps it");
    }
    install(&house, &signed(files("tenant"), &ours)).await.expect("the package is good");
    house.grant_all().await;
    assert_eq!(house.call("tenant", "kv", get).await, Ok("ours".into()));
    // Whoever kept it: a removal deletes it.
    house.runtime.remove("tenant").await.expect("it is installed");
    for any in [signed(files("tenant"), &ours), signed(files("tenant"), &theirs), files("tenant")] {
        install(&house, &any).await.expect("the package is good");
        house.grant_all().await;
        assert_eq!(house.call("tenant", "kv", get).await, Ok("null".into()));
    }
}

#[tokio::test]
async fn a_connection_to_one_publisher_s_package_is_not_handed_to_another_s() {
    let house = house::empty();
    let (ours, theirs) = (key('1'), key('2'));
    install(&house, &signed(files("switchboard"), &ours)).await.expect("the package is good");
    house.grant_all().await;
    let connection = house.runtime.connect("line", None, Vec::new()).await.expect("it has the listener");
    connection.receive(Frame::Text("hello".into())).await.expect("it takes it");
    assert_eq!(connection.next().await, Some(ToPeer::Frame(Frame::Text("hello".into()))));
    install(&house, &signed(files("switchboard"), &ours)).await.expect("the package is good");
    connection.receive(Frame::Text("again".into())).await.expect("the same publisher's goes on");
    assert_eq!(connection.next().await, Some(ToPeer::Frame(Frame::Text("again".into()))));
    install(&house, &signed(files("switchboard"), &theirs)).await.expect("the package is good");
    assert_eq!(connection.next().await, None, "it is closed");
}

#[tokio::test]
async fn a_signed_package_that_was_changed_is_refused_with_what_was_changed() {
    let house = house::empty();
    let good = signed(files("echo"), &key('1'));
    let wasm = good.iter().find(|file| file.name.ends_with(".wasm")).expect("a component").name.clone();
    let with = |name: &str, change: &dyn Fn(&mut File)| {
        let mut files = good.clone();
        change(files.iter_mut().find(|file| file.name == name).expect("it is in there"));
        files
    };
    let without = |name: &str| good.iter().filter(|file| file.name != name).cloned().collect::<Vec<_>>();
    let more = [good.clone(), vec![File { name: "more.txt".into(), bytes: Vec::new() }]].concat();
    let rows = [
        (with(&wasm, &|file| *file.bytes.last_mut().expect("a byte") ^= 1), format!("{wasm} was changed")),
        (with("plugin.toml", &|file| file.bytes.extend(b"\n[wants.input]\n")), "plugin.toml was changed".to_owned()),
        (with(SIGNATURE, &|file| file.bytes.extend(b"more")), "plugin.sig is not valid".to_owned()),
        (more, "more.txt is".to_owned()),
        (without(&wasm), wasm.clone()),
        (without("plugin.toml"), "plugin.toml".to_owned()),
    ];
    for (files, words) in &rows {
        let elsewhere = tempfile::tempdir().expect("a folder");
        for file in files {
            fs::write(elsewhere.path().join(&file.name), &file.bytes).expect("a file");
        }
        // As a folder what is beside a package is left out, as it always is.
        if !words.starts_with("more.txt") {
            let refused = house.runtime.install(elsewhere.path()).await.expect_err("it was changed").to_string();
            assert!(refused.contains(words), "{refused} does not say {words}");
        }
        if !words.starts_with("plugin.toml") || files.iter().any(|file| file.name == "plugin.toml") {
            let refused = install(&house, files).await.expect_err("it was changed").to_string();
            assert!(refused.contains(words), "{refused} does not say {words}");
        }
    }
    assert_eq!(house.runtime.list(), [], "none of them left anything");
    assert!(fs::read_dir(house.plugins()).map_or(true, |mut entries| entries.next().is_none()));

    // What is installed is looked at each time that it is loaded.
    install(&house, &good).await.expect("the package is good");
    fs::write(house.plugins().join("echo/notes"), "mine").expect("a file");
    let refused = house.runtime.reload("echo", homeagent_types::ports::Haste::default()).await;
    let refused = refused.expect_err("something was added").to_string();
    assert!(refused.contains("notes is there, which was not signed"), "{refused}");
    assert_eq!(house.state("echo"), "live", "what ran runs on");
}

#[tokio::test]
async fn an_archive_is_unpacked_only_as_a_package_and_nothing_else() {
    let house = house::empty();
    let status = install(&house, &files("echo")).await.expect("the package is good");
    assert_eq!((status.state.as_str(), status.publisher), ("live", None));
    let names: Vec<_> = read(&house.plugins().join("echo")).into_iter().map(|file| file.name).collect();
    assert_eq!(names.len(), 2, "{names:?}");

    let more = [files("upper"), vec![File { name: "README.md".into(), bytes: Vec::new() }]].concat();
    let refused = install(&house, &more).await.expect_err("there is more in it").to_string();
    assert!(refused.contains("README.md is in it"), "{refused}");
    let elsewhere = tempfile::tempdir().expect("a folder");
    let path = elsewhere.path().join("package.tar");
    fs::write(&path, "no archive").expect("a file");
    let refused = house.runtime.install(&path).await.expect_err("it is none").to_string();
    assert!(refused.contains("package.tar is no package") && refused.contains("too early"), "{refused}");
    assert_eq!(house.runtime.list().len(), 1);
}
