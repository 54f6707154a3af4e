//! Folders of the owner's, and the plugin's own.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use homeagent_types::ports::{Haste, PluginAdmin};
use tempfile::TempDir;

use crate::house::{self, House};

/// A house with the guest `tenant`, which may write in `notes` and read in `music`, both in a folder of the owner's.
pub(crate) struct Furnished {
    pub(crate) house: House,
    pub(crate) owner: TempDir,
}

pub(crate) async fn furnished() -> Furnished {
    let (house, owner) = (house::empty(), tempfile::tempdir().expect("a folder"));
    for folder in ["notes", "music"] {
        fs::create_dir(owner.path().join(folder)).expect("the folder takes folders");
    }
    let path = |name: &str| owner.path().join(name).display().to_string();
    // The house's own folder is a temporary one, so the folder of those is above it.
    let above = std::env::temp_dir().display().to_string();
    let (notes, music) = (path("notes"), path("music"));
    house.install_asking(
        "tenant",
        &format!(
            "[wants.files.folders]\nnotes = {{ path = {notes:?}, write = true }}\nmusic = {{ path = {music:?} }}\n\
             above = {{ path = {above:?}, write = true }}\ninside = {{ path = {inside:?}, write = true }}\n\
             gone = {{ path = \"/nowhere/at/all\" }}\n",
            inside = house.folder.path().join("plugins").display().to_string(),
        ),
    );
    house.runtime.load_all().await;
    house.grant_all().await;
    Furnished { house, owner }
}

impl Furnished {
    pub(crate) fn notes(&self, name: &str) -> PathBuf {
        self.owner.path().join("notes").join(name)
    }

    pub(crate) async fn files(&self, act: &str) -> String {
        self.house.call("tenant", "files", act).await.expect("the guest says what came of it")
    }
}

#[tokio::test]
async fn a_plugin_reads_writes_lists_and_moves_files_in_a_folder_that_was_granted() {
    let it = furnished().await;
    fs::write(it.notes("eggs.txt"), "three eggs").expect("the folder takes files");
    let rows = [
        (r#"{"do":"read","folder":"notes","path":"eggs.txt"}"#, "three eggs"),
        (r#"{"do":"read","folder":"notes","path":"eggs.txt","offset":6,"length":3}"#, "egg"),
        (r#"{"do":"read","folder":"notes","path":"eggs.txt","offset":99}"#, ""),
        (r#"{"do":"make-folder","folder":"notes","path":"家"}"#, "done"),
        (r#"{"do":"make-folder","folder":"notes","path":"家"}"#, "done"),
        (r#"{"do":"write","folder":"notes","path":"家/milk","text":"one"}"#, "done"),
        (r#"{"do":"append","folder":"notes","path":"家/milk","text":" litre"}"#, "done"),
        (r#"{"do":"stat","folder":"notes","path":"家/milk"}"#, "Kind::File 9"),
        (r#"{"do":"rename","folder":"notes","path":"家/milk","to":"milk"}"#, "done"),
        (r#"{"do":"list","folder":"notes"}"#, r#"["eggs.txt Kind::File","milk Kind::File","家 Kind::Folder"]"#),
        (r#"{"do":"list","folder":"notes","after":"milk"}"#, r#"["家 Kind::Folder"]"#),
        (r#"{"do":"remove","folder":"notes","path":"家"}"#, "done"),
        (r#"{"do":"read","folder":"notes","path":"家/milk"}"#, "not-found: there is no notes/家"),
    ];
    for (act, said) in rows {
        assert_eq!(it.files(act).await, said, "{act}");
    }
    assert_eq!(fs::read_to_string(it.notes("milk")).expect("it is there"), "one litre");
}

#[tokio::test]
async fn a_file_that_is_written_anew_keeps_its_permissions_and_leaves_nothing_beside_it() {
    let it = furnished().await;
    fs::write(it.notes("key"), "old").expect("the folder takes files");
    fs::set_permissions(it.notes("key"), fs::Permissions::from_mode(0o600)).expect("it is ours");
    assert_eq!(it.files(r#"{"do":"write","folder":"notes","path":"key","text":"fresh"}"#).await, "done");
    assert_eq!(fs::read_to_string(it.notes("key")).expect("it is there"), "fresh");
    let mode = fs::metadata(it.notes("key")).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(fs::read_dir(it.notes("")).expect("it can be listed").count(), 1);
}

#[tokio::test]
async fn a_plugin_has_a_folder_of_its_own_until_it_is_removed() {
    let it = furnished().await;
    assert_eq!(it.files(r#"{"do":"write","folder":"data","path":"x","text":"mine"}"#).await, "done");
    it.house.runtime.reload("tenant", Haste::default()).await.expect("it loads");
    assert_eq!(it.files(r#"{"do":"read","folder":"data","path":"x"}"#).await, "mine");
    let folders = it.files(r#"{"do":"folders"}"#).await;
    assert!(folders.contains(r#"["data",true]"#) && folders.contains(r#"["music",false]"#), "{folders}");
    let folder = it.house.folder.path().join("plugins-data/tenant");
    assert!(folder.join("x").exists());
    it.house.runtime.remove("tenant").await.expect("it is installed");
    assert!(!folder.exists());
    assert!(it.owner.path().join("notes").exists(), "the owner's folders stay");
}

#[tokio::test]
async fn without_the_grant_there_are_no_files_and_taking_it_away_works_at_once() {
    let it = furnished().await;
    it.house.runtime.revoke("tenant", "files").await.expect("it is granted");
    for act in [r#"{"do":"folders"}"#, r#"{"do":"write","folder":"data","path":"x","text":"x"}"#] {
        let said = it.files(act).await;
        assert!(said.starts_with("denied: ") && said.contains("waiter plugin grant tenant files"), "{said}");
    }
    it.house.runtime.grant("tenant", "files").await.expect("it asks for it");
    assert_eq!(it.files(r#"{"do":"write","folder":"data","path":"x","text":"x"}"#).await, "done");
}
