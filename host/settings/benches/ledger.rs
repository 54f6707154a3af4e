//! What the ledger adds to a call of a model: setting aside until it is written, and settling.
//!
//! The numbers are those of the disk below the temporary folder (`TMPDIR`), although nothing here waits for it.

use std::collections::BTreeMap;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use homeagent_settings::{Call, CallState, CallUsage, Charge, CostKey, CostLimit, CostSpan, Database, Ledger};
use homeagent_types::Role;
use homeagent_types::money::Nano;
use jiff::civil::date;

/// As many as a busy home makes in some months.
const ROWS: usize = 20_000;

fn charge(nano: u64) -> Charge {
    let usage = CallUsage { input: 12_000, cached: 9_000, written: 0, output: 400 };
    Charge { usage, money: BTreeMap::from([("USD".to_owned(), Nano(nano))]) }
}

fn call(number: usize) -> Call {
    let days = i64::try_from(number % 60).unwrap_or_default();
    let day = date(2026, 11, 30).checked_sub(jiff::Span::new().days(days)).expect("a day");
    Call {
        at: 1_796_011_200_000,
        day,
        source: "main".to_owned(),
        model: format!("model-{}", number % 4),
        line: "main",
        run: Some(format!("run-{number}")),
        conversation: Some(format!("qq:{}", number % 30)),
        principal: format!("qq:{}", number % 30),
        role: Role::Member,
        plugin: None,
        local: false,
        charge: charge(4_000_000),
    }
}

fn settle(ledger: &Ledger, call: &Call, limits: &[CostLimit]) {
    let (held, written) = ledger.reserve(call, limits).expect("the limits are far");
    written.blocking_recv().expect("it is told").expect("it is written");
    ledger.settle(held, CallState::Settled, "", true, charge(1_000_000));
}

fn ledger(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder");
    let database = Database::open(folder.path().join("db")).expect("a database");
    let ledger = Ledger::open(&database).expect("a ledger");
    for number in 0..ROWS {
        let made = call(number);
        let (held, _) = ledger.reserve(&made, &[]).expect("there is no limit");
        ledger.settle(held, CallState::Settled, "", true, charge(1_000_000));
    }
    let (since, until) = (date(2026, 11, 1), date(2026, 11, 30));
    let limit = |most: &str| CostLimit { role: None, since, until, most: most.parse().expect("an amount") };
    let limits = ["1000000 USD", "1000000 CNY", "1000000000000 tokens"].map(limit);
    criterion.bench_function("set aside, written and settled", |bencher| {
        bencher.iter_batched(|| call(0), |call| settle(&ledger, &call, &limits), BatchSize::SmallInput);
    });
    criterion.bench_function("a report by model over 20,000 calls", |bencher| {
        bencher.iter(|| ledger.report(CostKey::Model, &CostSpan::default()).expect("it can be read"));
    });
}

criterion_group!(benches, ledger);
criterion_main!(benches);
