//! The key of a source: at the vendor, and nowhere else.

use std::path::Path;

use crate::daemon::{KEY, with_vendor};
use crate::vendor::Reply;

#[tokio::test]
async fn the_key_reaches_the_vendor_and_no_file_and_no_answer_holds_it() {
    let (mut daemon, vendor) = with_vendor().await;
    vendor.script([
        Reply::text("hello"),
        Reply::Status(400, serde_json::json!({ "error": { "message": format!("bad key {KEY} in the request") } })),
    ]);
    daemon.reply("hello").await;
    assert_eq!(vendor.asked(1).await[0].authorization, format!("Bearer {KEY}"));
    let failed = daemon.ask("again").await.to_string();
    assert!(!failed.contains(KEY), "{failed}");
    for command in [&["source"][..], &["settings"], &["status"], &["runs"], &["plugin", "list"]] {
        let mut all = vec!["--json"];
        all.extend(command);
        let said = daemon.waiter(&all).await;
        assert!(!said.stdout.contains(KEY) && !said.stderr.contains(KEY), "{command:?}");
    }
    for asked in vendor.asked_so_far() {
        assert!(!asked.body.to_string().contains(KEY), "the adapter builds the body, and has no key to put in it");
    }
    daemon.signal(rustix::process::Signal::TERM);
    daemon.child.wait().await.expect("it ends");
    no_file_holds_the_key(daemon.home.path());
}

/// Searches a data folder for [`KEY`].
pub(crate) fn no_file_holds_the_key(home: &Path) {
    let mut read = 0;
    search(home, &mut read);
    assert!(read >= 3, "only {read} files were searched");
}

fn search(folder: &Path, read: &mut usize) {
    for entry in std::fs::read_dir(folder).expect("it can be listed") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            search(&path, read);
        } else if let Ok(bytes) = std::fs::read(&path) {
            *read += 1;
            let found = bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes());
            assert!(!found, "{} holds the key", path.display());
        }
    }
}
