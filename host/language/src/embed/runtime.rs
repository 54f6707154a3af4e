//! Where ONNX Runtime is: a library that is loaded while the daemon runs, once in a process.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::EmbedError;

/// The oldest release that serves.
pub(super) const OLDEST_MINOR: u32 = ort::MINOR_VERSION;
/// Where a system keeps libraries.
const SYSTEM_FOLDERS: [&str; 9] = [
    "/usr/local/lib",
    "/usr/local/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/opt/onnxruntime/lib",
    "/opt/homebrew/lib",
    "/usr/local/opt/onnxruntime/lib",
];
/// Where in a folder the library lies when an archive or a Python wheel of it was unpacked there.
const UNPACKED: [&str; 5] = ["", "lib", "onnxruntime", "onnxruntime/lib", "onnxruntime/capi"];

/// The library in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runtime {
    /// Its file.
    pub path: PathBuf,
    /// Its version, such as `1.32`.
    pub version: String,
}

impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ONNX Runtime {} ({})", self.version, self.path.display())
    }
}

/// Where to look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The file or folder that the owner named.
    pub named: Option<PathBuf>,
    /// The folder of models.
    pub models: Option<PathBuf>,
}

/// What was loaded first is what the process has until it ends.
static LOADED: Mutex<Option<Runtime>> = Mutex::new(None);

impl Runtime {
    /// The library, loaded: the owner's choice, then the variable `ORT_DYLIB_PATH`, the folder of models, the system's
    /// folders. The error lists what was found and why it does not serve. Slow: it reads and runs a library.
    pub fn load(places: &Places) -> Result<Self, EmbedError> {
        let mut loaded = LOADED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(runtime) = &*loaded {
            return Ok(runtime.clone());
        }
        let mut refused = Vec::new();
        for candidate in candidates(places, &mut refused) {
            match try_load(&candidate) {
                Ok(runtime) => {
                    *loaded = Some(runtime.clone());
                    return Ok(runtime);
                }
                Err(reason) => refused.push(reason),
            }
        }
        let wanted = format!("ONNX Runtime 1.{OLDEST_MINOR} or newer");
        let reasons = if refused.is_empty() {
            format!("There is no {wanted} on this machine")
        } else {
            format!("No {wanted} could be loaded: {}", refused.join("; "))
        };
        let folder =
            places.models.as_ref().map_or("the folder of models".to_owned(), |path| path.display().to_string());
        Err(EmbedError(format!(
            "{reasons}. Put {} into {folder}, or name it in core.models.onnx_runtime.",
            file_name()
        )))
    }

    /// The library that this process has loaded, if any.
    pub fn loaded() -> Option<Self> {
        LOADED.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }
}

fn file_name() -> &'static str {
    if cfg!(target_os = "macos") { "libonnxruntime.dylib" } else { "libonnxruntime.so" }
}

/// All files that may be the library, in the order in which they are tried, each once. What the owner or the environment
/// names and is not there is a refusal.
fn candidates(places: &Places, refused: &mut Vec<String>) -> Vec<PathBuf> {
    let variable = std::env::var_os("ORT_DYLIB_PATH").filter(|path| !path.is_empty()).map(PathBuf::from);
    let mut found = Vec::new();
    for (who, path) in [("core.models.onnx_runtime", &places.named), ("ORT_DYLIB_PATH", &variable)] {
        let Some(path) = path else { continue };
        let before = found.len();
        if path.is_file() {
            found.push(path.clone());
        } else {
            found.extend(in_folder(path));
        }
        if found.len() == before {
            refused.push(format!("{who} names {}, where there is no library", path.display()));
        }
    }
    found.extend(places.models.iter().flat_map(|folder| in_folder(folder)));
    let beside = std::env::current_exe().ok().and_then(|program| program.parent().map(Path::to_owned));
    let search = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let search = std::env::split_paths(&search).filter(|path| path.is_absolute());
    for folder in search.chain(beside).chain(SYSTEM_FOLDERS.iter().map(PathBuf::from)) {
        found.extend(libraries(&folder));
    }
    let mut seen = BTreeSet::new();
    let whole = found.into_iter().filter_map(|path| path.canonicalize().ok());
    whole.filter(|path| seen.insert(path.clone())).collect()
}

fn in_folder(folder: &Path) -> Vec<PathBuf> {
    UNPACKED.iter().flat_map(|below| libraries(&folder.join(below))).collect()
}

/// The libraries of a folder, the newest name first.
fn libraries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let ours = |name: &str| match name.strip_prefix("libonnxruntime.") {
        Some(rest) if cfg!(target_os = "macos") => rest == "dylib" || rest.ends_with(".dylib"),
        Some(rest) => rest == "so" || rest.starts_with("so."),
        None => false,
    };
    let names = entries.filter_map(Result::ok).filter(|entry| entry.file_name().to_str().is_some_and(ours));
    let mut found: Vec<_> = names.map(|entry| entry.path()).collect();
    found.sort_unstable();
    found.reverse();
    found
}

/// Loads one file. Whatever it is, the answer is a value: the loader's own checks end in a panic in some cases.
fn try_load(path: &Path) -> Result<Runtime, String> {
    let name = path.display();
    let attempt = catch_unwind(AssertUnwindSafe(|| ort::init_from(path).map(drop)));
    match attempt {
        Ok(Ok(())) => {}
        Ok(Err(ort::LoadDynamicError::BadVersion { version_str, .. })) => {
            return Err(format!("{name} is version {version_str}, which is too old"));
        }
        Ok(Err(ort::LoadDynamicError::MissingApi { .. })) => return Err(format!("{name} is another library")),
        Ok(Err(ort::LoadDynamicError::Dlopen { error, .. })) => {
            return Err(format!("{name} can't be loaded ({error})"));
        }
        Ok(Err(error)) => return Err(format!("{name}: {error}")),
        Err(_) => return Err(format!("{name} failed while it was loaded")),
    }
    let minor = ort::util::probe(path).map_or_else(|| "?".to_owned(), |minor| minor.to_string());
    Ok(Runtime { path: path.to_owned(), version: format!("1.{minor}") })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that can't go on is to fail there")]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_found_where_a_wheel_was_unpacked_and_its_companions_are_not_taken_for_it() {
        let models = tempfile::tempdir().unwrap();
        let below = models.path().join("onnxruntime/capi");
        fs::create_dir_all(&below).unwrap();
        let library =
            if cfg!(target_os = "macos") { "libonnxruntime.1.32.0.dylib" } else { "libonnxruntime.so.1.32.0" };
        fs::write(below.join(library), "").unwrap();
        fs::write(below.join("libonnxruntime_providers_shared.so"), "").unwrap();
        let found = in_folder(models.path());
        assert_eq!(found, [below.join(library)]);
    }

    #[test]
    fn what_is_named_and_not_there_is_said() {
        let places = Places { named: Some("/nowhere/at/all".into()), models: None };
        let mut refused = Vec::new();
        candidates(&places, &mut refused);
        assert!(refused[0].contains("core.models.onnx_runtime names /nowhere/at/all"), "{refused:?}");
    }

    #[test]
    fn a_file_that_is_no_library_is_refused_in_words() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(file_name());
        fs::write(&path, "no library").unwrap();
        let reason = try_load(&path).unwrap_err();
        assert!(reason.contains("can't be loaded"), "{reason}");
    }
}
