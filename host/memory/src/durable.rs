//! Files that are there whole or not at all.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

/// What the name of a file ends with that is being written.
const UNFINISHED: &str = ".part";

/// What the name of a file ends with that could not be read and was set aside.
const DAMAGED: &str = ".damaged";

/// Makes a folder of the home folder's, closed to others, where it is not there yet.
pub(crate) fn folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Puts a file into the place of another, or where none is: written beside it, on the disk, then renamed. When this
/// returns, it is there after a power cut too; when it fails, what was there is.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_with(path, |file| file.write_all(bytes))
}

/// The same with what `fill` writes, piece by piece.
pub(crate) fn replace_with(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let beside = unfinished(path);
    let write = || {
        step()?;
        write_out(&beside, fill)?;
        step()?;
        fs::rename(&beside, path)?;
        step()?;
        sync_parent(path)
    };
    write().inspect_err(|_| drop(fs::remove_file(&beside)))
}

/// Puts a file into the place of one that holds `expected`, or, where that is empty, where none is. False: somebody has
/// written another meanwhile, and that stays.
pub(crate) fn replace_unchanged(path: &Path, expected: &[u8], bytes: &[u8]) -> io::Result<bool> {
    let beside = unfinished(path);
    let exchange = |flags| renameat_with(CWD, &beside, CWD, path, flags);
    let write = || {
        step()?;
        write_out(&beside, |file| file.write_all(bytes))?;
        step()?;
        let replaced = match exchange(RenameFlags::EXCHANGE) {
            Ok(()) if fs::read(&beside)? == expected => fs::remove_file(&beside).map(|()| true)?,
            Ok(()) => {
                exchange(RenameFlags::EXCHANGE)?;
                false
            }
            Err(Errno::NOENT) if expected.is_empty() => match exchange(RenameFlags::NOREPLACE) {
                Err(Errno::EXIST) => false,
                placed => placed.map(|()| true)?,
            },
            Err(Errno::NOENT) => false,
            // A file system where two can't change places: there is a moment in which another's change would be lost.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                let is_expected = fs::read(path).map_or(expected.is_empty(), |found| found == expected);
                if is_expected {
                    fs::rename(&beside, path)?;
                }
                is_expected
            }
            Err(error) => return Err(error.into()),
        };
        step()?;
        sync_parent(path).map(|()| replaced)
    };
    let done = write();
    if !matches!(done, Ok(true)) {
        let _ = fs::remove_file(&beside);
    }
    done
}

/// Where what is to take a file's place is written. A death leaves it there, and the next write takes it.
pub(crate) fn unfinished(path: &Path) -> PathBuf {
    suffixed(path, UNFINISHED)
}

fn write_out(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    fill(&mut file)?;
    file.sync_all()
}

/// Removes a file, lastingly. One that is not there is removed.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    step()?;
    match fs::remove_file(path) {
        Ok(()) => step().and_then(|()| sync_parent(path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Sets a file aside that can't be read, so that nothing reads it again and a person can look at it. Returns where it is.
pub(crate) fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let aside = suffixed(path, DAMAGED);
    fs::rename(path, &aside)?;
    Ok(aside)
}

fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn sync_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// A moment at which the daemon may die, for the tests: nothing happens.
#[cfg(not(test))]
#[inline]
pub(crate) fn step() -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
pub(crate) use faults::step;

/// Deaths at chosen moments: from one step of writing on, all fail in this thread.
#[cfg(test)]
pub(crate) mod faults {
    use std::cell::Cell;
    use std::io;

    thread_local! {
        static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
    }

    /// From now on, so many steps succeed and no more; None: all do.
    pub(crate) fn allow(steps: Option<u32>) {
        LEFT.set(steps);
    }

    pub(crate) fn step() -> io::Result<()> {
        match LEFT.get() {
            None => Ok(()),
            Some(0) => Err(io::Error::other("dead")),
            Some(left) => {
                LEFT.set(Some(left - 1));
                Ok(())
            }
        }
    }
}
