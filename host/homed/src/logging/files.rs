//! The log files: a day's lines go into `homed.YYYY-MM-DD.log`, and where that is full into `homed.YYYY-MM-DD.2.log` and
//! so on. Files that are too old, or too many bytes together, are removed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::civil::Date;
use metrics::Counter;

use crate::{complain, meters};

/// How long nothing is tried after a line could not be written.
const PAUSE: Duration = Duration::from_secs(5);

/// What the files may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// For how many days, today among them.
    pub(crate) days: u64,
    /// The size of one file, in bytes.
    pub(crate) file: u64,
    /// All of them together, in bytes. The file that is written stays, whatever its size.
    pub(crate) total: u64,
}

/// Writes lines into files. Trouble with the disk is said once and never handed to whoever logs: lines are lost until
/// it is over.
pub(crate) struct LogFiles<B> {
    folder: PathBuf,
    bounds: B,
    open: Option<Open>,
    /// Since a line could not be written: when to try again, and how many were lost.
    trouble: Option<(Instant, u64)>,
    written: Counter,
    lost: Counter,
}

/// The file that is written now.
struct Open {
    file: File,
    path: PathBuf,
    day: Date,
    bytes: u64,
}

/// Which file of a day; their order is that of their lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    day: Date,
    number: u32,
}

impl Place {
    /// The place that a file's name tells, if it is one of ours.
    fn of(name: &str) -> Option<Self> {
        let inner = name.strip_prefix("homed.")?.strip_suffix(".log")?;
        let (day, number) = match inner.split_once('.') {
            Some((day, number)) => (day, number.parse().ok()?),
            None => (inner, 1),
        };
        let place = Self { day: day.parse().ok()?, number };
        // Other ways to write the same place are no names of ours.
        (place.name() == name).then_some(place)
    }

    fn name(self) -> String {
        match self.number {
            1 => format!("homed.{}.log", self.day),
            number => format!("homed.{}.{number}.log", self.day),
        }
    }
}

impl<B: Fn() -> Bounds> LogFiles<B> {
    /// Files in this folder, which is made when the first line is written; `bounds` is asked with each.
    pub(crate) fn new(folder: PathBuf, bounds: B) -> Self {
        let (written, lost) = meters::log_lines();
        Self { folder, bounds, open: None, trouble: None, written, lost }
    }

    fn put(&mut self, line: &[u8], today: Date) -> io::Result<()> {
        let bounds = (self.bounds)();
        // Somebody may have removed the folder, or moved the file away.
        self.open = self.open.take().filter(|open| open.day == today && open.bytes < bounds.file && open.path.exists());
        let open = match &mut self.open {
            Some(open) => open,
            place => {
                let opened = Open::last_of(&self.folder, today, bounds.file)?;
                tidy(&self.folder, &opened.path, today, bounds);
                place.insert(opened)
            }
        };
        open.file.write_all(line)?;
        open.bytes += u64::try_from(line.len()).unwrap_or(u64::MAX);
        Ok(())
    }

    /// Takes a line at this moment.
    fn take(&mut self, line: &[u8], today: Date, now: Instant) {
        if let Some((again, lost)) = &mut self.trouble
            && now < *again
        {
            *lost += 1;
            self.lost.increment(1);
            return;
        }
        let told = match self.trouble {
            Some((_, lost)) => format!("{lost} lines of the log are missing here: they could not be written\n"),
            None => String::new(),
        };
        let wrote = if told.is_empty() { Ok(()) } else { self.put(told.as_bytes(), today) };
        match wrote.and_then(|()| self.put(line, today)) {
            Ok(()) => {
                self.trouble = None;
                self.written.increment(1);
            }
            Err(error) => {
                self.open = None;
                if self.trouble.is_none() {
                    let folder = self.folder.display();
                    complain(&format!(
                        "the log can't be written in {folder}: {error}; homed goes on, and tries again meanwhile"
                    ));
                }
                let lost = self.trouble.map_or(0, |(_, lost)| lost) + 1;
                self.trouble = Some((now + PAUSE, lost));
                self.lost.increment(1);
            }
        }
    }
}

impl<B: Fn() -> Bounds> Write for LogFiles<B> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        // Days change for the files when they do in the lines, whose times are UTC.
        self.take(line, jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date(), Instant::now());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Open {
    /// Opens the last file of the day, or the next one where that is full.
    fn last_of(folder: &Path, day: Date, full: u64) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let last = places(folder)?.into_iter().map(|(place, _)| place).filter(|place| place.day == day).max();
        let mut place = last.unwrap_or(Place { day, number: 1 });
        if fs::metadata(folder.join(place.name())).is_ok_and(|file| file.len() >= full) {
            let further = place.number.checked_add(1);
            place.number = further.ok_or_else(|| io::Error::other("this day's last file has the highest number"))?;
        }
        let path = folder.join(place.name());
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { file, path, day, bytes })
    }
}

/// The log files in a folder, with their sizes.
fn places(folder: &Path) -> io::Result<Vec<(Place, u64)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if let Some(place) = entry.file_name().to_str().and_then(Place::of) {
            found.push((place, entry.metadata().map_or(0, |file| file.len())));
        }
    }
    Ok(found)
}

/// Removes what is beyond the bounds, the oldest first. What can't be removed is tried again with the next file.
fn tidy(folder: &Path, current: &Path, today: Date, bounds: Bounds) {
    let Ok(mut found) = places(folder) else { return };
    found.sort_unstable_by_key(|(place, _)| std::cmp::Reverse(*place));
    let mut total = bounds.file;
    for (place, bytes) in found {
        let path = folder.join(place.name());
        if path == current {
            continue;
        }
        total = total.saturating_add(bytes);
        let age = place.day.until(today).map_or(0, |span| u64::try_from(span.get_days()).unwrap_or(0));
        if age >= bounds.days || total > bounds.total {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    const TODAY: Date = date(2026, 3, 2);

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
            .collect();
        names.sort();
        names
    }

    fn files(folder: &Path, days: u64, file: u64, total: u64) -> LogFiles<impl Fn() -> Bounds> {
        LogFiles::new(folder.join("logs"), move || Bounds { days, file, total })
    }

    #[test]
    fn a_day_that_runs_away_fills_no_more_than_the_bound() {
        let home = tempfile::tempdir().expect("a folder");
        let mut log = files(home.path(), 14, 100, 350);
        for _ in 0..1000 {
            log.take(b"twenty bytes a line\n", TODAY, Instant::now());
        }
        let logs = home.path().join("logs");
        assert_eq!(names(&logs), ["homed.2026-03-02.198.log", "homed.2026-03-02.199.log", "homed.2026-03-02.200.log"]);
        assert_eq!(fs::read(logs.join("homed.2026-03-02.200.log")).expect("a file of the log").len(), 100);
    }

    #[test]
    fn only_names_that_are_written_so_are_files_of_the_log() {
        for name in ["homed.2026-03-02.log", "homed.2026-03-02.2.log", "homed.2026-03-02.10.log"] {
            assert_eq!(Place::of(name).map(Place::name).as_deref(), Some(name));
        }
        for name in [
            "homed.2026-03-02.1.log",
            "homed.2026-03-02.02.log",
            "homed.2026-03-02.+2.log",
            "homed.20260302.log",
            "homed.2026-03-02T00.log",
            "homed.log",
        ] {
            assert_eq!(Place::of(name), None, "{name}");
        }
    }

    #[test]
    fn after_the_highest_number_nothing_is_written_and_nothing_breaks() {
        let home = tempfile::tempdir().expect("a folder");
        let logs = home.path().join("logs");
        fs::create_dir(&logs).expect("the disk takes it");
        let last = logs.join(format!("homed.2026-03-02.{}.log", u32::MAX));
        fs::write(&last, "x".repeat(100)).expect("the disk takes it");
        let mut log = files(home.path(), 14, 100, 1000);
        log.take(b"lost\n", TODAY, Instant::now());
        assert_eq!(names(&logs), [last.file_name().expect("a name").to_str().expect("UTF-8")]);
        log.take(b"the next day\n", date(2026, 3, 3), Instant::now() + PAUSE);
        assert_eq!(names(&logs).len(), 2);
    }

    #[test]
    fn each_day_has_its_file_and_old_days_go() {
        let home = tempfile::tempdir().expect("a folder");
        let mut log = files(home.path(), 2, 100, 1000);
        fs::create_dir(home.path().join("logs")).expect("the disk takes it");
        fs::write(home.path().join("logs/notes.txt"), "mine").expect("the disk takes it");
        for day in [date(2026, 2, 27), date(2026, 2, 28), date(2026, 3, 1), TODAY] {
            log.take(b"a line\n", day, Instant::now());
        }
        assert_eq!(names(&home.path().join("logs")), ["homed.2026-03-01.log", "homed.2026-03-02.log", "notes.txt"]);
    }

    #[test]
    fn the_next_start_goes_on_in_the_last_file() {
        let home = tempfile::tempdir().expect("a folder");
        for text in ["first\n", "second\n"] {
            files(home.path(), 14, 100, 1000).take(text.as_bytes(), TODAY, Instant::now());
        }
        let written = fs::read_to_string(home.path().join("logs/homed.2026-03-02.log")).expect("a file of the log");
        assert_eq!(written, "first\nsecond\n");
    }

    #[test]
    fn lines_go_on_when_the_folder_can_be_written_again() {
        let home = tempfile::tempdir().expect("a folder");
        let mut log = files(home.path(), 14, 100, 1000);
        let now = Instant::now();
        log.take(b"before\n", TODAY, now);
        // A file in the folder's place stands for a disk that takes nothing.
        fs::remove_dir_all(home.path().join("logs")).expect("the disk takes it");
        fs::write(home.path().join("logs"), "in the way").expect("the disk takes it");
        log.take(b"lost\n", TODAY, now);
        log.take(b"lost too\n", TODAY, now);
        fs::remove_file(home.path().join("logs")).expect("the disk takes it");
        log.take(b"after\n", TODAY, now + PAUSE);
        let written = fs::read_to_string(home.path().join("logs/homed.2026-03-02.log")).expect("a file of the log");
        assert_eq!(written, "2 lines of the log are missing here: they could not be written\nafter\n");
    }
}
