//! Guests that look for what is not theirs in the file system, or fill it.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, FileType, Mode, RenameFlags};

use crate::files::{Furnished, furnished};

/// What nothing may read.
const MARKED: &str = "marked: not for plugins";

async fn trapped() -> Furnished {
    let it = furnished().await;
    let secret = it.owner.path().join("secret");
    fs::write(&secret, MARKED).expect("the folder takes files");
    fs::write(it.notes("plain"), "plain").expect("the folder takes files");
    fs::write(it.owner.path().join("music/song"), "la").expect("the folder takes files");
    for (to, name) in [("../secret", "out"), ("..", "outside"), ("plain", "in"), ("/proc/self", "proc"), ("/", "top")] {
        symlink(to, it.notes(name)).expect("the folder takes links");
    }
    symlink(&secret, it.notes("absolute")).expect("the folder takes links");
    fs::hard_link(&secret, it.notes("hard")).expect("one disk");
    rustix::fs::mknodat(CWD, it.notes("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
    drop(UnixListener::bind(it.notes("socket")).expect("a socket"));
    let others = it.house.folder.path().join("plugins-data/other");
    fs::create_dir_all(&others).expect("the home takes folders");
    fs::write(others.join("theirs"), MARKED).expect("the folder takes files");
    it
}

#[tokio::test]
async fn no_path_leads_out_of_a_folder_and_the_owner_reads_what_was_tried() {
    let it = trapped().await;
    let rows = [
        ("notes", "../secret".to_owned(), "the path \"../secret\" leads out of a folder by .."),
        ("notes", "a/../../secret".to_owned(), "leads out of a folder by .."),
        ("notes", "plain/..".to_owned(), "leads out of a folder by .."),
        ("notes", "/etc/passwd".to_owned(), "is absolute"),
        ("notes", "//etc/passwd".to_owned(), "is absolute"),
        ("notes", "./plain".to_owned(), "has an empty name or a ."),
        ("notes", "plain\\u0000/x".to_owned(), "has a zero in it"),
        ("notes", "a/".repeat(100) + "a", "has more than 64 names"),
        ("notes", "a".repeat(5000), "has more than 4096 bytes"),
        ("notes", "outside/secret".to_owned(), "is a symbolic link"),
        ("notes", "proc/environ".to_owned(), "is a symbolic link"),
        ("notes", "top/etc/passwd".to_owned(), "is a symbolic link"),
        ("notes", "pipe/x".to_owned(), "is a device, a pipe or a socket"),
        ("data", "../other/theirs".to_owned(), "leads out of a folder by .."),
        ("inside", "tenant/plugin.toml".to_owned(), "the daemon's own folder, which no plugin may use"),
    ];
    for (folder, path, words) in rows {
        for act in ["read", "write", "append", "list", "stat", "make-folder", "remove", "rename"] {
            if act == "list" && words.contains("pipe") {
                continue;
            }
            let (from, to) = if act == "rename" { ("plain", path.as_str()) } else { (path.as_str(), "") };
            let said = it.files(&format!(r#"{{"do":"{act}","folder":"{folder}","path":"{from}","to":"{to}"}}"#)).await;
            assert!(said.contains(words) && !said.contains(MARKED), "{act} {folder}/{path:.80}: {said}");
        }
        let seen = it.house.status("tenant").last_error.unwrap_or_default();
        assert!(seen.contains("was refused") && seen.contains(words), "the owner reads of {folder}/{path:.80}: {seen}");
    }
    assert_eq!(fs::read_to_string(it.owner.path().join("secret")).expect("it is there"), MARKED);
    assert_eq!(it.files(r#"{"do":"read","folder":"notes","path":"plain"}"#).await, "plain");
}

#[tokio::test]
async fn what_is_no_plain_file_is_neither_read_nor_written() {
    let it = trapped().await;
    let rows = [
        ("out", "is a symbolic link"),
        ("absolute", "is a symbolic link"),
        ("in", "is a symbolic link"),
        ("hard", "has several names (hard links)"),
        ("pipe", "is a device, a pipe or a socket"),
        ("socket", "is a device, a pipe or a socket"),
        ("", "the empty path is the folder itself"),
    ];
    for (path, words) in rows {
        for act in ["read", "append"] {
            let said = it.files(&format!(r#"{{"do":"{act}","folder":"notes","path":"{path}","text":"x"}}"#)).await;
            assert!(said.contains(words) && !said.contains(MARKED), "{act} {path}: {said}");
        }
        let seen = it.house.status("tenant").last_error.unwrap_or_default();
        assert!(seen.contains("was refused") && seen.contains(words), "the owner reads of {path}: {seen}");
    }
    // A file in the place of one of its names leaves what the other names stand for.
    assert_eq!(it.files(r#"{"do":"write","folder":"notes","path":"hard","text":"x"}"#).await, "done");
    assert_eq!(fs::read_to_string(it.owner.path().join("secret")).expect("it is there"), MARKED);
    let long = format!(r#"{{"do":"write","folder":"notes","path":"{}"}}"#, "a".repeat(300));
    assert!(it.files(&long).await.contains("is no name that the system takes"));
}

#[tokio::test]
async fn the_daemons_own_folder_is_shut_also_in_a_folder_that_it_lies_in() {
    let it = trapped().await;
    let home = it.house.folder.path().file_name().expect("it has a name").to_string_lossy().into_owned();
    for path in ["homeagent.db", "secret.key", "plugins/tenant/plugin.toml", "plugins-data/other/theirs"] {
        let read = format!(r#"{{"do":"read","folder":"above","path":"{home}/{path}"}}"#);
        let said = it.files(&read).await;
        assert!(said.contains("the daemon's own folder, which no plugin may use"), "{path}: {said}");
        let seen = it.house.status("tenant").last_error.unwrap_or_default();
        assert!(seen.contains("was refused"), "{seen}");
    }
    let moved = format!(r#"{{"do":"rename","folder":"above","path":"{home}","to":"elsewhere"}}"#);
    assert!(it.files(&moved).await.contains("nothing in it may be changed"));
    let seen = format!(r#"{{"do":"stat","folder":"above","path":"{home}"}}"#);
    assert!(it.files(&seen).await.contains("the daemon's own folder"));
}

#[tokio::test]
async fn a_folder_is_what_it_was_granted_as() {
    let it = trapped().await;
    let write = |folder: &str| format!(r#"{{"do":"write","folder":"{folder}","path":"x","text":"x"}}"#);
    assert!(it.files(&write("music")).await.contains("was granted for reading alone"));
    assert!(it.files(&write("above")).await.contains("the daemon's own folder lies in above"));
    assert!(it.files(&write("gone")).await.starts_with("not-found: there is no folder /nowhere/at/all"));
    assert!(it.files(&write("elsewhere")).await.contains("the plugin has no folder \"elsewhere\""));
    assert!(it.files(r#"{"do":"remove","folder":"music","path":"song"}"#).await.contains("for reading alone"));
    assert!(it.files(r#"{"do":"remove","folder":"notes","path":""}"#).await.contains("the folder itself"));
    assert_eq!(it.files(r#"{"do":"read","folder":"music","path":"song"}"#).await, "la");
    assert!(it.files(r#"{"do":"list","folder":"notes"}"#).await.contains("out Kind::Link"));
    assert_eq!(it.files(r#"{"do":"remove","folder":"notes","path":"out"}"#).await, "done", "the link, not its end");
    assert!(it.owner.path().join("secret").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_turns_into_a_link_under_the_reader_leads_nowhere() {
    let it = trapped().await;
    let outside = it.owner.path().join("outside");
    fs::create_dir(&outside).expect("the folder takes folders");
    fs::write(outside.join("file"), MARKED).expect("the folder takes files");
    fs::create_dir(it.notes("turning")).expect("the folder takes folders");
    fs::write(it.notes("turning/file"), "inside").expect("the folder takes files");
    let link = it.owner.path().join("link");
    symlink(&outside, &link).expect("the folder takes links");
    let (over, turning) = (AtomicBool::new(false), it.notes("turning"));
    let said = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Acquire) {
                rustix::fs::renameat_with(CWD, &turning, CWD, &link, RenameFlags::EXCHANGE).expect("both are there");
            }
        });
        let race = r#"{"do":"race","folder":"notes","path":"turning/file","times":3000}"#;
        let said = tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(it.files(race)));
        over.store(true, Ordering::Release);
        said
    });
    assert!(said.contains("inside") && said.contains("symbolic link") && !said.contains(MARKED), "{said}");
}

#[tokio::test]
async fn a_pipe_nobody_writes_to_holds_up_nobody() {
    let it = trapped().await;
    // Two that wait for each other's other end would wait for ever.
    let (read, append) = (
        it.files(r#"{"do":"read","folder":"notes","path":"pipe"}"#),
        it.files(r#"{"do":"append","folder":"notes","path":"pipe","text":"x"}"#),
    );
    let (read, append) = tokio::join!(read, append);
    assert!(read.contains("a pipe") && append.contains("a pipe"), "{read} {append}");
}

#[tokio::test]
async fn the_disk_is_filled_no_further_than_the_owner_allows() {
    let it = trapped().await;
    for (key, value) in [("core.plugin.data_mib", 1), ("core.plugin.file_mib", 2)] {
        it.house.settings.set(key, value).expect("a valid number");
    }
    let own = it.files(r#"{"do":"fill","folder":"data","path":"full","bytes":200000}"#).await;
    assert!(own.contains("data would hold 1200000 bytes and may hold 1048576"), "{own}");
    let other = it.files(r#"{"do":"write","folder":"data","path":"more","bytes":200000}"#).await;
    assert!(other.contains("core.plugin.data_mib"), "{other}");
    assert_eq!(it.files(r#"{"do":"write","folder":"data","path":"full","bytes":500000}"#).await, "done");
    let large = it.files(r#"{"do":"fill","folder":"notes","path":"large","bytes":600000}"#).await;
    assert!(large.contains("notes/large would have 2400000 bytes and may have 2097152"), "{large}");
    let piece = it.files(r#"{"do":"write","folder":"notes","path":"large","bytes":4194305}"#).await;
    assert!(piece.starts_with("invalid: one call writes at most 4194304 bytes"), "{piece}");
    it.house.settings.set("core.plugin.disk_reserve_mib", 1 << 20).expect("a valid number");
    for folder in ["data", "notes"] {
        let act = format!(r#"{{"do":"write","folder":"{folder}","path":"x","text":"x"}}"#);
        let said = it.files(&act).await;
        assert!(said.contains("of which plugins leave 1048576 MiB alone"), "{said}");
    }
    let seen = it.house.status("tenant").last_error.expect("the owner is told");
    assert!(seen.contains("writing notes/x was refused"), "{seen}");
}

#[tokio::test]
async fn huge_folders_are_listed_a_thousand_at_a_time() {
    let it = trapped().await;
    fs::create_dir(it.notes("many")).expect("the folder takes folders");
    for number in 0..1500 {
        fs::write(it.notes(&format!("many/{number:04}")), "").expect("the folder takes files");
    }
    let list = |after: &str| format!(r#"{{"do":"list","folder":"notes","path":"many","after":"{after}"}}"#);
    let first: Vec<String> = serde_json::from_str(&it.files(&list("")).await).expect("a list");
    assert_eq!((first.len(), first[999].as_str()), (1000, "0999 Kind::File"));
    let rest: Vec<String> = serde_json::from_str(&it.files(&list("0999")).await).expect("a list");
    assert_eq!((rest.len(), rest[0].as_str()), (500, "1000 Kind::File"));
}

#[tokio::test]
async fn a_known_secret_that_is_written_in_clear_is_told_to_the_owner() {
    let it = trapped().await;
    it.house.secrets.set("source.x.key", "sk-marked-0123456789".into()).expect("a secret");
    for act in ["write", "append"] {
        let act = format!(r#"{{"do":"{act}","folder":"notes","path":"{act}","text":"key=sk-marked-0123456789"}}"#);
        assert_eq!(it.files(&act).await, "done");
        let seen = it.house.status("tenant").last_error.expect("the owner is told");
        assert!(seen.contains("it holds the secret source.x.key in clear") && !seen.contains("sk-marked"), "{seen}");
        it.files(r#"{"do":"read","folder":"notes","path":"/other"}"#).await;
    }
}
