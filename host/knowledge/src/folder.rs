//! The files: one folder for each base, with one text in it. People edit them, so everything here counts on others who
//! read and write at the same moment. No symbolic link is followed.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use crate::{Error, Name};

/// The text of a base.
pub(crate) const CONTENT: &str = "content.md";
/// The text before the last change that was made here.
pub(crate) const PREVIOUS: &str = "content.md.previous";
/// What is being written. It has one name, so that a kill in the middle leaves one file at most, which the next write takes.
const PART: &str = ".content.md.part";

/// The SHA-256 of a file.
pub(crate) type Digest = [u8; 32];

/// What shows from outside whether a file is the one that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) bytes: u64,
    /// When it was written, in nanoseconds since 1970.
    pub(crate) modified: i64,
}

/// A file as it was read.
pub(crate) struct Raw {
    pub(crate) bytes: Vec<u8>,
    pub(crate) stamp: Stamp,
    pub(crate) digest: Digest,
}

/// The folder of all bases.
pub(crate) struct Folder {
    root: PathBuf,
    /// Held while a file is written, so that two changes made here come one after the other.
    writing: Mutex<()>,
}

impl Folder {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root, writing: Mutex::default() }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The text of a base.
    pub(crate) fn path(&self, name: &Name) -> PathBuf {
        self.root.join(name.as_str()).join(CONTENT)
    }

    /// Makes the folder where there is none.
    pub(crate) fn make(&self) -> io::Result<()> {
        use std::os::unix::fs::DirBuilderExt as _;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.root)
    }

    /// All bases that there are, with how their files look from outside.
    pub(crate) fn list(&self) -> io::Result<Vec<(Name, Stamp)>> {
        let entries = match std::fs::read_dir(&self.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry?;
            // What can't be a name is not meant: hidden folders, and such as other programs leave.
            let name =
                entry.file_name().to_str().and_then(|name| Name::parse(name).ok().filter(|read| read.as_str() == name));
            let (Some(name), Ok(kind)) = (name, entry.file_type()) else { continue };
            if !kind.is_dir() {
                continue;
            }
            match std::fs::symlink_metadata(self.path(&name)) {
                Ok(about) if about.is_file() => found.push((name, stamp_of(&about))),
                _ => {}
            }
        }
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(found)
    }

    /// Reads the text of a base; nothing where there is none.
    pub(crate) fn read(&self, name: &Name, most: u64) -> Result<Option<Raw>, Error> {
        let doing = || format!("reading {}", self.path(name).display());
        let folder = match self.open(name) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            folder => folder.map_err(io::Error::from).map_err(Error::disk(doing()))?,
        };
        match read_at(&folder, CONTENT, most) {
            Err(ReadError::Missing) => Ok(None),
            Err(ReadError::TooLarge(bytes)) => Err(Error::TooLarge { bytes, most }),
            Err(ReadError::Disk(error)) => Err(Error::disk(doing())(error)),
            Ok(raw) => Ok(Some(raw)),
        }
    }

    /// Makes a base that is not there yet. It is on the disk when this returns.
    pub(crate) fn create(&self, name: &Name, bytes: &[u8]) -> Result<(), Error> {
        let doing = || format!("writing {}", self.path(name).display());
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.make().map_err(Error::disk(doing()))?;
        match rustix::fs::mkdir(self.root.join(name.as_str()), Mode::RWXU) {
            // Somebody's folder without a text in it.
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(Error::disk(doing())(error.into())),
        }
        let work = || -> rustix::io::Result<bool> {
            let folder = self.open(name)?;
            write_part(&folder, bytes, Mode::RUSR | Mode::WUSR)?;
            let placed = match rustix::fs::renameat_with(&folder, PART, &folder, CONTENT, RenameFlags::NOREPLACE) {
                Err(Errno::EXIST) => false,
                // A file system that can't do this in one step.
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                    let free = rustix::fs::statat(&folder, CONTENT, AtFlags::SYMLINK_NOFOLLOW).is_err();
                    if free {
                        rustix::fs::renameat(&folder, PART, &folder, CONTENT)?;
                    }
                    free
                }
                placed => placed.map(|()| true)?,
            };
            if !placed {
                rustix::fs::unlinkat(&folder, PART, AtFlags::empty())?;
            }
            rustix::fs::fsync(&folder)?;
            Ok(placed)
        };
        match work() {
            Ok(true) => Ok(()),
            Ok(false) => Err(Error::Exists { name: name.to_string() }),
            Err(error) => {
                // An empty folder would be in the way of nothing, but nobody asked for one.
                let _ = rustix::fs::rmdir(self.root.join(name.as_str()));
                Err(Error::disk(doing())(error.into()))
            }
        }
    }

    /// Puts another text in the place of one that was read and has this digest. The one before is kept beside it. When
    /// somebody has changed it meanwhile, theirs stays.
    pub(crate) fn replace(&self, name: &Name, bytes: &[u8], expected: &Digest) -> Result<(), Error> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let work = || -> rustix::io::Result<bool> {
            let folder = self.open(name)?;
            let about = rustix::fs::statat(&folder, CONTENT, AtFlags::SYMLINK_NOFOLLOW)?;
            write_part(&folder, bytes, Mode::from_raw_mode(about.st_mode) & (Mode::RWXU | Mode::RWXG | Mode::RWXO))?;
            let done = match rustix::fs::renameat_with(&folder, PART, &folder, CONTENT, RenameFlags::EXCHANGE) {
                Ok(()) => keep_or_give_back(&folder, expected),
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => replace_in_steps(&folder, expected),
                Err(error) => Err(error),
            };
            rustix::fs::fsync(&folder)?;
            done
        };
        match work() {
            Ok(true) => Ok(()),
            Ok(false) => Err(Error::Changed { name: name.to_string() }),
            Err(Errno::NOENT) => Err(Error::Unknown { name: name.to_string() }),
            Err(error) => Err(Error::disk(format!("writing {}", self.path(name).display()))(error.into())),
        }
    }

    /// Removes a base, with what was kept of it. A folder with other files in it stays with those.
    pub(crate) fn remove(&self, name: &Name) -> Result<(), Error> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let work = || -> rustix::io::Result<()> {
            let folder = self.open(name)?;
            for file in [CONTENT, PREVIOUS, PART] {
                match rustix::fs::unlinkat(&folder, file, AtFlags::empty()) {
                    Ok(()) | Err(Errno::NOENT) => {}
                    Err(error) => return Err(error),
                }
            }
            match rustix::fs::rmdir(self.root.join(name.as_str())) {
                Ok(()) | Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOENT) => Ok(()),
                Err(error) => Err(error),
            }
        };
        work().map_err(|error| Error::disk(format!("removing {}", self.path(name).display()))(error.into()))
    }

    fn open(&self, name: &Name) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(&self.root, flags, Mode::empty())?;
        rustix::fs::openat(&root, name.as_str(), flags | OFlags::NOFOLLOW, Mode::empty())
    }
}

/// After the new text and the one that was there changed places: keeps the latter, or changes them back where it is
/// another than was expected.
fn keep_or_give_back(folder: &OwnedFd, expected: &Digest) -> rustix::io::Result<bool> {
    if digest_at(folder, PART).as_ref() == Some(expected) {
        rustix::fs::renameat(folder, PART, folder, PREVIOUS)?;
        return Ok(true);
    }
    rustix::fs::renameat_with(folder, PART, folder, CONTENT, RenameFlags::EXCHANGE)?;
    rustix::fs::unlinkat(folder, PART, AtFlags::empty())?;
    Ok(false)
}

/// The same where two files can't change places in one step: there is a moment in which a change of others would be lost.
fn replace_in_steps(folder: &OwnedFd, expected: &Digest) -> rustix::io::Result<bool> {
    if digest_at(folder, CONTENT).as_ref() != Some(expected) {
        rustix::fs::unlinkat(folder, PART, AtFlags::empty())?;
        return Ok(false);
    }
    let _ = rustix::fs::unlinkat(folder, PREVIOUS, AtFlags::empty());
    rustix::fs::linkat(folder, CONTENT, folder, PREVIOUS, AtFlags::empty())?;
    rustix::fs::renameat(folder, PART, folder, CONTENT)?;
    Ok(true)
}

fn write_part(folder: &OwnedFd, bytes: &[u8], mode: Mode) -> rustix::io::Result<()> {
    let _ = rustix::fs::unlinkat(folder, PART, AtFlags::empty());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(folder, PART, flags, mode)?);
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    written.map_err(|error| {
        let _ = rustix::fs::unlinkat(folder, PART, AtFlags::empty());
        Errno::from_io_error(&error).unwrap_or(Errno::IO)
    })
}

enum ReadError {
    Missing,
    TooLarge(u64),
    Disk(io::Error),
}

fn read_at(folder: &OwnedFd, file: &str, most: u64) -> Result<Raw, ReadError> {
    // Not to wait where somebody has put a pipe.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(folder, file, flags, Mode::empty()) {
        Err(Errno::NOENT | Errno::LOOP) => return Err(ReadError::Missing),
        file => File::from(file.map_err(|error| ReadError::Disk(error.into()))?),
    };
    let about = file.metadata().map_err(ReadError::Disk)?;
    if !about.is_file() {
        return Err(ReadError::Missing);
    }
    if about.len() > most {
        return Err(ReadError::TooLarge(about.len()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(about.len()).unwrap_or_default());
    file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(ReadError::Disk)?;
    let read = bytes.len() as u64;
    if read > most {
        return Err(ReadError::TooLarge(read));
    }
    let digest = Sha256::digest(&bytes).into();
    Ok(Raw { bytes, stamp: stamp_of(&about), digest })
}

fn digest_at(folder: &OwnedFd, file: &str) -> Option<Digest> {
    read_at(folder, file, u64::MAX - 1).ok().map(|raw| raw.digest)
}

fn stamp_of(about: &std::fs::Metadata) -> Stamp {
    use std::os::unix::fs::MetadataExt as _;
    let modified = about.mtime().saturating_mul(1_000_000_000).saturating_add(about.mtime_nsec());
    Stamp { bytes: about.len(), modified }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: u64 = 1 << 20;

    fn folder() -> (tempfile::TempDir, Folder, Name) {
        let home = tempfile::tempdir().expect("a folder");
        let folder = Folder::new(home.path().join("knowledge"));
        (home, folder, Name::parse("家").expect("a name"))
    }

    fn digest(bytes: &[u8]) -> Digest {
        Sha256::digest(bytes).into()
    }

    #[test]
    fn a_text_is_made_once_replaced_and_kept_and_removed() {
        let (_home, folder, name) = folder();
        assert!(folder.list().expect("it is empty").is_empty());
        assert!(folder.read(&name, MOST).expect("it is read").is_none());
        folder.create(&name, b"one").expect("it is made");
        assert!(matches!(folder.create(&name, b"two"), Err(Error::Exists { .. })));
        folder.replace(&name, b"two", &digest(b"one")).expect("it is replaced");
        let raw = folder.read(&name, MOST).expect("it is read").expect("it is there");
        assert_eq!((raw.bytes.as_slice(), raw.digest), (&b"two"[..], digest(b"two")));
        assert_eq!(folder.list().expect("it is listed"), [(name.clone(), raw.stamp)]);
        let files = std::fs::read_dir(folder.path(&name).parent().expect("a parent")).expect("listed").count();
        assert_eq!(files, 2, "the text and the one before");
        assert_eq!(std::fs::read(folder.root().join("家").join(PREVIOUS)).expect("kept"), b"one");
        folder.remove(&name).expect("it is removed");
        assert!(!folder.root().join("家").exists());
    }

    #[test]
    fn what_somebody_wrote_meanwhile_stays() {
        let (_home, folder, name) = folder();
        folder.create(&name, b"read").expect("it is made");
        std::fs::write(folder.path(&name), b"theirs").expect("written");
        assert!(matches!(folder.replace(&name, b"mine", &digest(b"read")), Err(Error::Changed { .. })));
        assert_eq!(std::fs::read(folder.path(&name)).expect("it is there"), b"theirs");
        let files = std::fs::read_dir(folder.path(&name).parent().expect("a parent")).expect("listed").count();
        assert_eq!(files, 1, "nothing is left lying about");
        std::fs::remove_file(folder.path(&name)).expect("removed");
        assert!(matches!(folder.replace(&name, b"mine", &digest(b"read")), Err(Error::Unknown { .. })));
    }

    #[test]
    fn links_pipes_and_hidden_folders_are_no_bases() {
        let (home, folder, name) = folder();
        let outside = home.path().join("outside");
        std::fs::create_dir_all(&outside).expect("made");
        std::fs::write(outside.join(CONTENT), "secret").expect("written");
        std::fs::create_dir_all(folder.root().join("linked-file")).expect("made");
        std::fs::create_dir_all(folder.root().join(".hidden")).expect("made");
        std::fs::write(folder.root().join(".hidden").join(CONTENT), "x").expect("written");
        std::os::unix::fs::symlink(&outside, folder.root().join("家")).expect("linked");
        std::os::unix::fs::symlink(outside.join(CONTENT), folder.root().join("linked-file").join(CONTENT))
            .expect("linked");
        assert!(folder.list().expect("listed").is_empty());
        for name in [name, Name::parse("linked-file").expect("a name")] {
            assert!(folder.read(&name, MOST).expect("it is read").is_none(), "{name}");
            assert!(folder.replace(&name, b"mine", &digest(b"secret")).is_err());
        }
        assert_eq!(std::fs::read_to_string(outside.join(CONTENT)).expect("there"), "secret");
    }

    #[test]
    fn too_much_is_refused_before_it_is_read() {
        let (_home, folder, name) = folder();
        folder.create(&name, &[b'a'; 100]).expect("it is made");
        assert!(matches!(folder.read(&name, 99), Err(Error::TooLarge { bytes: 100, most: 99 })));
    }
}
