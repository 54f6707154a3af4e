//! The limits that the user set, what is told of them, and to whom.

use std::sync::PoisonError;

use homeagent_settings::{CostLimit, LimitReached};
use homeagent_types::Role;
use homeagent_types::money::Amount;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Costs, LimitInTheWay};

/// From so many hundredths of a limit on, the owner is told.
const NEAR: u128 = 80;

/// How long a limit's span is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Span {
    Day,
    Month,
}

impl Span {
    fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Month => "month",
        }
    }
}

/// The settings with limits: whom each concerns, and for how long.
const SETTINGS: [(&str, Option<Role>, Span); 4] = [
    ("core.cost.day", None, Span::Day),
    ("core.cost.month", None, Span::Month),
    ("core.cost.members_day", Some(Role::Member), Span::Day),
    ("core.cost.guests_day", Some(Role::Guest), Span::Day),
];

/// A limit, and the setting it stands in.
pub(super) struct Rule {
    key: &'static str,
    span: Span,
    pub(super) limit: CostLimit,
}

/// Something about a limit that the owner is told once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Told {
    key: &'static str,
    most: Amount,
    since: Date,
    kind: NoticeKind,
}

/// What a limit in the way is told by, until it is known whether whoever asked reads it. Dropped, it is told to the owner.
pub(crate) struct News {
    costs: Costs,
    told: Told,
    text: String,
}

impl News {
    /// The owner reads it as the answer to what they asked.
    pub(crate) fn read(mut self) {
        self.tell(true);
    }

    fn tell(&mut self, answered: bool) {
        let text = std::mem::take(&mut self.text);
        if !text.is_empty() {
            self.costs.tell(self.told.clone(), text, answered);
        }
    }
}

impl Drop for News {
    fn drop(&mut self) {
        self.tell(false);
    }
}

/// What a notice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum NoticeKind {
    /// Four fifths of a limit are spent.
    Near,
    /// A call was refused.
    Reached,
}

/// A limit comes near or is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct CostNotice {
    /// Which of both.
    pub kind: NoticeKind,
    /// The setting of the limit.
    pub setting: &'static str,
    /// It in words, for the owner.
    pub text: String,
    /// The owner reads it anyway: it is the answer to what they asked.
    pub answered: bool,
}

/// A limit and what is spent of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct LimitState {
    /// The setting it stands in.
    pub setting: &'static str,
    /// Whose calls count; everybody's where it is `null`.
    pub role: Option<Role>,
    /// The first day.
    #[schema(value_type = String, format = Date)]
    pub since: Date,
    /// The last day.
    #[schema(value_type = String, format = Date)]
    pub until: Date,
    /// The limit, such as `5.00 USD` or `2000000 tokens`.
    pub most: String,
    /// What is spent, with what is set aside for calls that run.
    pub spent: String,
}

impl Costs {
    pub(super) fn rules(&self, today: Date) -> Vec<Rule> {
        let of = |(key, role, span): (&'static str, Option<Role>, Span)| {
            let (since, until) = match span {
                Span::Day => (today, today),
                Span::Month => (today.first_of_month(), today.last_of_month()),
            };
            // A key that can't be read is one that is not there.
            let amounts = self.inner.settings.amounts(key).unwrap_or_default();
            amounts.into_iter().map(move |most| Rule { key, span, limit: CostLimit { role, since, until, most } })
        };
        SETTINGS.into_iter().flat_map(of).collect()
    }

    /// All limits, and what is spent of each.
    #[must_use]
    pub fn limits(&self) -> Vec<LimitState> {
        let rules = self.rules(self.today(&self.zone()));
        let state = |rule: Rule| LimitState {
            setting: rule.key,
            role: rule.limit.role,
            since: rule.limit.since,
            until: rule.limit.until,
            most: rule.limit.most.to_string(),
            spent: self.inner.ledger.spent(&rule.limit).to_string(),
        };
        rules.into_iter().map(state).collect()
    }

    /// Tells the owner of limits that have come near.
    pub(super) fn warn(&self) {
        for (rule, spent) in self.near() {
            let text = format!("Of the {} ({} = {}), {spent} are spent.", rule.words(), rule.key, rule.limit.most);
            self.tell(rule.told(NoticeKind::Near), text, false);
        }
    }

    /// After a restart nobody is told again what they know.
    pub(super) fn pass_over_old_news(&self) {
        let mut told = self.inner.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.extend(self.near().into_iter().map(|(rule, _)| rule.told(NoticeKind::Near)));
    }

    /// The limits of which most is spent.
    fn near(&self) -> Vec<(Rule, Amount)> {
        let rules = self.rules(self.today(&self.zone())).into_iter();
        let spent = rules.map(|rule| {
            let spent = self.inner.ledger.spent(&rule.limit);
            (rule, spent)
        });
        let is_near = |(rule, spent): &(Rule, Amount)| {
            let most = u128::from(rule.limit.most.count());
            most > 0 && u128::from(spent.count()) * 100 >= most * NEAR
        };
        spent.filter(is_near).collect()
    }

    /// What is said where a limit is in the way; the owner is told, too. Whom the owner has not named learns nothing of
    /// the owner's money. `reads`: who asks is the owner, who may read the sentence as the answer.
    pub(super) fn in_the_way(
        &self,
        rule: &Rule,
        reached: &LimitReached,
        (role, reads): (Role, bool),
        zone: &TimeZone,
    ) -> LimitInTheWay {
        let most = &rule.limit.most;
        let free = rule.limit.until.tomorrow().unwrap_or(rule.limit.until);
        let place = zone.iana_name().map(|name| format!(" ({name})")).unwrap_or_default();
        let again = format!("from {free} 00:00{place} on");
        let facts = format!(
            "The {} leaves too little: {} of {most} are spent or set aside, and this request may take {}.",
            rule.words(),
            reached.spent,
            reached.wanted,
        );
        let full = format!(
            "{facts} It can go on {again}, or at once with a higher limit: `waiter settings set {} \"{}\"`.",
            rule.key,
            self.raised(rule, reached),
        );
        let news = News { costs: self.clone(), told: rule.told(NoticeKind::Reached), text: full.clone() };
        let sentence = match role {
            Role::Owner => full,
            Role::Member => format!("{facts} It can go on {again}."),
            Role::Guest | Role::Plugin => format!("What may be spent on this is used up; I can answer again {again}."),
        };
        // What is not kept is told at once.
        LimitInTheWay { sentence, news: reads.then_some(news) }
    }

    /// The setting's value with a multiple of the amount that is reached: twice as much, or as much as lets the request go.
    fn raised(&self, rule: &Rule, reached: &LimitReached) -> String {
        let enough = reached.spent.count().saturating_add(reached.wanted.count());
        let amounts = self.inner.settings.amounts(rule.key).unwrap_or_default().into_iter();
        let raise = |amount: Amount| {
            if amount != rule.limit.most {
                return amount.to_string();
            }
            let times = enough.div_ceil(amount.count().max(1)).max(2);
            amount.with_count(amount.count().max(1).saturating_mul(times)).to_string()
        };
        amounts.map(raise).collect::<Vec<_>>().join(", ")
    }

    fn tell(&self, news: Told, text: String, answered: bool) {
        let Told { key, kind, since, .. } = news;
        let mut told = self.inner.told.lock().unwrap_or_else(PoisonError::into_inner);
        // Of days that are over nothing is told any more.
        told.retain(|old| old.key != key || old.since >= since);
        if !told.insert(news) {
            return;
        }
        drop(told);
        tracing::warn!(setting = key, "{text}");
        // An error only says that nobody listens.
        let _ = self.inner.notices.send(CostNotice { kind, setting: key, text, answered });
    }
}

impl Rule {
    fn told(&self, kind: NoticeKind) -> Told {
        Told { key: self.key, most: self.limit.most.clone(), since: self.limit.since, kind }
    }

    fn words(&self) -> String {
        let span = self.span.as_str();
        match self.limit.role {
            Some(role) => format!("limit of this {span} for {}s", role.as_str()),
            None => format!("limit of this {span}"),
        }
    }
}
