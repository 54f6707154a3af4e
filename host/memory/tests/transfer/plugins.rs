//! What plugins keep is forgotten where that is asked for, and stays where it is not.

use std::path::Path;
use std::sync::Arc;

use homeagent_journal::Journal;
use homeagent_memory::{Memory, Parts};
use homeagent_settings::{Bindings, Change, Database, KeyValues, PluginData, Secrets, Settings};
use homeagent_types::memory::{MemoryForget, MemoryForgotten, MemoryPluginValue, MemoryWhat};
use tokio::sync::watch;

fn open(home: &Path) -> (Arc<Memory>, KeyValues) {
    let database = Database::open(home.join("homeagent.db")).expect("it opens");
    let secrets = Secrets::open(&database, home).expect("they open");
    let settings = Settings::open(&database, &secrets).expect("they open");
    let bindings = Bindings::open(&database).expect("they open");
    let journal = Journal::open(&database).expect("it opens");
    let keys = PluginData::open(&database).expect("it opens").keys;
    let (_, embedder) = watch::channel(None);
    let home = home.to_owned();
    let plugin_values = Some(keys.clone());
    let parts = Parts { home, journal, settings, bindings, embedder, elsewhere: None, plugin_values };
    (Memory::open(parts).expect("it opens"), keys)
}

async fn forget(memory: &Memory, dry_run: bool, plugins: bool) -> MemoryForgotten {
    let what = MemoryWhat::Text("Zanzibar团子".to_owned());
    memory.forget(MemoryForget { what, dry_run, plugins }).await.expect("forgotten")
}

fn stands_in_the_file(home: &Path) -> bool {
    let wanted = "zanzibar团子".as_bytes();
    ["homeagent.db", "homeagent.db-wal"].iter().any(|file| {
        let bytes = std::fs::read(home.join(file)).unwrap_or_default().to_ascii_lowercase();
        bytes.windows(wanted.len()).any(|window| window == wanted)
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_plugins_go_only_where_that_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path();
    let (memory, keys) = open(home);
    let set = |key: &str, value: &str| Change::Set(key.to_owned(), value.as_bytes().to_vec());
    let diary = [set("may", "we met ZANZIBAR团子 by the sea"), set("june", "rain")];
    keys.apply("diary", &diary, 1 << 20).expect("there is room");
    keys.apply("pets", &[set("cat", r#"{"name":"Zanzibar\u56e2\u5b50"}"#)], 1 << 20).expect("there is room");
    let value = |plugin: &str, key: &str| MemoryPluginValue { plugin: plugin.to_owned(), key: key.to_owned() };
    let both = vec![value("diary", "may"), value("pets", "cat")];

    let shown = forget(&memory, true, true).await;
    assert_eq!((&shown.plugin_values, shown.plugins), (&both, true));
    let kept = forget(&memory, false, false).await;
    assert_eq!((&kept.plugin_values, kept.plugins), (&both, false));
    assert!(keys.get("diary", "may").expect("read").is_some() && keys.get("pets", "cat").expect("read").is_some());
    assert!(stands_in_the_file(home));

    let gone = forget(&memory, false, true).await;
    assert_eq!((&gone.plugin_values, gone.left.len()), (&both, 0));
    assert_eq!((keys.get("diary", "may").expect("read"), keys.get("pets", "cat").expect("read")), (None, None));
    assert_eq!(keys.get("diary", "june").expect("read").as_deref(), Some(&b"rain"[..]));
    assert!(!stands_in_the_file(home), "no byte of it is left in a free page");
    assert_eq!(forget(&memory, true, true).await.plugin_values, []);
    memory.close().await;
}
