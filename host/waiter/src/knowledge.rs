//! The knowledge base: what is in it, and what comes into it.

use std::fs;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use hyper::Method;
use hyper::body::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::args::Knowledge;
use crate::client::{part, read};
use crate::commands::Desk;
use crate::failure::Failure;
use crate::plain::plain_line;
use crate::{file, show};

/// The files of a folder that are imported, by how their names end.
const ENDINGS: [&str; 7] = ["md", "markdown", "txt", "text", "html", "htm", "xhtml"];

/// How many files of a folder are imported at most, and how deep they may lie.
const MOST_FILES: usize = 10_000;
const DEEPEST: usize = 32;

/// The exit code where some of the files were refused.
const FAILED: u8 = 1;

/// A file that is imported.
struct Source {
    path: PathBuf,
    /// What it is called: where it lies below the folder that was given.
    name: String,
}

/// What a folder holds.
#[derive(Default)]
struct Walk {
    files: Vec<Source>,
    /// How many are of no kind that is read, or are links.
    skipped: usize,
}

impl Desk {
    pub(crate) async fn knowledge(&self, command: Knowledge) -> Result<u8, Failure> {
        match command {
            Knowledge::List => {
                let answer = self.client.get("knowledge").await?;
                self.answer(&answer, show::knowledge::list)
            }
            Knowledge::Show { name, section: None } => {
                let answer = self.client.get(&format!("knowledge/bases/{}", part(&name))).await?;
                self.answer(&answer, show::knowledge::outline)
            }
            Knowledge::Show { name, section: Some(heading) } => {
                let path = format!("knowledge/bases/{}/section?heading={}", part(&name), part(&heading));
                let answer = self.client.get(&path).await?;
                self.answer(&answer, show::knowledge::section)
            }
            Knowledge::Search { text, base, audience, limit } => {
                let mut path = format!("knowledge/search?text={}&limit={limit}", part(&text.join(" ")));
                for (key, value) in [("base", &base), ("audience", &audience)] {
                    path.extend(value.iter().map(|value| format!("&{key}={}", part(value))));
                }
                let answer = self.client.get(&path).await?;
                self.answer(&answer, show::knowledge::found)
            }
            Knowledge::Import { path, name, replace } => self.import(&path, name.as_deref(), replace).await,
            Knowledge::Remove { name } => {
                let path = format!("knowledge/bases/{}", part(&name));
                let answer = self.client.raw(Method::DELETE, &path, Bytes::new()).await?;
                self.answer(&answer, show::knowledge::removed)
            }
            Knowledge::Reindex { name } => {
                let base = name.map(|name| format!("?base={}", part(&name))).unwrap_or_default();
                let answer = self.client.post(&format!("knowledge/reindex{base}"), Bytes::new()).await?;
                self.answer(&answer, show::knowledge::status)
            }
        }
    }

    /// Hands over a file, or the files of a folder, one after the other. One that is refused keeps no other out.
    async fn import(&self, path: &Path, name: Option<&str>, replace: bool) -> Result<u8, Failure> {
        let walk = sources(path)?;
        let is_folder = path.is_dir();
        let most = self.largest_file().await?;
        let (mut imported, mut failed) = (Vec::new(), Vec::new());
        let total = walk.files.len();
        for (at, source) in walk.files.iter().enumerate() {
            if total > 1 && std::io::stderr().is_terminal() {
                let _ = writeln!(std::io::stderr(), "{}/{total} {}", at + 1, plain_line(&source.name));
            }
            // Files that share a base are sections of it; others are bases of their own.
            let how = if is_folder && name.is_some() {
                "join"
            } else if replace {
                "replace"
            } else {
                "create"
            };
            match self.hand_over(source, name, how, most).await {
                Ok(answer) => imported.push(answer),
                Err(failure @ Failure::Unreachable { .. }) => return Err(failure),
                Err(failure) if total == 1 => return Err(failure),
                Err(failure) => failed.push(json!({ "file": source.name, "detail": failure.sentence() })),
            }
        }
        let is_whole = failed.is_empty();
        let answer = json!({ "imported": imported, "failed": failed, "skipped": walk.skipped }).to_string();
        self.answer(&answer, show::knowledge::imported)?;
        Ok(if is_whole { 0 } else { FAILED })
    }

    async fn hand_over(&self, source: &Source, base: Option<&str>, how: &str, most: u64) -> Result<Value, Failure> {
        let bytes = file::bytes(&source.path, most)?;
        let base = base.map(|base| format!("&base={}", part(base))).unwrap_or_default();
        let path = format!("knowledge/import?file={}&how={how}{base}", part(&source.name));
        read(&self.client.post_as("application/octet-stream", &path, bytes).await?)
    }

    async fn largest_file(&self) -> Result<u64, Failure> {
        #[derive(Deserialize)]
        struct Setting {
            value: u64,
        }
        let Setting { value: mib } = read(&self.client.get("settings/core.knowledge.file_mib").await?)?;
        Ok(mib << 20)
    }
}

/// The files that a path means.
fn sources(path: &Path) -> Result<Walk, Failure> {
    let unreadable = |error| Failure::Failed(format!("{} can't be read: {error}", path.display()));
    let about = fs::metadata(path).map_err(unreadable)?;
    let mut walk = Walk::default();
    if about.is_dir() {
        collect(path, "", 0, &mut walk)?;
        if walk.files.is_empty() {
            let endings = ENDINGS.join(", ");
            return Err(Failure::Failed(format!("{} holds no file that can be read: {endings}", path.display())));
        }
    } else {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        walk.files.push(Source { path: path.to_path_buf(), name });
    }
    Ok(walk)
}

/// Finds the files of a folder, sorted by name. Links are not followed, and what is hidden is not meant.
fn collect(folder: &Path, below: &str, depth: usize, walk: &mut Walk) -> Result<(), Failure> {
    let unreadable = |error| Failure::Failed(format!("{} can't be read: {error}", folder.display()));
    let entries = fs::read_dir(folder).map_err(unreadable)?.collect::<Result<Vec<_>, _>>();
    let mut entries = entries.map_err(unreadable)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let Ok(name) = entry.file_name().into_string() else {
            walk.skipped += 1;
            continue;
        };
        if name.starts_with('.') {
            continue;
        }
        let kind = entry.file_type().map_err(unreadable)?;
        let called = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        if kind.is_dir() && depth < DEEPEST {
            collect(&entry.path(), &called, depth + 1, walk)?;
        } else if kind.is_file() && ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str())) {
            if walk.files.len() == MOST_FILES {
                let sentence = format!("there are more than {MOST_FILES} files; import the folders in it one by one");
                return Err(Failure::Failed(sentence));
            }
            walk.files.push(Source { path: entry.path(), name: called });
        } else {
            walk.skipped += 1;
        }
    }
    Ok(())
}
