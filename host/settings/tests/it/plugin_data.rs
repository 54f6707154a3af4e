use homeagent_settings::{Change, FinishedFiring, KeyError, MOST_KEYS, MOST_LISTED, PluginData, TimerError};

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

#[test]
fn timers_are_kept_with_their_attempts_until_their_firing_is_finished() {
    let home = Home::new();
    let timers = PluginData::open(&home.database()).expect("opens").timers;
    let once = timers.set("a", "once", (10, None), "1", 2).expect("there is room");
    let often = timers.set("a", "often", (10, Some(5)), "2", 2).expect("there is room");
    assert!(matches!(timers.set("a", "more", (10, None), "3", 2), Err(TimerError::Full(2))));
    timers.failed(once.id).expect("it is there");
    timers.failed(often.id).expect("it is there");
    let finished = |id, next| FinishedFiring { id, next, payload: None };
    timers.finish(&[finished(often.id, Some(15))]).expect("it is there");
    let all = PluginData::open(&home.database()).expect("opens again").timers.all().expect("reads");
    let known: Vec<_> = all.iter().map(|timer| (timer.name.as_str(), timer.due, timer.attempts)).collect();
    assert_eq!(known, [("once", 10, 1), ("often", 15, 0)]);
    timers.finish(&[finished(once.id, None)]).expect("it is there");
    assert_eq!(timers.all().expect("reads").len(), 1);
}

#[test]
fn a_timer_that_is_set_anew_is_another_one_and_a_number_is_never_given_twice() {
    let home = Home::new();
    let data = PluginData::open(&home.database()).expect("opens");
    let first = data.timers.set("a", "x", (10, None), "1", 1).expect("there is room");
    let second = data.timers.set("a", "x", (10, None), "1", 1).expect("it is in the place of the first");
    assert!(data.timers.cancel("a", "x").expect("the disk works"));
    assert!(!data.timers.cancel("a", "x").expect("the disk works"));
    let third = data.timers.set("a", "x", (10, None), "1", 1).expect("there is room");
    assert!(first.id < second.id && second.id < third.id);
    data.timers.set("b", "x", (10, None), "1", 1).expect("there is room");
    data.forget("a").expect("forgets");
    assert_eq!(data.timers.all().expect("reads").len(), 1);
}

#[test]
fn a_damaged_timer_costs_nobody_else_theirs() {
    let home = Home::new();
    let database = home.database();
    let timers = PluginData::open(&database).expect("opens").timers;
    timers.set("a", "x", (10, None), "1", 1).expect("there is room");
    timers.set("b", "x", (10, None), "1", 1).expect("there is room");
    home.tamper("UPDATE plugin_timers SET name = CAST(x'ff' AS TEXT) WHERE plugin = 'a'");
    assert_eq!(timers.all().expect("reads").len(), 1);
    assert!(database.take_remarks().iter().any(|remark| remark.contains("a timer in")), "it is said");
}

#[test]
fn what_holds_words_is_forgotten_whosever_it_is_and_nothing_else() {
    let home = Home::new();
    let keys = PluginData::open(&home.database()).expect("opens").keys;
    let set = |key: &str, value: &str| Change::Set(key.to_owned(), value.as_bytes().to_vec());
    keys.apply("diary", &[set("may", "团子 is a cat"), set("june", "rain")], 1 << 20).expect("there is room");
    keys.apply("pets@2", &[set("团子", ""), Change::Set("raw".to_owned(), vec![0xff, 0])], 1 << 20)
        .expect("there is room");
    let is_meant = |key: &str, value: &[u8]| key.contains("团子") || String::from_utf8_lossy(value).contains("团子");
    let both = [("diary".to_owned(), "may".to_owned()), ("pets@2".to_owned(), "团子".to_owned())];
    assert_eq!(keys.holding(&is_meant).expect("read"), both);
    assert_eq!(keys.forget_holding(&is_meant).expect("forgotten"), both);
    assert_eq!(keys.holding(&|_, _| true).expect("read").len(), 2);
    assert_eq!(keys.forget_holding(&is_meant).expect("nothing is left"), []);
}
