//! What tells names apart however alike they are written: numbers, days, months, single letters.

use std::collections::BTreeSet;

use crate::facts::chinese_number;
use crate::text::fold;
use crate::text::time::{MONTHS, WEEKDAYS};

/// The numbers and such of a name. Names with different ones are of different things.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    numbers: Vec<u64>,
    words: BTreeSet<String>,
}

/// English words that number something or tell two of a kind apart.
const WORDS: &[&str] = &[
    "first", "second", "third", "fourth", "fifth", "one", "two", "three", "four", "five", "six", "seven", "eight",
    "nine", "ten", "junior", "senior", "jr", "sr", "ii", "iii", "iv", "vi", "vii", "viii", "ix", "north", "south",
    "east", "west", "old", "new",
];

/// Whether a folded word numbers or dates something.
fn is_mark(word: &str) -> bool {
    WORDS.contains(&word) || MONTHS.contains(&word) || WEEKDAYS.contains(&word)
}

/// Reads the marks of a name: digits and Chinese numerals as numbers, whichever way they are written.
#[must_use]
pub fn marks(name: &str) -> Marks {
    let mut marks = Marks::default();
    let folded = fold(name);
    let mut run = String::new();
    let mut kind = Kind::Other;
    for c in folded.chars().chain([' ']) {
        let now = Kind::of(c);
        if now != kind {
            marks.take(&run, kind);
            run.clear();
            kind = now;
        }
        run.push(c);
    }
    marks
}

/// A name with every number written the same way: whether names are alike is asked once their numbers are known to be equal.
pub(super) fn without_numbers(name: &str) -> String {
    let mut plain = String::new();
    let mut within = false;
    for c in name.chars() {
        let number = matches!(Kind::of(c), Kind::Digits | Kind::Numerals);
        match (number, within) {
            (true, false) => plain.push('0'),
            (true, true) => {}
            (false, _) => plain.push(c),
        }
        within = number;
    }
    plain
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Digits,
    Numerals,
    Latin,
    Other,
}

impl Kind {
    fn of(c: char) -> Self {
        match c {
            c if c.is_ascii_digit() => Self::Digits,
            '零' | '〇' | '一' | '二' | '三' | '四' | '五' | '六' | '七' | '八' | '九' | '十' | '百' | '两' | '廿' => {
                Self::Numerals
            }
            c if c.is_alphabetic() && c.is_ascii() => Self::Latin,
            _ => Self::Other,
        }
    }
}

impl Marks {
    fn take(&mut self, run: &str, kind: Kind) {
        match kind {
            Kind::Digits => {
                let digits = run.trim_start_matches('0');
                self.numbers.push(if digits.is_empty() { 0 } else { digits.parse().unwrap_or(u64::MAX) });
            }
            Kind::Numerals => {
                let number = positional(run).or_else(|| chinese_number(run).map(u64::from));
                self.numbers.push(number.unwrap_or(u64::MAX));
            }
            Kind::Latin if run.len() == 1 || is_mark(run) => {
                self.words.insert(run.to_owned());
            }
            Kind::Latin | Kind::Other => {}
        }
    }
}

/// The number of numerals that stand digit by digit, as in years: 二〇二六.
fn positional(run: &str) -> Option<u64> {
    if run.chars().count() < 2 {
        return None;
    }
    run.chars().try_fold(0_u64, |number, c| {
        let digit = if c == '〇' { 0 } else { "零一二三四五六七八九".chars().position(|known| known == c)? };
        number.checked_mul(10)?.checked_add(u64::try_from(digit).ok()?)
    })
}
