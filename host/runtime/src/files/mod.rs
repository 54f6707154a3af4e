//! Files of this machine, as plugins may touch them. All of it waits for the disk.
//!
//! A path is walked name by name, from a folder that is open to one in it, and never through a symbolic link; each folder
//! on the way is looked at once it is open. So nothing that changes meanwhile leads elsewhere: what was checked is what
//! is used.

mod content;
mod forbidden;
mod path;
mod root;
mod scratch;

use homeagent_types::CallError;

pub(crate) use self::forbidden::SYSTEM;
pub(crate) use self::path::GuestPath;
pub(crate) use self::root::{Limits, Root, places_written_by};
pub(crate) use self::scratch::{SCRATCH, scratch_folders};

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
    Other,
}

impl Kind {
    fn of(about: &cap_std::fs::FileType) -> Self {
        if about.is_file() {
            Self::File
        } else if about.is_dir() {
            Self::Folder
        } else if about.is_symlink() {
            Self::Link
        } else {
            Self::Other
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Folder => "a folder",
            Self::Link => "a symbolic link, which is not followed",
            Self::Other => "a device, a pipe or a socket",
        }
    }
}

/// What the system says of `place`, in words.
fn failed(place: &str, error: &std::io::Error) -> CallError {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::NotFound => CallError::NotFound(format!("there is no {place}")),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            CallError::NotStored(format!("{place} can't be written: the disk is full"))
        }
        ErrorKind::InvalidFilename => CallError::Invalid(format!("{place} is no name that the system takes")),
        _ => CallError::Other(format!("{place}: {error}")),
    }
}
