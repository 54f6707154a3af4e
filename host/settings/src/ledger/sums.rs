//! What was spent of late, by day and role, for limits and for a glance.

use std::collections::BTreeMap;

use homeagent_types::Role;
use homeagent_types::money::Nano;
use jiff::civil::Date;

use super::{Charge, CostLimit, Reserved};
use crate::database::{Database, DatabaseError};

/// As many days as any limit looks back, and some more.
const DAYS: usize = 64;

/// Calls that cost nothing are not in it.
#[derive(Default)]
pub(super) struct Sums {
    days: BTreeMap<Date, BTreeMap<Role, Charge>>,
}

impl Sums {
    pub(super) fn read(database: &Database) -> Result<Self, DatabaseError> {
        let rows = database.read_rows(
            "reading what was spent",
            "SELECT day, role, currency, SUM(input), SUM(output), SUM(cost) FROM model_costs
             WHERE local = 0 AND day IN (SELECT DISTINCT day FROM model_costs ORDER BY day DESC LIMIT 64)
             GROUP BY day, role, currency",
            ("what was spent on a day", "it counts for no limit"),
            |row| {
                let number = |place| row.get::<_, i64>(place).map(i64::unsigned_abs);
                let text = |place| row.get::<_, String>(place);
                Ok((text(0)?, text(1)?, text(2)?, number(3)?, number(4)?, number(5)?))
            },
        )?;
        let mut sums = Self::default();
        for (day, role, currency, input, output, cost) in rows {
            let (Ok(day), Some(role)) = (day.parse(), Role::parse(&role)) else { continue };
            let charge = sums.entry(day, role);
            charge.usage.input = charge.usage.input.saturating_add(input);
            charge.usage.output = charge.usage.output.saturating_add(output);
            if !currency.is_empty() {
                charge.money.insert(currency, Nano(cost));
            }
        }
        Ok(sums)
    }

    pub(super) fn add(&mut self, call: &Reserved) {
        self.change(call, u64::saturating_add);
    }

    pub(super) fn take(&mut self, call: &Reserved) {
        self.change(call, u64::saturating_sub);
    }

    fn change(&mut self, call: &Reserved, change: fn(u64, u64) -> u64) {
        if call.local {
            return;
        }
        let sum = self.entry(call.day, call.role);
        sum.usage.input = change(sum.usage.input, call.charge.usage.input);
        sum.usage.output = change(sum.usage.output, call.charge.usage.output);
        for (currency, nano) in &call.charge.money {
            let sum = sum.money.entry(currency.clone()).or_default();
            sum.0 = change(sum.0, nano.0);
        }
    }

    fn entry(&mut self, day: Date, role: Role) -> &mut Charge {
        if !self.days.contains_key(&day) && self.days.len() >= DAYS {
            self.days.pop_first();
        }
        self.days.entry(day).or_default().entry(role).or_default()
    }

    /// What is spent of a limit, in its unit.
    pub(super) fn spent(&self, limit: &CostLimit) -> u64 {
        let days = self.days.range(limit.since..=limit.until).flat_map(|(_, roles)| roles);
        let concerned = days.filter(|(role, _)| limit.concerns(**role));
        concerned.filter_map(|(_, sum)| sum.of(&limit.most)).fold(0, u64::saturating_add)
    }

    pub(super) fn of_day(&self, day: Date) -> Charge {
        let mut all = Charge::default();
        for sum in self.days.get(&day).into_iter().flat_map(BTreeMap::values) {
            all.usage.input = all.usage.input.saturating_add(sum.usage.input);
            all.usage.output = all.usage.output.saturating_add(sum.usage.output);
            for (currency, nano) in &sum.money {
                let total = all.money.entry(currency.clone()).or_default();
                *total = total.plus(*nano);
            }
        }
        all
    }
}
