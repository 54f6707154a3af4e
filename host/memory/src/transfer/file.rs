//! Exporting into a file, and importing from one.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use homeagent_types::CallError;
use homeagent_types::memory::{MemoryExported, MemoryFile, MemoryImported};

use super::failed;
use crate::durable;
use crate::memory::Memory;

impl Memory {
    /// Exports into a file, closed to others, that is there whole or not at all.
    ///
    /// # Errors
    ///
    /// [`CallError::Invalid`] for a path that is not whole, [`CallError::Conflict`] where there is a file already, and what
    /// the database and the file system answer.
    pub async fn export_to(self: Arc<Self>, file: MemoryFile) -> Result<MemoryExported, CallError> {
        let (memory, path) = (self, whole(&file.path)?);
        let of = Arc::clone(&memory);
        let _nothing_is_forgotten_meanwhile = of.forgetting.lock().await;
        let work = move || {
            if path.is_dir() {
                return Err(CallError::Invalid(format!("{} is a folder; name a file in it", path.display())));
            }
            if !file.replace && fs::symlink_metadata(&path).is_ok() {
                let sentence =
                    format!("{} is there already; name another file, or say that it is replaced", path.display());
                return Err(CallError::Conflict(sentence));
            }
            let mut refusal = None;
            let mut counted = Counted::default();
            let written = durable::replace_with(&path, |file| {
                let mut out = BufWriter::new(Counting { file, counted: &mut counted });
                memory.export(&mut out).map_err(|error| {
                    refusal = Some(error);
                    io::Error::other("the memory could not be read")
                })?;
                out.flush()
            });
            match (written, refusal) {
                (Ok(()), _) => {}
                (Err(_), Some(refusal)) => return Err(refusal),
                (Err(error), None) => return Err(cannot("written", &path, &error)),
            }
            Ok(MemoryExported { path: path.display().to_string(), records: counted.lines, bytes: counted.bytes })
        };
        tokio::task::spawn_blocking(work).await.map_err(failed)?
    }

    /// Imports from a file, as [`Memory::import`].
    ///
    /// # Errors
    ///
    /// [`CallError::Invalid`] for a path that is not whole or a line that is none; what the database and the file system
    /// answer.
    pub async fn import_from(self: Arc<Self>, file: MemoryFile) -> Result<MemoryImported, CallError> {
        let (memory, path) = (self, whole(&file.path)?);
        let of = Arc::clone(&memory);
        let _nothing_is_forgotten_meanwhile = of.forgetting.lock().await;
        let work = move || {
            let is_file = fs::metadata(&path).map(|found| found.is_file());
            match is_file {
                // Reading from a pipe would wait for ever.
                Ok(false) => return Err(CallError::Invalid(format!("{} is no file", path.display()))),
                Ok(true) => {}
                Err(error) => return Err(cannot("read", &path, &error)),
            }
            let file = File::open(&path).map_err(|error| cannot("read", &path, &error))?;
            memory.import(&mut BufReader::new(file))
        };
        tokio::task::spawn_blocking(work).await.map_err(failed)?
    }
}

/// The daemon has a folder of its own that nobody thinks of, so that paths are whole.
fn whole(path: &str) -> Result<PathBuf, CallError> {
    let path = PathBuf::from(path);
    if path.is_absolute() {
        return Ok(path);
    }
    Err(CallError::Invalid(format!("\"{}\" is no whole path; it has to begin with /", path.display())))
}

fn cannot(what: &str, path: &Path, error: &io::Error) -> CallError {
    let sentence = format!("{} can't be {what}: {error}", path.display());
    if error.kind() == io::ErrorKind::NotFound { CallError::NotFound(sentence) } else { CallError::NotStored(sentence) }
}

#[derive(Default)]
struct Counted {
    lines: usize,
    bytes: u64,
}

/// Counts what goes through.
struct Counting<'a> {
    file: &'a mut File,
    counted: &'a mut Counted,
}

impl Write for Counting<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.counted.lines += bytes[..written].iter().filter(|byte| **byte == b'\n').count();
        self.counted.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
