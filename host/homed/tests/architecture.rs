//! The shape of the workspace, as ARCHITECTURE.md tells it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn workspace() -> PathBuf {
    // Tests run in their package's folder.
    PathBuf::from("../..")
}

/// Every member's manifest, by its folder relative to the workspace.
fn manifests() -> BTreeMap<String, toml::Table> {
    let root: toml::Table = read(&workspace().join("Cargo.toml"));
    let members = root["workspace"]["members"].as_array().expect("a list of members");
    let mut all = BTreeMap::new();
    for member in members {
        let member = member.as_str().expect("a path");
        let folders = match member.strip_suffix("/*") {
            Some(parent) => {
                let entries = fs::read_dir(workspace().join(parent)).expect("a folder of members");
                entries.map(|entry| format!("{parent}/{}", entry.expect("an entry").file_name().display())).collect()
            }
            None => vec![member.to_owned()],
        };
        for folder in folders {
            let manifest = workspace().join(&folder).join("Cargo.toml");
            if manifest.is_file() {
                all.insert(folder, read(&manifest));
            }
        }
    }
    all
}

fn read(path: &Path) -> toml::Table {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn dependencies(manifest: &toml::Table) -> Vec<String> {
    let table = manifest.get("dependencies").and_then(toml::Value::as_table);
    table.map(|table| table.keys().cloned().collect()).unwrap_or_default()
}

/// How far a crate of the host stands from the bottom; a dependency has to stand lower.
fn height(package: &str) -> Option<u8> {
    Some(match package {
        "homeagent-types" | "homeagent-contract" | "homeagent-home" | "homeagent-package" | "homeagent-bundle" => 0,
        "homeagent-language" | "homeagent-network" | "homeagent-settings" => 1,
        "homeagent-media" | "homeagent-journal" | "homeagent-models" => 2,
        "homeagent-memory" | "homeagent-providers" | "homeagent-runtime" | "homeagent-knowledge" => 3,
        "homeagent-agent" => 4,
        "homeagent-gateway" => 5,
        "homeagent-waiter" => 6,
        "homed" => 7,
        _ => return None,
    })
}

#[test]
fn dependencies_point_one_way() {
    for (folder, manifest) in manifests().iter().filter(|(folder, _)| folder.starts_with("host/")) {
        let package = manifest["package"]["name"].as_str().expect("a package has a name");
        if package == "homeagent-component-builder" {
            assert_eq!(dependencies(manifest), ["sha2"], "build scripts run before everything else");
            continue;
        }
        let own =
            height(package).unwrap_or_else(|| panic!("{package} has no place among the host's crates; give it one"));
        for dependency in dependencies(manifest) {
            if let Some(other) = height(&dependency) {
                assert!(other < own, "{folder}: {package} must not depend on {dependency}");
            }
        }
    }
}

#[test]
fn each_part_knows_only_what_is_its_own() {
    let only = [
        ("wasmtime", &["homeagent-runtime"][..]),
        ("wasmtime-wasi", &["homeagent-runtime"]),
        ("notify", &["homeagent-runtime", "homeagent-knowledge"]),
        ("cap-std", &["homeagent-runtime"]),
        ("cap-fs-ext", &["homeagent-runtime"]),
        ("rusqlite", &["homeagent-settings", "homeagent-journal", "homeagent-memory", "homeagent-knowledge"]),
        ("jieba-rs", &["homeagent-language"]),
        ("fastembed", &["homeagent-language"]),
        ("ort", &["homeagent-language"]),
        ("tract-onnx", &["homeagent-language"]),
        ("reqwest", &["homeagent-providers"]),
        ("rustls", &["homeagent-network"]),
        ("ring", &["homeagent-package"]),
        ("infer", &["homeagent-media"]),
        ("axum", &["homeagent-gateway"]),
        ("metrics-exporter-prometheus", &["homed"]),
        ("wit-bindgen", &["homeagent-sdk"]),
    ];
    for (folder, manifest) in manifests() {
        let package = manifest["package"]["name"].as_str().expect("a package has a name");
        for dependency in dependencies(&manifest) {
            if let Some((_, allowed)) = only.iter().find(|(name, _)| *name == dependency) {
                assert!(allowed.contains(&package), "{folder}: {dependency} is not for {package}");
            }
        }
    }
}

#[test]
fn components_depend_on_nothing_of_the_host() {
    let guests = ["plugins/", "components/", "tests/guests/", "examples/", "guest-sdk"];
    for (folder, manifest) in manifests() {
        if guests.iter().any(|guest| folder.starts_with(guest)) {
            for dependency in dependencies(&manifest) {
                let allowed = height(&dependency).is_none() || dependency == "homeagent-contract";
                assert!(allowed, "{folder} must not depend on {dependency}");
            }
        }
    }
}

#[test]
fn every_member_opts_into_the_lints() {
    for (folder, manifest) in manifests() {
        let opted = manifest.get("lints").and_then(|lints| lints.get("workspace")).and_then(toml::Value::as_bool);
        assert_eq!(opted, Some(true), "{folder}/Cargo.toml needs [lints] workspace = true");
    }
}

/// What the wall clock says is recorded, shown, and taken as the day; how long something takes or waits is told by a clock
/// that does not jump.
#[test]
fn the_wall_clock_is_read_in_few_places() {
    let known = [
        // The times that are shown.
        "host/types/src/lib.rs",
        // The times of what is recorded.
        "host/journal/src/writer.rs",
        // What the model is told.
        "host/agent/src/prompt.rs",
        // Which day's file a line goes to.
        "host/homed/src/logging/files.rs",
        // A date in a vendor's answer that has no date of its own.
        "host/providers/src/chain/retry_after.rs",
        // When an entry was used last, in the file's own time.
        "host/runtime/src/cache.rs",
    ];
    let mut found = Vec::new();
    for entry in fs::read_dir(workspace().join("host")).expect("there is a host") {
        let sources = entry.expect("an entry").path().join("src");
        if sources.is_dir() {
            readers_of_the_wall_clock(&sources, &mut found);
        }
    }
    found.sort();
    let mut known = known.map(|path| workspace().join(path));
    known.sort();
    assert_eq!(found, known);
}

fn readers_of_the_wall_clock(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("it can be listed") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            readers_of_the_wall_clock(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("it is text");
            if ["SystemTime::now", "Timestamp::now", "Zoned::now"].iter().any(|reading| text.contains(reading)) {
                found.push(path);
            }
        }
    }
}

#[test]
fn the_root_stays_small() {
    let entries = fs::read_dir(workspace()).expect("the workspace can be listed");
    let visible = entries.filter(|entry| {
        let name = entry.as_ref().expect("an entry").file_name();
        name != ".git" && name != "target"
    });
    assert!(visible.count() <= 20, "the root has more than 20 entries");
}
