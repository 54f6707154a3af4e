//! What the agent remembers.

use std::fmt::Write as _;

use homeagent_types::memory::{
    MemoryExported, MemoryForgotten, MemoryGraph, MemoryHit, MemoryImported, MemoryOfRun, MemoryPassage, MemoryPlace,
    MemoryRebuilding, MemoryState,
};
use jiff::tz::TimeZone;
use serde_json::Value;

use super::moment;
use crate::client::read;
use crate::failure::Failure;
use crate::plain::plain_line;
use crate::table::{Table, cut};

/// How much of what was said a list shows, in columns.
const WORDS: usize = 100;

/// How many keys of plugins are named.
const KEPT: usize = 10;

/// How a time is shown.
const AT: &str = "%Y-%m-%d %H:%M";

/// How much there is, and how far it is.
pub(crate) fn state(answer: &str) -> Result<String, Failure> {
    let state: MemoryState = read(answer)?;
    let mut text = format!("{} passages can be found\n", state.passages);
    let behind = state.tip.saturating_sub(state.reached);
    if behind > 0 {
        let _ = writeln!(text, "the journal is read up to {} of {}", state.reached, state.tip);
    }
    match (&state.model, state.complete) {
        (None, _) => text.push_str("by their words alone: no model makes vectors\n"),
        (Some(model), true) => {
            let _ = writeln!(text, "by words and by meaning ({})", plain_line(model));
        }
        (Some(model), false) => {
            let (model, embedded) = (plain_line(model), state.embedded);
            let _ =
                writeln!(text, "by words, and by meaning as vectors are made ({model}; {embedded} since the start)");
        }
    }
    if let Some(MemoryRebuilding { part, done, of }) = &state.rebuilding {
        let part = plain_line(part);
        let _ = match (done, of) {
            (0, 0) => writeln!(text, "the indexes are made anew: {part}"),
            (done, 0) => writeln!(text, "the indexes are made anew: {part}, {done} so far"),
            (done, of) => writeln!(text, "the indexes are made anew: {part}, {done} of {of}"),
        };
    }
    for problem in &state.problems {
        let _ = writeln!(text, "not well: {}", plain_line(problem));
    }
    Ok(text)
}

/// What went, or would go.
pub(crate) fn forgotten(answer: &str) -> Result<String, Failure> {
    let forgotten: MemoryForgotten = read(answer)?;
    let counts = [
        (forgotten.events, "events of the journal"),
        (forgotten.passages, "passages"),
        (forgotten.documents, "documents"),
        (forgotten.contexts, "contexts"),
        (forgotten.names, "names"),
        (forgotten.sentences, "sentences"),
        (forgotten.curated, "lines of memory.md"),
        (forgotten.log_lines, "lines of the text log"),
    ];
    let counts: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    let whole = if counts.is_empty() { "nothing".to_owned() } else { counts.join(", ") };
    let mut text = format!("{}: {whole}\n", if forgotten.dry_run { "would be forgotten" } else { "forgotten" });
    let mut table = Table::new(&["WHAT", "ID", "TEXT"]);
    for sample in &forgotten.samples {
        table.row(&[&sample.kind, &sample.id, &cut(&sample.text, WORDS)]);
    }
    if forgotten.plugins {
        for value in &forgotten.plugin_values {
            table.row(&["plugin", &value.plugin, &cut(&value.key, WORDS)]);
        }
    }
    if !(forgotten.samples.is_empty() && (forgotten.plugin_values.is_empty() || !forgotten.plugins)) {
        text.push_str(&table.or(""));
    }
    if !(forgotten.plugins || forgotten.plugin_values.is_empty()) {
        let values = forgotten.plugin_values.iter().take(KEPT);
        let values: Vec<String> =
            values.map(|value| format!("{} ({})", plain_line(&value.key), plain_line(&value.plugin))).collect();
        let more = forgotten.plugin_values.len().saturating_sub(KEPT);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        let _ =
            writeln!(text, "plugins keep it under: {}{more}; --plugins forgets these values too", values.join(", "));
    }
    if !forgotten.left.is_empty() {
        let files: Vec<String> = forgotten.left.iter().map(|file| plain_line(file)).collect();
        let where_it_stands = if forgotten.dry_run { "it stands in" } else { "it still stands in" };
        let _ = writeln!(text, "{where_it_stands}: {}", files.join(", "));
    }
    if forgotten.dry_run {
        text.push_str("nothing was changed; --yes forgets it, which can't be taken back\n");
    }
    Ok(text)
}

/// Where the memory was written to.
pub(crate) fn exported(answer: &str) -> Result<String, Failure> {
    let MemoryExported { path, records, bytes } = read(answer)?;
    Ok(format!("{records} records in {}, {bytes} bytes\n", plain_line(&path)))
}

/// What was taken in.
pub(crate) fn imported(answer: &str) -> Result<String, Failure> {
    let MemoryImported { rows, documents, conflicts } = read(answer)?;
    let mut text = format!("taken in: {rows} rows of the graph, {documents} documents\n");
    for conflict in &conflicts {
        let _ = writeln!(text, "not as in the file: {}", plain_line(conflict));
    }
    Ok(text)
}

/// What was found, best first.
pub(crate) fn found(answer: &str, zone: &TimeZone) -> Result<String, Failure> {
    let hits: Vec<MemoryHit> = read(answer)?;
    let mut table = Table::new(&["ID", "WHEN", "WHERE", "WHO", "SCORE", "WHAT"]);
    for MemoryHit { passage, score, .. } in &hits {
        let (at, who) = (moment(passage.at_ms, zone, AT), who(passage));
        let score = format!("{score:.2}");
        table.row(&[&passage.id, &at, &passage.conversation, who, &score, &cut(&passage.text, WORDS)]);
    }
    Ok(table.or("nothing found"))
}

/// A passage, and what was said around it.
pub(crate) fn place(answer: &str, zone: &TimeZone) -> Result<String, Failure> {
    let MemoryPlace { before, passage, after } = read(answer)?;
    let mut text = format!(
        "{} in {}, for {}\n",
        plain_line(&passage.id),
        plain_line(&passage.conversation),
        plain_line(&passage.audience)
    );
    let mut say = |mark: &str, passage: &MemoryPassage| {
        let (at, who) = (moment(passage.at_ms, zone, AT), plain_line(who(passage)));
        let _ = writeln!(text, "{mark} {at}  {who}: {}", plain_line(&passage.text));
    };
    before.iter().for_each(|passage| say(" ", passage));
    say(">", &passage);
    after.iter().for_each(|passage| say(" ", passage));
    Ok(text)
}

/// What the graph knows of a name, or the names it knows.
pub(crate) fn graph(answer: &str, zone: &TimeZone) -> Result<String, Failure> {
    let graph: MemoryGraph = read(answer)?;
    if graph.entities.iter().all(|entity| entity.relations.is_empty()) {
        let mut table = Table::new(&["NAME", "KIND", "MENTIONS"]);
        for entity in &graph.entities {
            table.row(&[&entity.name, &entity.kind, &entity.mentions.to_string()]);
        }
        let total = graph.relations;
        return Ok(format!("{}{total} relations in all\n", table.or("nothing is known of it")));
    }
    let mut text = String::new();
    for entity in &graph.entities {
        let names: Vec<&str> = std::iter::once(&entity.name).chain(&entity.aliases).map(String::as_str).collect();
        let _ = writeln!(text, "{} ({})", plain_line(&names.join(", ")), plain_line(&entity.kind));
        let mut table = Table::new(&["ID", "WHAT", "HOLDS", "SURE", "SAID", "LAST"]);
        for relation in &entity.relations {
            let holds = if relation.current { "now" } else { "no longer" };
            let (id, sure) = (relation.id.to_string(), format!("{:.1}", relation.confidence));
            let (said, last) = (relation.mentions.to_string(), moment(relation.last_at_ms, zone, AT));
            table.row(&[&id, &cut(&relation.text, WORDS), holds, &sure, &said, &last]);
        }
        text.push_str(&table.or("nothing is known of it"));
    }
    Ok(text)
}

/// What a turn's model was shown.
pub(crate) fn explained(answer: &str, zone: &TimeZone) -> Result<String, Failure> {
    let run: MemoryOfRun = read(answer)?;
    let mut table = Table::new(&["ID", "WHEN", "WHO", "SCORE", "WHAT"]);
    for shown in &run.passages {
        let (at, score) = (moment(shown.at_ms, zone, AT), format!("{:.2}", shown.score));
        let who = shown.speaker.as_deref().unwrap_or("the agent");
        let whose = if shown.foreign { format!("{who} (others' words)") } else { who.to_owned() };
        let words = if shown.text.is_empty() { "(not for you, or forgotten)" } else { &shown.text };
        table.row(&[&shown.id, &at, &whose, &score, &cut(words, WORDS)]);
    }
    let mut text = table.or("no passage was recalled");
    let parts = [("kept facts", run.curated), ("documents", run.documents), ("names of the graph", run.index)];
    let parts: Vec<&str> = parts.into_iter().filter(|(_, shown)| *shown).map(|(name, _)| name).collect();
    if !parts.is_empty() {
        let _ = writeln!(text, "also shown: {}", parts.join(", "));
    }
    let _ = writeln!(text, "{} characters, found in {} ms", run.characters, run.took_ms);
    if !run.left_out.is_empty() {
        let _ = writeln!(text, "left out: {}", plain_line(&run.left_out.join(", ")));
    }
    if let Some(window) = &run.window {
        text.push_str(&window_of(window));
    }
    if let Some(tools) = &run.tools {
        let _ = writeln!(text, "of {} tools these were shown:", tools["of"]);
        for why in ["always", "named", "called", "nearest"] {
            let names: Vec<&str> =
                tools[why].as_array().into_iter().flatten().filter_map(|name| name.as_str()).collect();
            if !names.is_empty() {
                let _ = writeln!(text, "  {why}: {}", plain_line(&names.join(", ")));
            }
        }
    }
    Ok(text)
}

/// What became of the conversation's window, a line for each choice that was made.
fn window_of(window: &Value) -> String {
    let mut text = String::new();
    for choice in window["choices"].as_array().into_iter().flatten() {
        let verdicts: Vec<&str> = choice["exchanges"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|exchange| exchange["verdict"].as_str())
            .collect();
        let left = verdicts.iter().filter(|verdict| !matches!(**verdict, "current" | "recent" | "relevant")).count();
        let stayed = match verdicts.len() - left {
            0 => "all of it stayed".to_owned(),
            stayed => format!("{stayed} exchanges stayed, {left} left it for the documents"),
        };
        let why = plain_line(choice["occasion"].as_str().unwrap_or_default());
        let _ = writeln!(
            text,
            "window ({why}): {} of at most {} events; {stayed}",
            choice["events"], choice["most_events"]
        );
    }
    text
}

fn who(passage: &MemoryPassage) -> &str {
    if passage.speaker.is_empty() { "the agent" } else { &passage.speaker }
}
