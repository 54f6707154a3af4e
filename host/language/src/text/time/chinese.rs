//! Times in Chinese.

use jiff::civil::Weekday;

use super::calendar::{Calendar, Days, Unit};

/// Words for a time, longer ones before those they begin with.
const DAYS: [(&str, i64); 8] =
    [("大前天", 3), ("前天", 2), ("昨天", 1), ("昨晚", 1), ("今天", 0), ("今晚", 0), ("明天", -1), ("后天", -2)];
const WEEKS: [(&str, i64); 7] = [("上上", 2), ("上个", 1), ("上", 1), ("这个", 0), ("这", 0), ("本", 0), ("下", -1)];
const WEEK: [&str; 3] = ["星期", "礼拜", "周"];
const MONTHS: [(&str, i64); 6] =
    [("上上个月", 2), ("上个月", 1), ("上月", 1), ("这个月", 0), ("本月", 0), ("下个月", -1)];
const YEARS: [(&str, i64); 4] = [("大前年", 3), ("前年", 2), ("去年", 1), ("今年", 0)];
const UNITS: [(&str, Unit); 9] = [
    ("个星期", Unit::Week),
    ("个礼拜", Unit::Week),
    ("星期", Unit::Week),
    ("周", Unit::Week),
    ("个月", Unit::Month),
    ("天", Unit::Day),
    ("日", Unit::Day),
    ("年", Unit::Year),
    ("个年头", Unit::Year),
];

/// The times a folded text names.
pub(super) fn days(text: &str, calendar: &Calendar) -> Vec<Days> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (days, left) = read(rest, calendar).unwrap_or_else(|| (None, skip(rest, c)));
        found.extend(days);
        rest = left;
    }
    found
}

/// Past one character, or past a whole number: the 3 of 13号 begins no day.
fn skip(rest: &str, c: char) -> &str {
    match number(rest) {
        Some((_, left)) => left,
        None => rest.strip_prefix(c).unwrap_or_default(),
    }
}

/// The time at the start of a text, and what comes after it.
fn read<'a>(text: &'a str, calendar: &Calendar) -> Option<(Option<Days>, &'a str)> {
    if let Some((count, rest)) = one_of(text, &DAYS) {
        return Some((calendar.before(count, Unit::Day), rest));
    }
    if let Some((count, rest)) = one_of(text, &MONTHS) {
        let (first, month) = (calendar.before(count, Unit::Month), calendar.before(count, Unit::Month)?.first);
        return Some(match day(rest) {
            Some((day, rest)) => (calendar.day(day, i64::from(month.month()), Some(i64::from(month.year()))), rest),
            None => (first, rest),
        });
    }
    if let Some((count, rest)) = one_of(text, &YEARS) {
        let year = i64::from(calendar.today.year()) - count;
        return Some(in_year(Some(year), rest, calendar).unwrap_or_else(|| (calendar.year(year), rest)));
    }
    if let Some(found) = week(text, calendar) {
        return Some(found);
    }
    if let Some(rest) = text.strip_prefix("周末") {
        let begun = calendar.before(0, Unit::Weekend).filter(|weekend| weekend.first <= calendar.today);
        return Some((begun.or_else(|| calendar.before(1, Unit::Weekend)), rest));
    }
    if let Some(rest) = text.strip_prefix("半年前") {
        return Some((calendar.ago(6, Unit::Month), rest));
    }
    counted(text, calendar)
}

/// 上周五, 这个星期天, 上周.
fn week<'a>(text: &'a str, calendar: &Calendar) -> Option<(Option<Days>, &'a str)> {
    let (count, rest) = one_of(text, &WEEKS)?;
    let rest = WEEK.iter().find_map(|week| rest.strip_prefix(week))?;
    if let Some(rest) = rest.strip_prefix('末') {
        return Some((calendar.before(count, Unit::Weekend), rest));
    }
    let day = rest.chars().next().and_then(|c| Some((weekday(c)?, rest.strip_prefix(c)?)));
    Some(match day {
        Some((day, rest)) => (calendar.weekday(day, count), rest),
        None => (calendar.before(count, Unit::Week), rest),
    })
}

/// What begins with a number: 三天前, 2023年5月4日, 5月, 4号.
fn counted<'a>(text: &'a str, calendar: &Calendar) -> Option<(Option<Days>, &'a str)> {
    let (count, rest) = number(text)?;
    if let Some((unit, rest)) = one_of(rest, &UNITS)
        && let Some(rest) =
            rest.strip_prefix('前').or_else(|| rest.strip_prefix("之前")).or_else(|| rest.strip_prefix("以前"))
    {
        return Some((calendar.ago(count, unit), rest));
    }
    if (1900..=2200).contains(&count)
        && let Some(rest) = rest.strip_prefix('年')
    {
        return Some(in_year(Some(count), rest, calendar).unwrap_or_else(|| (calendar.year(count), rest)));
    }
    if let Some(found) = in_year(None, text, calendar) {
        return Some(found);
    }
    let (day, rest) = day(text)?;
    // 3号楼 is a house.
    let alone = rest.chars().next().is_none_or(|next| !"楼线门院室馆机位桌码".contains(next));
    (alone && text.contains('号')).then(|| (calendar.day_of_month(day), rest))
}

/// A month, with its day where one follows.
fn in_year<'a>(year: Option<i64>, text: &'a str, calendar: &Calendar) -> Option<(Option<Days>, &'a str)> {
    let (month, rest) = number(text).filter(|(month, _)| (1..=12).contains(month))?;
    let rest = rest.strip_prefix("月份").or_else(|| rest.strip_prefix('月'))?;
    Some(match day(rest) {
        Some((day, rest)) => (calendar.day(day, month, year), rest),
        None => (calendar.month(month, year), rest),
    })
}

fn day(text: &str) -> Option<(i64, &str)> {
    let (day, rest) = number(text).filter(|(day, _)| (1..=31).contains(day))?;
    Some((day, rest.strip_prefix(['日', '号'])?))
}

fn weekday(c: char) -> Option<Weekday> {
    let at = match c {
        '一' | '1' => 0,
        '二' | '2' => 1,
        '三' | '3' => 2,
        '四' | '4' => 3,
        '五' | '5' => 4,
        '六' | '6' => 5,
        '日' | '天' | '7' => 6,
        _ => return None,
    };
    Weekday::from_monday_zero_offset(at).ok()
}

/// The first of these words that a text begins with, what it stands for, and what comes after it.
fn one_of<'a, T: Copy>(text: &'a str, words: &[(&str, T)]) -> Option<(T, &'a str)> {
    words.iter().find_map(|(word, meaning)| Some((*meaning, text.strip_prefix(word)?)))
}

/// The number at the start of a text, in digits or in characters up to 99, and what comes after it.
fn number(text: &str) -> Option<(i64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 {
        let (number, rest) = text.split_at_checked(digits)?;
        return Some((number.parse().unwrap_or(i64::MAX), rest.trim_start_matches(' ')));
    }
    let (mut sum, mut last, mut rest) = (0, None, text);
    while let Some(c) = rest.chars().next() {
        match digit(c) {
            Some(digit) => last = Some(digit),
            None if c == '十' => {
                sum = last.take().unwrap_or(1) * 10;
            }
            None => break,
        }
        rest = rest.strip_prefix(c)?;
        if sum > 0 && last.is_some() {
            break;
        }
    }
    (rest.len() < text.len()).then_some((sum + last.unwrap_or(0), rest))
}

fn digit(c: char) -> Option<i64> {
    if c == '两' {
        return Some(2);
    }
    "零一二三四五六七八九".chars().position(|digit| digit == c).and_then(|at| i64::try_from(at).ok())
}
