//! What is kept, for how long, and what becomes of files that others touched.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use homeagent_media::{Address, Error, Reader};

use crate::home::{DAY, Home};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

#[tokio::test]
async fn the_same_bytes_are_kept_once_and_survive_a_restart() {
    let mut home = Home::new();
    let first = home.store.put(PNG.to_vec(), "text/html").await.expect("it is kept");
    let again = home.store.put(PNG.to_vec(), "image/png").await.expect("it is kept");
    assert_eq!((first.address, first.mime.as_str()), (again.address, "image/png"));
    assert_eq!(home.store.size(), (1, PNG.len() as u64));
    home.reopen();
    let medium = home.store.get(first.address).await.expect("it is there");
    assert_eq!((&medium.bytes[..], medium.mime.as_str()), (PNG, "image/png"));
    assert_eq!(home.store.find(&format!("media:{}", first.address.short())).expect("it is found"), first.address);
    let mode = fs::metadata(home.path(first.address)).expect("its file").permissions().mode();
    assert_eq!(mode & 0o077, 0, "nobody else may read it");
}

#[tokio::test]
async fn what_nobody_uses_goes_and_what_is_looked_at_stays() {
    let home = Home::new();
    let looked_at = home.store.put(b"looked at".to_vec(), "").await.expect("it is kept").address;
    let left = home.store.put(b"left alone".to_vec(), "").await.expect("it is kept").address;
    let held = home.store.put(b"held".to_vec(), "").await.expect("it is kept");
    home.pass(20 * DAY);
    home.store.get(looked_at).await.expect("it is there");
    home.pass(20 * DAY);
    drop(home.store.put(b"another".to_vec(), "").await.expect("it is kept"));
    assert!(home.has(looked_at).await && home.has(held.address).await && !home.has(left).await);
    assert!(matches!(home.store.get(left).await, Err(Error::Missing)));
    assert!(!home.path(left).exists(), "its file is gone, too");
}

#[tokio::test]
async fn when_it_was_used_is_known_after_a_restart() {
    let mut home = Home::new();
    let address = home.store.put(b"old".to_vec(), "").await.expect("it is kept").address;
    home.pass(31 * DAY);
    home.reopen();
    assert!(!home.has(address).await);
}

#[tokio::test]
async fn what_is_too_large_is_not_kept_and_says_so() {
    let home = Home::new();
    home.settings.set("core.media.file_mib", 1).expect("it is allowed");
    let error = home.store.put(vec![0; (1 << 20) + 1], "").await.expect_err("it is too large");
    assert_eq!(error.to_string(), "it has 2 MiB, and at most 1 MiB are kept (core.media.file_mib)");
    assert!(matches!(home.store.put(Vec::new(), "").await, Err(Error::Empty)));
    assert_eq!(home.store.size(), (0, 0));
}

#[tokio::test]
async fn a_damaged_file_is_told_from_the_medium_and_can_be_kept_anew() {
    let home = Home::new();
    let address = home.store.put(PNG.to_vec(), "").await.expect("it is kept").address;
    fs::write(home.path(address), b"\x89PNG but something else").expect("somebody writes there");
    assert!(matches!(home.store.get(address).await, Err(Error::Damaged)));
    assert!(matches!(home.store.get(address).await, Err(Error::Missing)));
    home.store.put(PNG.to_vec(), "").await.expect("it is kept");
    fs::remove_file(home.path(address)).expect("somebody removes it");
    assert!(matches!(home.store.get(address).await, Err(Error::Missing)));
    home.store.put(PNG.to_vec(), "").await.expect("it is kept");
    fs::write(home.path(address), b"damaged").expect("somebody writes there");
    home.store.put(PNG.to_vec(), "").await.expect("what comes again mends it");
    assert_eq!(&home.store.get(address).await.expect("it is there").bytes[..], PNG);
}

#[tokio::test]
async fn what_a_crash_left_half_written_is_removed_and_strange_files_are_left_alone() {
    let mut home = Home::new();
    let folder = home.folder.path().join("media");
    fs::write(folder.join("unfinished-abc"), b"half").expect("a file");
    fs::create_dir_all(folder.join("zz")).expect("a folder");
    fs::write(folder.join("zz/notes.txt"), b"mine").expect("a file");
    home.reopen();
    assert!(!folder.join("unfinished-abc").exists() && folder.join("zz/notes.txt").exists());
    assert_eq!(home.store.size(), (0, 0));
}

#[tokio::test]
async fn whoever_removes_a_medium_is_not_kept_from_it_by_those_who_hold_it() {
    let home = Home::new();
    let kept = home.store.put(PNG.to_vec(), "").await.expect("it is kept");
    assert!(home.store.remove(kept.address).await.expect("it is removed"));
    assert!(!home.store.remove(kept.address).await.expect("nothing is left"));
    assert!(!home.path(kept.address).exists());
    drop(kept);
    assert_eq!(home.store.size(), (0, 0));
}

#[tokio::test]
async fn a_link_leads_where_its_reader_is() {
    let home = Home::new();
    let address = Address::of(PNG);
    assert_eq!(home.store.link(&address, Reader::Here), None, "nothing is served yet");
    home.store.serve_at("0.0.0.0:8686".parse().expect("an address"));
    let here = home.store.link(&address, Reader::Here).expect("a link");
    assert!(here.starts_with(&format!("http://127.0.0.1:8686/media/{address}?until=")), "{here}");
    assert_eq!(home.store.link(&address, Reader::Others), None, "nobody else comes there");
    home.settings.set("core.media.public_url", "https://home.example/agent/").expect("it is allowed");
    let others = home.store.link(&address, Reader::Others).expect("a link");
    assert!(others.starts_with(&format!("https://home.example/agent/media/{address}?until=")), "{others}");
    let here = home.store.link(&address, Reader::Here).expect("a link");
    assert!(here.starts_with("https://home.example/"), "whoever asks here may have readers elsewhere: {here}");
    let query = others.split_once("?until=").expect("a query").1;
    let (until, mac) = query.split_once("&mac=").expect("a signature");
    let until = until.parse().expect("a moment");
    assert!(home.store.is_good_link(&address, until, mac));
    assert!(!home.store.is_good_link(&address, until + 1, mac));
    home.pass(DAY + 1);
    assert!(!home.store.is_good_link(&address, until, mac));
}
