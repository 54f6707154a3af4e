//! The corpora, as what was said and what is asked of it.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::fs;
use std::path::Path;

use homeagent_types::Audience;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde::de::DeserializeOwned;

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// One thing that was said.
pub(crate) struct Said {
    pub(crate) id: String,
    pub(crate) conversation: String,
    /// The day on which it was said.
    pub(crate) session: String,
    pub(crate) position: i64,
    pub(crate) speaker: String,
    pub(crate) by_agent: bool,
    pub(crate) audience: Audience,
    pub(crate) at_ms: i64,
    pub(crate) text: String,
}

/// A question, and what answers it.
pub(crate) struct Question {
    pub(crate) id: String,
    pub(crate) asker: String,
    /// Before whom it is asked.
    pub(crate) audience: Audience,
    pub(crate) asked_at_ms: i64,
    pub(crate) text: String,
    /// Indexes among what was said.
    pub(crate) evidence: Vec<usize>,
    pub(crate) kind: String,
}

#[derive(Default)]
pub(crate) struct Corpus {
    pub(crate) said: Vec<Said>,
    pub(crate) questions: Vec<Question>,
}

#[derive(Deserialize)]
struct MessageLine {
    id: String,
    conversation: String,
    audience: String,
    speaker: String,
    at: String,
    text: String,
}

#[derive(Deserialize)]
struct QuestionLine {
    id: String,
    asker: String,
    asked_at: String,
    text: String,
    evidence: Vec<String>,
    kind: String,
}

/// Where the repository keeps its corpora.
fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpora/memory"))
}

fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

impl Corpus {
    /// The conversations under `tests/corpora/memory/chinese`.
    pub(crate) fn own() -> Result<Self> {
        let mut corpus = Self::default();
        let mut paths: Vec<_> =
            fs::read_dir(folder().join("chinese"))?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
        paths.sort();
        let messages = |path: &&std::path::PathBuf| path.to_string_lossy().ends_with(".messages.jsonl");
        for path in paths.iter().filter(messages) {
            corpus.add_conversation(path)?;
        }
        Ok(corpus)
    }

    fn add_conversation(&mut self, path: &Path) -> Result<()> {
        let mut places = HashMap::new();
        let mut here = None;
        for (position, line) in lines::<MessageLine>(path)?.into_iter().enumerate() {
            let audience = Audience::parse(&line.audience);
            here.get_or_insert_with(|| audience.clone());
            places.insert(line.id.clone(), self.said.len());
            self.said.push(Said {
                session: line.at.chars().take(10).collect(),
                position: i64::try_from(position)?,
                by_agent: line.speaker == "agent",
                at_ms: line.at.parse::<Timestamp>()?.as_millisecond(),
                id: line.id,
                conversation: line.conversation,
                speaker: line.speaker,
                audience,
                text: line.text,
            });
        }
        let audience = here.ok_or_else(|| format!("{} is empty", path.display()))?;
        let questions = path.to_string_lossy().replace(".messages.jsonl", ".questions.jsonl");
        for line in lines::<QuestionLine>(Path::new(&questions))? {
            let place = |id: &String| places.get(id).copied().ok_or_else(|| format!("{}: no message {id}", line.id));
            self.questions.push(Question {
                evidence: line.evidence.iter().map(place).collect::<std::result::Result<_, _>>()?,
                audience: audience.clone(),
                asked_at_ms: line.asked_at.parse::<Timestamp>()?.as_millisecond(),
                id: line.id,
                asker: line.asker,
                text: line.text,
                kind: line.kind,
            });
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct Diary {
    history: BTreeMap<String, Vec<Turn>>,
}

#[derive(Deserialize)]
struct Turn {
    query: String,
    response: String,
}

#[derive(Deserialize)]
struct Label {
    person: String,
    question: usize,
    evidence: Vec<Place>,
}

#[derive(Deserialize)]
struct Place {
    turn: String,
    part: String,
}

impl Corpus {
    /// MemoryBank's Chinese diaries and probing questions from a folder that has them, with our labels.
    pub(crate) fn memorybank(from: &Path) -> Result<Self> {
        let diaries: BTreeMap<String, Diary> =
            serde_json::from_str(&fs::read_to_string(from.join("memory_bank_cn.json"))?)?;
        let asked: BTreeMap<String, Vec<String>> =
            lines::<BTreeMap<String, Vec<String>>>(&from.join("probing_questions_cn.jsonl"))?
                .into_iter()
                .flatten()
                .collect();
        let mut corpus = Self::default();
        let mut places = HashMap::new();
        for (person, diary) in diaries {
            corpus.add_diary(&person, diary, &mut places)?;
        }
        let asked_at_ms = at(&"2023-05-08".parse()?, 0)?;
        for label in lines::<Label>(&folder().join("memorybank-cn.evidence.jsonl"))? {
            let text = asked.get(&label.person).and_then(|questions| questions.get(label.question));
            let text = text.ok_or_else(|| format!("{} has no question {}", label.person, label.question))?;
            let place = |place: &Place| {
                let key = format!("{}/{}/{}", label.person, place.turn, place.part);
                places.get(&key).copied().ok_or_else(|| format!("there is no {key}"))
            };
            corpus.questions.push(Question {
                id: format!("{}-{}", label.person, label.question),
                audience: audience_of(&label.person),
                asked_at_ms,
                text: text.clone(),
                evidence: label.evidence.iter().map(place).collect::<std::result::Result<_, _>>()?,
                kind: "probing".to_owned(),
                asker: label.person,
            });
        }
        Ok(corpus)
    }

    fn add_diary(&mut self, person: &str, diary: Diary, places: &mut HashMap<String, usize>) -> Result<()> {
        let mut position = 0;
        for (day, turns) in diary.history {
            let date: Date = day.parse()?;
            for (index, turn) in turns.into_iter().enumerate() {
                for (part, text, by_agent) in [("query", turn.query, false), ("response", turn.response, true)] {
                    let id = format!("{person}/{day}#{index}/{part}");
                    places.insert(id.clone(), self.said.len());
                    self.said.push(Said {
                        id,
                        conversation: person.to_owned(),
                        session: day.clone(),
                        position,
                        speaker: if by_agent { "agent" } else { person }.to_owned(),
                        by_agent,
                        audience: audience_of(person),
                        at_ms: at(&date, position)?,
                        text,
                    });
                    position += 1;
                }
            }
        }
        Ok(())
    }
}

fn audience_of(person: &str) -> Audience {
    Audience::Person(format!("memorybank:{person}"))
}

/// In the evening of a day, so many half minutes after eight.
fn at(date: &Date, half_minutes: i64) -> Result<i64> {
    let evening = date.at(20, 0, 0, 0).to_zoned(TimeZone::get("Asia/Shanghai")?)?;
    Ok(evening.timestamp().as_millisecond() + 30_000 * (half_minutes % 120))
}
