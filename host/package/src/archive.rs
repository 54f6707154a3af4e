//! A package as one file: an ordinary tar archive, which any `tar` unpacks.
//!
//! Only what [`pack`] writes is read. Formats of tar archives are many, and each reader believes other parts of them: an
//! archive with links, devices, folders, long names, times, owners or bytes after its end means one thing here and
//! another elsewhere. So this is no reader of tar archives, and the crates that are would have to be told what to leave.

use crate::{File, LONGEST_NAME, MANIFEST, check_name, rank, twice};

/// The most files in an archive.
pub const MOST_FILES: usize = 260;
/// The largest archive, in bytes: the largest component, and something for all that comes with it.
pub const LARGEST_ARCHIVE: u64 = (64 + 2) << 20;

/// Of a tar archive, in bytes.
const BLOCK: usize = 512;
/// Where in a header things stand.
const SIZE: std::ops::Range<usize> = 124..135;
const SUM: std::ops::Range<usize> = 148..156;
const KIND: usize = 156;

/// Why something is no archive of a package.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveError {
    /// It is too large.
    #[error("it has more than {LARGEST_ARCHIVE} bytes")]
    Large,
    /// It has too many files.
    #[error("it has more than {MOST_FILES} files")]
    Many,
    /// It is damaged, cut off, or something else altogether.
    #[error("it is not an archive, or a damaged one: {0}")]
    Damaged(String),
    /// A file has a name that is not taken.
    #[error("the name {name:?} is not taken: {why}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Something in it is not a file.
    #[error("{name} is {kind}; a package has files only")]
    NotAFile {
        /// Its name.
        name: String,
        /// What it is.
        kind: &'static str,
    },
    /// A file is in it twice.
    #[error("{0} is in it twice")]
    Duplicate(String),
    /// It does not say what the package is.
    #[error("it has no {MANIFEST}")]
    NoManifest,
    /// It is an archive, and not one of those that are made here.
    #[error("it is not as waiter plugin pack writes it, from byte {0} on")]
    Unlike(usize),
}

/// Makes an archive of a package's files.
///
/// # Errors
/// When they can't be read again: a name is not taken, there are too many, or they are too large.
pub fn pack(files: &[File]) -> Result<Vec<u8>, ArchiveError> {
    check(files)?;
    let mut ordered: Vec<&File> = files.iter().collect();
    ordered.sort_by(|a, b| rank(&a.name).cmp(&rank(&b.name)));
    let mut archive = Vec::new();
    for File { name, bytes } in ordered {
        archive.extend(header(name, bytes.len()));
        archive.extend(bytes);
        archive.resize(archive.len().next_multiple_of(BLOCK), 0);
    }
    // Two empty blocks end an archive.
    archive.resize(archive.len() + 2 * BLOCK, 0);
    if archive.len() as u64 > LARGEST_ARCHIVE { Err(ArchiveError::Large) } else { Ok(archive) }
}

/// Reads the files of an archive, in its order. Nothing is written anywhere.
///
/// # Errors
/// When it is not one of those that [`pack`] makes.
pub fn unpack(archive: &[u8]) -> Result<Vec<File>, ArchiveError> {
    if archive.len() as u64 > LARGEST_ARCHIVE {
        return Err(ArchiveError::Large);
    }
    let mut files = Vec::new();
    let mut rest = archive;
    loop {
        let Some((header, after)) = rest.split_first_chunk::<BLOCK>() else {
            return Err(ArchiveError::Damaged("it ends too early".to_owned()));
        };
        if header.iter().all(|&byte| byte == 0) {
            break;
        }
        if files.len() >= MOST_FILES {
            return Err(ArchiveError::Many);
        }
        let (name, size) = entry(header)?;
        let padded = size.checked_next_multiple_of(BLOCK);
        let Some((content, after)) = padded.and_then(|padded| after.split_at_checked(padded)) else {
            return Err(ArchiveError::Damaged(format!("it ends in the middle of {name}")));
        };
        files.push(File { name, bytes: content[..size].to_vec() });
        rest = after;
    }
    let again = pack(&files)?;
    match archive.iter().zip(&again).position(|(one, other)| one != other) {
        Some(at) => Err(ArchiveError::Unlike(at)),
        None if archive.len() != again.len() => Err(ArchiveError::Unlike(archive.len().min(again.len()))),
        None => Ok(files),
    }
}

fn check(files: &[File]) -> Result<(), ArchiveError> {
    if files.len() > MOST_FILES {
        return Err(ArchiveError::Many);
    }
    for File { name, .. } in files {
        check_name(name).map_err(|why| ArchiveError::Name { name: name.clone(), why })?;
    }
    if let Some(name) = twice(files.iter().map(|file| file.name.as_str())) {
        return Err(ArchiveError::Duplicate(name.to_owned()));
    }
    if files.iter().any(|file| file.name == MANIFEST) { Ok(()) } else { Err(ArchiveError::NoManifest) }
}

/// Name and size of the file that follows a header.
fn entry(header: &[u8; BLOCK]) -> Result<(String, usize), ArchiveError> {
    if header[SUM] != checksum(header) {
        return Err(ArchiveError::Damaged("a header has another sum than it says".to_owned()));
    }
    let field = &header[..LONGEST_NAME];
    let end = field.iter().position(|&byte| byte == 0).unwrap_or(LONGEST_NAME);
    let name = String::from_utf8_lossy(&field[..end]).into_owned();
    let kind = match header[KIND] {
        b'0' => None,
        b'1' | b'2' => Some("a link"),
        b'3' | b'4' => Some("a device"),
        b'5' => Some("a folder"),
        b'6' => Some("a pipe"),
        _ => Some("of a kind that is not known"),
    };
    if let Some(kind) = kind {
        return Err(ArchiveError::NotAFile { name, kind });
    }
    if str::from_utf8(&field[..end]).is_err() {
        return Err(ArchiveError::Name { name, why: "it is not UTF-8" });
    }
    let size = str::from_utf8(&header[SIZE]).ok().and_then(|digits| usize::from_str_radix(digits, 8).ok());
    let size = size.ok_or_else(|| ArchiveError::Damaged(format!("{name} has no size")))?;
    Ok((name, size))
}

/// The header of a file in the format of POSIX, of nobody in particular and of no time.
fn header(name: &str, size: usize) -> [u8; BLOCK] {
    let mut header = [0; BLOCK];
    let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
    put(0, name.as_bytes());
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(SIZE.start, format!("{size:011o}\0").as_bytes());
    put(136, b"00000000000\0");
    put(KIND, b"0");
    put(257, b"ustar\x0000");
    let sum = checksum(&header);
    header[SUM].copy_from_slice(&sum);
    header
}

/// The sum of a header's bytes, made as if its own place held spaces, as it is written.
fn checksum(header: &[u8; BLOCK]) -> [u8; 8] {
    let own = |at: &usize| SUM.contains(at);
    let sum: u32 = header.iter().enumerate().map(|(at, &byte)| if own(&at) { 32 } else { u32::from(byte) }).sum();
    let mut text = [0; 8];
    text.copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    text
}
