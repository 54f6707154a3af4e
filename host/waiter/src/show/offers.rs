//! Sources that were found and could be used.

use serde::Deserialize;

use crate::client::read;
use crate::failure::Failure;
use crate::plain::plain_line;
use crate::table::Table;

/// What the daemon found.
#[derive(Deserialize)]
pub(crate) struct Found {
    pub(crate) offers: Vec<Offer>,
    pub(crate) notes: Vec<String>,
}

/// A source that could be used.
#[derive(Deserialize)]
pub(crate) struct Offer {
    pub(crate) name: String,
    pub(crate) model: String,
    pub(crate) models: Option<Vec<String>>,
    pub(crate) base_url: String,
    pub(crate) found_in: String,
}

/// Everything that was found.
pub(crate) fn list(answer: &str) -> Result<String, Failure> {
    let Found { offers, notes } = read(answer)?;
    let mut table = Table::new(&["NAME", "MODEL", "FOUND IN", "BASE URL"]);
    for offer in &offers {
        table.row(&[&offer.name, &offer.model, &offer.found_in, &offer.base_url]);
    }
    let mut text = table.or("nothing was found that is not configured; a key in the daemon's environment, such as \
                             DEEPSEEK_API_KEY, or an Ollama or llama.cpp server on its machine would be");
    let mut say = |line: &str| {
        text.push_str(&plain_line(line));
        text.push('\n');
    };
    for offer in &offers {
        if let Some(models) = offer.models.as_ref().filter(|models| models.len() > 1) {
            say(&format!("{} has: {}", offer.name, models.join(", ")));
        }
    }
    for note in &notes {
        say(note);
    }
    if !offers.is_empty() {
        say("`waiter source accept NAME` uses one");
    }
    Ok(text)
}

/// What to say below an empty list of sources.
pub(crate) fn hint(answer: &str) -> Result<String, Failure> {
    let Found { offers, notes } = read(answer)?;
    let offers = offers.iter().map(|offer| {
        let Offer { name, model, found_in, .. } = offer;
        format!("found {name} with {model} ({found_in}): `waiter source accept {name}` uses it")
    });
    let lines = offers.chain(notes);
    Ok(lines.map(|line| format!("{}\n", plain_line(&line))).collect())
}
