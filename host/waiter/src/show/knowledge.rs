//! The knowledge base.

use serde::Deserialize;

use super::media::size;
use crate::client::read;
use crate::failure::Failure;
use crate::plain::{plain, plain_line};
use crate::table::{Table, cut};

/// How much of a title a list shows, in columns.
const TITLE: usize = 50;

#[derive(Deserialize)]
struct Base {
    name: String,
    audience: String,
    title: Option<String>,
    description: Option<String>,
    source: Option<String>,
    bytes: u64,
    passages: u64,
    vectors: u64,
    version: String,
    problem: Option<String>,
}

#[derive(Deserialize)]
struct Indexing {
    base: String,
    done: u64,
    total: u64,
}

#[derive(Deserialize)]
struct Status {
    passages: u64,
    vectors: u64,
    model: Option<String>,
    indexing: Option<Indexing>,
    problem: Option<String>,
}

impl Status {
    fn lines(&self) -> String {
        let Self { passages, vectors, model, indexing, problem } = self;
        let mut lines = match model {
            Some(model) => {
                format!("{}, {vectors} with vectors of {}\n", self::passages(*passages), plain_line(model))
            }
            None => format!("{}, found by their words: there is no model for vectors\n", self::passages(*passages)),
        };
        if let Some(Indexing { base, done, total }) = indexing {
            lines.push_str(&format!("{} is being indexed: {done} of {total} passages\n", plain_line(base)));
        }
        if let Some(problem) = problem {
            lines.push_str(&format!("{}\n", plain_line(problem)));
        }
        lines
    }
}

/// A number of passages.
fn passages(count: u64) -> String {
    if count == 1 { "1 passage".to_owned() } else { format!("{count} passages") }
}

/// All bases, and how their index is.
pub(crate) fn list(answer: &str) -> Result<String, Failure> {
    #[derive(Deserialize)]
    struct Listing {
        bases: Vec<Base>,
        status: Status,
    }
    let Listing { bases, status } = read(answer)?;
    let mut table = Table::new(&["NAME", "FOR", "SIZE", "PASSAGES", "TITLE"]);
    for base in &bases {
        let title = base.title.as_deref().or(base.description.as_deref()).unwrap_or("-");
        let passages = base.passages.to_string();
        table.row(&[&base.name, &base.audience, &size(base.bytes), &passages, &cut(title, TITLE)]);
    }
    let mut text = table.or("no knowledge bases; `waiter knowledge import FILE` makes one");
    for base in &bases {
        if let Some(problem) = &base.problem {
            text.push_str(&format!("{}: {}\n", plain_line(&base.name), plain_line(problem)));
        }
    }
    if !bases.is_empty() {
        text.push_str(&status.lines());
    }
    Ok(text)
}

/// How the index is.
pub(crate) fn status(answer: &str) -> Result<String, Failure> {
    Ok(read::<Status>(answer)?.lines())
}

/// A base and its headings.
pub(crate) fn outline(answer: &str) -> Result<String, Failure> {
    #[derive(Deserialize)]
    struct Heading {
        level: usize,
        title: String,
        line: u32,
    }
    #[derive(Deserialize)]
    struct Outline {
        #[serde(flatten)]
        base: Base,
        path: String,
        headings: Vec<Heading>,
    }
    let Outline { base, path, headings } = read(answer)?;
    let mut text = format!(
        "{}, for {}: {}, {}, {} with vectors, version {}\n",
        plain_line(&base.name),
        plain_line(&base.audience),
        size(base.bytes),
        passages(base.passages),
        base.vectors,
        plain_line(&base.version)
    );
    for (key, value) in [("title", base.title), ("about", base.description), ("made of", base.source)] {
        text.extend(value.map(|value| format!("{key}: {}\n", plain_line(&value))));
    }
    text.extend(base.problem.map(|problem| format!("{}\n", plain_line(&problem))));
    text.push_str(&format!("file: {}\n", plain_line(&path)));
    for Heading { level, title, line } in headings {
        let indent = "  ".repeat(level.clamp(1, 6));
        text.push_str(&format!("{indent}{} (line {line})\n", plain_line(&title)));
    }
    Ok(text)
}

/// The text below a heading.
pub(crate) fn section(answer: &str) -> Result<String, Failure> {
    #[derive(Deserialize)]
    struct Section {
        first_line: u32,
        last_line: u32,
        text: String,
        cut: bool,
    }
    let Section { first_line, last_line, text, cut } = read(answer)?;
    let mut shown = format!("lines {first_line}-{last_line}\n\n{}\n", plain(&text));
    if cut {
        shown.push_str("\nthere is more of it in the file\n");
    }
    Ok(shown)
}

/// What was found.
pub(crate) fn found(answer: &str) -> Result<String, Failure> {
    #[derive(Deserialize)]
    struct Passage {
        base: String,
        headings: Vec<String>,
        first_line: u32,
        last_line: u32,
        text: String,
        score: f64,
        keyword: f64,
        vector: f64,
    }
    #[derive(Deserialize)]
    struct Found {
        passages: Vec<Passage>,
        note: Option<String>,
    }
    let Found { passages, note } = read(answer)?;
    let mut text = String::new();
    for Passage { base, headings, first_line, last_line, text: passage, score, keyword, vector } in passages {
        let place: Vec<String> = std::iter::once(base).chain(headings).map(|part| plain_line(&part)).collect();
        text.push_str(&format!(
            "{}, lines {first_line}-{last_line} ({score:.2}: words {keyword:.2}, meaning {vector:.2})\n",
            place.join(" > ")
        ));
        for line in plain(&passage).lines() {
            text.push_str(format!("  {line}").trim_end());
            text.push('\n');
        }
        text.push('\n');
    }
    if text.is_empty() {
        text.push_str("nothing was found\n");
    }
    text.extend(note.map(|note| format!("{}\n", plain_line(&note))));
    Ok(text)
}

/// What became of files.
pub(crate) fn imported(answer: &str) -> Result<String, Failure> {
    #[derive(Deserialize)]
    struct Changed {
        base: Base,
        unchanged: bool,
        notes: Vec<String>,
    }
    #[derive(Deserialize)]
    struct Refused {
        file: String,
        detail: String,
    }
    #[derive(Deserialize)]
    struct Imported {
        imported: Vec<Changed>,
        failed: Vec<Refused>,
        skipped: usize,
    }
    let Imported { imported, failed, skipped } = read(answer)?;
    let mut text = String::new();
    for Changed { base, unchanged, notes } in &imported {
        let how = if *unchanged { "is as it was" } else { "is imported" };
        let (name, audience) = (plain_line(&base.name), plain_line(&base.audience));
        text.push_str(&format!("{name} {how}, for {audience}: {}\n", passages(base.passages)));
        text.extend(notes.iter().map(|note| format!("  {}\n", plain_line(note))));
    }
    for Refused { file, detail } in &failed {
        text.push_str(&format!("{} is not imported: {}\n", plain_line(file), plain_line(detail)));
    }
    if skipped > 0 {
        text.push_str(&format!("left out, as links or of kinds that are not read: {skipped}\n"));
    }
    Ok(text)
}

/// A base that is gone.
pub(crate) fn removed(answer: &str) -> Result<String, Failure> {
    #[derive(Deserialize)]
    struct Removed {
        removed: String,
    }
    let Removed { removed } = read(answer)?;
    Ok(format!("{} is removed, with its text\n", plain_line(&removed)))
}
