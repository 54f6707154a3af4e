//! The short list that the agent and the owner keep by hand: `memory.md` in the home folder, which a person can edit.
//!
//! A second-level heading names who may see the lines below it: `## everybody`, or an audience's text form, such as
//! `## person:qq:10001` or `## group:qq:42`. Lines that begin with `- ` are the list; anything else is the writer's own and
//! stays as it is. What a turn is shown stays the same until it ends, however often the file changes.

mod file;
mod list;

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homeagent_types::{Audience, Viewer};

use list::List;

/// The file's name in the home folder.
pub const FILE: &str = "memory.md";

/// The longest line, in characters.
const LONGEST_LINE: usize = 300;

/// How long all that one reader is shown may be together, in characters.
const LONGEST: usize = 4000;

/// Turns whose list is remembered.
const RUNS: usize = 256;

/// How often a change is tried while others write the file.
const TRIES: usize = 20;

/// An error of the list; each says what can be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CuratedError {
    /// A line that is none.
    #[error("a line has from 1 to {LONGEST_LINE} characters, and this one has {0}")]
    Length(usize),
    /// There is no room.
    #[error("the list is full: {LONGEST} characters are shown at most; remove lines that are no longer needed first")]
    Full,
    /// It is there already.
    #[error("this line is there already")]
    Known,
    /// There is no such line.
    #[error("there is no such line; give one word for word as it stands in the list")]
    Unknown,
    /// The file is no text.
    #[error("{path} is no UTF-8 text and was left as it is; save it as such, or move it away", path = .0.display())]
    NoText(PathBuf),
    /// The file can't be read or written.
    #[error("{path} can't be {doing}: {source}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What was being done to it.
        doing: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
}

/// The list. Clones share it.
#[derive(Clone)]
pub struct Curated {
    shared: Arc<Shared>,
}

struct Shared {
    path: PathBuf,
    /// Held from reading the file to writing it.
    writing: Mutex<()>,
    frozen: Mutex<Frozen>,
}

/// What turns are shown, the oldest first.
#[derive(Default)]
struct Frozen {
    by_run: HashMap<String, Arc<str>>,
    order: VecDeque<String>,
}

impl Curated {
    /// The list in a home folder. The file is read when it is asked for, and made with the first line.
    #[must_use]
    pub fn open(home: &Path) -> Self {
        let path = home.join(FILE);
        Self { shared: Arc::new(Shared { path, writing: Mutex::default(), frozen: Mutex::default() }) }
    }

    /// The lines a reader is shown, in the file's order. Reads the file.
    ///
    /// # Errors
    ///
    /// [`CuratedError::File`] and [`CuratedError::NoText`].
    pub fn lines(&self, viewer: &Viewer) -> Result<Vec<String>, CuratedError> {
        let text = file::read(&self.shared.path)?;
        Ok(List::parse(&text).shown(viewer).map(str::to_owned).collect())
    }

    /// The whole file, with what is none of the list's. Reads the file.
    ///
    /// # Errors
    ///
    /// [`CuratedError::File`] and [`CuratedError::NoText`].
    pub fn text(&self) -> Result<String, CuratedError> {
        file::read(&self.shared.path)
    }

    /// What a turn is shown: the lines as they are when it asks first, each as `- line`. A list that became too long by hand
    /// ends early, after a whole line. Reads the file the first time.
    ///
    /// # Errors
    ///
    /// [`CuratedError::File`] and [`CuratedError::NoText`]; then the next turn tries again.
    pub fn frozen(&self, run: &str, viewer: &Viewer) -> Result<Arc<str>, CuratedError> {
        if let Some(text) = self.shown().by_run.get(run) {
            return Ok(text.clone());
        }
        let mut text = String::new();
        let mut length = 0;
        for line in self.lines(viewer)? {
            length += line.chars().count() + 3;
            if length > LONGEST {
                tracing::warn!(file = FILE, "the list is longer than what is shown of it");
                break;
            }
            text.push_str("- ");
            text.push_str(&line);
            text.push('\n');
        }
        let mut frozen = self.shown();
        // Of two that asked at once the first one's is shown to both.
        if let Some(text) = frozen.by_run.get(run) {
            return Ok(text.clone());
        }
        if frozen.order.len() >= RUNS
            && let Some(oldest) = frozen.order.pop_front()
        {
            frozen.by_run.remove(&oldest);
        }
        let text: Arc<str> = text.into();
        frozen.order.push_back(run.to_owned());
        frozen.by_run.insert(run.to_owned(), text.clone());
        Ok(text)
    }

    /// Adds a line for those who read what is said before an audience; on the disk when this returns. Shown from the next
    /// turn on.
    ///
    /// # Errors
    ///
    /// [`CuratedError::Length`], [`CuratedError::Full`], [`CuratedError::Known`], and what reading and writing say.
    pub fn add(&self, audience: &Audience, line: &str) -> Result<(), CuratedError> {
        self.change(|list| add_for(list, &audience.to_string(), line))
    }

    /// Removes a line that a reader is shown; on the disk when this returns.
    ///
    /// # Errors
    ///
    /// [`CuratedError::Unknown`], and what reading and writing say.
    pub fn remove(&self, viewer: &Viewer, line: &str) -> Result<(), CuratedError> {
        let line = one_line(line);
        self.change(
            |list| if list.remove(viewer, |known| same(known, &line)) { Ok(()) } else { Err(CuratedError::Unknown) },
        )
    }

    /// Removes every line for which `is_to_go` says so, whoever may see it, and every turn's copy; how many went.
    ///
    /// # Errors
    ///
    /// What reading and writing say.
    pub fn forget(&self, is_to_go: impl Fn(&str) -> bool) -> Result<usize, CuratedError> {
        let mut gone = 0;
        self.change(|list| {
            gone = 0;
            while list.remove(&Viewer::Everything, &is_to_go) {
                gone += 1;
            }
            Ok(())
        })?;
        file::clear(&self.shared.path, &is_to_go)?;
        *self.shown() = Frozen::default();
        Ok(gone)
    }

    /// Adds the lines of another list that are not there, each below the heading under which it stands; an empty file becomes
    /// the other one, word for word. Answers with the lines that were not added: those for which there is no room, and those
    /// that are not the list's.
    ///
    /// # Errors
    ///
    /// What reading and writing say.
    pub fn join(&self, other: &str) -> Result<Vec<String>, CuratedError> {
        let theirs = List::parse(other);
        let (items, others) = theirs.items();
        let mut left = Vec::new();
        self.change_text(|before| {
            left.clear();
            if before.is_empty() {
                return Ok(Some(other.to_owned()));
            }
            let mut list = List::parse(before);
            let mut is_changed = false;
            for (who, item) in &items {
                match add_for(&mut list, who, item) {
                    Ok(()) => is_changed = true,
                    Err(CuratedError::Known) => {}
                    Err(why) => left.push(format!("{who}: {item} ({why})")),
                }
            }
            left.extend(others.iter().filter(|line| !list.has(line)).map(|line| (*line).to_owned()));
            Ok(is_changed.then(|| list.text()))
        })?;
        Ok(left)
    }

    /// Has the whole text of the file become what `change` says, where it says something.
    ///
    /// # Errors
    ///
    /// What reading and writing say.
    pub fn rewrite(&self, change: impl Fn(&str) -> Option<String>) -> Result<(), CuratedError> {
        self.change_text(|before| Ok(change(before)))
    }

    fn change(&self, mut work: impl FnMut(&mut List) -> Result<(), CuratedError>) -> Result<(), CuratedError> {
        self.change_text(|before| {
            let mut list = List::parse(before);
            work(&mut list)?;
            Ok(Some(list.text()))
        })
    }

    /// Where a person saves the file meanwhile, theirs is what is changed.
    fn change_text(
        &self,
        mut change: impl FnMut(&str) -> Result<Option<String>, CuratedError>,
    ) -> Result<(), CuratedError> {
        let _writing = self.shared.writing.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..TRIES {
            let before = file::read(&self.shared.path)?;
            let Some(after) = change(&before)?.filter(|after| *after != before) else { return Ok(()) };
            if file::write(&self.shared.path, &before, &after)? {
                return Ok(());
            }
        }
        let source = std::io::Error::other("it changes all the time; close whatever else writes it");
        Err(CuratedError::File { path: self.shared.path.clone(), doing: "written", source })
    }

    fn shown(&self) -> MutexGuard<'_, Frozen> {
        self.shared.frozen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds a line below a heading where it is not shown to its readers yet and all of them have room for it.
fn add_for(list: &mut List, who: &str, line: &str) -> Result<(), CuratedError> {
    let line = one_line(line);
    let length = line.chars().count();
    if length == 0 || length > LONGEST_LINE {
        return Err(CuratedError::Length(length));
    }
    let everybody = who == list::EVERYBODY;
    let readers = if everybody { list.audiences() } else { vec![Audience::parse(who)] };
    let viewer = Viewer::Only(if everybody { Default::default() } else { readers.iter().cloned().collect() });
    if list.shown(&viewer).any(|known| same(known, &line)) {
        return Err(CuratedError::Known);
    }
    let shown = |viewer: &Viewer| list.shown(viewer).map(|known| known.chars().count() + 3).sum::<usize>();
    let each = readers.into_iter().map(|reader| Viewer::Only([reader].into()));
    let most = each.chain([viewer]).map(|viewer| shown(&viewer)).max().unwrap_or_default();
    if most + length + 3 > LONGEST {
        return Err(CuratedError::Full);
    }
    list.add(who, &line);
    Ok(())
}

fn one_line(text: &str) -> String {
    text.split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

fn same(one: &str, other: &str) -> bool {
    homeagent_language::text::fold(one) == homeagent_language::text::fold(other)
}
