//! The vector of a document, beside it: `<id>.vec`.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `HAVEC001` |
//! | 4 | the length of the model's identity, little-endian |
//! | as long | the identity, as `ModelIdentity` writes it, in UTF-8 |
//! | 4 | how many numbers the vector has, little-endian |
//! | 4 each | the numbers, little-endian |
//! | 8 | the beginning of the SHA-256 of all that precedes |

use std::path::Path;
use std::{fs, io};

use sha2::{Digest as _, Sha256};

use crate::durable;

const MAGIC: &[u8; 8] = b"HAVEC001";

/// A vector and the identity of the model that made it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredVector {
    /// The identity, as [`homeagent_language::embed::ModelIdentity`] writes it.
    pub model: String,
    /// The vector.
    pub vector: Vec<f32>,
}

impl StoredVector {
    /// Reads a file; an error where it is not whole.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let bytes = fs::read(path)?;
        parse(&bytes).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the file of a vector is damaged"))
    }

    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let mut bytes = MAGIC.to_vec();
        let length = |length: usize| u32::try_from(length).map(u32::to_le_bytes).map_err(io::Error::other);
        bytes.extend(length(self.model.len())?);
        bytes.extend(self.model.as_bytes());
        bytes.extend(length(self.vector.len())?);
        bytes.extend(self.vector.iter().flat_map(|number| number.to_le_bytes()));
        let digest = Sha256::digest(&bytes);
        bytes.extend(&digest[..8]);
        durable::replace(path, &bytes)
    }
}

fn parse(bytes: &[u8]) -> Option<StoredVector> {
    let (content, sum) = bytes.split_last_chunk::<8>()?;
    if Sha256::digest(content)[..8] != sum[..] {
        return None;
    }
    let rest = content.strip_prefix(MAGIC)?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (model, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let (count, rest) = rest.split_first_chunk::<4>()?;
    let (numbers, left) = rest.as_chunks::<4>();
    if !left.is_empty() || numbers.len() != u32::from_le_bytes(*count) as usize {
        return None;
    }
    let vector = numbers.iter().map(|number| f32::from_le_bytes(*number)).collect();
    Some(StoredVector { model: String::from_utf8(model.to_vec()).ok()?, vector })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_reads_back_and_any_damage_is_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.vec");
        let stored = StoredVector { model: "onnx/é5/…".to_owned(), vector: vec![0.25, -1.5, 3.0] };
        stored.write(&path).expect("written");
        assert_eq!(StoredVector::read(&path).expect("read"), stored);
        let whole = fs::read(&path).expect("read");
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(&path, &damaged).expect("written");
            assert!(StoredVector::read(&path).is_err(), "byte {at}");
            fs::write(&path, &whole[..at]).expect("written");
            assert!(StoredVector::read(&path).is_err(), "cut at {at}");
        }
    }
}
