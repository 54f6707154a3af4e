//! Models that vendors offer.

use serde::Deserialize;

use crate::client::read;
use crate::failure::Failure;
use crate::plain::plain_line;
use crate::table::{Table, cut};

/// The widest name for people that a terminal has room for, in columns.
const WIDEST: usize = 40;

#[derive(Deserialize)]
struct Listed {
    current: String,
    models: Vec<Model>,
}

#[derive(Deserialize)]
struct Model {
    id: String,
    display_name: Option<String>,
    context_window: Option<u32>,
    max_output: Option<u32>,
    #[serde(default)]
    meta: Vec<(String, String)>,
}

impl Model {
    fn makes_vectors(&self) -> bool {
        self.meta.iter().any(|(name, value)| name == "kind" && value == "embedding")
    }
}

/// The models of a source's vendor; the one that is asked has a star.
pub(crate) fn list(answer: &str, source: &str) -> Result<String, Failure> {
    let Listed { current, models } = read(answer)?;
    let mut table = Table::new(&["", "MODEL", "WINDOW", "LONGEST ANSWER", "NAME"]);
    for model in &models {
        let star = if model.id == current { "*" } else { "" };
        let title = model.display_name.as_deref().map(|title| cut(title, WIDEST)).unwrap_or_default();
        let title = match (model.makes_vectors(), title.as_str()) {
            (false, title) => title.to_owned(),
            (true, "") => "makes vectors".to_owned(),
            (true, title) => format!("{title}, makes vectors"),
        };
        table.row(&[star, &model.id, &tokens(model.context_window), &tokens(model.max_output), &title]);
    }
    let mut text = table.or(&plain_line(&format!("the vendor of {source} lists no models")));
    if !models.is_empty() && !models.iter().any(|model| model.id == current) {
        text.push_str(&plain_line(&format!("{current}, which {source} asks for, is not among them")));
        text.push('\n');
    }
    Ok(text)
}

/// A number of tokens, in groups of three digits.
fn tokens(count: Option<u32>) -> String {
    let Some(count) = count else { return "-".to_owned() };
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
