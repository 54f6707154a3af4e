//! Where the example in each language is, and what it needs.

use std::path::{Path, PathBuf};

use homeagent_runtime::Bundled;

use crate::house::House;

pub(crate) fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// The interpreters that come with homed.
pub(crate) fn interpreters() -> Vec<Bundled> {
    let all = homeagent_bundle::packages().filter(|package| package.name.starts_with("interpreter-"));
    all.map(|package| Bundled { manifest: package.manifest, component: package.component, digest: package.digest })
        .collect()
}

/// A package that needs more than cargo and a C compiler to build. `.ci/components` builds them all; where it has not run
/// there are none, and the tests of theirs say so and do nothing.
pub(crate) fn optional(package: &str) -> Option<PathBuf> {
    let Some(all) = std::env::var_os("HOMEAGENT_OPTIONAL_PACKAGES") else {
        eprintln!("{package} is not built: run .ci/components, and set HOMEAGENT_OPTIONAL_PACKAGES to what it prints");
        return None;
    };
    let folder = Path::new(&all).join(package);
    assert!(folder.join("plugin.toml").is_file(), "{} is not there", folder.display());
    Some(folder)
}

/// Lays a folder's files into the folder of plugins.
pub(crate) fn install(house: &House, from: &Path) -> PathBuf {
    let folder = house.plugins().join(from.file_name().expect("a folder has a name"));
    std::fs::create_dir_all(&folder).expect("a folder");
    for entry in std::fs::read_dir(from).expect("the folder can be listed") {
        let entry = entry.expect("an entry");
        if entry.path().is_file() {
            std::fs::copy(entry.path(), folder.join(entry.file_name())).expect("the folder takes files");
        }
    }
    folder
}
