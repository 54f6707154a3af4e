//! The files of the log: `<day>-<number>.jsonl`, each up to a size, the old ones removed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use crate::durable;

pub(super) struct Files {
    folder: PathBuf,
    open: Option<Open>,
}

struct Open {
    file: File,
    path: PathBuf,
    day: String,
    bytes: u64,
}

impl Files {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, open: None }
    }

    /// Writes a line that was said at that moment. A new file is begun for each day and above `file_bytes`; then those
    /// that were last written more than `age_ms` earlier are removed.
    pub(super) fn append(&mut self, line: &str, at_ms: i64, file_bytes: u64, age_ms: i64) -> io::Result<()> {
        let at = jiff::Timestamp::from_millisecond(at_ms).map_err(io::Error::other)?;
        let day = at.strftime("%Y-%m-%d").to_string();
        let is_full = |open: &Open| open.day != day || open.bytes >= file_bytes;
        if self.open.as_ref().is_none_or(is_full) {
            self.open = None;
            self.open = Some(self.begin(&day, file_bytes)?);
            self.remove_before(at_ms.saturating_sub(age_ms));
        }
        let Some(open) = &mut self.open else { return Ok(()) };
        // One write a line, so that a line is there whole or its end is missing.
        let line = format!("{line}\n");
        let written = open.file.write_all(line.as_bytes());
        if written.is_err() {
            // A full disk takes a part of a line; where not even that can be undone, the next start ends it.
            let _ = open.file.set_len(open.bytes);
            self.open = None;
        } else {
            open.bytes += line.len() as u64;
        }
        written
    }

    /// Rewrites all files, each whole or not at all.
    pub(super) fn rewrite(&mut self, change: &dyn Fn(&str) -> Option<String>, dry_run: bool) -> io::Result<usize> {
        self.close();
        let files = match fs::read_dir(&self.folder) {
            Ok(files) => files,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(error),
        };
        let mut changed = 0;
        for file in files {
            let path = file?.path();
            if !path.is_file() {
                continue;
            }
            let bytes = fs::read(&path)?;
            let before = String::from_utf8_lossy(&bytes);
            let (mut after, mut others) = (String::with_capacity(before.len()), 0);
            for line in before.lines() {
                let rewritten = change(line);
                others += usize::from(rewritten.as_deref() != Some(line));
                if let Some(line) = rewritten {
                    after.push_str(&line);
                    after.push('\n');
                }
            }
            if others > 0 && !dry_run {
                durable::replace(&path, after.as_bytes())?;
            }
            changed += others;
        }
        Ok(changed)
    }

    /// Leaves the file alone, so that it can be taken away.
    pub(super) fn close(&mut self) {
        self.open = None;
    }

    /// The day's first file that has room; a start goes on where the one before ended.
    fn begin(&self, day: &str, file_bytes: u64) -> io::Result<Open> {
        durable::folder(&self.folder)?;
        for number in 1..u32::MAX {
            let path = self.folder.join(format!("{day}-{number}.jsonl"));
            let bytes = match fs::metadata(&path) {
                Ok(there) => there.len(),
                Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
                Err(error) => return Err(error),
            };
            if bytes < file_bytes {
                let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&path)?;
                let bytes = bytes + end_line(&mut file)?;
                return Ok(Open { file, path, day: day.to_owned(), bytes });
            }
        }
        Err(io::Error::other("there are too many files for one day"))
    }

    fn remove_before(&self, before_ms: i64) {
        let Ok(before) = u64::try_from(before_ms) else { return };
        let before = UNIX_EPOCH + Duration::from_millis(before);
        let Ok(files) = fs::read_dir(&self.folder) else { return };
        for file in files.flatten() {
            let is_log = file.path().extension().is_some_and(|ending| ending == "jsonl");
            let is_open = self.open.as_ref().is_some_and(|open| open.path == file.path());
            let is_old = || file.metadata().and_then(|meta| meta.modified()).is_ok_and(|at| at < before);
            if is_log
                && !is_open
                && is_old()
                && let Err(error) = durable::remove(&file.path())
            {
                tracing::warn!(%error, path = %file.path().display(), "an old file of the text log can't be removed");
            }
        }
    }
}

/// Ends a line that a death cut, so that the next one stands for itself. Returns how many bytes that took.
fn end_line(file: &mut File) -> io::Result<u64> {
    let mut last = [0];
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(0);
    }
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    if last == *b"\n" {
        return Ok(0);
    }
    file.write_all(b"\n").map(|()| 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 24 * 3_600_000;

    #[test]
    fn files_are_begun_by_day_and_size_and_the_old_ones_go() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join("dialogue");
        let now = i64::try_from(homeagent_types::now()).expect("a time");
        let mut files = Files::new(folder.clone());
        for _ in 0..3 {
            files.append("{\"text\":\"你好\"}", now, 20, 3 * DAY).expect("written");
        }
        let count = || fs::read_dir(&folder).expect("a folder").count();
        assert_eq!(count(), 2, "two lines fill a file of 20 bytes");
        // Another life goes on in the file that has room.
        Files::new(folder.clone()).append("{}", now, 20, 3 * DAY).expect("written");
        assert_eq!(count(), 2);
        files.append("{}", now + DAY, 20, 3 * DAY).expect("written");
        assert_eq!(count(), 3);
        files.append("{}", now + 30 * DAY, 20, 3 * DAY).expect("written");
        assert_eq!(count(), 1, "all others are too old");
    }
    #[test]
    fn a_line_that_a_death_cut_spoils_no_other() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join("dialogue");
        let mut files = Files::new(folder.clone());
        files.append("{\"text\":\"one\"}", 0, 1000, DAY).expect("written");
        let path = folder.join("1970-01-01-1.jsonl");
        let whole = fs::read(&path).expect("read");
        for cut in 1..whole.len() {
            fs::write(&path, &whole[..cut]).expect("written");
            Files::new(folder.clone()).append("{\"text\":\"two\"}", 0, 1000, DAY).expect("written");
            let text = fs::read_to_string(&path).expect("read");
            assert_eq!(text.lines().last(), Some("{\"text\":\"two\"}"), "cut at {cut}: {text:?}");
            assert_eq!(text.lines().count(), 2, "{text:?}");
        }
    }
}
