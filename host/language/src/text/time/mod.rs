//! Times that a question names in words: "last May", "three weeks ago", 上周五, 5月4号.

mod calendar;
mod chinese;
mod english;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use calendar::{Calendar, Days};
pub(crate) use english::{MONTHS, WEEKDAYS};

use super::fold;

/// A stretch of time, from the first moment on and before the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRange {
    /// Its first millisecond since 1970 UTC.
    pub from_ms: i64,
    /// The millisecond after it.
    pub to_ms: i64,
}

/// The days, weeks, months and years that a text names in English or Chinese, counted from `now_ms` where they are
/// relative, in the days of `zone`. A month or day without a year is the last that has begun. Nothing is guessed from
/// words such as "recently".
#[must_use]
pub fn time_ranges(text: &str, now_ms: i64, zone: &TimeZone) -> Vec<TimeRange> {
    let Ok(now) = Timestamp::from_millisecond(now_ms) else { return Vec::new() };
    let calendar = Calendar { today: now.to_zoned(zone.clone()).date() };
    let folded = fold(text);
    let mut found: Vec<Days> = english::days(&folded, &calendar);
    found.extend(chinese::days(&folded, &calendar));
    let mut ranges: Vec<TimeRange> = found.into_iter().filter_map(|days| range(days, zone)).collect();
    ranges.sort_by_key(|range| (range.from_ms, range.to_ms));
    ranges.dedup();
    ranges
}

fn range(days: Days, zone: &TimeZone) -> Option<TimeRange> {
    let moment = |date: jiff::civil::Date| Some(date.to_zoned(zone.clone()).ok()?.timestamp().as_millisecond());
    Some(TimeRange { from_ms: moment(days.first)?, to_ms: moment(days.last.tomorrow().ok()?)? })
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use proptest::prelude::*;

    use super::*;

    /// Wednesday, 20 May 2026, noon in Shanghai.
    fn said(text: &str) -> String {
        let zone = TimeZone::get("Asia/Shanghai").expect("a zone");
        let now =
            date(2026, 5, 20).at(12, 0, 0, 0).to_zoned(zone.clone()).expect("a time").timestamp().as_millisecond();
        let day = |ms| Timestamp::from_millisecond(ms).expect("a time").to_zoned(zone.clone()).date().to_string();
        let ranges = time_ranges(text, now, &zone);
        let ranges: Vec<String> =
            ranges.into_iter().map(|range| format!("{}..{}", day(range.from_ms), day(range.to_ms - 1))).collect();
        ranges.join(" ")
    }

    #[test]
    fn times_are_those_that_people_mean() {
        let texts = [
            "What did I do yesterday?",
            "the day before yesterday",
            "last week",
            "last Friday",
            "last month",
            "last May",
            "in May",
            "in June",
            "in May 2023",
            "on May 4th",
            "on 4 May, 2023",
            "three weeks ago",
            "a few days ago",
            "two years ago",
            "last year",
            "in 2022",
            "2023-05-04",
            "this weekend",
            "last weekend",
            "You may go to 3 shops",
            "昨天",
            "大前天说的",
            "上周",
            "上上周",
            "上周五",
            "上个星期天",
            "这周一",
            "上个月",
            "去年",
            "前年夏天",
            "去年五月",
            "在5月4号",
            "2023年5月",
            "2023年12月31日",
            "十二月三号",
            "三天前",
            "两个星期前",
            "半年前",
            "4号",
            "3号楼",
            "周末去哪了",
            "6月",
        ];
        let lines: Vec<String> =
            texts.iter().map(|text| format!("{text} = {}", said(text)).trim_end().to_owned()).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        What did I do yesterday? = 2026-05-19..2026-05-19
        the day before yesterday = 2026-05-18..2026-05-18
        last week = 2026-05-11..2026-05-17
        last Friday = 2026-05-15..2026-05-15
        last month = 2026-04-01..2026-04-30
        last May = 2025-05-01..2025-05-31
        in May = 2026-05-01..2026-05-31
        in June = 2025-06-01..2025-06-30
        in May 2023 = 2023-05-01..2023-05-31
        on May 4th = 2026-05-04..2026-05-04
        on 4 May, 2023 = 2023-05-04..2023-05-04
        three weeks ago = 2026-04-26..2026-05-02
        a few days ago = 2026-05-17..2026-05-17
        two years ago = 2024-01-01..2024-12-31
        last year = 2025-01-01..2025-12-31
        in 2022 = 2022-01-01..2022-12-31
        2023-05-04 = 2023-05-04..2023-05-04
        this weekend = 2026-05-23..2026-05-24
        last weekend = 2026-05-16..2026-05-17
        You may go to 3 shops =
        昨天 = 2026-05-19..2026-05-19
        大前天说的 = 2026-05-17..2026-05-17
        上周 = 2026-05-11..2026-05-17
        上上周 = 2026-05-04..2026-05-10
        上周五 = 2026-05-15..2026-05-15
        上个星期天 = 2026-05-17..2026-05-17
        这周一 = 2026-05-18..2026-05-18
        上个月 = 2026-04-01..2026-04-30
        去年 = 2025-01-01..2025-12-31
        前年夏天 = 2024-01-01..2024-12-31
        去年五月 = 2025-05-01..2025-05-31
        在5月4号 = 2026-05-04..2026-05-04
        2023年5月 = 2023-05-01..2023-05-31
        2023年12月31日 = 2023-12-31..2023-12-31
        十二月三号 = 2025-12-03..2025-12-03
        三天前 = 2026-05-17..2026-05-17
        两个星期前 = 2026-05-03..2026-05-09
        半年前 = 2025-11-05..2025-12-05
        4号 = 2026-05-04..2026-05-04
        3号楼 =
        周末去哪了 = 2026-05-16..2026-05-17
        6月 = 2025-06-01..2025-06-30
        ");
    }

    proptest! {
        #[test]
        fn any_text_at_any_time_has_times_that_begin_before_they_end(
            text in any::<String>(), number in any::<u32>(), unit in "(days|weeks|months|years) ago|(天|周|个月|年)前|月|年|号",
            now in any::<i64>(),
        ) {
            for text in [text, format!("{number} {unit}"), format!("{number}{unit}")] {
                for range in time_ranges(&text, now, &TimeZone::UTC) {
                    prop_assert!(range.from_ms < range.to_ms);
                }
            }
        }
    }
}
