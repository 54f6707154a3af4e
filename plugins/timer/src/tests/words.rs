use proptest::prelude::*;

use super::{at, here};
use crate::schedule::{Schedule, Sun};
use crate::words::parse;

/// Monday, before noon.
const NOW: &str = "2026-11-30 11:00";

fn once(text: &str) -> String {
    let here = here("Asia/Shanghai");
    match parse(text, at(NOW, &here), &here) {
        Ok(Schedule::Once(at)) => here.zoned(at).strftime("%m-%d %H:%M:%S").to_string(),
        other => panic!("{text}: {other:?}"),
    }
}

fn repeated(text: &str) -> String {
    let here = here("Asia/Shanghai");
    match parse(text, at(NOW, &here), &here) {
        Ok(Schedule::Every { milliseconds, .. }) => format!("{} s", milliseconds / 1_000),
        Ok(Schedule::Cron(cron)) => cron,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn what_happens_once_is_understood() {
    let rows = [
        ("in 20 minutes", "11-30 11:20:00"),
        ("in an hour", "11-30 12:00:00"),
        ("in half an hour", "11-30 11:30:00"),
        ("in 1 hour and 30 minutes", "11-30 12:30:00"),
        ("In 90 seconds", "11-30 11:01:30"),
        ("2 hours from now", "11-30 13:00:00"),
        ("in 2 days", "12-02 11:00:00"),
        ("in 3 days at 9:15", "12-03 09:15:00"),
        ("in a week", "12-07 11:00:00"),
        ("in 2 months", "01-30 11:00:00"),
        ("tomorrow at 9", "12-01 09:00:00"),
        ("tomorrow morning at 9", "12-01 09:00:00"),
        ("Tomorrow at 9:30 pm", "12-01 21:30:00"),
        ("day after tomorrow at noon", "12-02 12:00:00"),
        ("today at 18:00", "11-30 18:00:00"),
        ("tonight at 8", "11-30 20:00:00"),
        ("at 9pm", "11-30 21:00:00"),
        ("at 9 am", "12-01 09:00:00"),
        ("09:30", "12-01 09:30:00"),
        ("at 13:00", "11-30 13:00:00"),
        ("12am", "12-01 00:00:00"),
        ("tomorrow at 12 am", "12-01 00:00:00"),
        ("tomorrow at 12pm", "12-01 12:00:00"),
        ("tomorrow at 12:30 am", "12-01 00:30:00"),
        ("midnight", "12-01 00:00:00"),
        ("tonight at 11:30", "11-30 23:30:00"),
        ("tonight at 12:30", "12-01 00:30:00"),
        ("midnight tonight", "12-01 00:00:00"),
        ("this evening at 7", "11-30 19:00:00"),
        ("this friday at 7 pm", "12-04 19:00:00"),
        ("next monday 7pm", "12-07 19:00:00"),
        ("in an hour and a half", "11-30 12:30:00"),
        ("in one and a half hours", "11-30 12:30:00"),
        ("remind me in 20 minutes", "11-30 11:20:00"),
        ("next month on the 5th at 9am", "12-05 09:00:00"),
        ("25 december 8am", "12-25 08:00:00"),
        ("the 1st at 10:00", "12-01 10:00:00"),
        ("February 29 at 9:00", "02-29 09:00:00"),
        ("at noon", "11-30 12:00:00"),
        ("friday at 19:30", "12-04 19:30:00"),
        ("on monday at 9am", "12-07 09:00:00"),
        ("next monday at 9am", "12-07 09:00:00"),
        ("December 25 at 8am", "12-25 08:00:00"),
        ("dec 25th at 8:00", "12-25 08:00:00"),
        ("20分钟后", "11-30 11:20:00"),
        ("二十分钟后", "11-30 11:20:00"),
        ("过20分钟后", "11-30 11:20:00"),
        ("半小时后", "11-30 11:30:00"),
        ("半个小时以后", "11-30 11:30:00"),
        ("一个半小时后", "11-30 12:30:00"),
        ("两小时后", "11-30 13:00:00"),
        ("1小时30分钟后", "11-30 12:30:00"),
        ("一刻钟后", "11-30 11:15:00"),
        ("两天后", "12-02 11:00:00"),
        ("三天后上午九点", "12-03 09:00:00"),
        ("明天早上九点", "12-01 09:00:00"),
        ("明早7点", "12-01 07:00:00"),
        ("明天早上９：３０", "12-01 09:30:00"),
        ("后天下午三点一刻", "12-02 15:15:00"),
        ("大后天中午", "12-03 12:00:00"),
        ("今天晚上8点", "11-30 20:00:00"),
        ("今晚八点半", "11-30 20:30:00"),
        ("今晚十二点", "12-01 00:00:00"),
        ("下午3点", "11-30 15:00:00"),
        ("下午两点四十五分", "11-30 14:45:00"),
        ("中午一点", "11-30 13:00:00"),
        ("凌晨四点", "12-01 04:00:00"),
        ("18点30分", "11-30 18:30:00"),
        ("周五晚上七点", "12-04 19:00:00"),
        ("周一六点", "12-07 06:00:00"),
        ("周一10点", "12-07 10:00:00"),
        ("下周一10:30", "12-07 10:30:00"),
        ("下周一 9:00", "12-07 09:00:00"),
        ("周五15点", "12-04 15:00:00"),
        ("周五二十一点", "12-04 21:00:00"),
        ("周5 15点", "12-04 15:00:00"),
        ("这周五下午三点半", "12-04 15:30:00"),
        ("本周日上午10点", "12-06 10:00:00"),
        ("20分钟后提醒我", "11-30 11:20:00"),
        ("后天下午三点半", "12-02 15:30:00"),
        ("半夜两点", "12-01 02:00:00"),
        ("半夜十一点", "11-30 23:00:00"),
        ("明晚十二点", "12-02 00:00:00"),
        ("今晚零点", "12-01 00:00:00"),
        ("明天零点", "12-01 00:00:00"),
        ("下午12点半", "11-30 12:30:00"),
        ("下个月5号上午9点", "12-05 09:00:00"),
        ("下月三号晚上8点", "12-03 20:00:00"),
        ("星期天上午十点", "12-06 10:00:00"),
        ("下周一上午十点", "12-07 10:00:00"),
        ("下周三上午十点", "12-09 10:00:00"),
        ("12月25日早上8点", "12-25 08:00:00"),
        ("5号上午9点", "12-05 09:00:00"),
        ("2026-12-24T18:00", "12-24 18:00:00"),
        ("2026-12-24 18:00:30", "12-24 18:00:30"),
        ("2026-12-24T18:00:00Z", "12-25 02:00:00"),
        ("2026-12-24T18:00+08:00", "12-24 18:00:00"),
        ("2026-12-24T18:00+01:00[Europe/Berlin]", "12-25 01:00:00"),
    ];
    for (text, wanted) in rows {
        assert_eq!(once(text), wanted, "{text}");
    }
}

#[test]
fn in_the_night_the_hours_behind_midnight_are_still_to_come() {
    let here = here("Asia/Shanghai");
    let rows = [
        ("tonight at 2", "12-01 01:00", "12-01 02:00"),
        ("半夜两点", "12-01 01:00", "12-01 02:00"),
        ("半夜两点", "12-01 02:00", "12-02 02:00"),
        ("今晚十二点", "12-01 00:30", "12-02 00:00"),
        ("今晚8点", "12-01 01:00", "12-01 20:00"),
        // On a Sunday.
        ("下周一上午九点", "12-06 11:00", "12-07 09:00"),
        ("next monday at 9", "12-06 11:00", "12-07 09:00"),
        ("这周日下午三点", "12-06 11:00", "12-06 15:00"),
    ];
    for (text, now, wanted) in rows {
        let Ok(Schedule::Once(time)) = parse(text, at(&format!("2026-{now}"), &here), &here) else { panic!("{text}") };
        assert_eq!(here.zoned(time).strftime("%m-%d %H:%M").to_string(), wanted, "{text} at {now}");
    }
}

#[test]
fn a_time_that_the_clock_leaves_out_is_the_first_behind_the_gap() {
    let here = here("Europe/Berlin");
    let now = at("2026-03-28 12:00", &here);
    for text in ["tomorrow at 2:30 am", "2026-03-29T02:30", "明天凌晨两点半", "2026-03-29T03:00"] {
        assert_eq!(parse(text, now, &here), Ok(Schedule::Once(at("2026-03-29 03:00", &here))), "{text}");
    }
    let now = at("2026-10-24 12:00", &here);
    let first = at("2026-10-25 01:30", &here) + 3_600_000;
    assert_eq!(parse("tomorrow at 2:30 am", now, &here), Ok(Schedule::Once(first)));
}

#[test]
fn what_the_sun_does_not_do_on_that_day_is_refused() {
    let shanghai = here("Asia/Shanghai");
    let evening = at("2026-11-30 18:00", &shanghai);
    assert!(parse("today at sunset", evening, &shanghai).is_err(), "it has set");
    assert!(parse("at sunset", evening, &shanghai).is_ok());
    let north = crate::schedule::Here { place: crate::schedule::Place::parse("70.0, 23.0"), ..here("Europe/Oslo") };
    let now = at("2026-12-10 11:00", &north);
    for text in ["at sunrise", "tomorrow at sunrise", "today at sunset", "明天日出"] {
        assert!(parse(text, now, &north).is_err(), "{text}");
    }
    let Ok(daily) = parse("every day at sunrise", now, &north) else { panic!("it comes back") };
    let next = daily.next(now, &north).expect("it can be told").expect("it comes back");
    assert!(here_date(next, &north).starts_with("2027-01-"), "{}", north.written(next));
}

fn here_date(time: u64, here: &crate::schedule::Here) -> String {
    here.zoned(time).date().to_string()
}

#[test]
fn what_happens_again_and_again_is_understood() {
    let rows = [
        ("every 5 minutes", "300 s"),
        ("every hour", "3600 s"),
        ("hourly", "3600 s"),
        ("every half hour", "1800 s"),
        ("every 2 days", "172800 s"),
        ("every day at 9", "0 9 * * *"),
        ("daily at 9:30 pm", "30 21 * * *"),
        ("every morning at 7", "0 7 * * *"),
        ("every weekday at 18:30", "30 18 * * 1,2,3,4,5"),
        ("every monday and friday at 9am", "0 9 * * 1,5"),
        ("every monday to thursday at 9:00", "0 9 * * 1,2,3,4"),
        ("every sunday at noon", "0 12 * * 0"),
        ("every weekend at 10am", "0 10 * * 6,0"),
        ("every month on the 1st at 9:00", "0 9 1 * *"),
        ("每5分钟", "300 s"),
        ("每隔十分钟", "600 s"),
        ("每小时", "3600 s"),
        ("每半小时", "1800 s"),
        ("每两个小时", "7200 s"),
        ("每天早上九点", "0 9 * * *"),
        ("每日9:00", "0 9 * * *"),
        ("每个工作日18:30", "30 18 * * 1,2,3,4,5"),
        ("每周一早上八点半", "30 8 * * 1"),
        ("每周一三五晚上八点", "0 20 * * 1,3,5"),
        ("每星期天上午10点", "0 10 * * 0"),
        ("每周一到周五 18:30", "30 18 * * 1,2,3,4,5"),
        ("每周末上午十点", "0 10 * * 6,0"),
        ("每月1号上午9点", "0 9 1 * *"),
        ("every other day", "172800 s"),
        ("every day at midnight", "0 0 * * *"),
        ("mondays and thursdays at 8am", "0 8 * * 1,4"),
        ("weekdays at 9", "0 9 * * 1,2,3,4,5"),
        ("monday to friday at 9", "0 9 * * 1,2,3,4,5"),
        ("on the 1st of each month at 9", "0 9 1 * *"),
        ("every year on march 5th at 9am", "0 9 5 3 *"),
        ("工作日早上九点", "0 9 * * 1,2,3,4,5"),
        ("每天晚上10点", "0 22 * * *"),
        ("每晚11点半", "30 23 * * *"),
        ("每天晚上12点", "0 0 * * *"),
        ("每月1号上午10点", "0 10 1 * *"),
        ("每年3月5日上午9点", "0 9 5 3 *"),
        ("每周一三五 7:30", "30 7 * * 1,3,5"),
        ("每周一三五17:30", "30 17 * * 1,3,5"),
        ("每周五15点", "0 15 * * 5"),
        ("每周六、周日上午十点", "0 10 * * 6,0"),
        ("周一到周五每天早上7点", "0 7 * * 1,2,3,4,5"),
        ("每个星期六早上9点半", "30 9 * * 6"),
        ("every other day?", "172800 s"),
        ("每隔一天", "172800 s"),
        ("每隔一小时", "3600 s"),
        ("*/15 9-17 * * 1-5", "*/15 9-17 * * 1-5"),
        ("0 30 18 * * *", "0 30 18 * * *"),
    ];
    for (text, wanted) in rows {
        assert_eq!(repeated(text), wanted, "{text}");
    }
}

#[test]
fn the_sun_is_understood() {
    let here = here("Asia/Shanghai");
    let now = at(NOW, &here);
    let rows = [
        ("every day at sunset", Sun::Sunset, 0),
        ("every day 30 minutes before sunset", Sun::Sunset, -30),
        ("every day an hour after sunrise", Sun::Sunrise, 60),
        ("每天日出", Sun::Sunrise, 0),
        ("每天日落前30分钟", Sun::Sunset, -30),
        ("每天日出后半小时", Sun::Sunrise, 30),
    ];
    for (text, event, minutes) in rows {
        assert_eq!(parse(text, now, &here), Ok(Schedule::Sun { event, minutes }), "{text}");
    }
    // The almanac has 16:51 and 6:34 for Shanghai.
    for (text, from, to) in [
        ("at sunset", "2026-11-30 16:45", "2026-11-30 16:57"),
        ("日落", "2026-11-30 16:45", "2026-11-30 16:57"),
        ("tomorrow at sunrise", "2026-12-01 06:28", "2026-12-01 06:42"),
        ("明天日落前30分钟", "2026-12-01 16:15", "2026-12-01 16:27"),
    ] {
        let Ok(Schedule::Once(time)) = parse(text, now, &here) else { panic!("{text}") };
        assert!((at(from, &here)..at(to, &here)).contains(&time), "{text}: {}", here.written(time));
    }
}

#[test]
fn what_is_not_plain_is_refused_and_the_forms_that_are_taken_are_named() {
    let here = here("Asia/Shanghai");
    let now = at(NOW, &here);
    for text in [
        "",
        "soon",
        "whenever you like",
        "in a while",
        "tomorrow",
        "明天早上",
        "every day",
        "每天",
        "every",
        "at 25:00",
        "at 9:77",
        "today at 9",
        "every 5 seconds",
        "每秒",
        "32号上午9点",
        "12月32日早上8点",
        "tomorrow at 9 at 10",
        "in 5",
        "five",
        "monday tuesday",
        "every day in 5 minutes",
        "2026-12-24",
        "2026-13-01T00:00",
        "* * * *",
        "99 99 * * *",
        "before 9",
        "before sunset at 9",
        "once upon a time",
        "明天九点的时候提醒",
        // Which of two times is meant is not said.
        "10:59",
        "at 9",
        "tomorrow at 3",
        "明天三点",
        "every day at 5:30",
        "next friday at 9",
        "tomorrow at midnight",
        "friday at midnight",
        "明天半夜一点",
        "周五晚上两点",
        "早上12点",
        "in the morning at 12",
        "每隔两天",
        "每周一二十点",
        "每周五晚上12点",
        // What does not fit together.
        "下午0点",
        "晚上15点",
        "morning at 9pm",
        "noon at 9",
        "半夜六点",
        "15 am",
        "tonight at 12 pm",
        "下下周一9点",
        "下周9点",
        "next december 25 at 8",
        "这周一 9:00",
        "每小时15分",
        "every day 5 minutes",
        "in half a month",
        "in one and a half months",
        "every 2 hours at sunset",
        "before sunset",
        "日落后",
        "december at sunset",
        "next month on the 32nd at 9",
        "2月30号上午9点",
        "in 1.5 hours",
        "tomorrow 9",
        "周末上午十点",
        "每3天上午9点",
        "* * * * * *",
        "*/5 * * * * *",
    ] {
        let refused = parse(text, now, &here).expect_err(text);
        assert!(refused.contains("ISO 8601"), "{text}: {refused}");
    }
    let refused = parse("tomorrow at 9 blubb", now, &here).expect_err("nobody knows");
    assert!(refused.starts_with("`blubb` in"), "{refused}");
}

proptest! {
    #[test]
    fn nothing_that_is_said_is_too_much(text in "\\PC{0,40}") {
        let here = here("Asia/Shanghai");
        let _ = parse(&text, at(NOW, &here), &here);
    }

    #[test]
    fn no_order_of_known_words_is_too_much(
        words in proptest::collection::vec(
            proptest::sample::select(vec![
                "every", "每", "in", "后", "前", "9", "99999", "九", "十", "半", "点", "分", "刻", "号", "月", "周", "一", "三",
                "明天", "晚上", "pm", "am", "at", "9:30", "monday", "to", "weekday", "sunset", "日出", "minutes", "小时",
                "个月", "next", "下", "1st", "december", "noon", "half", "a", "day", "星期", "天",
            ]),
            0..8,
        ),
        separator in proptest::sample::select(vec!["", " "]),
    ) {
        let here = here("Europe/Berlin");
        let now = at(NOW, &here);
        if let Ok(schedule) = parse(&words.join(separator), now, &here) {
            // What is printed says the same.
            let again = parse(&schedule.written(&here), now, &here);
            prop_assert_eq!(again, Ok(schedule));
        }
    }
}
