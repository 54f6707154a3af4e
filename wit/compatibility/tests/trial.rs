//! A trial freeze: the packages as they are now are copied, and changes are made to what stands beside the copy.

use std::fs;
use std::path::{Path, PathBuf};

use homeagent_contract_compatibility::breaches;
use tempfile::TempDir;

const PACKAGES: [&str; 2] = ["plugin", "adapter"];

fn package(name: &str) -> PathBuf {
    // Tests run in their package's folder.
    Path::new("..").join(name)
}

fn copy(name: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for entry in fs::read_dir(package(name)).expect("the package is there") {
        let entry = entry.expect("an entry");
        fs::copy(entry.path(), folder.path().join(entry.file_name())).expect("the folder takes files");
    }
    folder
}

/// What is broken by putting `text` where `place` stood, in the files of a package.
fn changed(name: &str, place: &str, text: &str) -> Vec<String> {
    let (frozen, current) = (copy(name), copy(name));
    let mut times = 0;
    for entry in fs::read_dir(current.path()).expect("the copy is there") {
        let path = entry.expect("an entry").path();
        let before = fs::read_to_string(&path).expect("WIT is UTF-8");
        times += before.matches(place).count();
        fs::write(&path, before.replacen(place, text, 1)).expect("the folder takes files");
    }
    assert_eq!(times, 1, "{place:?} stands in the contract once");
    let found = breaches(frozen.path(), current.path()).expect("both are WIT packages");
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn a_package_is_compatible_with_itself_and_comments_are_nothing() {
    for name in PACKAGES {
        let frozen = copy(name);
        assert_eq!(breaches(frozen.path(), &package(name)).expect("both are WIT packages"), []);
    }
    assert_eq!(changed("plugin", "interface log {", "/// More words.\ninterface log {\n"), [""; 0]);
}

#[test]
fn what_may_be_added_is_no_breach() {
    let rows = [
        // A function to what components import.
        ("write: func(level: level, message: string);", "write: func(level: level, message: string); flush: func();"),
        // A type beside the others.
        ("  type timestamp = u64;", "  type timestamp = u64; record span { begun: timestamp, ended: timestamp }"),
        // An interface with a world of its own, and an import.
        (
            "world tool-plugin {",
            "interface weather { now: func() -> string; } world weather-plugin { export weather; }\nworld tool-plugin {",
        ),
        (
            "world capabilities {",
            "interface weather { now: func() -> string; }\nworld capabilities {\n  import weather;",
        ),
    ];
    for (place, text) in rows {
        assert_eq!(changed("plugin", place, text), [""; 0], "{text}");
    }
}

#[test]
fn what_older_components_can_t_cope_with_is_named_with_its_place() {
    let rows = [
        ("    remedy: string,", "    remedy: string, since: u64,", "interface types, record denial: `since` was added"),
        ("    remedy: string,", "", "interface types, record denial: `remedy` was removed"),
        ("    remedy: string,", "    remedy: option<string>,", "`remedy` was string, and is option<string>"),
        ("    not-live,", "    not-live, not-now,", "interface types, variant error: `not-now` was added"),
        ("    not-found(string),", "    not-found(u32),", "`not-found` was string, and is u32"),
        (
            "    trace,\n    debug,",
            "    debug,\n    trace,",
            "interface log, enum level: its members have another order",
        ),
        (
            "  type timestamp = u64;",
            "  type timestamp = s64;",
            "interface types, type timestamp: it was u64, and is s64",
        ),
        ("  write: func(level: level, message: string);", "", "interface log, function write: it was removed"),
        (
            "write: func(level: level, message: string);",
            "write: func(level: level, message: string) -> bool;",
            "interface log, function write: it was func(level: level, message: string), and is",
        ),
        (
            "stop: async func();",
            "stop: func();",
            "interface lifecycle, function stop: it was async func(), and is func()",
        ),
        (
            "stop: async func();",
            "stop: async func(); pause: func();",
            "interface lifecycle, function pause: it was added",
        ),
        ("  export tool-provider;", "", "world tool-plugin: the export tool-provider was removed"),
        ("  export lifecycle;", "  export lifecycle; export snapshot;", "world plugin: the export snapshot was added"),
        ("world socket-plugin {", "world sockets-plugin {", "world socket-plugin: it was removed"),
    ];
    for (place, text, said) in rows {
        let found = changed("plugin", place, text);
        assert!(found.iter().any(|breach| breach.contains(said)), "{text:?}: {found:?} does not say {said:?}");
    }
}

#[test]
fn another_version_is_another_track_and_what_is_no_package_is_said() {
    let (frozen, current) = (copy("adapter"), copy("adapter"));
    for entry in fs::read_dir(current.path()).expect("the copy is there") {
        let path = entry.expect("an entry").path();
        let text = fs::read_to_string(&path).expect("WIT is UTF-8");
        fs::write(&path, text.replace("@0.1.0;", "@0.2.0;")).expect("the folder takes files");
    }
    let found = breaches(frozen.path(), current.path()).expect("both are WIT packages");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].to_string().contains("another track"), "{found:?}");
    let nothing = tempfile::tempdir().expect("a folder");
    let error = breaches(frozen.path(), nothing.path()).expect_err("there is nothing").to_string();
    assert!(error.contains("is no WIT package"), "{error}");
}
