//! Times in English.

use jiff::civil::Weekday;
use unicode_segmentation::UnicodeSegmentation as _;

use super::calendar::{Calendar, Days, Unit};

pub(crate) const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
pub(crate) const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
const NUMBERS: [&str; 13] =
    ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

/// The times a folded text names.
pub(super) fn days(text: &str, calendar: &Calendar) -> Vec<Days> {
    let words: Vec<&str> = text.unicode_words().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = words.get(at..).filter(|rest| !rest.is_empty()) {
        let before = at.checked_sub(1).and_then(|before| words.get(before)).copied().unwrap_or_default();
        match read(before, rest, calendar) {
            Some((days, length)) => {
                found.extend(days);
                at += length;
            }
            None => at += 1,
        }
    }
    found
        .extend(text.split(|c: char| c.is_whitespace() || ",;?!()".contains(c)).filter_map(|word| iso(word, calendar)));
    found
}

/// The time at the start of some words and how many of them it takes.
fn read(before: &str, words: &[&str], calendar: &Calendar) -> Option<(Option<Days>, usize)> {
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    match word(0) {
        "today" | "tonight" => return Some((calendar.before(0, Unit::Day), 1)),
        "yesterday" => return Some((calendar.before(1, Unit::Day), 1)),
        "tomorrow" => return Some((calendar.before(-1, Unit::Day), 1)),
        "day" if word(1) == "before" && word(2) == "yesterday" => return Some((calendar.before(2, Unit::Day), 3)),
        _ => {}
    }
    let weeks = match word(0) {
        "last" | "previous" | "past" => Some(1),
        "this" => Some(0),
        _ => None,
    };
    if let Some(count) = weeks {
        let named = unit(word(1)).map(|unit| calendar.before(count, unit));
        let named = named.or_else(|| weekday(word(1)).map(|day| calendar.last_weekday(day)));
        let named = named.or_else(|| month(word(1)).map(|month| last_month(month, count, calendar)));
        return named.map(|days| (days, 2));
    }
    if let Some((count, length)) = number(words)
        && let Some(unit) = unit(word(length))
        && matches!(word(length + 1), "ago" | "back" | "earlier")
    {
        return Some((calendar.ago(count, unit), length + 2));
    }
    dated(before, words, calendar)
}

/// A month with a day or a year, or after a word that leads to one: "may" alone is no month.
fn dated(before: &str, words: &[&str], calendar: &Calendar) -> Option<(Option<Days>, usize)> {
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    if let Some(month) = month(word(0)) {
        if let Some(day) = day_number(word(1)) {
            let year = year_number(word(2));
            return Some((calendar.day(day, month, year), 2 + usize::from(year.is_some())));
        }
        if let Some(year) = year_number(word(1)) {
            return Some((calendar.month(month, Some(year)), 2));
        }
        let led = matches!(before, "in" | "during" | "since" | "of" | "early" | "late" | "mid" | "until");
        return led.then(|| (calendar.month(month, None), 1));
    }
    if let Some(day) = day_number(word(0)) {
        let skipped = usize::from(word(1) == "of");
        let month = month(word(1 + skipped))?;
        let year = year_number(word(2 + skipped));
        return Some((calendar.day(day, month, year), 2 + skipped + usize::from(year.is_some())));
    }
    let year = year_number(word(0)).filter(|_| matches!(before, "in" | "during" | "since" | "of"))?;
    Some((calendar.year(year), 1))
}

/// "Last May" is the last that is over, or that of last year while it is May.
fn last_month(month: i64, count: i64, calendar: &Calendar) -> Option<Days> {
    let this_year = i64::from(calendar.today.year());
    let named = calendar.month(month, None)?;
    if count == 0 {
        return calendar.month(month, Some(this_year));
    }
    if named.last >= calendar.today { calendar.month(month, Some(this_year - 1)) } else { Some(named) }
}

fn unit(word: &str) -> Option<Unit> {
    Some(match word {
        "day" | "days" => Unit::Day,
        "week" | "weeks" => Unit::Week,
        "weekend" | "weekends" => Unit::Weekend,
        "month" | "months" => Unit::Month,
        "year" | "years" => Unit::Year,
        _ => return None,
    })
}

fn month(word: &str) -> Option<i64> {
    let short = |name: &str| {
        word.len() >= 3 && (name == word || name.get(..3) == Some(word) || (word == "sept" && name == "september"))
    };
    (1..).zip(MONTHS).find(|(_, name)| short(name)).map(|(number, _)| number)
}

fn weekday(word: &str) -> Option<Weekday> {
    let at = WEEKDAYS.iter().position(|name| *name == word)?;
    Weekday::from_monday_zero_offset(i8::try_from(at).ok()?).ok()
}

/// A count before a unit, and how many words it takes: "3", "three", "a", "a few", "a couple of".
fn number(words: &[&str]) -> Option<(i64, usize)> {
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    match (word(0), word(1), word(2)) {
        ("a", "few", _) => Some((3, 2)),
        ("a", "couple", "of") => Some((2, 3)),
        ("a", "couple", _) => Some((2, 2)),
        ("a" | "an", ..) => Some((1, 1)),
        ("few", ..) => Some((3, 1)),
        (word, ..) => {
            let named = (0..).zip(NUMBERS).find(|(_, name)| *name == word).map(|(number, _)| number);
            named.or_else(|| word.parse().ok().filter(|count| (0..=1000).contains(count))).map(|count| (count, 1))
        }
    }
}

fn day_number(word: &str) -> Option<i64> {
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|ending| word.strip_suffix(ending)).unwrap_or(word);
    digits.parse().ok().filter(|day| digits.len() <= 2 && (1..=31).contains(day))
}

fn year_number(word: &str) -> Option<i64> {
    word.parse().ok().filter(|year| word.len() == 4 && (1900..=2200).contains(year))
}

/// A date such as 2023-05-04.
fn iso(word: &str, calendar: &Calendar) -> Option<Days> {
    let mut parts = word.trim_end_matches('.').split(['-', '/']);
    let year = year_number(parts.next()?)?;
    let (month, day) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    if parts.next().is_some() { None } else { calendar.day(day, month, Some(year)) }
}
