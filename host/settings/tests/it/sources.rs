use std::collections::BTreeMap;

use homeagent_settings::{SourceChange, SourceError, SourceLine, SourceRecord, Sources};

use crate::home::Home;

fn source(name: &str, line: SourceLine) -> SourceRecord {
    SourceRecord {
        name: name.to_owned(),
        line,
        adapter: "openai".to_owned(),
        base_url: "https://api.example.org/v1".to_owned(),
        model: "flash".to_owned(),
        secret: Some("source.main".to_owned()),
        options: BTreeMap::from([("thinking".to_owned(), "关".to_owned())]),
        position: 99,
        enabled: true,
    }
}

fn names(sources: &Sources) -> Vec<String> {
    sources.list().iter().map(|record| record.name.clone()).collect()
}

#[test]
fn each_line_keeps_its_order() {
    let home = Home::new();
    let sources = Sources::open(&home.database()).expect("opens");
    for (name, line) in [
        ("向量", SourceLine::Embedding),
        ("first", SourceLine::Main),
        ("second", SourceLine::Main),
        ("third", SourceLine::Main),
        ("side", SourceLine::Auxiliary),
    ] {
        sources.add(&source(name, line)).expect("adds");
    }
    assert_eq!(names(&sources), ["first", "second", "third", "side", "向量"]);
    sources.use_first("third").expect("moves");
    sources.add(&SourceRecord { model: "pro".to_owned(), ..source("first", SourceLine::Main) }).expect("replaces");
    let off = SourceRecord { enabled: false, ..source("second", SourceLine::Main) };
    sources.add(&off).expect("replaces, switched off");
    for sources in [&sources, &Sources::open(&home.database()).expect("opens")] {
        assert_eq!(names(sources), ["third", "first", "second", "side", "向量"]);
        let main: Vec<_> =
            sources.line(SourceLine::Main).into_iter().map(|record| (record.name, record.model)).collect();
        assert_eq!(main, [("third".to_owned(), "flash".to_owned()), ("first".to_owned(), "pro".to_owned())]);
        assert_eq!(sources.get("first").expect("is there").options["thinking"], "关");
    }
    sources.use_first("second").expect("moves and enables");
    assert_eq!(sources.line(SourceLine::Main)[0].name, "second");
    sources.remove("second").expect("removes");
    assert!(sources.get("second").is_none());
}

#[test]
fn what_is_unknown_or_unusable_is_said() {
    let home = Home::new();
    let sources = Sources::open(&home.database()).expect("opens");
    sources.add(&source("main", SourceLine::Main)).expect("adds");
    let error = sources.use_first("mian").expect_err("is unknown");
    assert_eq!(error.to_string(), "there is no source \"mian\"; configured are: main");
    let bad = SourceRecord { base_url: String::new(), ..source("x", SourceLine::Main) };
    assert!(matches!(sources.add(&bad), Err(SourceError::BadField { field: "base URL", .. })));
}

#[test]
fn a_damaged_row_is_left_out() {
    let home = Home::new();
    let sources = Sources::open(&home.database()).expect("opens");
    sources.add(&source("good", SourceLine::Main)).expect("adds");
    sources.add(&source("bad", SourceLine::Main)).expect("adds");
    home.tamper("UPDATE sources SET options = '{' WHERE name = 'bad'");
    let sources = Sources::open(&home.database()).expect("opens");
    assert_eq!(names(&sources), ["good"]);
    sources.add(&source("bad", SourceLine::Main)).expect("can be set again");
    assert_eq!(names(&sources), ["good", "bad"]);
}

#[test]
fn lines_have_names() {
    for line in SourceLine::ALL {
        assert_eq!(SourceLine::from_name(line.as_str()), Some(line));
    }
    assert_eq!(SourceLine::from_name("side"), None);
}

#[test]
fn a_change_keeps_what_it_does_not_speak_of() {
    let home = Home::new();
    let sources = Sources::open(&home.database()).expect("opens");
    for (name, line) in [("main", SourceLine::Main), ("side", SourceLine::Auxiliary)] {
        sources.add(&source(name, line)).expect("adds");
    }
    let options = [("temperature", Some("0.3")), ("thinking", None), ("num_ctx", Some("8192"))];
    let options = options.map(|(name, value)| (name.to_owned(), value.map(str::to_owned)));
    let change = SourceChange { model: Some("pro".to_owned()), options: options.into(), ..SourceChange::default() };
    let changed = sources.edit("main", &change).expect("changes");
    assert_eq!(changed.options.keys().collect::<Vec<_>>(), ["num_ctx", "temperature"]);
    assert_eq!((changed.model.as_str(), changed.position, changed.enabled), ("pro", 0, true));
    let change = SourceChange { line: Some(SourceLine::Auxiliary), enabled: Some(false), ..SourceChange::default() };
    sources.edit("main", &change).expect("changes");
    for sources in [&sources, &Sources::open(&home.database()).expect("opens")] {
        assert_eq!(names(sources), ["side", "main"]);
        let main = sources.get("main").expect("is there");
        assert_eq!((main.enabled, main.options["temperature"].as_str()), (false, "0.3"));
    }
    for (option, value) in [
        ("temperature", "3"),
        ("temperature", "NaN"),
        ("thinking", "maybe"),
        ("concurrent", "-1"),
        ("batch", "0"),
        ("", "x"),
    ] {
        let options = [(option.to_owned(), Some(value.to_owned()))].into();
        let refused = sources.edit("side", &SourceChange { options, ..SourceChange::default() });
        assert!(matches!(refused, Err(SourceError::BadOption { .. })), "{option}={value}: {refused:?}");
    }
    let blank = SourceChange { model: Some("two words".to_owned()), ..SourceChange::default() };
    assert!(matches!(sources.edit("side", &blank), Err(SourceError::BadField { field: "model", .. })));
    assert_eq!(sources.get("side").expect("is there").model, "flash");
    assert!(matches!(sources.edit("none", &SourceChange::default()), Err(SourceError::Unknown { .. })));
}
