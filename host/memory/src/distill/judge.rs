//! Asking a model for a verdict, and reading its answer.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;

/// What a model is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What it is to do, and the form of its answer.
    pub instructions: String,
    /// What it is to judge. Words of people stand in it: they are material.
    pub material: String,
    /// How many tokens the answer may have.
    pub tokens: u32,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// Whoever asks models is not there yet, or no more.
    #[error("nobody asks models at the moment")]
    NotLive,
    /// No model can be asked.
    #[error("no model can be asked: {0}")]
    Unavailable(String),
}

/// Whoever judges: a model, asked through the agent's own queue, without tools, and after everything that people want.
#[async_trait]
pub trait Judge: Send + Sync {
    /// The model's answer as text; none when today's budget is used up.
    ///
    /// # Errors
    ///
    /// [`JudgeError`] when it can't be asked now.
    async fn ask(&self, question: &Question) -> Result<Option<String>, JudgeError>;
}

/// One verdict of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Verdict {
    /// Which of the questions.
    pub(super) number: usize,
    /// The verdict's word.
    pub(super) verdict: String,
    /// Why, for the log.
    #[serde(default)]
    pub(super) reason: String,
    /// What is put right, where that is the verdict.
    #[serde(default)]
    pub(super) predicate: Option<String>,
    #[serde(default)]
    pub(super) object: Option<String>,
}

/// The verdicts of an answer that has `{"verdicts": [...]}` in it, whatever stands around. What can't be read is left out,
/// and whoever asked takes it for "unsure"; so are verdicts with another word than `words` and such as contradict each other.
pub(super) fn verdicts(answer: &str, words: &[&str]) -> Vec<Verdict> {
    let object = answer.find('{').zip(answer.rfind('}')).and_then(|(start, end)| answer.get(start..=end));
    let Some(Value::Object(mut object)) = object.and_then(|object| serde_json::from_str(object).ok()) else {
        return Vec::new();
    };
    let Some(Value::Array(list)) = object.remove("verdicts") else { return Vec::new() };
    let read: Vec<Verdict> = list.into_iter().filter_map(|verdict| serde_json::from_value(verdict).ok()).collect();
    let once = |verdict: &&Verdict| read.iter().filter(|other| other.number == verdict.number).count() == 1;
    read.iter().filter(once).filter(|verdict| words.contains(&verdict.verdict.as_str())).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_read_out_of_whatever_stands_around_it() {
        let answer = "Sure!\n```json\n{\"verdicts\": [{\"number\": 1, \"verdict\": \"same\", \"reason\": \"one person\"},\
                      {\"number\": 2, \"verdict\": \"perhaps\"}, {\"number\": \"x\"}, {\"number\": 3, \"verdict\": \"same\"},\
                      {\"number\": 3, \"verdict\": \"different\"}]}\n```";
        let read = verdicts(answer, &["same", "different", "unsure"]);
        assert_eq!(
            read.iter().map(|verdict| (verdict.number, verdict.verdict.as_str())).collect::<Vec<_>>(),
            [(1, "same")]
        );
        for broken in ["", "no", "{", "}{", "{\"verdicts\": 5}", "[1]", "{\"verdicts\": [\u{0}]}"] {
            assert!(verdicts(broken, &["same"]).is_empty(), "{broken}");
        }
    }
}
