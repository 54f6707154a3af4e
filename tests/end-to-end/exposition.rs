//! Reads Prometheus's text format 0.0.4 as strictly as it is written down, so that what no server would take fails.

use std::collections::{BTreeMap, BTreeSet};

/// Labels in the order of their names.
type Labels = BTreeMap<String, String>;

/// A page of metrics.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) families: BTreeMap<String, Family>,
}

/// All samples of a name.
#[derive(Debug)]
pub(crate) struct Family {
    pub(crate) kind: String,
    pub(crate) help: String,
    /// By the sample's name, which in a histogram has an ending, and its labels.
    samples: BTreeMap<(String, Labels), f64>,
}

impl Page {
    /// Panics at the first thing that is not as the format says.
    #[track_caller]
    pub(crate) fn read(text: &str) -> Self {
        assert!(text.ends_with('\n'), "the last line ends as all others");
        let mut page = Self::default();
        let mut help: Option<(String, String)> = None;
        let mut current: Option<String> = None;
        for line in text.lines().filter(|line| !line.is_empty()) {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, words) = rest.split_once(' ').unwrap_or_else(|| panic!("no help: {line}"));
                help = Some((name.to_owned(), words.to_owned()));
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap_or_else(|| panic!("no type: {line}"));
                let (of, words) = help.take().unwrap_or_else(|| panic!("no HELP before {line}"));
                assert_eq!(of, name, "HELP and TYPE belong together");
                let family = Family { kind: kind.to_owned(), help: words, samples: BTreeMap::new() };
                assert!(page.families.insert(name.to_owned(), family).is_none(), "{name} comes twice");
                current = Some(name.to_owned());
            } else {
                let name = current.as_deref().unwrap_or_else(|| panic!("a sample before any TYPE: {line}"));
                let family = page.families.get_mut(name).expect("it was put there");
                let (sample, labels, value) = sample(line);
                assert!(family.holds(name, &sample), "{sample} stands below {name}");
                let before = family.samples.insert((sample, labels), value);
                assert!(before.is_none(), "the same series twice: {line}");
            }
        }
        for (name, family) in &page.families {
            family.check(name);
        }
        page
    }

    /// The sum of the samples of this name that have these labels; 0 where there are none.
    pub(crate) fn sum(&self, sample: &str, labels: &[(&str, &str)]) -> f64 {
        let all = self.families.values().flat_map(|family| &family.samples);
        let has = |of: &Labels| labels.iter().all(|(name, value)| of.get(*name).is_some_and(|it| it == value));
        all.filter(|((name, of), _)| name == sample && has(of)).map(|(_, value)| value).sum()
    }
}

impl Family {
    /// The names of the labels, without that of a histogram's buckets.
    pub(crate) fn labels(&self) -> BTreeSet<&str> {
        let names = self.samples.keys().flat_map(|(_, labels)| labels.keys());
        names.map(String::as_str).filter(|name| *name != "le").collect()
    }

    fn holds(&self, name: &str, sample: &str) -> bool {
        match self.kind.as_str() {
            "histogram" => {
                let ending = sample.strip_prefix(name);
                matches!(ending, Some("_bucket" | "_sum" | "_count"))
            }
            _ => sample == name,
        }
    }

    fn check(&self, name: &str) {
        assert!(!self.samples.is_empty(), "{name} has no sample");
        match self.kind.as_str() {
            "counter" => {
                assert!(name.ends_with("_total"), "the counter {name} says so in its name");
                assert!(self.samples.values().all(|value| *value >= 0.0), "{name} fell below zero");
            }
            "gauge" => assert!(!name.ends_with("_total"), "{name} is no counter"),
            "histogram" => self.check_histogram(name),
            other => panic!("{name} is of the type {other}"),
        }
    }

    /// The buckets of each series grow up to the one that holds all.
    fn check_histogram(&self, name: &str) {
        let mut series: BTreeMap<Labels, Vec<(f64, f64)>> = BTreeMap::new();
        for ((sample, labels), value) in &self.samples {
            if sample.ends_with("_bucket") {
                let mut labels = labels.clone();
                let bound = labels.remove("le").unwrap_or_else(|| panic!("a bucket of {name} without a bound"));
                let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().expect("a bound is a number") };
                series.entry(labels).or_default().push((bound, *value));
            } else {
                assert!(!labels.contains_key("le"), "{sample} has a bound");
            }
        }
        for (labels, mut buckets) in series {
            buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
            assert!(buckets.is_sorted_by(|one, other| one.1 <= other.1), "{name} {labels:?}: {buckets:?}");
            let (bound, all) = buckets[buckets.len() - 1];
            assert!(bound.is_infinite(), "{name} {labels:?} has no bucket for everything");
            let count = self.samples.get(&(format!("{name}_count"), labels.clone()));
            assert_eq!(count, Some(&all), "{name} {labels:?}");
            assert!(self.samples.contains_key(&(format!("{name}_sum"), labels)), "{name} has no sum");
        }
    }
}

/// A line `name{label="value",...} number`.
fn sample(line: &str) -> (String, Labels, f64) {
    let broken = || -> ! { panic!("not a sample: {line}") };
    let end = line.find(|it: char| !is_of_name(it)).unwrap_or_else(|| broken());
    let (name, mut rest) = line.split_at(end);
    assert!(name.starts_with(|it: char| it.is_ascii_alphabetic()), "{line}");
    let mut labels = Labels::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        while !rest.starts_with('}') {
            let (label, after) = rest.split_once("=\"").unwrap_or_else(|| broken());
            assert!(!label.is_empty() && label.chars().all(is_of_name), "{label} in {line}");
            let (value, after) = quoted(after).unwrap_or_else(|| broken());
            assert!(labels.insert(label.to_owned(), value).is_none(), "{label} twice in {line}");
            rest = after.strip_prefix(',').unwrap_or(after);
        }
        rest = &rest[1..];
    }
    let number = rest.strip_prefix(' ').unwrap_or_else(|| broken());
    (name.to_owned(), labels, number.parse().unwrap_or_else(|_| broken()))
}

fn is_of_name(it: char) -> bool {
    it.is_ascii_alphanumeric() || it == '_'
}

/// A text up to the quote that ends it, and what comes behind.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, it)) = chars.next() {
        match it {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(match chars.next()?.1 {
                'n' => '\n',
                it @ ('"' | '\\') => it,
                _ => return None,
            }),
            it => value.push(it),
        }
    }
    None
}
