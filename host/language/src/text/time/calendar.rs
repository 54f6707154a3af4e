//! Days counted from today.

use jiff::civil::{Date, Weekday};
use jiff::{Span, ToSpan as _};

/// Days from the first to the last, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Days {
    pub(super) first: Date,
    pub(super) last: Date,
}

/// What is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Day,
    Week,
    Weekend,
    Month,
    Year,
}

/// The calendar of whoever asks.
pub(super) struct Calendar {
    pub(super) today: Date,
}

impl Calendar {
    /// The day, week (from Monday), month or year so many before the one that is now.
    pub(super) fn before(&self, count: i64, unit: Unit) -> Option<Days> {
        match unit {
            Unit::Day => self.back(Span::new().try_days(count).ok()?).map(|day| Days { first: day, last: day }),
            Unit::Week => {
                let monday = week_start(self.back(Span::new().try_weeks(count).ok()?)?)?;
                Some(Days { first: monday, last: monday.checked_add(6.days()).ok()? })
            }
            Unit::Weekend => {
                let week = self.before(count, Unit::Week)?;
                Some(Days { first: week.first.checked_add(5.days()).ok()?, last: week.last })
            }
            Unit::Month => {
                let day = self.back(Span::new().try_months(count).ok()?)?;
                Some(Days { first: day.first_of_month(), last: day.last_of_month() })
            }
            Unit::Year => {
                let day = self.back(Span::new().try_years(count).ok()?)?;
                Some(Days { first: day.first_of_year(), last: day.last_of_year() })
            }
        }
    }

    /// What was so long ago, as roughly as people mean it: "three weeks ago" is some days more or less.
    pub(super) fn ago(&self, count: i64, unit: Unit) -> Option<Days> {
        let around = |span: Span, slack: i64| {
            let day = self.back(span)?;
            let (first, last) = (day.checked_sub(slack.days()).ok()?, day.checked_add(slack.days()).ok()?);
            Some(Days { first, last: last.min(self.today) })
        };
        match unit {
            Unit::Day => around(Span::new().try_days(count).ok()?, 0),
            Unit::Week | Unit::Weekend => around(Span::new().try_weeks(count).ok()?, 3),
            Unit::Month => around(Span::new().try_months(count).ok()?, 15),
            Unit::Year => self.before(count, Unit::Year),
        }
    }

    /// A day of the week, so many weeks before this one.
    pub(super) fn weekday(&self, day: Weekday, weeks: i64) -> Option<Days> {
        let monday = self.before(weeks, Unit::Week)?.first;
        let day = monday.checked_add(i64::from(day.to_monday_zero_offset()).days()).ok()?;
        Some(Days { first: day, last: day })
    }

    /// The last such day of the week before today.
    pub(super) fn last_weekday(&self, day: Weekday) -> Option<Days> {
        let day = self.today.nth_weekday(-1, day).ok()?;
        Some(Days { first: day, last: day })
    }

    /// A month; without a year the last one that has begun.
    pub(super) fn month(&self, month: i64, year: Option<i64>) -> Option<Days> {
        let first = self.date(1, month, year)?;
        Some(Days { first, last: first.last_of_month() })
    }

    /// A day; without a year the last one that has begun.
    pub(super) fn day(&self, day: i64, month: i64, year: Option<i64>) -> Option<Days> {
        let day = self.date(day, month, year)?;
        Some(Days { first: day, last: day })
    }

    /// The last day of a month with this number that has begun.
    pub(super) fn day_of_month(&self, day: i64) -> Option<Days> {
        let this = i64::from(self.today.month());
        let mine = self.day(day, this, Some(i64::from(self.today.year())));
        if let Some(mine) = mine.filter(|days| days.first <= self.today) {
            return Some(mine);
        }
        let before = self.before(1, Unit::Month)?.first;
        self.day(day, i64::from(before.month()), Some(i64::from(before.year())))
    }

    /// A whole year.
    pub(super) fn year(&self, year: i64) -> Option<Days> {
        let first = self.date(1, 1, Some(year))?;
        Some(Days { first, last: first.last_of_year() })
    }

    fn date(&self, day: i64, month: i64, year: Option<i64>) -> Option<Date> {
        let of = |year: i16| Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok();
        match year {
            Some(year) => of(i16::try_from(year).ok().filter(|year| (1900..=2200).contains(year))?),
            None => of(self.today.year())
                .filter(|date| *date <= self.today)
                .or_else(|| of(self.today.year().checked_sub(1)?)),
        }
    }

    fn back(&self, span: Span) -> Option<Date> {
        self.today.checked_sub(span).ok()
    }
}

fn week_start(day: Date) -> Option<Date> {
    day.checked_sub(i64::from(day.weekday().to_monday_zero_offset()).days()).ok()
}
