//! The month as a home's journal has it, distilled, and held against what is true.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use homeagent_journal::{EventKind, Journal, NewEvent};
use homeagent_memory::Audiences;
use homeagent_memory::distill::{Distiller, Judge, JudgeError, Parts, Question};
use homeagent_memory::graph::{Author, EntityKind, Graph};
use homeagent_settings::{Bindings, Database, Secrets, Settings};
use homeagent_types::model::Message as Turn;
use homeagent_types::{Audience, Principal, Role, Viewer};
use serde_json::json;

use super::home::{About, PEOPLE};
use super::truth::{Held, Score, folded};
use super::{Message, Month};

/// A model that takes any two things for one: whatever should not be merged must not be asked at all.
#[derive(Default)]
struct SaysSame(Mutex<Vec<String>>);

#[async_trait]
impl Judge for SaysSame {
    async fn ask(&self, question: &Question) -> Result<Option<String>, JudgeError> {
        let numbers = question.material.lines().filter_map(|line| line.strip_suffix('.')?.parse::<usize>().ok());
        let verdicts: Vec<_> = numbers.map(|number| json!({ "number": number, "verdict": "same" })).collect();
        self.0.lock().expect("not poisoned").push(question.material.clone());
        Ok(Some(json!({ "verdicts": verdicts }).to_string()))
    }
}

/// A home in which a month was talked.
struct Home {
    _folder: tempfile::TempDir,
    journal: Journal,
    audiences: Audiences,
    graph: Graph,
    distiller: Distiller,
    judge: Arc<SaysSame>,
}

impl Home {
    fn open() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let main = Database::open(folder.path().join("homeagent.db")).expect("a database");
        let memory = Database::open(folder.path().join("memory.db")).expect("a database");
        let journal = Journal::open(&main).expect("a journal");
        let secrets = Secrets::open(&main, folder.path()).expect("secrets");
        let settings = Settings::open(&main, &secrets).expect("settings");
        let bindings = Bindings::open(&main).expect("bindings");
        let audiences = Audiences::open(&memory, bindings).expect("audiences");
        let graph = Graph::open(&memory, audiences.clone()).expect("a graph");
        let judge = Arc::<SaysSame>::default();
        let distiller = Distiller::open(Parts {
            database: memory,
            journal: journal.clone(),
            settings,
            graph: graph.clone(),
            names: None,
            documents: None,
            judge: Some(judge.clone()),
        });
        Self { _folder: folder, journal, audiences, graph, distiller: distiller.expect("a distiller"), judge }
    }

    async fn hear(&self, message: &Message) {
        let (kind, said, speaker) = match message.account {
            Some(account) => {
                let speaker = speaker(account);
                self.audiences.heard(&speaker, &Audience::parse(&message.audience)).expect("noted");
                let said = Turn::user(&message.text);
                (EventKind::UserMessageAdded, said, Some(speaker))
            }
            None => (EventKind::AssistantMessageAdded, by_agent(&message.text), None),
        };
        let event = NewEvent {
            session: self.journal.current_session(&message.conversation).await.expect("a session"),
            run: None,
            conversation: message.conversation.clone(),
            kind,
            audience: message.audience.clone(),
            payload: json!({ "message": said, "speaker": speaker }),
        };
        self.journal.append(event).await.expect("kept");
    }

    async fn live_through(&self, month: &Month) {
        for message in &month.messages {
            self.hear(message).await;
        }
        while self.distiller.archive_once().await.expect("distilled").more {}
    }

    /// What the graph shows each person of himself.
    fn held(&self) -> Vec<Held> {
        PEOPLE.iter().flat_map(|person| self.held_of(person.account)).collect()
    }

    fn held_of(&self, account: &'static str) -> Vec<Held> {
        let viewer = self.audiences.viewer(&Audience::Person(account.to_owned()));
        let Some(entity) = self.graph.of_account(account, &viewer).expect("the graph answers") else {
            return Vec::new();
        };
        let relations = self.graph.relations_of(entity.id, 10_000, &viewer).expect("the graph answers");
        let own = relations.into_iter().filter(|relation| relation.subject.0 == entity.id);
        let held = own.filter_map(|relation| {
            let (person, current) = (account.to_owned(), relation.is_current());
            let (about, audience) = (about(&relation.predicate)?, relation.audience);
            Some(Held { person, about, value: relation.object, audience, current })
        });
        held.collect()
    }
}

fn by_agent(text: &str) -> Turn {
    Turn::Assistant { text: text.to_owned(), reasoning: String::new(), tool_calls: Vec::new(), opaque: Vec::new() }
}

fn speaker(account: &str) -> Principal {
    let person = PEOPLE.iter().find(|person| person.account == account).expect("somebody of the home");
    let (namespace, user) = account.split_once(':').expect("an account");
    Principal {
        namespace: namespace.to_owned(),
        user: user.to_owned(),
        role: Role::Member,
        display_name: Some(person.name.to_owned()),
        attested: true,
    }
}

/// What the truth calls a predicate of the graph.
fn about(predicate: &str) -> Option<About> {
    match predicate {
        "name" => Some(About::Name),
        "home" => Some(About::Home),
        "job" => Some(About::Job),
        "age" => Some(About::Age),
        "likes" => Some(About::Likes),
        _ => None,
    }
}

/// Every entity: its id, its name and what else it is called, and its accounts.
fn entities(graph: &Graph) -> BTreeMap<i64, (BTreeSet<String>, Vec<String>)> {
    let every = EntityKind::ALL
        .into_iter()
        .flat_map(|kind| graph.of_kind(kind, 10_000, &Viewer::Everything).expect("the graph answers"));
    let described = every.map(|entity| {
        let names = entity.aliases.iter().chain([&entity.name]).map(|name| folded(name)).collect();
        (entity.id, (names, entity.accounts))
    });
    described.collect()
}

impl Home {
    /// Has everything judged that may be one; how many pairs became one.
    async fn merge(&self) -> usize {
        let mut merged = 0;
        loop {
            let done = self.distiller.merge_once().await.expect("judged");
            merged += done.merged;
            if done.compared == 0 {
                return merged;
            }
        }
    }

    /// Takes all merges back, the last one first.
    fn part(&self) {
        let agent = Author { actor: "owner", audience: &Audience::Agent, viewer: &Viewer::Everything, at_ms: i64::MAX };
        let changes = self.graph.changes(100_000, &Viewer::Everything).expect("the graph answers");
        for merge in changes.iter().filter(|change| change.kind == "merge" && change.undone_at.is_none()) {
            self.graph.undo(merge.id, agent).expect("a merge can be taken back");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_month_is_kept_as_it_was_told() {
    let (mut held, mut holding) = (0, 0);
    let [mut duplicates, mut stale, mut junk, mut closed, mut missing] = [const { Vec::new() }; 5];
    for seed in 0..2 {
        let (month, home) = (Month::of(seed), Home::open());
        home.live_through(&month).await;
        let score = month.truth.score(&home.held());
        println!("{score:#?}");
        held += score.held;
        holding += score.holding;
        duplicates.extend(score.duplicates);
        duplicates.extend(score.shown_again);
        stale.extend(score.stale);
        junk.extend(score.junk);
        closed.extend(score.wrongly_closed);
        missing.extend(score.missing);
    }
    assert!(Score::share(&duplicates, held) <= 0.03, "{duplicates:?}");
    assert!(Score::share(&junk, held) <= 0.03, "{junk:?}");
    assert!(Score::share(&closed, holding) <= 0.01, "{closed:?}");
    assert!(Score::share(&stale, held) <= 0.01, "{stale:?}");
    assert!(Score::share(&missing, holding) <= 0.01, "{missing:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_becomes_one_that_is_two_and_every_merge_can_be_taken_back() {
    let (month, home) = (Month::of(2), Home::open());
    home.live_through(&month).await;
    let (before, held) = (entities(&home.graph), home.held().len());
    let merged = home.merge().await;
    let after = entities(&home.graph);
    println!("{} entities, of which {merged} were merged into others", before.len());
    let of_two = after.values().filter(|(names, accounts)| names.len() > 1 || accounts.len() > 1);
    let wrong: Vec<_> = of_two.collect();
    assert!(wrong.len() * 100 <= merged, "of {merged}: {wrong:?}");
    let things = month.truth.distinct.iter().filter(|(one, _)| !one.starts_with("home:"));
    for (one, other) in things {
        let asked = home.judge.0.lock().expect("not poisoned");
        let of_both = asked.iter().filter(|material| is_asked(material, one, other)).count();
        assert_eq!(of_both, 0, "{one} and {other}");
    }
    home.part();
    assert_eq!(entities(&home.graph), before);
    assert_eq!(home.held().len(), held);
}

/// Whether a pair in the judge's material is of these two.
fn is_asked(material: &str, one: &str, other: &str) -> bool {
    let names = |label: &str| {
        let lines = material.lines().filter_map(move |line| line.strip_prefix(label)?.strip_prefix(": "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let pairs = names("A").into_iter().zip(names("B"));
    pairs
        .into_iter()
        .any(|(a, b)| (a.starts_with(one) && b.starts_with(other)) || (a.starts_with(other) && b.starts_with(one)))
}
