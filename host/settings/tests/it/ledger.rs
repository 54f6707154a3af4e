//! The ledger: what is set aside, what is spent, and what a crash leaves.

use std::collections::BTreeMap;

use homeagent_settings::{
    Call, CallState, CallUsage, Charge, CostKey, CostLimit, CostLine, CostSpan, Database, Ledger, LimitReached,
};
use homeagent_types::Role;
use homeagent_types::money::{Amount, Nano};
use jiff::civil::{Date, date};
use proptest::prelude::*;
use tempfile::TempDir;

const TODAY: Date = date(2026, 11, 30);

fn open(folder: &TempDir) -> (Database, Ledger) {
    let database = Database::open(folder.path().join("db")).expect("a database");
    let ledger = Ledger::open(&database).expect("a ledger");
    (database, ledger)
}

fn charge(tokens: u64, nano: u64) -> Charge {
    let usage = CallUsage { input: tokens, output: 0, ..CallUsage::default() };
    Charge { usage, money: BTreeMap::from([("USD".to_owned(), Nano(nano))]) }
}

fn call(charge: Charge) -> Call {
    Call {
        at: 1_796_000_000_000,
        day: TODAY,
        source: "main".to_owned(),
        model: "deepseek-flash".to_owned(),
        line: "main",
        run: Some("run-1".to_owned()),
        conversation: Some("cli:me".to_owned()),
        principal: "cli:me".to_owned(),
        role: Role::Owner,
        plugin: None,
        local: false,
        charge,
    }
}

fn limit(most: &str) -> CostLimit {
    CostLimit { role: None, since: TODAY, until: TODAY, most: most.parse().expect("an amount") }
}

fn total(ledger: &Ledger, by: CostKey) -> CostLine {
    let mut total = CostLine::default();
    for line in ledger.report(by, &CostSpan::default()).expect("it can be read") {
        total.add(&line);
    }
    total
}

#[test]
fn what_was_under_way_when_the_daemon_ended_counts_as_spent() {
    let folder = tempfile::tempdir().expect("a folder");
    let (database, ledger) = open(&folder);
    let (settled, told) = ledger.reserve(&call(charge(1_000, 50)), &[]).expect("there is no limit");
    let (open_one, _) = ledger.reserve(&call(charge(2_000, 70)), &[]).expect("there is no limit");
    told.blocking_recv().expect("it is told").expect("it is written");
    ledger.settle(settled, CallState::Settled, "", true, charge(900, 45));
    // Nothing settles it: as if the daemon were killed here.
    std::mem::forget(open_one);
    drop((database, ledger));

    let (database, ledger) = open(&folder);
    let remarks = database.take_remarks();
    assert!(remarks.iter().any(|remark| remark.ends_with("count as spent: 1")), "{remarks:?}");
    assert_eq!(ledger.spent(&limit("1 USD")), Amount::Money(Nano(115), "USD".to_owned()));
    let lines = ledger.report(CostKey::Run, &CostSpan::default()).expect("it can be read");
    assert_eq!((lines[0].calls, lines[0].estimated, lines[0].input), (2, 1, 2_900));
    drop((database, ledger));
    let (database, _ledger) = open(&folder);
    assert!(database.take_remarks().is_empty(), "it is told once");
}

#[test]
fn a_limit_counts_what_is_set_aside_and_only_whom_it_concerns() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_database, ledger) = open(&folder);
    let limits = [limit("0.0000001 USD"), CostLimit { role: Some(Role::Guest), ..limit("1000 tokens") }];
    let (first, _) = ledger.reserve(&call(charge(5_000, 60)), &limits).expect("it fits");
    let refused = ledger.reserve(&call(charge(1, 41)), &limits).expect_err("41 are too many");
    let usd = |nano| Amount::Money(Nano(nano), "USD".to_owned());
    assert_eq!(refused, LimitReached { limit: 0, spent: usd(60), wanted: usd(41) });
    ledger.settle(first, CallState::Settled, "", true, charge(5_000, 10));
    ledger.reserve(&call(charge(1, 90)), &limits).expect("less was taken than set aside");

    let guest = |tokens| Call { role: Role::Guest, ..call(Charge { money: BTreeMap::new(), ..charge(tokens, 0) }) };
    ledger.reserve(&guest(1_000), &limits).expect("the owner's tokens are not the guests'");
    assert_eq!(ledger.reserve(&guest(1), &limits).expect_err("it is too much").limit, 1);
    let plugin = Call { role: Role::Plugin, ..guest(1) };
    assert_eq!(ledger.reserve(&plugin, &limits).expect_err("nor is it passed through a plugin").limit, 1);
    ledger.reserve(&Call { local: true, ..guest(1_000_000) }, &limits).expect("what is free counts for no limit");
    let tomorrow = Call { day: TODAY.tomorrow().expect("a day"), ..guest(1_000) };
    ledger.reserve(&tomorrow, &limits).expect("the next day has a limit of its own");
    let month = CostLimit { until: date(2026, 12, 31), ..limit("2000 tokens") };
    assert_eq!(ledger.reserve(&tomorrow, &[month]).expect_err("days add up").spent, Amount::Tokens(7_001));
}

#[test]
fn who_is_renamed_stands_nowhere_under_the_old_name_and_nothing_spent_is_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_database, ledger) = open(&folder);
    for (day, who) in [(date(2026, 8, 1), "qq:10001"), (TODAY, "qq:10001"), (TODAY, "cli:me")] {
        let made = Call { day, principal: who.to_owned(), conversation: Some(who.to_owned()), ..call(charge(10, 3)) };
        let (held, _) = ledger.reserve(&made, &[]).expect("there is no limit");
        ledger.settle(held, CallState::Settled, "", true, charge(10, 3));
    }
    ledger.fold(TODAY);
    let renamed = |text: &str| (text == "qq:10001").then(|| "qq:somebody".to_owned());
    for _ in 0..2 {
        ledger.rename(&renamed).expect("renamed");
        for by in [CostKey::Principal, CostKey::Conversation] {
            let lines = ledger.report(by, &CostSpan::default()).expect("it can be read");
            let mut calls: Vec<_> = lines.iter().map(|line| (line.key.as_str(), line.calls)).collect();
            calls.sort_unstable();
            assert_eq!(calls, [("cli:me", 1), ("qq:somebody", 2)], "{by:?}");
        }
    }
}

#[test]
fn days_that_are_folded_keep_their_sums() {
    let folder = tempfile::tempdir().expect("a folder");
    let (database, ledger) = open(&folder);
    for (day, plugin, counted) in [
        (date(2026, 8, 1), None, true),
        (date(2026, 8, 1), None, false),
        (date(2026, 8, 2), Some("diary"), true),
        (TODAY, None, true),
    ] {
        let made = Call { day, plugin: plugin.map(str::to_owned), ..call(charge(10, 3)) };
        let (held, _) = ledger.reserve(&made, &[]).expect("there is no limit");
        ledger.settle(held, CallState::Settled, "", counted, charge(10, 3));
    }
    let before: Vec<_> = CostKey::ALL.map(|by| ledger.report(by, &CostSpan::default())).into_iter().collect();
    ledger.fold(TODAY);
    for (by, before) in CostKey::ALL.into_iter().zip(before) {
        let after = ledger.report(by, &CostSpan::default()).expect("it can be read");
        if by != CostKey::Run {
            assert_eq!(after, before.expect("it can be read"), "{by:?}");
        }
    }
    let since = CostSpan { since: Some(date(2026, 8, 2)), until: Some(date(2026, 8, 2)), run: None };
    let lines = ledger.report(CostKey::Plugin, &since).expect("it can be read");
    assert_eq!((lines.len(), lines[0].key.as_str(), lines[0].calls), (1, "diary", 1));
    // A second time adds to what is there, and a restart reads both.
    ledger.fold(TODAY.tomorrow().expect("a day"));
    drop((database, ledger));
    let (_database, ledger) = open(&folder);
    assert_eq!(total(&ledger, CostKey::Model).calls, 4);
    assert_eq!(ledger.of_day(TODAY), charge(10, 3));
}

#[derive(Clone, Debug)]
enum Step {
    Begin { role: Role, currency: usize, wanted: u64, local: bool },
    End { which: usize, percent: u64, cancelled: bool },
}

fn step() -> impl Strategy<Value = Step> {
    let roles = prop_oneof![Just(Role::Owner), Just(Role::Guest), Just(Role::Plugin)];
    prop_oneof![
        (roles, 0..3_usize, 0..400_u64, prop::bool::weighted(0.1))
            .prop_map(|(role, currency, wanted, local)| Step::Begin { role, currency, wanted, local }),
        (0..8_usize, 0..120_u64, any::<bool>()).prop_map(|(which, percent, cancelled)| Step::End {
            which,
            percent,
            cancelled
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_sums_are_the_same_by_any_key_and_no_limit_is_passed_but_by_what_settling_adds(
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let (database, ledger) = open(&folder);
        let currencies = ["USD", "CNY", ""];
        let most = 1_000;
        let limits = [
            CostLimit { most: Amount::Money(Nano(most), "USD".to_owned()), ..limit("0 tokens") },
            CostLimit { most: Amount::Money(Nano(most), "CNY".to_owned()), ..limit("0 tokens") },
            CostLimit { role: Some(Role::Guest), ..limit("1500 tokens") },
        ];
        let mut open_ones = Vec::new();
        // What calls took beyond what was set aside for them: the one thing by which a limit may be passed.
        let mut beyond = BTreeMap::<&str, u64>::new();
        for step in steps {
            match step {
                Step::Begin { role, currency, wanted, local } => {
                    let currency = currencies[currency];
                    let mut asked = charge(wanted, 0);
                    asked.money = (!currency.is_empty() && !local)
                        .then(|| (currency.to_owned(), Nano(wanted))).into_iter().collect();
                    let made = Call { role, local, model: format!("m-{currency}"), ..call(asked.clone()) };
                    if let Ok((held, _)) = ledger.reserve(&made, &limits) {
                        open_ones.push((held, currency, asked));
                    }
                }
                Step::End { which, percent, cancelled } => {
                    if open_ones.is_empty() { continue; }
                    let (held, currency, asked) = open_ones.swap_remove(which % open_ones.len());
                    let share = |count: u64| count * percent / 100;
                    let took = Charge {
                        usage: CallUsage { input: share(asked.usage.input), ..CallUsage::default() },
                        money: asked.money.iter().map(|(of, nano)| (of.clone(), Nano(share(nano.0)))).collect(),
                    };
                    let more = share(asked.usage.input).saturating_sub(asked.usage.input);
                    *beyond.entry(currency).or_default() += more;
                    *beyond.entry("tokens").or_default() += more;
                    let state = if cancelled { CallState::Cancelled } else { CallState::Settled };
                    ledger.settle(held, state, "", !cancelled, took);
                }
            }
            for (limit, currency) in limits.iter().zip(["USD", "CNY", "tokens"]) {
                let over = beyond.get(currency).copied().unwrap_or_default();
                prop_assert!(ledger.spent(limit).count() <= limit.most.count() + over);
            }
        }
        let sums = CostKey::ALL.map(|by| total(&ledger, by));
        prop_assert!(sums.windows(2).all(|pair| pair[0] == pair[1]), "{sums:?}");
        let spent: Vec<_> = limits.iter().map(|limit| ledger.spent(limit)).collect();
        for (held, ..) in open_ones {
            std::mem::forget(held);
        }
        drop((database, ledger));
        let (_database, ledger) = open(&folder);
        // What was open is spent now; nothing else has changed.
        prop_assert_eq!(spent, limits.iter().map(|limit| ledger.spent(limit)).collect::<Vec<_>>());
        prop_assert_eq!(total(&ledger, CostKey::Day), sums[0].clone());
    }
}

#[test]
fn a_count_beyond_reason_keeps_nothing_from_starting_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let (database, ledger) = open(&folder);
    for took in [charge(u64::MAX, u64::MAX), charge(10, 3)] {
        let (held, _) = ledger.reserve(&call(charge(10, 3)), &[]).expect("there is no limit");
        ledger.settle(held, CallState::Settled, "", true, took);
    }
    drop((database, ledger));
    let (_database, ledger) = open(&folder);
    assert_eq!(ledger.spent(&limit("1 tokens")), Amount::Tokens((1 << 52) + 10));
    ledger.fold(TODAY.tomorrow().expect("a day"));
    let lines = ledger.report(CostKey::Day, &CostSpan::default()).expect("it can be read");
    assert_eq!((lines[0].calls, lines[0].input), (2, (1 << 52) + 10));
}

#[test]
fn what_the_disk_did_not_take_is_written_when_it_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let (database, ledger) = open(&folder);
    let other = rusqlite::Connection::open(folder.path().join("db")).expect("it opens");
    let refuse = "CREATE TRIGGER full BEFORE INSERT ON model_calls BEGIN SELECT RAISE(ABORT, 'the disk is full'); END";
    other.execute_batch(refuse).expect("made");
    let (held, told) = ledger.reserve(&call(charge(10, 3)), &[]).expect("there is no limit");
    told.blocking_recv().expect("it is told").expect_err("it can't be written");
    ledger.settle(held, CallState::Settled, "", true, charge(7, 2));
    assert_eq!(total(&ledger, CostKey::Day).calls, 0);
    other.execute_batch("DROP TRIGGER full").expect("dropped");
    let total = total(&ledger, CostKey::Day);
    assert_eq!((total.calls, total.input, total.estimated), (1, 7, 0));
    drop((database, ledger));
    let (database, ledger) = open(&folder);
    assert_eq!((ledger.of_day(TODAY), database.take_remarks()), (charge(7, 2), Vec::<String>::new()));
}
