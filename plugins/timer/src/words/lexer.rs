//! Cuts words about time into tokens, Chinese and English alike.

use crate::schedule::Sun;

/// A length of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

/// A part of the day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// 凌晨, am: as the number says, and 12 is midnight.
    Early,
    Morning,
    Noon,
    Afternoon,
    /// evening, 傍晚: before midnight.
    Evening,
    /// 晚上, tonight: it goes on behind midnight.
    Night,
    /// 半夜: around midnight.
    DeadOfNight,
    Midnight,
}

/// A piece of what was said that means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Number(u32),
    Half,
    /// `9:30`, and whether it is written as of 24 hours: `09:30`.
    Clock(u32, u32, bool),
    /// `1st`, 1号: a day of a month.
    Ordinal(u32),
    Unit(Unit),
    /// 分 behind an hour, minutes elsewhere.
    Fen,
    /// 点, o'clock.
    Point,
    /// 刻.
    Quarter,
    /// 号, 日.
    DayOfMonth,
    /// 月, behind a number.
    MonthNumber,
    /// December.
    Month(u32),
    Every,
    /// 隔: so much lies between.
    Apart,
    /// `in`.
    In,
    /// 后, `from now`; `after` before a sunrise.
    After,
    /// 前, before.
    Before,
    /// `at`.
    At,
    Part(Part),
    /// `pm`.
    Pm,
    /// So many days from today.
    Day(i64),
    /// Of a week, Monday is 1.
    Weekday(u32),
    Workdays,
    Weekend,
    /// 下: of the next week or month.
    OfNext,
    /// next.
    Next,
    /// 这, this.
    This,
    /// 到, to: between two weekdays.
    To,
    Sun(Sun),
}

use Token::{
    After, Apart, At, Before, Day, DayOfMonth, Every, Fen, Half, In, Month, MonthNumber, Next, Number, OfNext, Pm,
    Point, Quarter, This, To, Weekday, Weekend, Workdays,
};

/// What means nothing by itself.
const FILLERS: &[&str] = &[
    "the",
    "of",
    "on",
    "and",
    "sharp",
    "o",
    "整",
    "钟",
    "个",
    "的",
    "在",
    "于",
    "和",
    "、",
    "，",
    ",",
    "。",
    ".",
    "；",
    ";",
    "?",
    "？",
    "请",
    "都",
    "過",
    "过",
    "提醒",
    "提醒我",
    "叫我",
    "please",
    "remind me",
];

const SUNRISE: Token = Token::Sun(Sun::Sunrise);
const SUNSET: Token = Token::Sun(Sun::Sunset);

#[rustfmt::skip]
const PHRASES: &[(&str, &[Token])] = &[
    ("every", &[Every]), ("each", &[Every]), ("daily", &[Every, Token::Unit(Unit::Day)]),
    ("yearly", &[Every, Token::Unit(Unit::Year)]), ("every year", &[Every, Token::Unit(Unit::Year)]),
    ("每年", &[Every, Token::Unit(Unit::Year)]), ("隔", &[Apart]), ("hourly", &[Every, Token::Unit(Unit::Hour)]), ("weekly", &[Every, Token::Unit(Unit::Week)]),
    ("monthly", &[Every, Token::Unit(Unit::Month)]), ("every other day", &[Every, Number(2), Token::Unit(Unit::Day)]),
    ("每", &[Every]), ("毎", &[Every]), ("天天", &[Every, Token::Unit(Unit::Day)]),
    ("in", &[In]), ("after", &[After]), ("from now", &[After]), ("later", &[After]), ("before", &[Before]), ("at", &[At]),
    ("后", &[After]), ("後", &[After]), ("以后", &[After]), ("之后", &[After]), ("过后", &[After]), ("前", &[Before]),
    ("之前", &[Before]), ("以前", &[Before]),
    ("a", &[Number(1)]), ("an", &[Number(1)]), ("one", &[Number(1)]), ("two", &[Number(2)]), ("three", &[Number(3)]),
    ("four", &[Number(4)]), ("five", &[Number(5)]), ("six", &[Number(6)]), ("seven", &[Number(7)]),
    ("eight", &[Number(8)]), ("nine", &[Number(9)]), ("ten", &[Number(10)]), ("eleven", &[Number(11)]),
    ("twelve", &[Number(12)]), ("fifteen", &[Number(15)]), ("twenty", &[Number(20)]), ("thirty", &[Number(30)]),
    ("half", &[Half]), ("and a half", &[Half]), ("half a", &[Half]), ("half an", &[Half]), ("半", &[Half]), ("半个", &[Half]),
    ("second", &[Token::Unit(Unit::Second)]), ("seconds", &[Token::Unit(Unit::Second)]),
    ("sec", &[Token::Unit(Unit::Second)]), ("secs", &[Token::Unit(Unit::Second)]), ("s", &[Token::Unit(Unit::Second)]),
    ("秒", &[Token::Unit(Unit::Second)]), ("秒钟", &[Token::Unit(Unit::Second)]),
    ("minute", &[Token::Unit(Unit::Minute)]), ("minutes", &[Token::Unit(Unit::Minute)]),
    ("min", &[Token::Unit(Unit::Minute)]), ("mins", &[Token::Unit(Unit::Minute)]), ("m", &[Token::Unit(Unit::Minute)]),
    ("分钟", &[Token::Unit(Unit::Minute)]), ("分", &[Fen]),
    ("hour", &[Token::Unit(Unit::Hour)]), ("hours", &[Token::Unit(Unit::Hour)]), ("hr", &[Token::Unit(Unit::Hour)]),
    ("hrs", &[Token::Unit(Unit::Hour)]), ("h", &[Token::Unit(Unit::Hour)]), ("小时", &[Token::Unit(Unit::Hour)]),
    ("个小时", &[Token::Unit(Unit::Hour)]), ("钟头", &[Token::Unit(Unit::Hour)]), ("个钟头", &[Token::Unit(Unit::Hour)]),
    ("day", &[Token::Unit(Unit::Day)]), ("days", &[Token::Unit(Unit::Day)]), ("d", &[Token::Unit(Unit::Day)]),
    ("天", &[Token::Unit(Unit::Day)]), ("week", &[Token::Unit(Unit::Week)]), ("weeks", &[Token::Unit(Unit::Week)]),
    ("周", &[Token::Unit(Unit::Week)]), ("星期", &[Token::Unit(Unit::Week)]), ("个星期", &[Token::Unit(Unit::Week)]),
    ("礼拜", &[Token::Unit(Unit::Week)]), ("个礼拜", &[Token::Unit(Unit::Week)]),
    ("month", &[Token::Unit(Unit::Month)]), ("months", &[Token::Unit(Unit::Month)]),
    ("个月", &[Token::Unit(Unit::Month)]), ("月", &[MonthNumber]), ("月份", &[MonthNumber]),
    ("点", &[Point]), ("點", &[Point]), ("点钟", &[Point]), ("时", &[Point]), ("o'clock", &[Point]), ("oclock", &[Point]),
    ("刻", &[Quarter]), ("刻钟", &[Quarter]), ("号", &[DayOfMonth]), ("號", &[DayOfMonth]), ("日", &[DayOfMonth]),
    ("am", &[Token::Part(Part::Early)]), ("a.m.", &[Token::Part(Part::Early)]), ("pm", &[Pm]), ("p.m.", &[Pm]),
    ("in the morning", &[Token::Part(Part::Morning)]), ("morning", &[Token::Part(Part::Morning)]),
    ("in the afternoon", &[Token::Part(Part::Afternoon)]), ("afternoon", &[Token::Part(Part::Afternoon)]),
    ("in the evening", &[Token::Part(Part::Evening)]), ("evening", &[Token::Part(Part::Evening)]),
    ("at night", &[Token::Part(Part::Night)]), ("night", &[Token::Part(Part::Night)]),
    ("noon", &[Token::Part(Part::Noon)]), ("midday", &[Token::Part(Part::Noon)]),
    ("midnight", &[Token::Part(Part::Midnight)]), ("午夜", &[Token::Part(Part::Midnight)]),
    ("半夜", &[Token::Part(Part::DeadOfNight)]), ("深夜", &[Token::Part(Part::DeadOfNight)]), ("凌晨", &[Token::Part(Part::Early)]), ("清晨", &[Token::Part(Part::Morning)]),
    ("早上", &[Token::Part(Part::Morning)]), ("早晨", &[Token::Part(Part::Morning)]), ("早", &[Token::Part(Part::Morning)]),
    ("上午", &[Token::Part(Part::Morning)]), ("中午", &[Token::Part(Part::Noon)]), ("正午", &[Token::Part(Part::Noon)]),
    ("下午", &[Token::Part(Part::Afternoon)]), ("午后", &[Token::Part(Part::Afternoon)]),
    ("傍晚", &[Token::Part(Part::Evening)]), ("晚上", &[Token::Part(Part::Night)]), ("晚", &[Token::Part(Part::Night)]),
    ("夜里", &[Token::Part(Part::DeadOfNight)]), ("夜晚", &[Token::Part(Part::Night)]),
    ("today", &[Day(0)]), ("tonight", &[Day(0), Token::Part(Part::Night)]), ("tomorrow", &[Day(1)]),
    ("the day after tomorrow", &[Day(2)]), ("day after tomorrow", &[Day(2)]),
    ("今天", &[Day(0)]), ("今日", &[Day(0)]), ("今", &[Day(0)]), ("明天", &[Day(1)]), ("明日", &[Day(1)]), ("明", &[Day(1)]),
    ("后天", &[Day(2)]), ("後天", &[Day(2)]), ("大后天", &[Day(3)]), ("大後天", &[Day(3)]),
    ("monday", &[Weekday(1)]), ("tuesday", &[Weekday(2)]), ("wednesday", &[Weekday(3)]), ("thursday", &[Weekday(4)]),
    ("friday", &[Weekday(5)]), ("saturday", &[Weekday(6)]), ("sunday", &[Weekday(7)]), ("mondays", &[Every, Weekday(1)]),
    ("tuesdays", &[Every, Weekday(2)]), ("wednesdays", &[Every, Weekday(3)]), ("thursdays", &[Every, Weekday(4)]),
    ("fridays", &[Every, Weekday(5)]), ("saturdays", &[Every, Weekday(6)]), ("sundays", &[Every, Weekday(7)]), ("mon", &[Weekday(1)]), ("tue", &[Weekday(2)]),
    ("wed", &[Weekday(3)]), ("thu", &[Weekday(4)]), ("fri", &[Weekday(5)]), ("sat", &[Weekday(6)]), ("sun", &[Weekday(7)]),
    ("weekday", &[Workdays]), ("weekdays", &[Workdays]), ("workday", &[Workdays]), ("workdays", &[Workdays]),
    ("工作日", &[Workdays]), ("weekend", &[Weekend]), ("weekends", &[Every, Weekend]), ("周末", &[Weekend]),
    ("next", &[Next]), ("下", &[OfNext]), ("下个", &[OfNext]), ("this", &[This]), ("这", &[This]), ("这个", &[This]),
    ("本", &[This]), ("to", &[To]), ("through", &[To]), ("-", &[To]), ("到", &[To]),
    ("至", &[To]), ("sunrise", &[SUNRISE]), ("日出", &[SUNRISE]), ("sunset", &[SUNSET]), ("日落", &[SUNSET]),
    ("january", &[Month(1)]), ("february", &[Month(2)]), ("march", &[Month(3)]), ("april", &[Month(4)]), ("may", &[Month(5)]),
    ("june", &[Month(6)]), ("july", &[Month(7)]), ("august", &[Month(8)]), ("september", &[Month(9)]),
    ("october", &[Month(10)]), ("november", &[Month(11)]), ("december", &[Month(12)]), ("jan", &[Month(1)]),
    ("feb", &[Month(2)]), ("mar", &[Month(3)]), ("apr", &[Month(4)]), ("jun", &[Month(6)]), ("jul", &[Month(7)]),
    ("aug", &[Month(8)]), ("sep", &[Month(9)]), ("oct", &[Month(10)]), ("nov", &[Month(11)]), ("dec", &[Month(12)]),
];

/// What stands before the name of a weekday.
const WEEK: &[&str] = &["周", "星期", "礼拜"];

/// Cuts a text, which is lower-case already. Fails with the piece that means nothing.
pub(super) fn lex(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let taken =
            weekdays(rest, &mut tokens).or_else(|| phrase(rest, &mut tokens)).or_else(|| number(rest, &mut tokens));
        let taken = taken.or_else(|| FILLERS.iter().filter(|filler| is_there(rest, filler)).map(|it| it.len()).max());
        let Some(taken) = taken.filter(|taken| *taken > 0) else {
            let piece: String = rest.chars().take_while(|c| !c.is_whitespace()).take(24).collect();
            return Err(piece);
        };
        rest = rest[taken..].trim_start();
    }
    Ok(tokens)
}

/// 周一三五, 星期天: returns how many bytes were taken.
fn weekdays(rest: &str, tokens: &mut Vec<Token>) -> Option<usize> {
    // 每个星期六; two weeks are 两个星期.
    let begin = if tokens.last() == Some(&Every) { rest.strip_prefix('个').unwrap_or(rest) } else { rest };
    let after = WEEK.iter().find_map(|week| begin.strip_prefix(week))?;
    let (mut left, before) = (after, tokens.len());
    while let Some(day) = left.chars().next().and_then(weekday) {
        let next = &left[left.chars().next().map_or(0, char::len_utf8)..];
        // 周一三点 is three o'clock on Monday.
        let is_first = left.len() == after.len();
        let is_digit = left.starts_with(|c: char| c.is_ascii_digit());
        let is_hour = next.starts_with(['点', '點', '时', ':', '：', '分']);
        if is_first && is_digit && (is_hour || next.starts_with(|c: char| c.is_ascii_digit())) {
            return None;
        }
        if !is_first && (is_hour || is_digit) {
            break;
        }
        // 周五二十点 is eight in the evening; 周一二十点 may be that, or ten on two days.
        if !is_first && day == 2 && next.starts_with('十') {
            if tokens.last() == Some(&Weekday(1)) {
                tokens.truncate(before);
                return None;
            }
            break;
        }
        tokens.push(Weekday(day));
        left = next;
    }
    (left.len() < after.len()).then(|| rest.len() - left.len())
}

fn weekday(c: char) -> Option<u32> {
    let days = ['一', '二', '三', '四', '五', '六'];
    match c {
        '日' | '天' | '7' => Some(7),
        '1'..='6' => c.to_digit(10),
        _ => days.iter().position(|day| *day == c).and_then(|at| u32::try_from(at + 1).ok()),
    }
}

fn phrase(rest: &str, tokens: &mut Vec<Token>) -> Option<usize> {
    let longest = PHRASES.iter().filter(|(words, _)| is_there(rest, words)).max_by_key(|(words, _)| words.len())?;
    tokens.extend_from_slice(longest.1);
    Some(longest.0.len())
}

/// Whether a text begins with these words, which no further letter may follow.
fn is_there(rest: &str, words: &str) -> bool {
    let ends_in_letter = words.ends_with(|c: char| c.is_ascii_alphabetic());
    rest.strip_prefix(words)
        .is_some_and(|after| !(ends_in_letter && after.starts_with(|c: char| c.is_ascii_alphabetic())))
}

fn number(rest: &str, tokens: &mut Vec<Token>) -> Option<usize> {
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits == 0 {
        return chinese_number(rest, tokens);
    }
    if digits > 5 {
        return None;
    }
    let number: u32 = rest[..digits].parse().ok()?;
    let after = &rest[digits..];
    if let Some(minutes) = after.strip_prefix(':').and_then(|after| after.get(..2)).and_then(|it| it.parse().ok()) {
        tokens.push(Token::Clock(number, minutes, rest.starts_with('0')));
        return Some(digits + 3);
    }
    if let Some(suffix) = ["st", "nd", "rd", "th"].into_iter().find(|suffix| is_there(after, suffix)) {
        tokens.push(Token::Ordinal(number));
        return Some(digits + suffix.len());
    }
    tokens.push(Number(number));
    Some(digits)
}

/// 两, 十五, 三十, 二十三.
fn chinese_number(rest: &str, tokens: &mut Vec<Token>) -> Option<usize> {
    let digit = |c: char| match c {
        '零' | '〇' => Some(0),
        '两' | '兩' => Some(2),
        _ => "一二三四五六七八九".chars().position(|digit| digit == c).and_then(|at| u32::try_from(at + 1).ok()),
    };
    let (mut number, mut bytes, mut tens, mut pending) = (0, 0, false, None);
    for c in rest.chars() {
        match (c, digit(c)) {
            ('十', _) if !tens => {
                number = pending.take().unwrap_or(1) * 10;
                tens = true;
            }
            (_, Some(digit)) if pending.is_none() || pending == Some(0) => pending = Some(digit),
            _ => break,
        }
        bytes += c.len_utf8();
    }
    (bytes > 0).then(|| {
        tokens.push(Number(number + pending.unwrap_or(0)));
        bytes
    })
}
