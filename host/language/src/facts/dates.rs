//! Numbers, ages and birthdays as people say them.

use std::sync::LazyLock;

use regex::Regex;

use super::reading::pattern;

/// The value of digits or Chinese numerals below a thousand: 28, 二十八, 廿八, 一百零二, 两.
pub(crate) fn chinese_number(text: &str) -> Option<u32> {
    if text.chars().all(|c| c.is_ascii_digit()) {
        return text.parse().ok();
    }
    let digit =
        |c: char| "零一二三四五六七八九".chars().position(|known| known == c).and_then(|at| u32::try_from(at).ok());
    let (mut total, mut unit) = (0, None);
    for c in text.chars() {
        match c {
            '十' => {
                total += unit.take().unwrap_or(1) * 10;
            }
            '廿' => total += 20,
            '卅' => total += 30,
            '百' => {
                total += unit.take().unwrap_or(1) * 100;
            }
            '两' => unit = Some(2),
            '〇' | '零' => unit = None,
            c => unit = Some(digit(c)?),
        }
    }
    Some(total + unit.unwrap_or(0)).filter(|number| *number > 0 || text == "零")
}

/// The value of digits or English number words below a hundred: 28, twenty-eight, a.
pub(super) fn english_number(text: &str) -> Option<u32> {
    const SMALL: &[&str] = &[
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: &[&str] = &["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    let text = text.trim().to_lowercase();
    if !text.is_empty() && text.chars().all(|c| c.is_ascii_digit()) {
        return text.parse().ok();
    }
    if matches!(text.as_str(), "a" | "an") {
        return Some(1);
    }
    let at =
        |list: &[&str], word: &str| list.iter().position(|known| *known == word).and_then(|at| u32::try_from(at).ok());
    let mut words = text.split([' ', '-']);
    let first = words.next()?;
    if let Some(small) = at(SMALL, first) {
        return words.next().is_none().then_some(small);
    }
    let tens = (at(TENS, first)? + 2) * 10;
    match words.next() {
        None => Some(tens),
        Some(ones) => at(SMALL, ones).filter(|ones| (1..10).contains(ones)).map(|ones| tens + ones),
    }
}

/// An age somebody can have, as its digits.
pub(super) fn age(number: Option<u32>) -> Option<String> {
    number.filter(|years| (1..=120).contains(years)).map(|years| years.to_string())
}

/// A year written with digits one by one (一九九〇) or plainly; `90` is 1990.
fn chinese_year(text: &str) -> Option<u32> {
    let digits: String = text
        .chars()
        .filter_map(|c| {
            if c == '〇' {
                Some('0')
            } else {
                c.to_digit(10).and_then(|d| char::from_digit(d, 10)).or_else(|| {
                    "零一二三四五六七八九"
                        .chars()
                        .position(|known| known == c)
                        .and_then(|at| char::from_digit(u32::try_from(at).ok()?, 10))
                })
            }
        })
        .collect();
    let year: u32 = digits.parse().ok()?;
    let year = if (40..100).contains(&year) { year + 1900 } else { year };
    (1900..=2100).contains(&year).then_some(year)
}

fn written(year: Option<u32>, month: Option<u32>, day: Option<u32>) -> Option<String> {
    let valid = month.is_none_or(|month| (1..=12).contains(&month)) && day.is_none_or(|day| (1..=31).contains(&day));
    if !valid {
        return None;
    }
    match (year, month, day) {
        (Some(year), Some(month), Some(day)) => Some(format!("{year}-{month:02}-{day:02}")),
        (None, Some(month), Some(day)) => Some(format!("{month:02}-{day:02}")),
        (Some(year), Some(month), None) => Some(format!("{year}-{month:02}")),
        (Some(year), None, None) => Some(year.to_string()),
        _ => None,
    }
}

/// A birthday said in Chinese: `1990-05-04`, `05-04`, `1990`; a day of the lunar calendar as it was said.
pub(super) fn chinese_birthday(text: &str) -> Option<String> {
    static LUNAR: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?:农历|阴历)[正一二三四五六七八九十冬腊0-9]+月[初一二三四五六七八九十廿0-9]+"));
    static DATE: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?:(?P<y>[0-9]{2,4}|[零〇一二三四五六七八九]{2,4})年)?(?:(?P<m>[0-9]{1,2}|[一二三四五六七八九十]{1,2})月(?:份)?)?(?:(?P<d>[0-9]{1,2}|[一二三四五六七八九十廿]{1,3})[日号]?)?",
        )
    });
    static ISO: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?P<y>[12][0-9]{3})[-/.](?P<m>[0-9]{1,2})[-/.](?P<d>[0-9]{1,2})|(?:^|[^0-9])(?P<m2>[0-9]{1,2})[/.](?P<d2>[0-9]{1,2})(?:$|[^0-9])",
        )
    });
    if let Some(lunar) = LUNAR.find(text) {
        return Some(lunar.as_str().to_owned());
    }
    if let Some(date) = ISO.captures(text) {
        let number = |name: &str| date.name(name).and_then(|digits| digits.as_str().parse().ok());
        return written(number("y"), number("m").or_else(|| number("m2")), number("d").or_else(|| number("d2")));
    }
    let date = DATE.captures_iter(text).find(|date| date.name("y").is_some() || date.name("m").is_some())?;
    let year = date.name("y").and_then(|year| chinese_year(year.as_str()));
    let number = |name: &str| date.name(name).and_then(|digits| chinese_number(digits.as_str()));
    let day = if date.name("m").is_some() { number("d") } else { None };
    written(year, number("m"), day)
}

/// A birthday said in English, in the same form.
pub(super) fn english_birthday(text: &str) -> Option<String> {
    const MONTHS: &[&str] = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    static NAMED: LazyLock<Regex> = LazyLock::new(|| {
        let month = r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)";
        let day = r"[0-9]{1,2}";
        pattern(&format!(
            r"(?i)\b(?:(?P<m1>{month})\.?(?: the)? (?P<d1>{day})(?:st|nd|rd|th)?\b|(?:the )?(?P<d2>{day})(?:st|nd|rd|th)?(?: of)? (?P<m2>{month})\b|(?P<m3>{month})\b)?(?:,? ?(?:of |in )?(?P<y>(?:19|20)[0-9]{{2}}))?"
        ))
    });
    static NUMERIC: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"\b(?P<y>(?:19|20)[0-9]{2})[-/.](?P<m>[0-9]{1,2})[-/.](?P<d>[0-9]{1,2})\b"));
    if let Some(date) = NUMERIC.captures(text) {
        let number = |name: &str| date.name(name).and_then(|digits| digits.as_str().parse().ok());
        return written(number("y"), number("m"), number("d"));
    }
    let date = NAMED.captures_iter(text).find(|date| date.get(0).is_some_and(|whole| !whole.is_empty()))?;
    let month = ["m1", "m2", "m3"].iter().find_map(|name| date.name(name)).and_then(|month| {
        let month = month.as_str().to_lowercase();
        MONTHS.iter().position(|known| month.starts_with(known)).and_then(|at| u32::try_from(at + 1).ok())
    });
    let day = ["d1", "d2"].iter().find_map(|name| date.name(name)).and_then(|day| day.as_str().parse().ok());
    let year = date.name("y").and_then(|year| year.as_str().parse().ok());
    written(year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_people_say_them() {
        for (said, number) in
            [("28", 28), ("二十八", 28), ("十二", 12), ("三十", 30), ("两", 2), ("廿八", 28), ("一百零二", 102)]
        {
            assert_eq!(chinese_number(said), Some(number), "{said}");
        }
        for (said, number) in [("28", 28), ("twenty-eight", 28), ("forty", 40), ("nineteen", 19), ("two", 2)] {
            assert_eq!(english_number(said), Some(number), "{said}");
        }
        assert_eq!((chinese_number("很多"), english_number("many"), age(Some(300))), (None, None, None));
    }

    #[test]
    fn birthdays_are_written_one_way() {
        for (said, day) in [
            ("1990年5月4日", "1990-05-04"),
            ("五月四号", "05-04"),
            ("90年", "1990"),
            ("一九九〇年十二月", "1990-12"),
            ("10月25号", "10-25"),
            ("农历八月十五", "农历八月十五"),
            ("1988/3/7", "1988-03-07"),
        ] {
            assert_eq!(chinese_birthday(said).as_deref(), Some(day), "{said}");
        }
        for (said, day) in [
            ("May 4th", "05-04"),
            ("the 4th of May", "05-04"),
            ("4 May 1990", "1990-05-04"),
            ("May 4, 1990", "1990-05-04"),
            ("in 1990", "1990"),
            ("October 1990", "1990-10"),
            ("1990-05-04", "1990-05-04"),
        ] {
            assert_eq!(english_birthday(said).as_deref(), Some(day), "{said}");
        }
        assert_eq!((chinese_birthday("明天"), english_birthday("next week")), (None, None));
    }
}
