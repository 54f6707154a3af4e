//! What whoever asks the memory notices.

use std::sync::Arc;

use async_trait::async_trait;
use homeagent_language::embed::{EmbedError, Embedder};
use homeagent_settings::Database;
use homeagent_types::{Audience, Viewer};
use jiff::tz::TimeZone;
use proptest::prelude::*;
use tokio::sync::watch;

use super::*;
use crate::index::{Passage, PassageKind};
use crate::vectors::Vectors;

/// 2026-05-20 12:00 UTC, a Wednesday.
const NOW: i64 = 1_779_278_400_000;
const DAY: i64 = 86_400_000;

fn passage(at: i64, speaker: &str, audience: &str, text: &str) -> Passage {
    Passage {
        kind: PassageKind::Said,
        origin: at.to_string(),
        part: 0,
        conversation: audience.into(),
        session: (at / 5).to_string(),
        position: at,
        speaker: speaker.into(),
        audience: Audience::parse(audience),
        at_ms: NOW - (1000 - at) * DAY,
        text: text.into(),
    }
}

struct Home {
    recall: Recall,
    _folder: tempfile::TempDir,
}

fn home(passages: &[Passage]) -> Home {
    let folder = tempfile::tempdir().expect("a folder");
    let database = Database::open(folder.path().join("memory.db")).expect("a database");
    let vectors = Vectors::open(&database).expect("vectors");
    let index = Index::open(&database, &vectors).expect("an index");
    index.put(passages).expect("put");
    let (_, embedder) = watch::channel(None);
    Home { recall: Recall::new(index, embedder), _folder: folder }
}

/// A model that is so busy that it never answers.
struct Busy(ModelIdentity);

#[async_trait]
impl Embedder for Busy {
    fn identity(&self) -> &ModelIdentity {
        &self.0
    }

    async fn embed(&self, _: Purpose, _: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
        std::future::pending().await
    }
}

fn ask(text: &str, viewer: &Viewer) -> Ask {
    Ask {
        text: text.into(),
        viewer: viewer.clone(),
        now_ms: NOW,
        time_zone: TimeZone::UTC,
        limit: 5,
        conversation: None,
        speaker: None,
        kinds: Vec::new(),
        patience: None,
    }
}

fn found(home: &Home, ask: &Ask) -> Vec<Hit> {
    home.recall.rank(ask, None).expect("an answer")
}

fn first(home: &Home, question: &str) -> String {
    let hits = found(home, &ask(question, &Viewer::Everything));
    hits.first().map_or_else(String::new, |hit| hit.passage.text.clone())
}

#[test]
fn chinese_is_found_by_its_words_alone() {
    let home = home(&[
        passage(1, "李明", "person:cli:me", "我家的小猫叫团子，今年三岁了"),
        passage(12, "李明", "person:cli:me", "明天要去上海出差"),
        passage(23, "王芳", "person:cli:me", "冰箱的保修卡放在书房左边的抽屉里"),
    ]);
    assert!(first(&home, "猫叫什么名字？").contains("团子"));
    assert!(first(&home, "冰箱保修卡在哪里").contains("抽屉"));
    assert!(first(&home, "什么时候去上海？").contains("出差"));
    assert!(first(&home, "李明的猫").contains("团子"));
}

#[test]
fn an_answer_is_found_by_the_question_before_it() {
    let home = home(&[
        passage(1, "Ann", "person:cli:me", "Where did you put the passport?"),
        passage(2, "Ben", "person:cli:me", "In the blue drawer."),
        passage(13, "Ben", "person:cli:me", "The drawer of the kitchen is broken."),
        passage(25, "Ann", "person:cli:me", "Nothing else happened."),
    ]);
    let hits = found(&home, &ask("Where is the passport?", &Viewer::Everything));
    assert_eq!(hits.len(), 2, "{hits:#?}");
    let answer = hits.iter().find(|hit| hit.passage.text.contains("blue")).expect("the answer");
    assert!(answer.parts.neighbours > 0.0 && answer.parts.keyword == 0.0);
    assert!((answer.score - answer.parts.sum()).abs() < f32::EPSILON);
}

#[tokio::test]
async fn whoever_does_not_wait_for_a_busy_model_has_what_the_words_find() {
    let home = home(&[passage(10, "Ann", "group:qq:7", "I like tennis a lot")]);
    let identity = ModelIdentity {
        name: "busy".into(),
        kind: "static".into(),
        digest: "1".into(),
        dimensions: 3,
        pooling: "mean".into(),
        query_prefix: String::new(),
        passage_prefix: String::new(),
        normalised: false,
    };
    let (_keep, embedder) = watch::channel(Some(Arc::new(Busy(identity)) as Arc<dyn Embedder>));
    let recall = Recall { embedder, ..home.recall.clone() };
    let hurried = Ask { patience: Some(Duration::from_millis(2)), ..ask("tennis", &Viewer::Everything) };
    // Before the time is over that a model has where nobody is in a hurry.
    let hits = tokio::time::timeout(EMBEDDING, recall.recall(&hurried)).await.expect("in time").expect("an answer");
    assert_eq!(hits[0].passage.text, "I like tennis a lot");
}

#[test]
fn whoever_is_named_is_preferred_and_nobody_is_left_out() {
    let texts = [("Ann", "I like tennis a lot"), ("Ben", "I like tennis a lot more")];
    let passages: Vec<Passage> =
        (1..).zip(texts).map(|(at, (who, text))| passage(at * 10, who, "group:qq:7", text)).collect();
    let home = home(&passages);
    for (who, expected) in [("Ann", "I like tennis a lot"), ("Ben", "I like tennis a lot more")] {
        let hits = found(&home, &ask(&format!("Does {who} like tennis?"), &Viewer::Everything));
        assert_eq!(hits.len(), 2);
        assert_eq!(hits[0].passage.text, expected);
    }
    let mine = Ask { speaker: Some("Ben".into()), ..ask("Do I like tennis?", &Viewer::Everything) };
    assert_eq!(found(&home, &mine)[0].passage.speaker, "Ben");
}

#[test]
fn equal_texts_are_given_once_and_other_kinds_and_conversations_not_at_all() {
    let mut passages: Vec<Passage> =
        (0..4).map(|at| passage(at * 10, "Ann", "person:qq:1", "The code is green")).collect();
    passages[1].kind = PassageKind::Answered;
    passages[1].text = "Your code is red".into();
    passages[2].conversation = "elsewhere".into();
    let home = home(&passages);
    let everything = ask("which code", &Viewer::Everything);
    assert_eq!(found(&home, &everything).len(), 2);
    let answered = Ask { kinds: vec![PassageKind::Answered], ..everything.clone() };
    assert_eq!(found(&home, &answered)[0].passage.text, "Your code is red");
    let elsewhere = Ask { conversation: Some("elsewhere".into()), ..everything.clone() };
    assert_eq!(found(&home, &elsewhere)[0].passage.origin, "20");
    let nowhere = Ask { conversation: Some("nowhere".into()), ..everything };
    assert!(found(&home, &nowhere).is_empty());
}

#[test]
fn what_was_said_when_the_question_says_comes_first() {
    let passages: Vec<Passage> = [400, 970, 993, 999]
        .into_iter()
        .map(|at| passage(at, "Ann", "person:qq:1", &format!("we had soup for dinner, again 又喝汤 {at}")))
        .collect();
    let home = home(&passages);
    let origin = |question: &str| found(&home, &ask(question, &Viewer::Everything))[0].passage.origin.clone();
    assert_eq!(origin("what did we have for dinner yesterday?"), "999");
    assert_eq!(origin("what did we have for dinner last week?"), "993");
    assert_eq!(origin("上个月喝汤了吗"), "970");
    assert_eq!(origin("dinner in September 2024"), "400");
}

struct Graph;

impl EntitySource for Graph {
    fn mentioned(&self, text: &str, _: &Viewer) -> Vec<(i64, f32)> {
        if text.contains("my sister") { vec![(7, 1.0)] } else { Vec::new() }
    }

    fn passages_of(&self, _: i64) -> Vec<(PassageKind, String)> {
        vec![(PassageKind::Said, "1".into()), (PassageKind::Said, "2".into())]
    }
}

#[test]
fn what_the_graph_knows_of_whom_a_question_names_is_found_if_it_may_be_seen() {
    let home = home(&[
        passage(1, "Ann", "person:qq:1", "Julia moved to Lyon"),
        passage(2, "Ann", "person:qq:2", "Julia is ill"),
        passage(30, "Ann", "person:qq:1", "The weather is fine"),
    ]);
    home.recall.set_entities(Arc::new(Graph));
    let viewer = Viewer::Only([Audience::parse("person:qq:1")].into());
    let hits = found(&home, &ask("How is my sister doing?", &viewer));
    assert_eq!(hits[0].passage.text, "Julia moved to Lyon");
    assert!(hits[0].parts.entity > 0.0);
    assert!(hits.iter().all(|hit| hit.passage.origin != "2"));
}

const WORDS: [&str; 8] = ["secret", "garden", "密码", "钥匙", "Ann", "likes", "tennis", "昨天"];

fn any_text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&WORDS[..]), 1..6).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn what_a_viewer_may_not_see_is_never_found(
        talk in prop::collection::vec((0usize..5, 0usize..3, any_text()), 1..40),
        seen in prop::collection::btree_set(0usize..5, 0..3),
        question in prop_oneof![any_text(), any::<String>()],
        removed in prop::collection::vec(0usize..40, 0..4),
    ) {
        let audiences = ["person:qq:1", "person:qq:2", "group:qq:7", "agent", "other:planet"];
        let passages: Vec<Passage> = (0..).zip(&talk).map(|(at, (audience, speaker, text))| Passage {
            // One conversation for all, so that neighbours and sessions are of several audiences.
            conversation: "all".into(),
            ..passage(at, ["Ann", "Ben", ""][*speaker], audiences[*audience], &format!("{text} {at}"))
        }).collect();
        let home = home(&passages);
        let removed: Vec<String> = removed.iter().map(ToString::to_string).collect();
        home.recall.index.remove(PassageKind::Said, &removed).expect("removed");
        let viewer = Viewer::Only(seen.iter().map(|at| Audience::parse(audiences[*at])).collect());
        for hit in found(&home, &Ask { limit: 50, ..ask(&question, &viewer) }) {
            prop_assert!(viewer.may_see(&hit.passage.audience));
            prop_assert!(!removed.contains(&hit.passage.origin));
        }
        // And what can't be seen changes nothing of the rest.
        let visible: Vec<Passage> = passages.iter().filter(|passage| viewer.may_see(&passage.audience)).cloned().collect();
        prop_assert!(found(&home, &ask(&question, &viewer)).len() <= visible.len());
    }
}
