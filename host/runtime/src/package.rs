//! Packages: a manifest and a component, bundled with homed or installed in a folder.

pub(crate) mod files;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use homeagent_contract::Kind;
use homeagent_package::{MANIFEST, PublicKey, SIGNATURE, hexadecimal};
use homeagent_types::Descriptor;
use rustix::fs::OFlags;
use sha2::{Digest, Sha256};
use wasmtime::component::{Component, InstancePre, Linker};

use crate::cache::CodeCache;
use crate::engine::ComponentEngine;
use crate::grants::Author;
use crate::instance::InstanceState;
use crate::manifest::{Code, LARGEST_MANIFEST, Manifest};
use crate::package::files::{CodeFiles, PackageFiles};
use crate::script::{Interpreter, Script};
use crate::slot::exports::ExportIndices;
use crate::{PackageError, inspect};

/// A package that came with homed.
#[derive(Clone, Copy, Debug)]
pub struct Bundled {
    /// The text of its `plugin.toml`.
    pub manifest: &'static str,
    /// The component.
    pub component: &'static [u8],
    /// Its SHA-256, in hexadecimal digits: the component itself is read only when it has to be compiled, so that it need
    /// not be in memory.
    pub digest: &'static str,
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
    /// By whom it is signed.
    pub(crate) publisher: Option<PublicKey>,
    pub(crate) bundled: bool,
    /// Where it lies; nowhere when it is bundled.
    pub(crate) folder: Option<PathBuf>,
}

/// What was read of a package's code.
pub(crate) enum Content {
    /// The bytes of a component of this contract.
    Component(Cow<'static, [u8]>),
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
            Origin::Installed(folder) => files::parse(folder, &read_bounded(&folder.join(MANIFEST), LARGEST_MANIFEST)?),
        }
    }

    /// Reads the package and checks that it is as it was signed, if it was, and that its component is of this contract.
    pub(crate) fn read(&self) -> Result<Package, PackageError> {
        let (manifest, bytes, publisher) = match self {
            // It was built with this program, so it is of its contract.
            Origin::Bundled(Bundled { component, digest, .. }) => {
                let content = Content::Component(Cow::Borrowed(component));
                let (manifest, digest) = (self.manifest()?, (*digest).to_owned());
                return Ok(Package { manifest, content, digest, publisher: None, bundled: true, folder: None });
            }
            Origin::Installed(folder) => {
                let files = PackageFiles::read(folder)?;
                let publisher = files.publisher(folder)?;
                match files.code {
                    CodeFiles::Component(file) => (files.manifest, file.bytes, publisher),
                    CodeFiles::Script(script) => {
                        let (manifest, folder) = (files.manifest, Some(folder.clone()));
                        let digest = hexadecimal(&script.digest());
                        let content = Content::Script(script);
                        return Ok(Package { manifest, content, digest, publisher, bundled: false, folder });
                    }
                }
            }
        };
        inspect::check(&manifest.name, &bytes, manifest.kind)?;
        let digest = hexadecimal(&Sha256::digest(&bytes));
        let folder = self.folder().map(Path::to_owned);
        let content = Content::Component(Cow::Owned(bytes));
        Ok(Package { manifest, content, digest, publisher, bundled: false, folder })
    }
}

impl Package {
    /// What is kept of it when its content is not needed any more.
    pub(crate) fn into_info(self) -> PackageInfo {
        let Self { manifest, content: _, digest, publisher, bundled, folder } = self;
        PackageInfo { manifest, digest, publisher, bundled, folder }
    }
}

/// Reads an ordinary file of at most `most` bytes; one more byte is read of a longer one, so that its length shows.
pub(crate) fn read_bounded(path: &Path, most: u64) -> Result<Vec<u8>, PackageError> {
    let failed = |source| PackageError::Unreadable { path: path.to_owned(), source };
    let ordinary =
        |about: fs::Metadata| if about.is_file() { Ok(()) } else { Err(io::Error::other("it is not a file")) };
    fs::metadata(path).and_then(ordinary).map_err(failed)?;
    // Opened without waiting, and looked at again: a pipe that nobody writes to may have been put there meanwhile.
    let no_wait = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = fs::OpenOptions::new().read(true).custom_flags(no_wait).open(path).map_err(failed)?;
    file.metadata().and_then(ordinary).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
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
            && (path.file_name().is_some_and(|name| name == MANIFEST || name == SIGNATURE)
                || ending == Some(OsStr::new("wasm"))
                || (ending.is_some() && ending == script.as_deref()))
    };
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.map(|entry| entry.path()).find(|path| !of_package(path))
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
    pub(crate) publisher: Option<PublicKey>,
    pub(crate) bundled: bool,
    pub(crate) folder: Option<PathBuf>,
}

impl PackageInfo {
    /// Whether a package that was read says and holds the same.
    pub(crate) fn is_as(&self, package: &Package) -> bool {
        let same_code = self.digest == package.digest && self.manifest == package.manifest;
        same_code && self.publisher == package.publisher && self.folder == package.folder
    }

    /// To whom grants are given that are given to it.
    pub(crate) fn author(&self) -> Author {
        match self.publisher {
            _ if self.bundled => Author::Bundled,
            Some(key) => Author::Publisher(key),
            None => Author::Owner,
        }
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
    let Package { manifest, content, digest, publisher, bundled, folder } = package;
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
    Ok((PackageInfo { manifest, digest, publisher, bundled, folder }, pre, indices))
}

/// Compiles a component that is linked later, or elsewhere.
pub(crate) fn compile_only(
    engine: &ComponentEngine,
    cache: &CodeCache,
    package: Package,
) -> Result<(PackageInfo, Component), PackageError> {
    let Package { manifest, content, digest, publisher, bundled, folder } = package;
    let load = |reason: String| PackageError::Load { plugin: manifest.name.clone(), reason };
    let Content::Component(bytes) = content else { return Err(load("it is a script, not a component".into())) };
    let component = cache.compile(engine, &digest, &bytes).map_err(|error| load(one_line(&error)))?;
    Ok((PackageInfo { manifest, digest, publisher, bundled, folder }, component))
}

/// An engine's error with its causes, on one line.
pub(crate) fn one_line(error: &wasmtime::Error) -> String {
    format!("{error:#}").split_whitespace().collect::<Vec<_>>().join(" ")
}
