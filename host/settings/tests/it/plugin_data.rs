use homeagent_settings::{Change, KeyError, MOST_KEYS, MOST_LISTED, PluginData};

use crate::home::Home;

fn set(key: &str, bytes: usize) -> Change {
    Change::Set(key.to_owned(), vec![7; bytes])
}

#[test]
fn what_a_plugin_keeps_is_there_after_a_restart_and_gone_when_it_is_forgotten_and_others_keep_theirs() {
    let home = Home::new();
    let data = PluginData::open(&home.database()).expect("opens");
    data.keys.apply("a", &[set("k", 3)], 100).expect("there is room");
    data.keys.apply("b", &[set("k", 4)], 100).expect("there is room");
    let data = PluginData::open(&home.database()).expect("opens again");
    assert_eq!(data.keys.get("a", "k").expect("reads"), Some(vec![7; 3]));
    data.forget("a").expect("forgets");
    assert_eq!(data.keys.get("a", "k").expect("reads"), None);
    assert_eq!(data.keys.get("b", "k").expect("reads"), Some(vec![7; 4]));
}

#[test]
fn a_batch_that_does_not_fit_changes_nothing_and_whoever_has_too_much_may_have_less() {
    let home = Home::new();
    let keys = PluginData::open(&home.database()).expect("opens").keys;
    keys.apply("a", &[set("k", 99)], 100).expect("it fits");
    let full = keys.apply("a", &[Change::Delete("k".into()), set("x", 60), set("y", 60)], 100);
    assert!(matches!(full, Err(KeyError::Full { bytes: 122, most: 100 })), "{full:?}");
    assert_eq!(keys.get("a", "k").expect("reads").map(|value| value.len()), Some(99));
    assert_eq!(keys.apply("a", &[set("k", 50), set("k", 49)], 10).expect("it is less"), [true, true]);
    assert_eq!(keys.get("a", "k").expect("reads").map(|value| value.len()), Some(49));
}

#[test]
fn the_number_of_keys_has_an_end_and_they_are_listed_a_thousand_at_a_time() {
    let home = Home::new();
    let keys = PluginData::open(&home.database()).expect("opens").keys;
    let all: Vec<_> = (0..MOST_KEYS).map(|number| set(&format!("{number:05}"), 0)).collect();
    for some in all.chunks(1000) {
        keys.apply("a", some, 1 << 20).expect("there is room");
    }
    assert!(matches!(keys.apply("a", &[set("more", 0)], 1 << 20), Err(KeyError::Keys)));
    let first = keys.list("a", "", None).expect("lists");
    assert_eq!((first.len(), first[0].as_str()), (MOST_LISTED, "00000"));
    let next = keys.list("a", "", first.last().map(String::as_str)).expect("lists");
    assert_eq!(next[0], "01000");
    assert_eq!(keys.list("a", "0999", None).expect("lists").len(), 10);
    assert_eq!(keys.list("a", "0999", Some("5")).expect("lists").len(), 0);
    assert_eq!(keys.list("a", "0999", Some("0")).expect("lists").len(), 10);
}
