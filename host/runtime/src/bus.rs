//! The event bus: bounded, and never waited for by whoever publishes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use homeagent_types::{Cause, Timestamp};
use tokio::sync::Notify;

use crate::grants::GrantTable;

/// Events that wait for a subscriber; beyond it the oldest is dropped and counted.
const WAITING: usize = 256;

/// Something that happened.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) topic: String,
    /// A JSON text.
    pub(crate) payload: String,
    /// The slot that published it, or `host`.
    pub(crate) source: String,
    pub(crate) at: Timestamp,
    pub(crate) cause: Cause,
}

/// Who wants which topics.
#[derive(Default)]
pub(crate) struct Bus {
    subscribers: RwLock<BTreeMap<String, Subscriber>>,
}

struct Subscriber {
    topics: Vec<String>,
    grants: GrantTable,
    queue: Arc<EventQueue>,
}

/// The events that wait for one subscriber.
#[derive(Default)]
pub(crate) struct EventQueue {
    events: Mutex<Waiting>,
    arrived: Notify,
}

#[derive(Default)]
struct Waiting {
    events: VecDeque<Event>,
    dropped: u64,
}

impl Bus {
    /// Replaces a slot's subscription; its queue stays.
    pub(crate) fn subscribe(&self, slot: &str, topics: Vec<String>, grants: GrantTable) -> Arc<EventQueue> {
        let mut subscribers = self.subscribers.write().unwrap_or_else(PoisonError::into_inner);
        let queue = subscribers.get(slot).map(|subscriber| Arc::clone(&subscriber.queue)).unwrap_or_default();
        subscribers.insert(slot.to_owned(), Subscriber { topics, grants, queue: Arc::clone(&queue) });
        queue
    }

    /// Lets a slot have no events until it subscribes again; its queue stays, and is empty.
    pub(crate) fn silence(&self, slot: &str) {
        let mut subscribers = self.subscribers.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(subscriber) = subscribers.get_mut(slot) {
            subscriber.topics.clear();
            *subscriber.queue.events.lock().unwrap_or_else(PoisonError::into_inner) = Waiting::default();
        }
    }

    pub(crate) fn unsubscribe(&self, slot: &str) {
        self.subscribers.write().unwrap_or_else(PoisonError::into_inner).remove(slot);
    }

    pub(crate) fn publish(&self, event: &Event) {
        let subscribers = self.subscribers.read().unwrap_or_else(PoisonError::into_inner);
        for (slot, subscriber) in subscribers.iter() {
            let wanted = subscriber.topics.iter().any(|pattern| matches(pattern, &event.topic));
            if wanted && *slot != event.source && subscriber.grants.allows("events") {
                subscriber.queue.push(event.clone());
            }
        }
    }
}

impl EventQueue {
    fn push(&self, event: Event) {
        let mut waiting = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.events.len() >= WAITING {
            waiting.events.pop_front();
            waiting.dropped += 1;
        }
        waiting.events.push_back(event);
        drop(waiting);
        self.arrived.notify_one();
    }

    /// The next event, and how many were dropped before it. Cancel-safe.
    pub(crate) async fn next(&self) -> (Event, u64) {
        loop {
            {
                let mut waiting = self.events.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(event) = waiting.events.pop_front() {
                    return (event, std::mem::take(&mut waiting.dropped));
                }
            }
            self.arrived.notified().await;
        }
    }
}

/// Whether a pattern, whose last `*` matches any rest, matches a topic.
fn matches(pattern: &str, topic: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => topic.starts_with(start),
        None => pattern == topic,
    }
}

#[cfg(test)]
mod tests {
    use homeagent_types::{Audience, Principal, Role};

    use super::*;
    use crate::grants::Author;

    fn granted() -> GrantTable {
        let folder = tempfile::tempdir().expect("a folder");
        let database = homeagent_settings::Database::open(folder.path().join("db")).expect("a new database");
        let table = GrantTable::new("b".into(), homeagent_settings::Grants::open(&database).expect("new grants"));
        table.ask([("events".to_owned(), toml::Table::new())].into(), Author::Bundled);
        table
    }

    fn event(topic: &str) -> Event {
        let principal = Principal {
            namespace: "host".into(),
            user: "host".into(),
            role: Role::Plugin,
            display_name: None,
            attested: false,
        };
        let cause = Cause {
            run: None,
            conversation: None,
            principal,
            audience: Audience::Agent,
            deadline_ms: 1,
            chain: Vec::new(),
            meta: Vec::new(),
        };
        Event { topic: topic.into(), payload: "{}".into(), source: "a".into(), at: 0, cause }
    }

    #[tokio::test]
    async fn a_subscriber_gets_its_topics_in_order_and_never_its_own() {
        let bus = Bus::default();
        let queue = bus.subscribe("b", vec!["plugin.*".into(), "x".into()], granted());
        let own = bus.subscribe("a", vec!["*".into()], granted());
        for topic in ["plugin.a.1", "y", "x", "plugin.a.2"] {
            bus.publish(&event(topic));
        }
        for topic in ["plugin.a.1", "x", "plugin.a.2"] {
            assert_eq!(queue.next().await.0.topic, topic);
        }
        assert!(own.events.lock().expect("no panic").events.is_empty());
    }

    #[tokio::test]
    async fn one_that_is_silenced_gets_nothing_until_it_subscribes_again() {
        let bus = Bus::default();
        let queue = bus.subscribe("b", vec!["*".into()], granted());
        bus.publish(&event("1"));
        bus.silence("b");
        bus.publish(&event("2"));
        bus.subscribe("b", vec!["*".into()], granted());
        bus.publish(&event("3"));
        assert_eq!(queue.next().await.0.topic, "3");
    }

    #[tokio::test]
    async fn a_slow_subscriber_loses_the_oldest_and_is_told() {
        let bus = Bus::default();
        let queue = bus.subscribe("b", vec!["*".into()], granted());
        for number in 0..WAITING + 3 {
            bus.publish(&event(&number.to_string()));
        }
        let (first, dropped) = queue.next().await;
        assert_eq!((first.topic.as_str(), dropped), ("3", 3));
    }
}
