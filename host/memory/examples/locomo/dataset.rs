//! The file of LoCoMo, as passages and questions.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::Path;

use homeagent_memory::index::{Passage, PassageKind};
use homeagent_types::Audience;
use jiff::civil::DateTime;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::Value;

/// A conversation of two people over months.
pub(crate) struct Conversation {
    pub(crate) passages: Vec<Passage>,
    pub(crate) questions: Vec<Question>,
}

/// A question and the turns that hold its answer.
pub(crate) struct Question {
    pub(crate) text: String,
    /// 1 multi-hop, 2 temporal, 3 open-domain, 4 single-hop, 5 adversarial.
    pub(crate) category: u8,
    /// The turns' ids, those that exist.
    pub(crate) evidence: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Sample {
    sample_id: String,
    conversation: BTreeMap<String, Value>,
    qa: Vec<Asked>,
}

#[derive(Deserialize)]
struct Asked {
    question: String,
    category: u8,
    #[serde(default)]
    evidence: Vec<Value>,
}

#[derive(Deserialize)]
struct Turn {
    speaker: String,
    dia_id: String,
    text: String,
    blip_caption: Option<String>,
    query: Option<String>,
}

/// Reads the file.
pub(crate) fn read(file: &Path) -> Result<Vec<Conversation>, Box<dyn Error>> {
    let samples: Vec<Sample> = serde_json::from_slice(&std::fs::read(file)?)?;
    samples.iter().map(conversation).collect()
}

fn conversation(sample: &Sample) -> Result<Conversation, Box<dyn Error>> {
    let mut passages = Vec::new();
    let mut sessions: Vec<u32> = Vec::new();
    for (key, value) in &sample.conversation {
        if let Some(number) = key.strip_prefix("session_").and_then(|number| number.parse().ok())
            && value.is_array()
        {
            sessions.push(number);
        }
    }
    sessions.sort_unstable();
    for session in sessions {
        let at_ms =
            sample.conversation.get(&format!("session_{session}_date_time")).and_then(moment).unwrap_or_default();
        let turns = sample.conversation.get(&format!("session_{session}")).cloned().unwrap_or_default();
        let turns: Vec<Turn> = serde_json::from_value(turns)?;
        for turn in turns {
            let position = passages.len() as i64;
            passages.push(Passage {
                kind: PassageKind::Said,
                origin: turn.dia_id.clone(),
                part: 0,
                conversation: sample.sample_id.clone(),
                session: session.to_string(),
                position,
                speaker: turn.speaker.clone(),
                audience: Audience::Group(sample.sample_id.clone()),
                at_ms,
                text: text(&turn),
            });
        }
    }
    let turns: BTreeSet<String> = passages.iter().map(|passage| passage.origin.clone()).collect();
    let questions = sample.qa.iter().map(|asked| Question {
        text: asked.question.clone(),
        category: asked.category,
        evidence: asked.evidence.iter().flat_map(ids).filter(|id| turns.contains(id)).collect(),
    });
    Ok(Conversation { questions: questions.collect(), passages })
}

/// What was said, with what the picture shows and by what it was found.
fn text(turn: &Turn) -> String {
    let caption = turn.blip_caption.iter().map(|caption| format!(" [image: {caption}]"));
    let query = turn.query.iter().map(|query| format!(" ({query})"));
    std::iter::once(turn.text.clone()).chain(caption).chain(query).collect()
}

/// The ids `D<session>:<turn>` in a piece of evidence, without leading zeros.
fn ids(evidence: &Value) -> Vec<String> {
    let text = evidence.as_str().unwrap_or_default();
    let starts = text.match_indices('D').filter_map(|(at, _)| text.get(at + 1..));
    starts
        .filter_map(|rest| {
            let (session, rest) = number(rest)?;
            let (turn, _) = number(rest.strip_prefix(':')?)?;
            Some(format!("D{session}:{turn}"))
        })
        .collect()
}

fn number(text: &str) -> Option<(u32, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at_checked(digits)?;
    Some((number.parse().ok()?, rest))
}

/// A session's time, such as "1:56 pm on 8 May, 2023".
fn moment(value: &Value) -> Option<i64> {
    let parsed = strtime::parse("%I:%M %p on %d %B, %Y", value.as_str()?).ok()?;
    let moment: DateTime = parsed.to_datetime().ok()?;
    Some(moment.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond())
}
