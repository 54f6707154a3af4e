//! Why a medium is not kept, or not there.

use std::io;

/// Why a medium is not kept, or not there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is nothing in it.
    #[error("it is empty")]
    Empty,
    /// It is larger than a medium may be.
    #[error("it has {}, and at most {} are kept (core.media.file_mib)", size(*bytes), size(*most))]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// The largest.
        most: u64,
    },
    /// All that is kept is in use.
    #[error("there is no room for it: what turns use just now takes up core.media.total_mib")]
    Full,
    /// Nothing of that address is kept, any more or at all.
    #[error("it is not kept, or not any more")]
    Missing,
    /// More than one address begins that way.
    #[error("more than one medium has an address that begins so")]
    Ambiguous,
    /// The file is not what it was.
    #[error("its file was damaged, and is removed")]
    Damaged,
    /// The disk.
    #[error("the folder of media can't be used: {0}")]
    Disk(#[from] io::Error),
    /// It could not be fetched.
    #[error("it could not be fetched: {reason}")]
    Fetch {
        /// Why.
        reason: String,
        /// Whether somebody else may well fetch it: its address is anybody's, and what is there is only too large here.
        is_public: bool,
    },
}

/// A size for people.
pub(crate) fn size(bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    match bytes {
        MIB.. => format!("{} MiB", bytes.div_ceil(MIB)),
        _ => format!("{} KiB", bytes.div_ceil(1 << 10)),
    }
}
