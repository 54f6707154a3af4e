//! Many people who talk at once: who says what, and what has to have come of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use homeagent_onebot_client::{Client, Options, Sent, at, text};
use serde_json::Value;

use super::media::{image, slow_picture};
use crate::daemon::{Daemon, within};
use crate::vendor::{Speaker, Vendor};

pub(super) const ACCOUNTS: u64 = 3;
pub(super) const GROUPS: u64 = 50;
const PEOPLE: u64 = 15;

/// A conversation: an account of ours, and a group or a person.
type Place = (u64, Option<u64>, Option<u64>);

/// Who talks, and what was said in each conversation so far.
pub(super) struct Crowd {
    pub(super) clients: Vec<Client>,
    said: BTreeMap<Place, Vec<u64>>,
    next: u64,
    /// The picture that goes with every tenth message.
    picture: String,
    /// Messages that may be without an answer at a time.
    at_once: usize,
    /// Messages that will have none.
    given_up: usize,
}

/// The daemon's settings for a run: every message is heard, and each has an answer of its own. Where pictures are.
pub(super) async fn prepare(daemon: &Daemon, vendor: &Vendor) -> String {
    vendor.speaks(ECHO);
    let (host, picture) = slow_picture().await;
    for (key, value) in [
        ("core.agent.merge_ms", "0"),
        ("core.agent.parallel_conversations", "64"),
        ("core.agent.window_events", "8"),
        ("core.plugin.watch", "false"),
        ("plugin.qq.rate_per_minute", "0"),
        ("plugin.qq.background", "0"),
        ("plugin.qq.picture_hosts", host.as_str()),
    ] {
        daemon.waiter(&["settings", "set", key, value]).await.ok();
    }
    picture
}

/// Answers with the number of the message that was said last.
const ECHO: Speaker = |body| {
    let messages = body["messages"].as_array().into_iter().flatten().rev();
    let last =
        messages.filter(|message| message["role"] == "user").map(|message| message["content"].to_string()).next();
    format!(
        "answer #{}#",
        number(&last.unwrap_or_default()).map_or_else(|| "?".to_owned(), |number| number.to_string())
    )
};

/// The number between the last two marks.
fn number(text: &str) -> Option<u64> {
    let mut parts = text.rsplit('#');
    parts.next();
    parts.next()?.parse().ok()
}

impl Crowd {
    /// All clients, connected. `at_once`: so many messages may wait for their answers.
    pub(super) async fn connect(url: &str, at_once: usize, picture: String) -> Self {
        let client = |number| Client::reverse(url, Options::new(super::ACCOUNT + number));
        let clients: Vec<Client> = (0..ACCOUNTS).map(client).collect();
        for client in &clients {
            within("all clients to connect", client.until(|client| client.open() == 1)).await;
        }
        Self { clients, said: BTreeMap::new(), next: 0, picture, at_once, given_up: 0 }
    }

    /// How many messages were said.
    pub(super) fn said(&self) -> usize {
        usize::try_from(self.next).expect("a number of messages")
    }

    /// How many answers arrived.
    pub(super) fn answered(&self) -> usize {
        self.clients.iter().map(|client| client.sent().len()).sum()
    }

    /// The next message: in a group, or, one of four, in private.
    pub(super) fn say(&mut self) {
        self.next += 1;
        // Steps that have no divisor in common with what they walk through, so that every place has its turn.
        let (group, person) = (self.next * 7 % GROUPS, self.next * 4 % PEOPLE);
        let mut words = vec![text(&format!(" number #{}#", self.next))];
        if self.next.is_multiple_of(10) {
            words.push(image("slow.png", &self.picture));
        }
        let (group, person) = (group + super::GROUP, person + super::SOMEBODY);
        let place = if self.next.is_multiple_of(4) {
            let account = person % ACCOUNTS;
            self.client(account).private(person, &words);
            (account, None, Some(person))
        } else {
            let account = group % ACCOUNTS;
            words.insert(0, at(super::ACCOUNT + account));
            self.client(account).group(group, person, &words);
            (account, Some(group), None)
        };
        self.said.entry(place).or_default().push(self.next);
    }

    fn client(&self, account: u64) -> &Client {
        &self.clients[usize::try_from(account).expect("an account")]
    }

    /// Says so many more messages, as fast as they are answered.
    pub(super) async fn talk(&mut self, messages: usize) {
        for _ in 0..messages {
            self.say();
            while self.said() - self.answered() >= self.at_once + self.given_up {
                within("answers", self.something()).await;
            }
        }
    }

    /// Of these messages, those that have no answer yet will have none.
    pub(super) fn give_up(&mut self, unknown: &BTreeSet<u64>) {
        self.given_up = self.check_none_answered_twice().intersection(unknown).count();
    }

    /// Waits until something happens at one of the clients.
    async fn something(&self) {
        let before = self.answered();
        let waits = self.clients.iter().map(|client| Box::pin(client.until(|_| self.answered() > before)));
        futures::future::select_all(waits).await;
    }

    /// Waits until all messages have their answer.
    pub(super) async fn all_answered(&self) {
        while self.answered() < self.said() {
            let what = format!("the answers to {} of {} messages", self.said() - self.answered(), self.said());
            within(&what, self.something()).await;
        }
    }

    /// What was answered in each conversation, in order.
    fn answers(&self) -> BTreeMap<Place, Vec<u64>> {
        let mut answers: BTreeMap<Place, Vec<u64>> = BTreeMap::new();
        for (account, client) in (0..).zip(&self.clients) {
            for sent in client.sent() {
                let Sent { group, user, .. } = sent;
                let number = number(&sent.text()).unwrap_or_else(|| panic!("{sent:?} answers nothing"));
                answers.entry((account, group, user)).or_default().push(number);
            }
        }
        answers
    }

    /// Each message has one answer, there and in the order in which they were said.
    pub(super) fn check_all_answered_in_order(&self) {
        let answers = self.answers();
        for (place, said) in &self.said {
            assert_eq!(answers.get(place), Some(said), "in {place:?}");
        }
        assert_eq!(answers.len(), self.said.len());
    }

    /// No message has two answers, and those that were answered were in order; the messages without one.
    pub(super) fn check_none_answered_twice(&self) -> BTreeSet<u64> {
        let answers = self.answers();
        let mut without: BTreeSet<u64> = self.said.values().flatten().copied().collect();
        for (place, numbers) in &answers {
            let said = self.said.get(place).unwrap_or_else(|| panic!("nothing was said in {place:?}"));
            let mut expected = said.iter();
            for number in numbers {
                assert!(without.remove(number), "{number} was answered twice in {place:?}: {numbers:?}");
                assert!(expected.any(|said| said == number), "{number} is out of order in {place:?}: {numbers:?}");
            }
        }
        without
    }
}

/// How often each message is in the journal.
pub(super) fn journaled(home: &Path) -> BTreeMap<u64, u32> {
    let mut numbers = BTreeMap::new();
    for payload in payloads(home, "input_accepted") {
        if let Some(number) = payload["payload"]["text"].as_str().and_then(number) {
            *numbers.entry(number).or_default() += 1;
        }
    }
    numbers
}

/// The messages whose answer may or may not have gone out.
pub(super) fn unknown(home: &Path) -> BTreeSet<u64> {
    let id = |payload: &Value| payload["output_id"].as_str().unwrap_or_default().to_owned();
    let unknown: BTreeSet<String> = payloads(home, "output_unknown").iter().map(id).collect();
    let queued = payloads(home, "output_queued");
    let queued = queued.iter().filter(|payload| unknown.contains(&id(payload)));
    queued.filter_map(|payload| number(payload["text"].as_str()?)).collect()
}

fn payloads(home: &Path, kind: &str) -> Vec<Value> {
    let database = rusqlite::Connection::open(home.join("homeagent.db")).expect("it opens");
    let mut statement = database.prepare("SELECT payload FROM events WHERE kind = ? ORDER BY seq").expect("a journal");
    let rows = statement.query_map([kind], |row| row.get::<_, String>(0)).expect("they can be read");
    rows.map(|row| serde_json::from_str(&row.expect("a payload")).expect("it is JSON")).collect()
}

/// How many messages a run has, and how often the daemon is disturbed in it: the whole of it where the environment asks
/// for that.
pub(super) fn size(small: (usize, usize), whole: (usize, usize)) -> (usize, usize) {
    if std::env::var_os("HOMEAGENT_WHOLE_RUNS").is_some() { whole } else { small }
}
