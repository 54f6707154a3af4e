//! The file's lines, and which of them are the list.

use homeagent_types::{Audience, Viewer};

/// The heading of what everybody may see.
pub(super) const EVERYBODY: &str = "everybody";

/// What stands above the list in a file that the daemon makes.
const HEAD: &str = "# What the agent keeps in mind\n\nEach line that begins with \"- \" is shown to the agent in every turn \
    with those whom the heading above it names:\neverybody, or an audience such as person:qq:10001 or group:qq:42. Edit it \
    as you like.\n";

/// A file's lines, in their order.
pub(super) struct List {
    lines: Vec<Line>,
}

enum Line {
    Heading {
        text: String,
        who: Who,
    },
    /// One of the list's, without its dash.
    Item {
        text: String,
        line: String,
    },
    Other(String),
}

#[derive(Clone)]
enum Who {
    Everybody,
    Audience(Audience),
    Nobody,
}

impl Who {
    fn named(heading: &str) -> Self {
        match heading.trim() {
            EVERYBODY => Self::Everybody,
            other => match Audience::parse(other) {
                Audience::Other(_) | Audience::Agent => Self::Nobody,
                audience => Self::Audience(audience),
            },
        }
    }

    fn is_seen_by(&self, viewer: &Viewer) -> bool {
        match self {
            Self::Everybody => true,
            Self::Audience(audience) => viewer.may_see(audience),
            Self::Nobody => *viewer == Viewer::Everything,
        }
    }
}

impl List {
    pub(super) fn parse(text: &str) -> Self {
        let line = |line: &str| match line.strip_prefix("## ") {
            Some(heading) => Line::Heading { text: line.to_owned(), who: Who::named(heading) },
            None if line.starts_with('#') => Line::Heading { text: line.to_owned(), who: Who::Nobody },
            None => match line.trim_start().strip_prefix("- ").map(str::trim).filter(|item| !item.is_empty()) {
                Some(item) => Line::Item { text: item.to_owned(), line: line.to_owned() },
                None => Line::Other(line.to_owned()),
            },
        };
        Self { lines: text.lines().map(line).collect() }
    }

    pub(super) fn text(&self) -> String {
        let line = |line: &Line| match line {
            Line::Heading { text, .. } | Line::Other(text) | Line::Item { line: text, .. } => format!("{text}\n"),
        };
        self.lines.iter().map(line).collect()
    }

    /// The places of the lines a reader is shown.
    fn places<'a>(&'a self, viewer: &'a Viewer) -> impl Iterator<Item = (usize, &'a str)> {
        let mut who = Who::Nobody;
        self.lines.iter().enumerate().filter_map(move |(at, line)| {
            match line {
                Line::Heading { who: named, .. } => who = named.clone(),
                Line::Item { text, .. } if who.is_seen_by(viewer) => return Some((at, text.as_str())),
                Line::Item { .. } | Line::Other(_) => {}
            }
            None
        })
    }

    pub(super) fn shown<'a>(&'a self, viewer: &'a Viewer) -> impl Iterator<Item = &'a str> {
        self.places(viewer).map(|(_, text)| text)
    }

    /// The list's lines, each with the heading that names who sees it, as [`List::add`] takes it; and all else that is
    /// written below headings.
    pub(super) fn items(&self) -> (Vec<(String, &str)>, Vec<&str>) {
        let mut who = None;
        let (mut items, mut others) = (Vec::new(), Vec::new());
        for line in &self.lines {
            match line {
                Line::Heading { who: Who::Everybody, .. } => who = Some(EVERYBODY.to_owned()),
                Line::Heading { who: Who::Audience(audience), .. } => who = Some(audience.to_string()),
                Line::Heading { who: Who::Nobody, .. } => who = None,
                Line::Item { text, line } => match &who {
                    Some(who) => items.push((who.clone(), text.as_str())),
                    None => others.push(line.as_str()),
                },
                Line::Other(line) if line.trim().is_empty() => {}
                Line::Other(line) => others.push(line),
            }
        }
        (items, others)
    }

    /// Whether a line stands in the file, word for word.
    pub(super) fn has(&self, wanted: &str) -> bool {
        let stands = |line: &Line| match line {
            Line::Heading { text, .. } | Line::Other(text) | Line::Item { line: text, .. } => text == wanted,
        };
        self.lines.iter().any(stands) || HEAD.lines().any(|line| line == wanted)
    }

    /// The audiences of which there are headings.
    pub(super) fn audiences(&self) -> Vec<Audience> {
        let named = |line: &Line| match line {
            Line::Heading { who: Who::Audience(audience), .. } => Some(audience.clone()),
            _ => None,
        };
        self.lines.iter().filter_map(named).collect()
    }

    /// Puts a line after the last one below an audience's heading, which is made where there is none.
    pub(super) fn add(&mut self, audience: &str, item: &str) {
        if self.lines.is_empty() {
            *self = Self::parse(HEAD);
        }
        let is_heading = |line: &Line| matches!(line, Line::Heading { text, .. } if text.strip_prefix("## ").is_some_and(|who| who.trim() == audience));
        let heading = match self.lines.iter().position(is_heading) {
            Some(heading) => heading,
            None => {
                self.lines.push(Line::Other(String::new()));
                let (text, who) = (format!("## {audience}"), Who::named(audience));
                self.lines.push(Line::Heading { text, who });
                self.lines.len() - 1
            }
        };
        let below = self.lines.iter().skip(heading + 1);
        let section = below.take_while(|line| !matches!(line, Line::Heading { .. })).enumerate();
        let last = section.filter(|(_, line)| matches!(line, Line::Item { .. })).last().map_or(0, |(at, _)| at + 1);
        let line = Line::Item { text: item.to_owned(), line: format!("- {item}") };
        self.lines.insert(heading + 1 + last, line);
    }

    /// Removes the first line that a reader is shown and that is meant; whether there was one.
    pub(super) fn remove(&mut self, viewer: &Viewer, is_meant: impl Fn(&str) -> bool) -> bool {
        let found = self.places(viewer).find(|(_, text)| is_meant(text)).map(|(at, _)| at);
        found.map(|at| self.lines.remove(at)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_writers_own_words_stay_as_they_are() {
        let by_hand = "My notes\n- not shown\n\n## everybody\n  - Tea at four\nwhy not\n* star\n## person:qq:1\n\n## oddity\n- no\n";
        let mut list = List::parse(by_hand);
        assert_eq!(list.text(), by_hand);
        let [li, wang] = ["qq:1", "qq:2"].map(|who| Viewer::Only([Audience::Person(who.into())].into()));
        list.add("person:qq:1", "喝茶");
        assert_eq!(list.shown(&li).collect::<Vec<_>>(), ["Tea at four", "喝茶"]);
        assert_eq!(list.shown(&wang).collect::<Vec<_>>(), ["Tea at four"]);
        assert!(!list.remove(&wang, |line| line == "喝茶") && list.remove(&li, |line| line == "喝茶"));
        assert_eq!(list.text(), by_hand);
    }

    #[test]
    fn the_first_line_makes_the_file() {
        let mut list = List::parse("");
        list.add("group:qq:7", "周五聚餐");
        list.add("person:cli:me", "Call me Li");
        insta::assert_snapshot!(list.text());
    }
}
