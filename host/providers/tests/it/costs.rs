//! Calls and their costs: what is entered, and what a limit keeps from being asked.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use homeagent_providers::cost::{CostReport, NoticeKind};
use homeagent_providers::{Costs, Policy, Providers};
use homeagent_settings::{
    CostKey, CostSpan, Database, Ledger, Prices, Secrets, Settings, SourceLine, SourceRecord, Sources,
};
use homeagent_types::model::{Completion, ContentPart, Message, ModelDelta, ModelMedia, Prompt};
use homeagent_types::ports::{LineRequest, Models, ModelsFailure, Progress};
use homeagent_types::{Cause, Role};
use serde_json::json;
use tempfile::TempDir;

use crate::native::Native;
use crate::vendor::{Ending, Reply, Vendor, breaks_after, error, says, text};
use crate::world::{cause, hasty};

/// Noon of 2026-11-30 in Shanghai.
const NOON: u64 = 1_796_011_200_000;
const DAY: u64 = 24 * 3600 * 1000;

struct Shop {
    _folder: TempDir,
    settings: Settings,
    sources: Sources,
    costs: Costs,
    providers: Arc<Providers>,
    now: Arc<AtomicU64>,
}

impl Shop {
    /// Answers of at most 100 tokens, and a price of 1 USD for a token of the source `paid`.
    fn open() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let database = Database::open(folder.path().join("db")).expect("a database");
        let secrets = Secrets::open(&database, folder.path()).expect("secrets");
        let settings = Settings::open(&database, &secrets).expect("settings");
        let sources = Sources::open(&database).expect("sources");
        let (ledger, prices) = (Ledger::open(&database).expect("a ledger"), Prices::open(&database).expect("prices"));
        settings.set("core.agent.time_zone", "Asia/Shanghai").expect("set");
        settings.set("core.model.max_tokens", 100).expect("set");
        settings.set("core.model.wait_seconds", 0).expect("set");
        for key in ["core.cost.day", "core.cost.guests_day"] {
            settings.set(key, json!([])).expect("set");
        }
        let price = json!({
            "model": "*", "source": "paid", "valid_from": "2026-01-01", "currency": "USD",
            "rates": { "input": "1000000", "cached": "500000", "output": "1000000" },
        });
        prices.set(&serde_json::from_value(price).expect("a price")).expect("set");
        let now = Arc::new(AtomicU64::new(NOON));
        let clock = Arc::clone(&now);
        let costs = Costs::new(ledger, prices, settings.clone(), Arc::new(move || clock.load(Ordering::Relaxed)));
        let policy = Policy { attempts: 1, ..hasty() };
        let providers = Providers::new(settings.clone(), secrets, sources.clone(), Arc::new(Native), policy)
            .expect("set up")
            .with_costs(costs.clone());
        Self { _folder: folder, settings, sources, costs, providers: Arc::new(providers), now }
    }

    fn add(&self, name: &str, url: &str) {
        let record = SourceRecord {
            name: name.to_owned(),
            line: SourceLine::Main,
            adapter: "openai".to_owned(),
            base_url: url.to_owned(),
            model: format!("{name}-model"),
            secret: None,
            // However many at one time.
            options: BTreeMap::from([("concurrent".to_owned(), "0".to_owned())]),
            position: 0,
            enabled: true,
        };
        self.sources.add(&record).expect("added");
    }

    async fn ask_as(&self, cause: &Cause, progress: &dyn Progress) -> Result<Completion, ModelsFailure> {
        let prompt = Prompt { messages: vec![Message::user("hi")], ..Prompt::default() };
        self.providers.complete(LineRequest { line: SourceLine::Main, prompt: &prompt, cause }, progress).await
    }

    async fn ask(&self) -> Result<Completion, ModelsFailure> {
        self.ask_as(&cause(), &Unseen).await
    }

    fn report(&self, by: CostKey) -> CostReport {
        self.costs.report(by, &CostSpan::default()).expect("it can be read")
    }

    /// Everything that was spent, and how many calls of it are estimated.
    fn spent(&self) -> (String, u64) {
        let total = self.report(CostKey::Day).total;
        (total.cost.get("USD").map(ToString::to_string).unwrap_or_default(), total.estimated)
    }

    fn limit(&self, key: &str, most: &str) {
        self.settings.set_text(key, most).expect("set");
    }
}

struct Unseen;

impl Progress for Unseen {
    fn piece(&self, _: &ModelDelta) {}
    fn restart(&self) {}
}

/// A stream that says this, and what it took.
fn counts(words: &str, input: u64, cached: u64, output: u64) -> Reply {
    let usage = json!({
        "choices": [],
        "usage": {
            "prompt_tokens": input, "completion_tokens": output,
            "prompt_tokens_details": { "cached_tokens": cached },
        },
    });
    let end = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n".to_owned();
    let pieces = vec![text(words), end, format!("data: {usage}\n\ndata: [DONE]\n\n")];
    Reply::Stream { pieces, ending: Ending::Proper }
}

/// What the prompt of these tests is estimated at.
fn prompt() -> u64 {
    homeagent_types::tokens::of_message(&Message::user("hi"))
}

#[tokio::test]
async fn a_call_is_entered_as_the_vendor_counted_it_for_whom_it_was_made() {
    let vendor = Vendor::start(vec![counts("hello", 100, 40, 7), says("uncounted")]).await;
    let shop = Shop::open();
    shop.add("paid", &vendor.url);
    shop.ask().await.expect("it answers");
    // 60 fresh ones, 40 at half the price, 7 of the answer.
    assert_eq!(shop.spent(), ("87.00".to_owned(), 0));
    let mut plugin = cause();
    plugin.principal.role = Role::Plugin;
    plugin.principal.namespace = "plugin".to_owned();
    plugin.chain = vec!["diary".to_owned()];
    plugin.run = None;
    shop.ask_as(&plugin, &Unseen).await.expect("it answers");
    let answer = homeagent_types::tokens::of_text("uncounted");
    assert_eq!(shop.spent(), (format!("{}.00", 87 + prompt() + answer), 1));
    let keys = |by| shop.report(by).lines.into_iter().map(|line| line.key).collect::<Vec<_>>();
    assert_eq!(keys(CostKey::Plugin), ["", "diary"]);
    assert_eq!(keys(CostKey::Principal), ["cli:owner", "plugin:owner"]);
    assert_eq!(keys(CostKey::Run), ["", "run-1"]);
    assert_eq!((keys(CostKey::Model), keys(CostKey::Day)), (vec!["paid-model".into()], vec!["2026-11-30".to_owned()]));
    // The next day begins at midnight in Shanghai, and counts by itself.
    shop.now.fetch_add(DAY / 2 - 1, Ordering::Relaxed);
    assert!(!shop.costs.of_today().cost.is_empty());
    shop.now.fetch_add(1, Ordering::Relaxed);
    assert_eq!((shop.costs.of_today().cost.len(), shop.costs.of_today().day.to_string()), (0, "2026-12-01".to_owned()));
}

#[tokio::test]
async fn what_was_refused_costs_nothing_and_what_broke_off_is_estimated() {
    let vendor =
        Vendor::start(vec![error(400, "{\"error\":{\"message\":\"no\"}}"), breaks_after("abcdef"), says("fine")]).await;
    let shop = Shop::open();
    shop.add("paid", &vendor.url);
    shop.ask().await.expect_err("it is refused");
    assert_eq!(shop.spent(), ("0.00".to_owned(), 0));
    shop.ask().await.expect_err("it breaks off");
    let broken = prompt() + homeagent_types::tokens::of_text("abcdef");
    assert_eq!(shop.spent(), (format!("{broken}.00"), 1));
    assert_eq!(shop.report(CostKey::Source).total.calls, 2);
}

/// Ends when something is shown.
struct Shown(tokio::sync::Notify);

impl Progress for Shown {
    fn piece(&self, _: &ModelDelta) {
        self.0.notify_one();
    }
    fn restart(&self) {}
}

#[tokio::test]
async fn a_stream_that_nobody_waits_for_any_more_is_settled_by_what_was_sent_and_has_come() {
    let pieces = [text("abc"), text("def")];
    let mut vendor = Vendor::start(vec![Reply::Stream { pieces: vec![pieces.concat()], ending: Ending::Silent }]).await;
    let shop = Shop::open();
    shop.add("paid", &vendor.url);
    let (shown, cause) = (Shown(tokio::sync::Notify::new()), cause());
    tokio::select! {
        answer = shop.ask_as(&cause, &shown) => panic!("it never ends: {answer:?}"),
        () = shown.0.notified() => {}
    }
    vendor.gone.recv().await.expect("the connection is given up");
    let took = prompt() + ["abc", "def"].map(homeagent_types::tokens::of_text).iter().sum::<u64>();
    assert_eq!(shop.spent(), (format!("{took}.00"), 1));
}

#[tokio::test]
async fn at_the_limit_a_free_source_answers_or_a_sentence_says_until_when() {
    let paid = Vendor::start(vec![counts("one", 50, 0, 10), counts("two", 50, 0, 10), counts("three", 1, 0, 1)]).await;
    let shop = Shop::open();
    let mut notices = shop.costs.subscribe();
    shop.add("paid", &paid.url);
    shop.limit("core.cost.day", "7 EUR, 180 USD");
    shop.ask().await.expect("it is below the limit");
    notices.try_recv().expect_err("there is nothing to tell");
    let refused = shop.limit_with(130).await;
    assert!(refused.sentence.contains("60.00 USD of 130.00 USD are spent"), "{}", refused.sentence);
    let again = "from 2026-12-01 00:00 (Asia/Shanghai) on";
    assert!(refused.sentence.contains(again), "{}", refused.sentence);
    let raise = "waiter settings set core.cost.day \"7.00 EUR, 260.00 USD\"";
    assert!(refused.sentence.contains(raise), "{}", refused.sentence);
    let told = notices.try_recv().expect("the owner is told");
    assert!(told.answered, "they read it");
    assert_eq!((told.kind, told.setting, told.text), (NoticeKind::Reached, "core.cost.day", refused.sentence));
    shop.ask().await.expect_err("it is still reached");
    notices.try_recv().expect_err("once");
    assert_eq!(paid.requests().len(), 1, "the vendor is not asked");

    // A source of this machine is free, and stands further down the line.
    let free = Vendor::start(vec![counts("free", 9_000, 0, 9_000)]).await;
    shop.add("free", &free.url);
    assert_eq!(shop.ask().await.expect("the free one answers").source, "free");
    assert_eq!(shop.spent(), ("60.00".to_owned(), 0));

    // The next day, and with a higher limit, the first one is asked again.
    shop.now.fetch_add(DAY, Ordering::Relaxed);
    assert_eq!(shop.ask().await.expect("it answers").source, "paid");
    shop.limit("core.cost.month", "125 USD");
    assert_eq!(shop.spent().0, "120.00");
    let failure = shop.ask().await.expect_err("the free one has said all");
    assert!(failure.sentence.starts_with("The limit of this day"), "{}", failure.sentence);
    shop.limit("core.cost.day", "1 USD");
    let far = shop.ask().await.expect_err("it is far above the limit").sentence;
    let higher = far.split('"').nth(1).expect("it names a higher limit").to_owned();
    shop.limit("core.cost.month", "");
    shop.limit("core.cost.day", &higher);
    assert_eq!(shop.ask().await.expect("it is enough").source, "paid", "{higher}");
    shop.limit("core.cost.month", "125 USD");
    assert!(failure.sentence.contains("`free`"), "what became of the other is said, too: {}", failure.sentence);
    shop.limit("core.cost.day", "1000 USD");
    let failure = shop.ask().await.expect_err("the month has a limit of its own");
    assert!(failure.sentence.contains("from 2027-01-01 00:00"), "{}", failure.sentence);
}

impl Shop {
    async fn limit_with(&self, most: u64) -> ModelsFailure {
        self.limit("core.cost.day", &format!("7 EUR, {most} USD"));
        self.ask().await.expect_err("the limit is reached")
    }
}

#[tokio::test]
async fn guests_have_a_limit_of_their_own_and_hear_nothing_of_the_owners_money() {
    let vendor = Vendor::start(vec![counts("for the owner", 1, 0, 1)]).await;
    let shop = Shop::open();
    let mut notices = shop.costs.subscribe();
    shop.add("paid", &vendor.url);
    shop.limit("core.cost.guests_day", "50 tokens");
    let mut guest = cause();
    guest.principal.role = Role::Guest;
    let refused = shop.ask_as(&guest, &Unseen).await.expect_err("it may take more than 50");
    assert!(refused.sentence.contains("2026-12-01 00:00"), "{}", refused.sentence);
    assert!(!refused.sentence.contains("tokens") && !refused.sentence.contains("waiter"), "{}", refused.sentence);
    assert!(notices.try_recv().expect("the owner is told").text.contains("for guests"));
    shop.ask().await.expect("the owner's calls go on");
}

#[tokio::test]
async fn calls_at_one_time_do_not_pass_a_limit_together() {
    let paid = Vendor::start((0..8).map(|_| counts("yes", 20, 0, 5)).collect()).await;
    let shop = Shop::open();
    shop.add("paid", &paid.url);
    // Each sets aside its prompt and 100 tokens; two fit.
    shop.limit("core.cost.day", &format!("{} USD", 2 * (prompt() + 100) + 50));
    let cause = cause();
    let (a, b, c, d) = tokio::join!(
        shop.ask_as(&cause, &Unseen),
        shop.ask_as(&cause, &Unseen),
        shop.ask_as(&cause, &Unseen),
        shop.ask_as(&cause, &Unseen),
    );
    assert_eq!([a, b, c, d].iter().filter(|answer| answer.is_ok()).count(), 2);
    assert_eq!((paid.requests().len(), shop.spent().0.as_str()), (2, "50.00"));
    shop.ask().await.expect("what was set aside and not taken is there again");
}

#[tokio::test]
async fn the_owner_is_told_once_when_four_fifths_are_spent() {
    let vendor = Vendor::start((0..3).map(|_| counts("yes", 100, 0, 60)).collect()).await;
    let shop = Shop::open();
    let mut notices = shop.costs.subscribe();
    shop.add("paid", &vendor.url);
    shop.limit("core.cost.day", "401 USD");
    shop.ask().await.expect("it answers");
    notices.try_recv().expect_err("160 of 401 are not much");
    shop.limit("core.cost.day", "400 USD");
    shop.ask().await.expect("it answers");
    let told = notices.try_recv().expect("320 of 400 are");
    assert_eq!(told.kind, NoticeKind::Near);
    assert!(told.text.contains("320.00 USD are spent"), "{}", told.text);
    shop.limit("core.cost.day", "900 USD, 500 tokens");
    shop.ask().await.expect("it answers");
    assert!(notices.try_recv().expect("another amount").text.contains("480 tokens"), "tokens are told by themselves");
    notices.try_recv().expect_err("once");
}

#[tokio::test]
async fn a_vendor_that_counts_nothing_is_not_free_and_one_that_counts_wildly_stops_nothing() {
    let vendor = Vendor::start(vec![counts("zeros", 0, 0, 0), counts("wild", u64::MAX, 0, u64::MAX)]).await;
    let shop = Shop::open();
    shop.add("paid", &vendor.url);
    shop.ask().await.expect("it answers");
    assert_eq!(shop.spent(), (format!("{}.00", prompt() + homeagent_types::tokens::of_text("zeros")), 1));
    shop.ask().await.expect("it answers");
    let total = shop.report(CostKey::Day).total;
    assert!(total.input > 1 << 40 && total.input < 1 << 41, "{total:?}");
}

#[tokio::test]
async fn what_was_never_sent_costs_nothing() {
    let shop = Shop::open();
    shop.add("paid", "http://127.0.0.1:1");
    let record = shop.sources.get("paid").expect("it is there");
    // Its adapter can't be opened.
    shop.sources.add(&SourceRecord { adapter: "lost".to_owned(), ..record }).expect("added");
    shop.ask().await.expect_err("it can't answer");
    assert_eq!((shop.spent(), shop.report(CostKey::Source).total.calls), (("0.00".to_owned(), 0), 1));
}

#[tokio::test]
async fn the_owner_is_told_of_the_limit_where_a_free_source_answers_and_again_of_a_higher_one() {
    let free = Vendor::start((0..3).map(|_| says("free")).collect()).await;
    let shop = Shop::open();
    let mut notices = shop.costs.subscribe();
    shop.add("paid", "http://127.0.0.1:1");
    shop.add("free", &free.url);
    for most in ["1 USD", "1 USD", "2 USD"] {
        shop.limit("core.cost.day", most);
        assert_eq!(shop.ask().await.expect("it answers").source, "free");
    }
    for most in ["1.00 USD", "2.00 USD"] {
        let told = notices.try_recv().expect("the owner is told");
        assert!(!told.answered && told.text.contains(most), "{told:?}");
    }
    notices.try_recv().expect_err("once of each");
}

#[tokio::test]
async fn a_long_sound_is_no_way_past_a_limit() {
    let paid = Vendor::start(vec![counts("one", 50, 0, 10)]).await;
    let shop = Shop::open();
    shop.add("paid", &paid.url);
    shop.limit("core.cost.day", "20000 USD");
    let asked = |bytes: usize| {
        let medium = ModelMedia { mime: "audio/wav".to_owned(), name: None, data: vec![7; bytes], url: None };
        Prompt { messages: vec![Message::User(vec![ContentPart::medium(medium)])], ..Prompt::default() }
    };
    let cause = cause();
    let (long, short) = (asked(1 << 20), asked(1 << 10));
    let request = |prompt| LineRequest { line: SourceLine::Main, prompt, cause: &cause };
    shop.providers.complete(request(&long), &Unseen).await.expect_err("it may be 32,768 tokens");
    assert!(paid.requests().is_empty());
    shop.providers.complete(request(&short), &Unseen).await.expect("there is room for that");
}
