//! The figures, as a table in Markdown.

use std::fmt;
use std::time::Duration;

use crate::machine;

/// Rows of a name and a figure.
#[derive(Default)]
pub(crate) struct Table(Vec<(String, String)>);

impl Table {
    pub(crate) fn row(&mut self, what: &str, figure: String) {
        eprintln!("{what}: {figure}");
        self.0.push((what.to_owned(), figure));
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "homed {} on {}\n", env!("CARGO_PKG_VERSION"), machine::line())?;
        writeln!(f, "| what | figure |\n|---|---|")?;
        self.0.iter().try_for_each(|(what, figure)| writeln!(f, "| {what} | {figure} |"))
    }
}

/// The figure below which so many in a hundred lie.
pub(crate) fn percentile(figures: &mut [Duration], percent: usize) -> Duration {
    figures.sort();
    let last = figures.len().saturating_sub(1);
    figures.get(last * percent / 100).copied().unwrap_or_default()
}

pub(crate) fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}
