//! What models cost: a price for each call, what is set aside before it and settled after it, and the limits.

mod built_in;
mod held;
mod limits;
mod report;
mod tariff;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use homeagent_settings::{Call, CallUsage, Charge, Ledger, PriceError, PriceRecord, Prices, Settings, SourceRecord};
use homeagent_types::model::SourceLine;
use homeagent_types::{Cause, Role, Timestamp};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use tokio::sync::broadcast;

pub use self::built_in::BuiltInPrice;
pub(crate) use self::held::{Held, Tally};
use self::limits::News;
pub use self::limits::{CostNotice, LimitState, NoticeKind};
pub use self::report::{CostReport, CostToday, PriceList, SourcePrice};
pub(crate) use self::tariff::is_local;
pub use self::tariff::{PriceTables, Tariff};

/// Notices that a slow listener may fall behind.
const NOTICES_KEPT: usize = 16;

/// The setting that says where the user's days begin.
const ZONE: &str = "core.agent.time_zone";
/// The setting that says for how many days single calls are kept.
const CALL_DAYS: &str = "core.cost.call_days";
const USUAL_CALL_DAYS: i64 = 90;

/// Tells the time, in milliseconds since 1970.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Prices, ledger and limits. Clones share them. They outlive the agent: what was spent is known while it is stopped.
#[derive(Clone)]
pub struct Costs {
    inner: Arc<Inner>,
}

struct Inner {
    ledger: Ledger,
    prices: Prices,
    settings: Settings,
    clock: Clock,
    /// What the owner has been told.
    told: Mutex<HashSet<limits::Told>>,
    notices: broadcast::Sender<CostNotice>,
    /// The day of the last call, after which old calls were folded.
    folded: Mutex<Option<Date>>,
}

/// What is about to be asked of a source.
pub(crate) struct Asking<'a> {
    pub(crate) source: &'a SourceRecord,
    /// Its adapter answers by itself.
    pub(crate) offline: bool,
    pub(crate) line: SourceLine,
    /// For whom; nobody's word where a source is tried by hand.
    pub(crate) cause: Option<&'a Cause>,
    /// Tokens of the prompt, estimated.
    pub(crate) input: u64,
    /// The most tokens of the answer.
    pub(crate) output: u64,
}

/// A limit is in the way of a call.
pub(crate) struct LimitInTheWay {
    /// What to tell whoever asked.
    sentence: String,
    /// What the owner is told where that sentence does not go out to them.
    news: Option<News>,
}

impl LimitInTheWay {
    /// What to tell whoever asked.
    pub(crate) fn sentence(&self) -> &str {
        &self.sentence
    }

    /// The sentence, which goes out to whoever asked.
    pub(crate) fn say(self) -> String {
        if let Some(news) = self.news {
            news.read();
        }
        self.sentence
    }
}

impl Costs {
    /// Puts them together. What is spent of each limit by now is not told again.
    #[must_use]
    pub fn new(ledger: Ledger, prices: Prices, settings: Settings, clock: Clock) -> Self {
        let notices = broadcast::Sender::new(NOTICES_KEPT);
        let inner =
            Inner { ledger, prices, settings, clock, told: Mutex::default(), notices, folded: Mutex::default() };
        let costs = Self { inner: Arc::new(inner) };
        costs.pass_over_old_news();
        costs
    }

    /// The prices that the user set.
    ///
    /// # Errors
    ///
    /// Those of [`Prices::set`]. Waits for the disk.
    pub fn set_price(&self, price: &PriceRecord) -> Result<(), PriceError> {
        self.inner.prices.set(price)
    }

    /// Takes prices that the user set away.
    ///
    /// # Errors
    ///
    /// Those of [`Prices::remove`]. Waits for the disk.
    pub fn remove_price(&self, model: &str, source: Option<&str>, day: Option<Date>) -> Result<(), PriceError> {
        self.inner.prices.remove(model, source, day)
    }

    /// Tells of each limit that comes near or is reached, once for each of its days or months.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<CostNotice> {
        self.inner.notices.subscribe()
    }

    /// The user's time zone.
    #[must_use]
    pub fn zone(&self) -> TimeZone {
        let name = self.inner.settings.text(ZONE).unwrap_or_default();
        if name.is_empty() { TimeZone::system() } else { TimeZone::get(&name).unwrap_or_else(|_| TimeZone::system()) }
    }

    fn now(&self) -> Timestamp {
        (self.inner.clock)()
    }

    fn today(&self, zone: &TimeZone) -> Date {
        let now = i64::try_from(self.now()).ok().and_then(|now| jiff::Timestamp::from_millisecond(now).ok());
        now.unwrap_or_default().to_zoned(zone.clone()).date()
    }

    /// Sets aside what a call may cost, and waits until that is written, so that a crash can't make it unspent.
    ///
    /// # Errors
    ///
    /// A limit leaves less than the call may take.
    pub(crate) async fn reserve(&self, asking: Asking<'_>) -> Result<Held, LimitInTheWay> {
        let zone = self.zone();
        let (now, today) = (self.now(), self.today(&zone));
        let tariff = Tariff::of(asking.source, asking.offline, now, self.tables(&zone, &self.inner.prices.list()));
        let usage = CallUsage { input: asking.input, output: asking.output, ..CallUsage::default() };
        let call = self.call(&asking, &tariff, (now, today), usage);
        let rules = self.rules(today);
        let limits: Vec<_> = rules.iter().map(|rule| rule.limit.clone()).collect();
        let (reserved, written) = match self.inner.ledger.reserve(&call, &limits) {
            Ok(reserved) => reserved,
            Err(reached) => {
                // What a plugin is answered nobody else may ever read; and what a tool is, or the memory's work, a model alone.
                let is_told = asking.line == SourceLine::Main || asking.cause.is_none();
                let reads = call.role == Role::Owner && call.plugin.is_none() && is_told;
                return Err(match rules.get(reached.limit) {
                    Some(rule) => self.in_the_way(rule, &reached, (call.role, reads), &zone),
                    None => {
                        LimitInTheWay { sentence: "A limit of what models may cost is reached.".to_owned(), news: None }
                    }
                });
            }
        };
        let held = Held::new(self.clone(), reserved, tariff, asking.input);
        self.fold(today);
        // What failed has been logged; the sums in memory hold.
        let _ = written.await;
        Ok(held)
    }

    fn call(&self, asking: &Asking<'_>, tariff: &Tariff, (at, day): (Timestamp, Date), usage: CallUsage) -> Call {
        let cause = asking.cause;
        Call {
            at,
            day,
            source: asking.source.name.clone(),
            model: asking.source.model.clone(),
            line: asking.line.as_str(),
            run: cause.and_then(|cause| cause.run.clone()),
            conversation: cause.and_then(|cause| cause.conversation.as_ref()).map(ToString::to_string),
            principal: cause.map_or_else(|| "api:owner".to_owned(), |cause| cause.principal.to_string()),
            role: cause.map_or(Role::Owner, |cause| cause.principal.role),
            plugin: cause.and_then(|cause| cause.chain.last().cloned()),
            local: *tariff == Tariff::Free,
            charge: Charge { usage, money: tariff.most(usage).into_iter().collect() },
        }
    }

    /// Once a day, calls that have become old are added up.
    fn fold(&self, today: Date) {
        let mut folded = self.inner.folded.lock().unwrap_or_else(PoisonError::into_inner);
        if folded.replace(today) == Some(today) {
            return;
        }
        let days = self.inner.settings.integer(CALL_DAYS).unwrap_or(USUAL_CALL_DAYS);
        if let Ok(before) = today.checked_sub(jiff::Span::new().days(days.clamp(0, 36_500))) {
            self.inner.ledger.fold(before);
        }
    }

    fn tables<'a>(&self, zone: &'a TimeZone, own: &'a [PriceRecord]) -> PriceTables<'a> {
        PriceTables { own, built_in: built_in::all(), zone }
    }
}
