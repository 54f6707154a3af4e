//! Prometheus's text format, version 0.0.4, for figures that are looked up when they are asked for.

use std::fmt::{Display, Write as _};

/// The media type of the format.
pub(crate) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A page of metrics that grows.
pub(crate) struct Exposition {
    text: String,
}

impl Exposition {
    /// A page that begins with metrics in the same format.
    pub(crate) fn after(text: String) -> Self {
        Self { text }
    }

    /// A figure of its own; none where it is not known.
    pub(crate) fn gauge(&mut self, name: &str, help: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.head(name, help);
            self.line(format_args!("{name} {value}"));
        }
    }

    /// Figures that differ in one label.
    pub(crate) fn gauges<L: AsRef<str>, V: Display>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (L, V)>,
    ) {
        self.head(name, help);
        for (of, value) in values {
            self.line(format_args!("{name}{{{label}=\"{}\"}} {value}", escaped(of.as_ref())));
        }
    }

    /// The whole page.
    pub(crate) fn finish(self) -> String {
        self.text
    }

    fn head(&mut self, name: &str, help: &str) {
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} gauge"));
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a String does not fail.
        let _ = writeln!(self.text, "{line}");
    }
}

/// A label's value as it stands between quotes.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_below_what_they_mean_and_names_cannot_break_out() {
        let mut page = Exposition::after("before 1\n".to_owned());
        page.gauge("free_bytes", "What is free", Some(5));
        page.gauge("unknown_bytes", "What nobody tells", None::<u64>);
        page.gauges("calls", "Calls", "plugin", [("a\"b\\c\nd", 0.5)]);
        let expected = "before 1\n# HELP free_bytes What is free\n# TYPE free_bytes gauge\nfree_bytes 5\n# HELP calls Calls\n# TYPE calls gauge\ncalls{plugin=\"a\\\"b\\\\c\\nd\"} 0.5\n";
        assert_eq!(page.finish(), expected);
    }
}
