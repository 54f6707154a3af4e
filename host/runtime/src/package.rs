//! Packages: a manifest and a component, bundled with homed or installed in a folder.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use homeagent_contract::Kind;
use homeagent_types::Descriptor;
use sha2::{Digest, Sha256};
use wasmtime::component::{Component, InstancePre, Linker};

use crate::cache::CodeCache;
use crate::engine::ComponentEngine;
use crate::grants::Author;
use crate::instance::InstanceState;
use crate::manifest::{self, Code, LARGEST_MANIFEST, Manifest};
use crate::script::{Interpreter, Script};
use crate::slot::exports::ExportIndices;
use crate::{PackageError, inspect};

/// The largest component that is read, in bytes.
const LARGEST_COMPONENT: u64 = 64 << 20;

/// A package that came with homed.
#[derive(Clone, Copy, Debug)]
pub struct Bundled {
    /// The text of its `plugin.toml`.
    pub manifest: &'static str,
    /// The component.
    pub component: &'static [u8],
}

/// Where a package comes from; reading it again gets what is there then.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    Bundled(Bundled),
    Installed(PathBuf),
}

/// A package as it was read.
pub(crate) struct Package {
    pub(crate) manifest: Manifest,
    pub(crate) content: Content,
    /// The SHA-256 of the component, or of the script's files, in hexadecimal digits.
    pub(crate) digest: String,
    pub(crate) bundled: bool,
    /// Where it lies; nowhere when it is bundled.
    pub(crate) folder: Option<PathBuf>,
}

/// What was read of a package's code.
pub(crate) enum Content {
    /// The bytes of a component of this contract.
    Component(Vec<u8>),
    Script(Script),
}

impl Origin {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Origin::Bundled(_) => "bundled",
            Origin::Installed(_) => "installed",
        }
    }

    /// Where it lies; nowhere when it is bundled.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match self {
            Origin::Bundled(_) => None,
            Origin::Installed(folder) => Some(folder),
        }
    }

    /// Reads the manifest alone.
    pub(crate) fn manifest(&self) -> Result<Manifest, PackageError> {
        match self {
            Origin::Bundled(bundled) => Manifest::parse("a bundled package", bundled.manifest),
            Origin::Installed(folder) => {
                let path = folder.join("plugin.toml");
                let place = folder.display().to_string();
                let bytes = read_bounded(&path, LARGEST_MANIFEST)?;
                // Before its text is looked at: what was read of a longer one may end inside a character.
                manifest::check_size(&place, bytes.len())?;
                let text = String::from_utf8(bytes).map_err(|error| {
                    let good = error.utf8_error().valid_up_to();
                    let line = error.as_bytes()[..good].iter().filter(|&&byte| byte == b'\n').count() + 1;
                    let source = io::Error::other(format!("line {line} is not UTF-8; save it as UTF-8"));
                    PackageError::Unreadable { path, source }
                })?;
                Manifest::parse(&place, &text)
            }
        }
    }

    /// Reads the package and checks that its component is of this contract.
    pub(crate) fn read(&self) -> Result<Package, PackageError> {
        let manifest = self.manifest()?;
        let bytes = match (self, &manifest.code) {
            (Origin::Bundled(bundled), _) => bundled.component.to_vec(),
            (Origin::Installed(folder), Code::Component(file)) => read_component(&folder.join(file))?,
            (Origin::Installed(folder), Code::Script(file)) => {
                let script = Script::read(&manifest.name, folder, file)?;
                let digest = hexadecimal(&script.digest());
                let folder = Some(folder.clone());
                return Ok(Package { manifest, content: Content::Script(script), digest, bundled: false, folder });
            }
        };
        inspect::check(&manifest.name, &bytes, manifest.kind)?;
        let digest = hexadecimal(&Sha256::digest(&bytes));
        let folder = self.folder().map(Path::to_owned);
        Ok(Package { manifest, content: Content::Component(bytes), digest, bundled: folder.is_none(), folder })
    }
}

impl Package {
    /// What is kept of it when its content is not needed any more.
    pub(crate) fn into_info(self) -> PackageInfo {
        PackageInfo { manifest: self.manifest, digest: self.digest, bundled: self.bundled, folder: self.folder }
    }
}

fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string does not fail");
        text
    })
}

/// Reads an ordinary file of at most `most` bytes; one more byte is read of a longer one, so that its length shows.
pub(crate) fn read_bounded(path: &Path, most: u64) -> Result<Vec<u8>, PackageError> {
    let failed = |source| PackageError::Unreadable { path: path.to_owned(), source };
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(failed(io::Error::other("it is not a file")));
    }
    let mut bytes = Vec::new();
    fs::File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes)).map_err(failed)?;
    Ok(bytes)
}

/// Copies a package's files into a folder that is made for them, whole or not at all as far as a reader can tell:
/// the folder is put in its place only afterwards.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), PackageError> {
    let manifest = Origin::Installed(from.to_owned()).manifest()?;
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| PackageError::Unreadable { path, source }
    };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(to).map_err(failed(to))?;
    let mut files = vec![("plugin.toml".to_owned(), read_bounded(&from.join("plugin.toml"), LARGEST_MANIFEST)?)];
    match &manifest.code {
        Code::Component(file) => files.push((file.clone(), read_component(&from.join(file))?)),
        Code::Script(file) => {
            let script = Script::read(&manifest.name, from, file)?;
            files.extend(script.files().map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec())));
        }
    }
    for (name, bytes) in files {
        let path = to.join(name);
        let written = fs::File::create_new(&path).and_then(|mut file| {
            file.write_all(&bytes)?;
            file.sync_all()
        });
        written.map_err(failed(&path))?;
    }
    Ok(())
}

/// Something in a package's folder that no installation puts there: another file than the manifest, a component or a
/// script, or a folder.
pub(crate) fn not_installed(folder: &Path) -> Option<PathBuf> {
    let script = Origin::Installed(folder.to_owned()).manifest().ok().and_then(|manifest| match manifest.code {
        Code::Script(file) => Path::new(&file).extension().map(OsStr::to_owned),
        Code::Component(_) => None,
    });
    let of_package = |path: &Path| {
        let ending = path.extension();
        path.is_file()
            && (path.file_name() == Some(OsStr::new("plugin.toml"))
                || ending == Some(OsStr::new("wasm"))
                || (ending.is_some() && ending == script.as_deref()))
    };
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.map(|entry| entry.path()).find(|path| !of_package(path))
}

fn read_component(path: &Path) -> Result<Vec<u8>, PackageError> {
    let bytes = read_bounded(path, LARGEST_COMPONENT)?;
    if bytes.len() as u64 > LARGEST_COMPONENT {
        let reason = format!("it has more than {LARGEST_COMPONENT} bytes");
        return Err(PackageError::Load { plugin: path.display().to_string(), reason });
    }
    Ok(bytes)
}

/// The folders below `plugins` that hold a package, sorted. A folder without `plugin.toml` is reported by its manifest's
/// absence when it is read.
///
/// # Errors
/// When `plugins` is there and can't be read.
pub(crate) fn installed(plugins: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(plugins) {
        Ok(entries) => entries,
        // It is made with the first package.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut folders: Vec<_> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.is_dir() && !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')))
        .collect();
    folders.sort();
    Ok(folders)
}

/// How long a component may take to compile. Nothing stops the compiler, but nobody waits for it any longer.
const COMPILE: Duration = Duration::from_secs(120);

/// Compiles where blocking is allowed, and gives up waiting after [`COMPILE`], so that a package made to be slow keeps
/// no other from being loaded.
pub(crate) async fn in_background<T: Send + 'static>(
    plugin: &str,
    compile: impl FnOnce() -> Result<T, PackageError> + Send + 'static,
) -> Result<T, PackageError> {
    let failed = |reason: String| PackageError::Load { plugin: plugin.to_owned(), reason };
    match tokio::time::timeout(COMPILE, tokio::task::spawn_blocking(compile)).await {
        Ok(Ok(compiled)) => compiled,
        Ok(Err(lost)) => Err(failed(lost.to_string())),
        Err(_) => Err(failed(format!("it takes longer than {} s to compile", COMPILE.as_secs()))),
    }
}

/// A plugin that is compiled and linked and only needs a store.
pub(crate) struct Prepared {
    pub(crate) package: PackageInfo,
    pub(crate) pre: InstancePre<InstanceState>,
    pub(crate) indices: ExportIndices,
    pub(crate) descriptor: Arc<Descriptor>,
}

/// What is kept of a package once it is compiled.
#[derive(Clone)]
pub(crate) struct PackageInfo {
    pub(crate) manifest: Manifest,
    pub(crate) digest: String,
    pub(crate) bundled: bool,
    pub(crate) folder: Option<PathBuf>,
}

impl PackageInfo {
    /// Whether a package that was read says and holds the same.
    pub(crate) fn is_as(&self, package: &Package) -> bool {
        self.digest == package.digest && self.manifest == package.manifest && self.folder == package.folder
    }

    /// To whom grants are given that are given to it.
    pub(crate) fn author(&self) -> Author {
        if self.bundled { Author::Bundled } else { Author::Owner }
    }

    /// Where it lies, as people read it.
    pub(crate) fn place(&self) -> Option<String> {
        self.folder.as_ref().map(|folder| folder.display().to_string())
    }
}

/// Compiles and links; of a script, its interpreter, unless that is compiled already. Slow; to be called where blocking
/// is allowed.
pub(crate) fn compile_plugin(
    engine: &ComponentEngine,
    cache: &CodeCache,
    linker: &Linker<InstanceState>,
    package: Package,
    interpreter: Option<Arc<Interpreter>>,
) -> Result<(PackageInfo, InstancePre<InstanceState>, ExportIndices), PackageError> {
    debug_assert_eq!(package.manifest.kind, Kind::Plugin, "adapters are compiled elsewhere");
    let Package { manifest, content, digest, bundled, folder } = package;
    let load = |error: wasmtime::Error| PackageError::Load { plugin: manifest.name.clone(), reason: one_line(&error) };
    let pre = match (content, interpreter) {
        (Content::Component(bytes), _) => {
            let component = cache.compile(engine, &digest, &bytes).map_err(load)?;
            linker.instantiate_pre(&component)
        }
        (Content::Script(script), Some(interpreter)) => {
            let component = interpreter.compiled(engine, cache)?;
            let linker = script.link(&manifest, linker).map_err(load)?;
            linker.instantiate_pre(component)
        }
        (Content::Script(script), None) => return Err(script.no_interpreter(&manifest.name)),
    };
    let pre = pre.map_err(load)?;
    let indices = ExportIndices::new(&pre).map_err(load)?;
    Ok((PackageInfo { manifest, digest, bundled, folder }, pre, indices))
}

/// Compiles a component that is linked later, or elsewhere.
pub(crate) fn compile_only(
    engine: &ComponentEngine,
    cache: &CodeCache,
    package: Package,
) -> Result<(PackageInfo, Component), PackageError> {
    let Package { manifest, content, digest, bundled, folder } = package;
    let load = |reason: String| PackageError::Load { plugin: manifest.name.clone(), reason };
    let Content::Component(bytes) = content else { return Err(load("it is a script, not a component".into())) };
    let component = cache.compile(engine, &digest, &bytes).map_err(|error| load(one_line(&error)))?;
    Ok((PackageInfo { manifest, digest, bundled, folder }, component))
}

/// An engine's error with its causes, on one line.
pub(crate) fn one_line(error: &wasmtime::Error) -> String {
    format!("{error:#}").split_whitespace().collect::<Vec<_>>().join(" ")
}
