//! `waiter plugin pack`: the files of a plugin in one file, signed if the author likes.

use std::fs;
use std::path::{Path, PathBuf};

use homeagent_package::{File, MANIFEST, SIGNATURE, SigningKey};
use serde::Deserialize;

use crate::failure::Failure;

/// What packing has to know of a `plugin.toml`; the daemon checks the whole of it.
#[derive(Deserialize)]
struct Manifest {
    plugin: Plugin,
}

#[derive(Deserialize)]
struct Plugin {
    name: String,
    version: String,
    component: Option<String>,
    script: Option<String>,
}

/// A package that was made.
pub(crate) struct Packed {
    pub(crate) file: PathBuf,
    /// The files in it, by name.
    pub(crate) names: Vec<String>,
}

/// Packs the plugin in `folder` into `output`, or into `<name>-<version>.tar` here; signed, where there is a key. A
/// signature that lies in the folder is not packed: it may be that of other files.
pub(crate) fn pack(folder: &Path, output: Option<PathBuf>, key: Option<&SigningKey>) -> Result<Packed, Failure> {
    let text = String::from_utf8(read(&folder.join(MANIFEST))?)
        .map_err(|_| Failure::Failed(format!("{} is not UTF-8", folder.join(MANIFEST).display())))?;
    let manifest: Manifest = toml::from_str(&text)
        .map_err(|error| Failure::Failed(format!("{} is not valid: {error}", folder.join(MANIFEST).display())))?;
    let Plugin { name, version, component, script } = manifest.plugin;
    let output = output.unwrap_or_else(|| PathBuf::from(format!("{name}-{version}.tar")));
    let mut names = match (component, script) {
        (Some(component), None) => vec![component],
        (None, Some(script)) => script_files(folder, &script)?,
        _ => return Err(Failure::Failed(format!("{MANIFEST} has to name a component or a script, one of them"))),
    };
    names.sort();
    names.insert(0, MANIFEST.to_owned());
    let mut files = Vec::new();
    for name in &names {
        files.push(File { name: name.clone(), bytes: read(&folder.join(name))? });
    }
    if let Some(key) = key {
        files.push(File { name: SIGNATURE.to_owned(), bytes: homeagent_package::sign(&files, key) });
        names.push(SIGNATURE.to_owned());
    }
    let archive = homeagent_package::pack(&files)
        .map_err(|error| Failure::Failed(format!("{} can't be packed: {error}", folder.display())))?;
    fs::write(&output, archive)
        .map_err(|error| Failure::Failed(format!("{} can't be written: {error}", output.display())))?;
    Ok(Packed { file: output, names })
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| Failure::Failed(format!("{} can't be read: {error}", path.display())))
}

/// The script and the files beside it that have the same ending: those that the daemon reads.
fn script_files(folder: &Path, script: &str) -> Result<Vec<String>, Failure> {
    let ending = script.rsplit_once('.').map_or("", |(_, ending)| ending);
    let failed = |error| Failure::Failed(format!("{} can't be listed: {error}", folder.display()));
    let mut names = vec![script.to_owned()];
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let belongs = name.rsplit_once('.').is_some_and(|(_, its)| its == ending) && !name.starts_with('.');
        if belongs && name != script && entry.path().is_file() {
            names.push(name);
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const SCRIPT: &str = "[plugin]\nname = \"x\"\nversion = \"1.2.3\"\nscript = \"main.lua\"\n";

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            fs::write(folder.path().join(name), text).expect("a file");
        }
        folder
    }

    #[test]
    fn a_package_is_an_archive_of_what_the_plugin_is_and_of_nothing_else() {
        let files = [(MANIFEST, SCRIPT), ("main.lua", "return 1"), ("part.lua", "return 2"), ("README.md", "no")];
        let plugin = folder(&files);
        let file = plugin.path().join("x.tar");
        let packed = pack(plugin.path(), Some(file.clone()), None).expect("it can be packed");
        assert_eq!(packed.names, [MANIFEST, "main.lua", "part.lua"]);
        let to = tempfile::tempdir().expect("a folder");
        let tar = Command::new("tar").arg("xf").arg(&file).arg("-C").arg(to.path()).status().expect("tar is there");
        assert!(tar.success());
        assert_eq!(fs::read_to_string(to.path().join("part.lua")).expect("it is in there"), "return 2");
        assert!(!to.path().join("README.md").exists());

        let first = fs::read(&file).expect("the package");
        pack(plugin.path(), Some(file.clone()), None).expect("it can be packed again");
        assert_eq!(fs::read(&file).expect("the package"), first);
    }

    #[test]
    fn what_is_missing_is_named() {
        let component = SCRIPT.replace("script = \"main.lua\"", "component = \"x.wasm\"");
        for (files, word) in [
            (vec![], MANIFEST),
            (vec![(MANIFEST, "[plugin")], "not valid"),
            (vec![(MANIFEST, component.as_str())], "x.wasm"),
            (vec![(MANIFEST, SCRIPT)], "main.lua"),
        ] {
            let plugin = folder(&files);
            let error =
                pack(plugin.path(), Some(plugin.path().join("x.tar")), None).err().expect("it can't").to_string();
            assert!(error.contains(word), "{error}");
            assert!(!plugin.path().join("x.tar").exists());
        }
    }
}
