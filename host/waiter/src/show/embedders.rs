//! Models that make vectors.

use serde::Deserialize;

use super::media::size;
use crate::client::read;
use crate::failure::Failure;
use crate::plain::plain_line;
use crate::table::Table;

#[derive(Deserialize)]
struct Listed {
    status: Status,
    embedders: Vec<Embedder>,
    offered: Vec<Offered>,
}

#[derive(Deserialize)]
struct Status {
    state: String,
    name: String,
    kind: Option<String>,
    dimensions: Option<usize>,
    why: String,
    complaint: Option<String>,
    runtime: Option<String>,
    sessions: usize,
}

#[derive(Deserialize)]
struct Embedder {
    name: String,
    what: String,
    path: Option<String>,
    bytes: Option<u64>,
    used: bool,
}

#[derive(Deserialize)]
struct Offered {
    name: String,
    about: String,
}

/// All models, what is used and why, and what can be had; the one in use has a star.
pub(crate) fn list(answer: &str) -> Result<String, Failure> {
    let Listed { status, embedders, offered } = read(answer)?;
    let mut table = Table::new(&["", "NAME", "WHAT", "SIZE", "WHERE"]);
    for one in &embedders {
        let star = if one.used { "*" } else { "" };
        let bytes = one.bytes.map(size).unwrap_or_default();
        table.row(&[star, &one.name, &one.what, &bytes, one.path.as_deref().unwrap_or_default()]);
    }
    let mut text = table.or("no embedders");
    text.push_str(&standing(&status));
    let missing = offered.iter().filter(|offer| embedders.iter().all(|one| one.name != offer.name));
    for offer in missing {
        let (name, about) = (plain_line(&offer.name), plain_line(&offer.about));
        text.push_str(&format!("to be had: waiter models install {name}  ({about})\n"));
    }
    Ok(text)
}

fn standing(status: &Status) -> String {
    let name = plain_line(&status.name);
    let mut text = match (status.state.as_str(), &status.kind, status.dimensions) {
        ("ready", Some(kind), Some(dimensions)) => {
            format!("{name} is used ({}, {dimensions} dimensions): {}\n", plain_line(kind), plain_line(&status.why))
        }
        ("loading", ..) => format!("{name} is being loaded; until then the memory finds words, not meanings\n"),
        _ => "nothing makes vectors; the memory finds words, not meanings\n".to_owned(),
    };
    if let Some(complaint) = &status.complaint {
        text.push_str(&format!("{}\n", plain_line(complaint)));
    }
    if let Some(runtime) = &status.runtime {
        let many = if status.sessions == 1 { String::new() } else { format!(", {} texts at a time", status.sessions) };
        text.push_str(&format!("by {}{many}\n", plain_line(runtime)));
    }
    text
}

/// A model that was installed.
pub(crate) fn installed(answer: &str) -> Result<String, Failure> {
    #[derive(Deserialize)]
    struct Installed {
        name: String,
        path: String,
        dimensions: Option<usize>,
        files: Vec<File>,
    }
    #[derive(Deserialize)]
    struct File {
        name: String,
        bytes: u64,
        sha256: String,
    }
    let installed: Installed = read(answer)?;
    let mut table = Table::new(&["FILE", "SIZE", "SHA-256"]);
    for file in &installed.files {
        table.row(&[&file.name, &size(file.bytes), &file.sha256]);
    }
    let (name, path) = (plain_line(&installed.name), plain_line(&installed.path));
    let done = match installed.dimensions {
        Some(dimensions) => format!("{name} is installed in {path} and makes vectors of {dimensions} dimensions\n"),
        None => format!("{name} is installed in {path}; it is made ready in the background\n"),
    };
    Ok(table.or("") + &done)
}

/// The model that was chosen.
pub(crate) fn chosen(answer: &str, name: Option<&str>) -> Result<String, Failure> {
    let status: Status = read(answer)?;
    let what = name.map_or_else(|| "the best there is".to_owned(), plain_line);
    let present = plain_line(&status.name);
    Ok(match name {
        Some(name) if name == status.name && status.state == "ready" => format!("{present} is used\n"),
        _ => format!("{what} is chosen and loaded in the background; `waiter models` says when it is used\n"),
    })
}

/// What came of making vectors.
pub(crate) fn tested(answer: &str) -> Result<String, Failure> {
    #[derive(Deserialize)]
    struct Trial {
        name: String,
        kind: String,
        dimensions: usize,
        took_ms: Vec<f64>,
        similarity: Option<f64>,
    }
    let trial: Trial = read(answer)?;
    let (name, kind) = (plain_line(&trial.name), plain_line(&trial.kind));
    let took: Vec<String> = trial.took_ms.iter().map(|took| format!("{took:.1} ms")).collect();
    let mut text = format!("{name} ({kind}): {} dimensions, {}\n", trial.dimensions, took.join(" and "));
    if let Some(similarity) = trial.similarity {
        text.push_str(&format!("cosine {similarity:.4}\n"));
    }
    Ok(text)
}
