//! The files of which a package consists, and by whom they are signed.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use homeagent_package::{File, LARGEST_ARCHIVE, LARGEST_SIGNATURE, MANIFEST, PublicKey, SIGNATURE, SignatureError};

use super::read_bounded;
use crate::PackageError;
use crate::manifest::{self, Code, LARGEST_MANIFEST, Manifest};
use crate::script::Script;

/// The largest component that is read, in bytes.
const LARGEST_COMPONENT: u64 = 64 << 20;

/// What the host reads of a package's folder. What runs is made of these bytes, so that what was checked is what runs.
pub(crate) struct PackageFiles {
    pub(crate) manifest: Manifest,
    pub(crate) code: CodeFiles,
    manifest_bytes: Vec<u8>,
    signature: Option<Vec<u8>>,
}

pub(crate) enum CodeFiles {
    Component(File),
    Script(Script),
}

impl PackageFiles {
    pub(crate) fn read(folder: &Path) -> Result<Self, PackageError> {
        let manifest_bytes = read_bounded(&folder.join(MANIFEST), LARGEST_MANIFEST)?;
        let manifest = parse(folder, &manifest_bytes)?;
        let code = match &manifest.code {
            Code::Component(name) => {
                CodeFiles::Component(File { name: name.clone(), bytes: read_component(&folder.join(name))? })
            }
            Code::Script(main) => CodeFiles::Script(Script::read(&manifest.name, folder, main)?),
        };
        let signature = match read_bounded(&folder.join(SIGNATURE), LARGEST_SIGNATURE) {
            Ok(signature) => Some(signature),
            Err(PackageError::Unreadable { source, .. }) if source.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(Self { manifest, code, manifest_bytes, signature })
    }

    /// All of them but the signature.
    fn signed(&self) -> Vec<File> {
        let mut files = vec![File { name: MANIFEST.to_owned(), bytes: self.manifest_bytes.clone() }];
        match &self.code {
            CodeFiles::Component(file) => files.push(file.clone()),
            CodeFiles::Script(script) => files.extend(
                script.files().map(|(name, text)| File { name: name.to_owned(), bytes: text.as_bytes().to_vec() }),
            ),
        }
        files
    }

    /// By whom the package in this folder is signed; nobody where it is not. Fails where it is not as it was signed.
    pub(crate) fn publisher(&self, folder: &Path) -> Result<Option<PublicKey>, PackageError> {
        let Some(signature) = &self.signature else { return Ok(None) };
        let refuse = |reason| PackageError::Signature { plugin: self.manifest.name.clone(), reason };
        let key = homeagent_package::verify(&self.signed(), signature).map_err(refuse)?;
        match self.beside(folder) {
            Some(extra) => Err(refuse(SignatureError::Extra(extra))),
            None => Ok(Some(key)),
        }
    }

    /// Something in the folder that is no part of the package.
    pub(crate) fn beside(&self, folder: &Path) -> Option<String> {
        let is_part = |name: &str| match &self.code {
            _ if name == MANIFEST || name == SIGNATURE => true,
            CodeFiles::Component(file) => file.name == name,
            CodeFiles::Script(script) => script.files().any(|(part, _)| part == name),
        };
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).find(|name| !is_part(name))
    }

    /// Puts a copy of them into a new folder.
    pub(crate) fn write(self, to: &Path) -> Result<(), PackageError> {
        let mut files = self.signed();
        files.extend(self.signature.map(|bytes| File { name: SIGNATURE.to_owned(), bytes }));
        write(&files, to)
    }
}

/// Reads the text of a manifest; `folder` names it in errors.
pub(crate) fn parse(folder: &Path, bytes: &[u8]) -> Result<Manifest, PackageError> {
    let place = folder.display().to_string();
    // Before its text is looked at: what was read of a longer one may end inside a character.
    manifest::check_size(&place, bytes.len())?;
    let text = str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count() + 1;
        let source = io::Error::other(format!("line {line} is not UTF-8; save it as UTF-8"));
        PackageError::Unreadable { path: folder.join(MANIFEST), source }
    })?;
    Manifest::parse(&place, text)
}

/// Reads an archive that `waiter plugin pack` made.
pub(crate) fn unpack(archive: &Path) -> Result<(Manifest, Vec<File>), PackageError> {
    let bytes = read_bounded(archive, LARGEST_ARCHIVE)?;
    let files = homeagent_package::unpack(&bytes)
        .map_err(|reason| PackageError::Archive { path: archive.to_owned(), reason: reason.to_string() })?;
    let manifest = files.iter().find(|file| file.name == MANIFEST);
    let manifest = parse(archive, manifest.map_or(&[][..], |file| &file.bytes))?;
    Ok((manifest, files))
}

/// Puts files into a new folder, whole or not at all as far as a reader can tell: the folder is put in its place only
/// afterwards.
pub(crate) fn write(files: &[File], to: &Path) -> Result<(), PackageError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| PackageError::Unwritable { path, source }
    };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(to).map_err(failed(to))?;
    for File { name, bytes } in files {
        let path = to.join(name);
        let written = fs::File::create_new(&path).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        });
        written.map_err(failed(&path))?;
    }
    Ok(())
}

fn read_component(path: &Path) -> Result<Vec<u8>, PackageError> {
    let bytes = read_bounded(path, LARGEST_COMPONENT)?;
    if bytes.len() as u64 > LARGEST_COMPONENT {
        let reason = format!("it has more than {LARGEST_COMPONENT} bytes");
        return Err(PackageError::Load { plugin: path.display().to_string(), reason });
    }
    Ok(bytes)
}
