//! Reads words about time, where they are plain.

mod clock;
mod lexer;

use homeagent_sdk::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::{ToSpan as _, Zoned};

use self::clock::Hour;
use self::lexer::{Token, Unit, lex};
use crate::schedule::{self, Here, LARGEST_SHIFT, LONGEST, SHORTEST, Schedule, Sun, timestamp};

/// The longest text that is read, in bytes.
const LONGEST_TEXT: usize = 256;

/// What is said where nothing is understood.
const HELP: &str = "Give ISO 8601, such as 2026-12-24T18:00, a cron expression of five fields, such as `30 18 * * 1-5`, or \
                    plain words, such as `in 20 minutes`, `every weekday at 18:30`, `明天早上九点`, `每天日落前30分钟`";

/// Reads when a timer is due, said at `now`.
pub(crate) fn parse(text: &str, now: Timestamp, here: &Here) -> Result<Schedule, String> {
    let text = text.trim();
    if text.is_empty() || text.len() > LONGEST_TEXT {
        return Err(format!("when the timer is due has 1 to {LONGEST_TEXT} bytes. {HELP}"));
    }
    if let Some(at) = iso(text, here) {
        return at.map(Schedule::Once);
    }
    if looks_like_cron(text) {
        schedule::cron(text).map_err(|reason| format!("{reason} {HELP}"))?;
        let seconds = text.split_whitespace().rev().nth(5).unwrap_or("0");
        if !seconds.chars().all(|c| c.is_ascii_digit()) {
            return Err(format!("{text:?} is due more often than each minute. {HELP}"));
        }
        return Ok(Schedule::Cron(text.split_whitespace().collect::<Vec<_>>().join(" ")));
    }
    let said = normalised(text);
    let tokens = lex(&said).map_err(|piece| format!("`{piece}` in {text:?} was not understood. {HELP}"))?;
    let parsed = Said::read(&tokens).and_then(|said| said.schedule(now, here));
    parsed.map_err(|reason| format!("{text:?} was not understood: {reason}. {HELP}"))
}

/// Lower case, with the digits and the signs of ASCII.
fn normalised(text: &str) -> String {
    let narrow = |c: char| match c {
        '０'..='９' => char::from_u32(u32::from(c) - u32::from('０') + u32::from('0')).unwrap_or(c),
        '：' => ':',
        '　' => ' ',
        '—' | '–' | '~' | '～' => '-',
        '鐘' => '钟',
        '週' => '周',
        '禮' => '礼',
        '時' => '时',
        '個' => '个',
        '分' | '秒' => c,
        c => c,
    };
    text.chars().map(narrow).flat_map(char::to_lowercase).collect()
}

fn looks_like_cron(text: &str) -> bool {
    let fields = text.split_whitespace().count();
    (5..=6).contains(&fields)
        && text.split_whitespace().take(2).all(|field| field.chars().all(|c| c.is_ascii_digit() || "*/,-".contains(c)))
}

/// A moment in ISO 8601; without an offset it is the user's time.
fn iso(text: &str, here: &Here) -> Option<Result<Timestamp, String>> {
    if !(text.as_bytes().get(4) == Some(&b'-') && text.starts_with(|c: char| c.is_ascii_digit())) {
        return None;
    }
    let zoned = if let Ok(zoned) = text.parse::<Zoned>() {
        zoned
    } else if let Ok(moment) = text.parse::<jiff::Timestamp>() {
        moment.to_zoned(here.zone.clone())
    } else {
        match text.parse::<DateTime>() {
            Ok(local) if text.len() > "2026-12-24".len() => {
                return Some(here.moment(local).ok_or_else(|| format!("{text:?} is no time. {HELP}")));
            }
            Ok(_) => return Some(Err(format!("{text:?} says no time of day. {HELP}"))),
            Err(error) => return Some(Err(format!("{text:?} is no time: {error}. {HELP}"))),
        }
    };
    Some(Ok(timestamp(&zoned)))
}

/// Which of the weekdays or months of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    ThisWeek,
    NextWeek,
    /// In English that of this week may be meant where it is still to come.
    Next,
    NextMonth,
}

/// What was said, piece by piece.
#[derive(Clone, Debug, Default, PartialEq)]
struct Said {
    every: bool,
    /// The duration counts from now.
    from_now: bool,
    before: bool,
    /// After a sunrise or sunset.
    after: bool,
    /// 隔: the lengths lie between.
    apart: bool,
    /// How long, in the units that were said, halves doubled.
    lengths: Vec<(u32, Unit)>,
    /// The unit of `every day`, without a number.
    bare: Option<Unit>,
    hour: Hour,
    day: Option<i64>,
    weekdays: Vec<u32>,
    month: Option<u32>,
    day_of_month: Option<u32>,
    which: Option<Which>,
    sun: Option<Sun>,
}

impl Said {
    fn read(tokens: &[Token]) -> Result<Self, String> {
        let mut said = Self::default();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += said.take(*token, &tokens[at + 1..])? + 1;
        }
        Ok(said)
    }

    /// Takes a token, and as many of those behind it as this returns.
    fn take(&mut self, token: Token, rest: &[Token]) -> Result<usize, String> {
        let once = |slot: &mut Option<u32>, value: u32| match slot.replace(value) {
            None => Ok(()),
            Some(_) => Err("a date is said twice".to_owned()),
        };
        match (token, rest) {
            (Token::Every, _) => self.every = true,
            (Token::In, _) => self.from_now = true,
            (Token::After, _) if self.sun.is_some() || rest.iter().any(|token| matches!(token, Token::Sun(_))) => {
                self.after = true;
            }
            (Token::After, _) => self.from_now = true,
            (Token::Before, _) => self.before = true,
            (Token::Apart, _) if self.every => self.apart = true,
            (Token::Next | Token::OfNext, [Token::Unit(Unit::Month) | Token::MonthNumber, ..])
                if self.which.is_none() =>
            {
                self.which = Some(Which::NextMonth);
                return Ok(1);
            }
            (Token::Next, [Token::Weekday(_), ..]) if self.which.is_none() => self.which = Some(Which::Next),
            (Token::OfNext, [Token::Weekday(_), ..]) if self.which.is_none() => self.which = Some(Which::NextWeek),
            (Token::This, [Token::Weekday(_), ..]) if self.which.is_none() => self.which = Some(Which::ThisWeek),
            (Token::This, [Token::Part(_), ..]) if self.day.is_none() => self.day = Some(0),
            (Token::Number(n), [Token::Half, Token::Unit(unit), ..]) => {
                self.lengths.push((n * 2 + 1, *unit));
                return Ok(2);
            }
            (Token::Number(n), [Token::Unit(unit), Token::Half, ..]) if *unit != Unit::Minute => {
                self.lengths.push((n * 2 + 1, *unit));
                return Ok(2);
            }
            (Token::Half, [Token::Unit(unit), ..]) => {
                self.lengths.push((1, *unit));
                return Ok(1);
            }
            (Token::Number(n), [Token::Unit(unit), ..]) => {
                self.lengths.push((n * 2, *unit));
                return Ok(1);
            }
            // 一刻钟后, 十分后.
            (Token::Number(n), [Token::Quarter, ..]) => {
                self.lengths.push((n * 30, Unit::Minute));
                return Ok(1);
            }
            (Token::Number(n), [Token::Fen, ..]) => {
                self.lengths.push((n * 2, Unit::Minute));
                return Ok(1);
            }
            (Token::Unit(unit), _) if self.every && self.bare.is_none() => self.bare = Some(unit),
            (Token::Number(month), [Token::MonthNumber, ..]) => {
                once(&mut self.month, month)?;
                return Ok(1);
            }
            // 每月: a unit.
            (Token::MonthNumber, _) if self.every && self.bare.is_none() => self.bare = Some(Unit::Month),
            (Token::Number(day), [Token::DayOfMonth, ..]) | (Token::Number(day), [Token::Month(_), ..]) => {
                once(&mut self.day_of_month, day)?;
                return Ok(usize::from(matches!(rest[0], Token::DayOfMonth)));
            }
            (Token::DayOfMonth, _) if self.every && self.bare.is_none() => self.bare = Some(Unit::Day),
            (Token::Month(month), [Token::Number(day), ..]) if self.day_of_month.is_none() => {
                once(&mut self.month, month)?;
                once(&mut self.day_of_month, *day)?;
                return Ok(1);
            }
            (Token::Month(month), _) => once(&mut self.month, month)?,
            (Token::Ordinal(day), _) => once(&mut self.day_of_month, day)?,
            (Token::Weekday(from), [Token::To, Token::Weekday(to), ..]) if from < *to => {
                self.weekdays.extend(from..=*to);
                return Ok(2);
            }
            (Token::Weekday(day), _) => self.weekdays.push(day),
            (Token::Workdays, _) => self.weekdays.extend(1..=5),
            (Token::Weekend, _) => self.weekdays.extend(6..=7),
            (Token::Day(day), _) if self.day.is_none() => self.day = Some(day),
            (Token::Sun(event), _) if self.sun.is_none() => self.sun = Some(event),
            _ => return self.hour.take(token, rest),
        }
        Ok(0)
    }

    fn schedule(mut self, now: Timestamp, here: &Here) -> Result<Schedule, String> {
        self.weekdays.sort_unstable();
        self.weekdays.dedup();
        if let Some(event) = self.sun {
            return self.by_sun(event, now, here);
        }
        if self.before {
            return Err("before what".to_owned());
        }
        match (self.every, self.lengths.is_empty()) {
            (true, false) => self.interval(now),
            (true, true) => self.repeated(now),
            // 工作日九点, monday to friday at 9: that is all of them.
            (false, true) if self.weekdays == [1, 2, 3, 4, 5] => self.repeated(now),
            (false, false) => self.after_a_while(now, here),
            (false, true) => self.once(now, here),
        }
    }

    fn by_sun(self, event: Sun, now: Timestamp, here: &Here) -> Result<Schedule, String> {
        let is_dated = !self.weekdays.is_empty() || self.month.is_some() || self.day_of_month.is_some();
        if self.hour.is_said() || is_dated || self.from_now || self.which.is_some() || self.apart {
            return Err("a sunrise or sunset goes with a day or `every day` alone".to_owned());
        }
        if (self.before && self.after) || (self.before || self.after) == self.lengths.is_empty() {
            return Err("how long before or after it".to_owned());
        }
        let minutes = i64::try_from(self.milliseconds()? / 60_000).unwrap_or(i64::MAX);
        if minutes > LARGEST_SHIFT {
            return Err("that is too long before or after".to_owned());
        }
        let minutes = if self.before { -minutes } else { minutes };
        let schedule = Schedule::Sun { event, minutes };
        if self.every {
            return match self.bare {
                Some(Unit::Day) | None if self.day.is_none() => Ok(schedule),
                _ => Err("the sun goes by days".to_owned()),
            };
        }
        let (first, last) = self.day.map_or((0, 1), |day| (day, day));
        let from = timestamp(&midnight(now, first, here)?).saturating_sub(1).max(now);
        let end = timestamp(&midnight(now, last + 1, here)?);
        let at = schedule.next(from, here)?.filter(|at| *at < end);
        at.map(Schedule::Once).ok_or_else(|| "the sun does not do that there on that day, or has done it".to_owned())
    }

    /// How long, where it is said in units of one length.
    fn milliseconds(&self) -> Result<u64, String> {
        let length = |unit| match unit {
            Unit::Second => Ok(1_000),
            Unit::Minute => Ok(60_000),
            Unit::Hour => Ok(3_600_000),
            Unit::Day => Ok(schedule::DAY),
            Unit::Week => Ok(7 * schedule::DAY),
            Unit::Month | Unit::Year => Err("months have no fixed length".to_owned()),
        };
        self.lengths.iter().map(|(halves, unit)| Ok(u64::from(*halves) * (length(*unit)? / 2))).sum()
    }

    fn interval(mut self, now: Timestamp) -> Result<Schedule, String> {
        if self.hour.is_said() || self.is_dated() || self.from_now || self.bare.is_some() {
            return Err("an interval goes with no time of day and no date; a cron expression can say that".to_owned());
        }
        if self.apart {
            match self.lengths.as_mut_slice() {
                // 每隔一天 is every other day, 每隔十分钟 every ten minutes.
                [(halves @ 2, Unit::Day | Unit::Week)] => *halves = 4,
                [(_, Unit::Second | Unit::Minute | Unit::Hour)] => {}
                _ => return Err("are the days between counted, or not".to_owned()),
            }
        }
        match self.milliseconds()? {
            milliseconds @ SHORTEST..=LONGEST => Ok(Schedule::Every { milliseconds, from: now }),
            _ => Err("an interval has a minute at least and ten years at most".to_owned()),
        }
    }

    fn is_dated(&self) -> bool {
        let by_day = self.day.is_some() || self.day_of_month.is_some();
        by_day || !self.weekdays.is_empty() || self.month.is_some() || self.which.is_some()
    }

    fn repeated(self, now: Timestamp) -> Result<Schedule, String> {
        let whole = match self.bare {
            Some(Unit::Hour) => Some(3_600_000),
            Some(Unit::Minute) => Some(60_000),
            _ => None,
        };
        if let Some(milliseconds) = whole.filter(|_| !self.hour.is_said() && !self.is_dated()) {
            return Ok(Schedule::Every { milliseconds, from: now });
        }
        if self.day.is_some() || self.which.is_some() || self.from_now || self.apart {
            return Err("what repeats begins by itself".to_owned());
        }
        let (hour, minute, past_midnight) = self.hour.time()?;
        let is_daily = self.bare.is_none_or(|unit| unit == Unit::Day) && !self.is_dated();
        if past_midnight && !is_daily {
            return Err("on which of both days that is; say it as of 0:00".to_owned());
        }
        let date = match (self.day_of_month, self.month, self.weekdays.as_slice(), self.bare) {
            (None, None, [], Some(Unit::Day) | None) => "* * *".to_owned(),
            (None, None, days, None | Some(Unit::Week | Unit::Day))
                if !days.is_empty() && (days.len() > 1 || self.bare != Some(Unit::Day)) =>
            {
                let days: Vec<String> = days.iter().map(|day| (day % 7).to_string()).collect();
                format!("* * {}", days.join(","))
            }
            (Some(day @ 1..=31), None, [], Some(Unit::Month)) => format!("{day} * *"),
            (Some(day @ 1..=31), Some(month @ 1..=12), [], None | Some(Unit::Year)) => format!("{day} {month} *"),
            _ => return Err("on which days".to_owned()),
        };
        let expression = format!("{minute} {hour} {date}");
        schedule::cron(&expression)?;
        Ok(Schedule::Cron(expression))
    }

    fn after_a_while(self, now: Timestamp, here: &Here) -> Result<Schedule, String> {
        if !self.from_now || self.is_dated() {
            return Err("is that from now on, or how often".to_owned());
        }
        let mut at = here.zoned(now);
        for (halves, unit) in &self.lengths {
            let whole = i64::from(halves / 2);
            let span = match unit {
                Unit::Month if halves % 2 == 0 => whole.months(),
                Unit::Month | Unit::Year => return Err("that has no fixed length".to_owned()),
                Unit::Week if halves % 2 == 0 => whole.weeks(),
                Unit::Day if halves % 2 == 0 => whole.days(),
                Unit::Week => (i64::from(*halves) * 84).hours(),
                Unit::Day => (i64::from(*halves) * 12).hours(),
                Unit::Hour => (i64::from(*halves) * 30).minutes(),
                Unit::Minute => (i64::from(*halves) * 30).seconds(),
                Unit::Second => (i64::from(*halves) * 500).milliseconds(),
            };
            at = at.checked_add(span).map_err(|_| "that is too far away".to_owned())?;
        }
        if self.hour.is_said() {
            let whole_days =
                |(halves, unit): &(u32, Unit)| halves % 2 == 0 && matches!(unit, Unit::Day | Unit::Week | Unit::Month);
            if !self.lengths.iter().all(whole_days) {
                return Err("a time of day goes with whole days".to_owned());
            }
            return self.hour.on(at.date(), here).map(Schedule::Once);
        }
        Ok(Schedule::Once(timestamp(&at)))
    }

    fn once(self, now: Timestamp, here: &Here) -> Result<Schedule, String> {
        if self.from_now {
            return Err("how long from now".to_owned());
        }
        let today = here.zoned(now).date();
        let broken = |_| "there is no such date".to_owned();
        let is_dated = self.is_dated() && self.day != Some(0);
        if is_dated && self.hour.is_between_days() {
            return Err("on which of both days that is, behind midnight; say it as of 凌晨, or `am`".to_owned());
        }
        if self.which.is_some() && self.weekdays.is_empty() && self.which != Some(Which::NextMonth) {
            return Err("next what".to_owned());
        }
        let date: Option<Date> = match (self.day, self.weekdays.as_slice(), self.month, self.day_of_month) {
            (Some(day), [], None, None) if self.which.is_none() => Some(today.checked_add(day.days()).map_err(broken)?),
            (None, [weekday], None, None) if self.which != Some(Which::NextMonth) => {
                return self.on_weekday(*weekday, now, today, here);
            }
            (None, [], month, Some(day)) => return self.on_day(month, day, now, today, here),
            (None, [], None, None) if self.which.is_none() => None,
            _ => return Err("on which day".to_owned()),
        };
        // In the night that has not ended yet.
        if !is_dated && self.hour.time()?.2 {
            let at = self.hour.on(today.yesterday().map_err(broken)?, here)?;
            if at > now {
                return Ok(Schedule::Once(at));
            }
        }
        if let Some(date) = date {
            let at = self.hour.on(date, here)?;
            return if at > now { Ok(Schedule::Once(at)) } else { Err("that has passed".to_owned()) };
        }
        let at = self.hour.on(today, here)?;
        let tomorrow = today.tomorrow().map_err(broken)?;
        if at <= now && self.hour.is_of_twelve() {
            return Err("that has passed today; say am or pm, or which day".to_owned());
        }
        Ok(Schedule::Once(if at > now { at } else { self.hour.on(tomorrow, here)? }))
    }

    fn on_weekday(&self, weekday: u32, now: Timestamp, today: Date, here: &Here) -> Result<Schedule, String> {
        let today_is = i64::from(today.weekday().to_monday_one_offset());
        let ahead = i64::from(weekday) - today_is;
        let on = |days: i64| {
            let date = today.checked_add(days.days()).map_err(|_| "there is no such date".to_owned())?;
            self.hour.on(date, here)
        };
        let at = match self.which {
            // 下周五: the one of the week that begins on Monday next.
            Some(Which::NextWeek) => on(ahead + 7)?,
            Some(Which::Next) if ahead > 0 => return Err("this week's or that of the next week".to_owned()),
            Some(Which::Next) => on(ahead + 7)?,
            Some(_) => on(ahead)?,
            None if ahead < 0 => on(ahead + 7)?,
            None => on(ahead).and_then(|at| if at > now { Ok(at) } else { on(ahead + 7) })?,
        };
        if at > now { Ok(Schedule::Once(at)) } else { Err("that has passed".to_owned()) }
    }

    fn on_day(
        &self,
        month: Option<u32>,
        day: u32,
        now: Timestamp,
        today: Date,
        here: &Here,
    ) -> Result<Schedule, String> {
        let first = today.first_of_month();
        if self.which == Some(Which::NextMonth) {
            let date = month.is_none().then(|| first.checked_add(1.month()).ok()).flatten();
            let date = date.and_then(|date| Date::new(date.year(), date.month(), i8::try_from(day).ok()?).ok());
            return self.hour.on(date.ok_or_else(|| "there is no such date".to_owned())?, here).map(Schedule::Once);
        }
        let mut tried = false;
        for months in 0..=48_i64 {
            let Ok(begin) = first.checked_add(months.months()) else { break };
            if month.is_some_and(|month| i64::from(begin.month()) != i64::from(month)) {
                continue;
            }
            let Ok(date) = Date::new(begin.year(), begin.month(), i8::try_from(day).unwrap_or(0)) else { continue };
            tried = true;
            let at = self.hour.on(date, here)?;
            if at > now {
                return Ok(Schedule::Once(at));
            }
        }
        Err(if tried { "that has passed" } else { "there is no such date" }.to_owned())
    }
}

fn midnight(now: Timestamp, days: i64, here: &Here) -> Result<Zoned, String> {
    let date = here.zoned(now).date().checked_add(days.days()).map_err(|_| "there is no such date".to_owned())?;
    date.to_zoned(here.zone.clone()).map_err(|_| "there is no such date".to_owned())
}
