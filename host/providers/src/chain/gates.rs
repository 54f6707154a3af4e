//! How many requests a source takes at once, and in a minute.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use homeagent_settings::SourceRecord;
use tokio::sync::{Mutex as Turnstile, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::cost::is_local;

/// What a source on this machine takes at once, where it does not say: more only makes each of them slower.
const LOCAL_PLACES: usize = 2;
const MINUTE: Duration = Duration::from_secs(60);

/// What bounds the requests to a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bounds {
    /// At once; `None`: as many as there are.
    concurrent: Option<usize>,
    /// Begun in any minute.
    per_minute: Option<usize>,
}

impl Bounds {
    fn of(record: &SourceRecord) -> Self {
        let set = |name: &str| {
            let text = record.options.get(name)?;
            let number = text.trim().parse::<usize>().ok();
            if number.is_none() {
                let wanted = "a whole number; 0 for no limit";
                tracing::warn!(
                    source = record.name,
                    option = name,
                    value = text,
                    wanted,
                    "option of a model source ignored"
                );
            }
            number
        };
        let local = is_local(&record.base_url).then_some(LOCAL_PLACES);
        let limit = |number: usize| (number > 0).then_some(number.min(Semaphore::MAX_PERMITS));
        Bounds { concurrent: set("concurrent").map_or(local, limit), per_minute: set("per_minute").and_then(limit) }
    }
}

/// The gates of all sources.
#[derive(Debug, Default)]
pub(super) struct Gates {
    known: Mutex<HashMap<String, Arc<Gate>>>,
}

impl Gates {
    /// The gate of a source as it is set now. Requests that are under way when its bounds are changed are not counted any
    /// more among those at once; those of the last minute are.
    pub(super) fn of(&self, record: &SourceRecord) -> Arc<Gate> {
        let bounds = Bounds::of(record);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.get(&record.name);
        if let Some(gate) = before
            && gate.bounds == bounds
        {
            return Arc::clone(gate);
        }
        let gate = Arc::new(Gate {
            bounds,
            places: bounds.concurrent.map(|places| Arc::new(Semaphore::new(places))),
            begun: before.map(|gate| Arc::clone(&gate.begun)).unwrap_or_default(),
        });
        known.insert(record.name.clone(), Arc::clone(&gate));
        gate
    }

    /// Forgets sources that are no longer configured.
    pub(super) fn keep_only(&self, records: &[SourceRecord]) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|name, _| records.iter().any(|record| record.name == *name));
    }
}

/// The right to ask a source, until it is dropped.
#[derive(Debug)]
pub(super) struct Pass {
    _place: Option<OwnedSemaphorePermit>,
}

/// Where requests to one source queue: first come, first served; whoever goes leaves the queue.
#[derive(Debug)]
pub(super) struct Gate {
    bounds: Bounds,
    places: Option<Arc<Semaphore>>,
    /// When requests of the last minute began. The one that waits for a minute to pass holds it, and the others queue
    /// behind that one.
    begun: Arc<Turnstile<VecDeque<Instant>>>,
}

impl Gate {
    /// Lets a request in that nobody stands before.
    pub(super) fn try_enter(&self) -> Option<Pass> {
        let place = match &self.places {
            Some(places) => Some(Arc::clone(places).try_acquire_owned().ok()?),
            None => None,
        };
        if let Some(most) = self.bounds.per_minute {
            let mut begun = self.begun.try_lock().ok()?;
            if opening(&mut begun, most, Instant::now()).is_some() {
                return None;
            }
            begun.push_back(Instant::now());
        }
        Some(Pass { _place: place })
    }

    /// Queues.
    pub(super) async fn enter(&self) -> Pass {
        let place = match &self.places {
            // It is never closed.
            Some(places) => Arc::clone(places).acquire_owned().await.ok(),
            None => None,
        };
        if let Some(most) = self.bounds.per_minute {
            let mut begun = self.begun.lock().await;
            while let Some(moment) = opening(&mut begun, most, Instant::now()) {
                tokio::time::sleep_until(moment).await;
            }
            begun.push_back(Instant::now());
        }
        Pass { _place: place }
    }

    /// When the minute's bound lets the next request in, where it is that which keeps it out, and that is known.
    pub(super) fn opens_at(&self) -> Option<Instant> {
        let mut begun = self.begun.try_lock().ok()?;
        opening(&mut begun, self.bounds.per_minute?, Instant::now())
    }

    /// Why nobody gets in, in words.
    pub(super) fn busy(&self) -> String {
        let taken = self.places.as_ref().is_some_and(|places| places.available_permits() == 0);
        match (self.bounds.concurrent, self.bounds.per_minute) {
            (Some(places), most) if taken || most.is_none() => {
                format!("other requests take what it takes at once ({places})")
            }
            (_, most) => format!("it has been asked as often as it may be in a minute ({})", most.unwrap_or_default()),
        }
    }
}

/// When the next request may begin, if not `now`.
fn opening(begun: &mut VecDeque<Instant>, most: usize, now: Instant) -> Option<Instant> {
    while begun.front().is_some_and(|first| *first + MINUTE <= now) {
        begun.pop_front();
    }
    let open = begun.len().checked_sub(most)?;
    begun.get(open).map(|first| *first + MINUTE)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use homeagent_settings::SourceLine;

    use super::*;

    fn source(base_url: &str, options: &[(&str, &str)]) -> SourceRecord {
        SourceRecord {
            name: "a".to_owned(),
            line: SourceLine::Main,
            adapter: "openai".to_owned(),
            base_url: base_url.to_owned(),
            model: "m".to_owned(),
            secret: None,
            options: options
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect::<BTreeMap<_, _>>(),
            position: 0,
            enabled: true,
        }
    }

    #[test]
    fn sources_of_this_machine_take_few_requests_at_once_unless_they_say_otherwise() {
        for url in ["http://127.0.0.1:8080/v1", "http://localhost:11434", "http://[::1]:1"] {
            assert_eq!(Bounds::of(&source(url, &[])).concurrent, Some(LOCAL_PLACES), "{url}");
        }
        for url in ["https://api.example.com", "http://192.168.1.7:8080", "offline:", "builtin:"] {
            assert_eq!(Bounds::of(&source(url, &[])).concurrent, None, "{url}");
        }
        let set = Bounds::of(&source("http://localhost", &[("concurrent", "0"), ("per_minute", "3")]));
        assert_eq!(set, Bounds { concurrent: None, per_minute: Some(3) });
        assert_eq!(Bounds::of(&source("http://x", &[("concurrent", "many")])).concurrent, None);
    }

    #[tokio::test]
    async fn first_come_is_first_served_and_who_goes_leaves_the_queue() {
        let gates = Gates::default();
        let gate = gates.of(&source("http://x", &[("concurrent", "1")]));
        let held = gate.try_enter().expect("it is free");
        assert!(gate.try_enter().is_none());
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut waiting = Vec::new();
        for name in 0..3 {
            let (gate, order) = (Arc::clone(&gate), Arc::clone(&order));
            waiting.push(tokio::spawn(async move {
                let _pass = gate.enter().await;
                order.lock().expect("not poisoned").push(name);
            }));
            tokio::task::yield_now().await;
        }
        waiting.remove(1).abort();
        tokio::task::yield_now().await;
        drop(held);
        for waiter in waiting {
            waiter.await.expect("it gets in");
        }
        assert_eq!(*order.lock().expect("not poisoned"), [0, 2]);
        assert!(gate.try_enter().is_some());
    }

    #[test]
    fn no_minute_has_more_requests_than_are_allowed() {
        let (mut begun, mut entered) = (VecDeque::new(), Vec::new());
        let mut now = Instant::now();
        while entered.len() < 10 {
            match opening(&mut begun, 3, now) {
                Some(moment) => now = moment,
                None => {
                    begun.push_back(now);
                    entered.push(now);
                    now += Duration::from_secs(7);
                }
            }
        }
        for window in entered.windows(4) {
            assert!(window[3] - window[0] >= MINUTE, "{entered:?}");
        }
        assert_eq!(entered[9] - entered[0], MINUTE * 3);
        // A tighter bound counts what was.
        assert_eq!(opening(&mut begun, 1, now), begun.back().map(|last| *last + MINUTE));
    }

    #[tokio::test]
    async fn what_is_set_anew_counts_what_was() {
        let gates = Gates::default();
        assert!(gates.of(&source("http://x", &[("per_minute", "3")])).try_enter().is_some());
        let gate = gates.of(&source("http://x", &[("per_minute", "1")]));
        assert!(gate.try_enter().is_none() && gate.opens_at().is_some());
        assert!(gates.of(&source("http://x", &[("per_minute", "2")])).try_enter().is_some());
    }
}
