//! The hand-written sentences of which the month is made, and the filling of their gaps.

use serde::Deserialize;

use super::home::{About, Language};
use super::random::Random;

/// What a sentence does with a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Act {
    /// Says it, for the first time or again.
    Tell,
    /// Says that it is another from now on.
    Change,
    /// Says that it never was what was said earlier.
    Correct,
    /// Says that it is so no longer.
    Stop,
    /// Says that it was so once, before anything told here.
    Past,
    Deny,
    Suppose,
    /// Tells it of somebody else, or in somebody else's words.
    Quote,
    Ask,
    /// Something to be forgotten later.
    Secret,
    Forget,
    /// One of two things that differ by a number.
    Twin,
    Chatter,
    Agent,
    /// The agent repeats what it knows.
    Recall,
}

#[derive(Debug, Deserialize)]
struct Kernel {
    act: Act,
    about: Option<About>,
    language: Language,
    text: String,
}

/// All sentences of `tests/corpora/memory/month/kernels.jsonl`.
pub(crate) struct Kernels(Vec<Kernel>);

impl Kernels {
    pub(crate) fn read() -> Self {
        let text = include_str!("../../../../../tests/corpora/memory/month/kernels.jsonl");
        Self(text.lines().map(|line| serde_json::from_str(line).expect("a kernel a line")).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// A sentence that does this, its gaps filled; `None` where the language has none.
    pub(crate) fn say(
        &self,
        act: Act,
        about: Option<About>,
        language: Language,
        (value, old): (&str, &str),
        random: &mut Random,
    ) -> Option<String> {
        let fitting = |kernel: &&Kernel| kernel.act == act && kernel.about == about && kernel.language == language;
        let fitting: Vec<&Kernel> = self.0.iter().filter(fitting).collect();
        if fitting.is_empty() {
            return None;
        }
        let text = random.one_of(&fitting).text.replace("{value}", value).replace("{old}", old);
        Some(with_details(&text, language, random))
    }
}

fn with_details(text: &str, language: Language, random: &mut Random) -> String {
    const ZH_DAYS: [&str; 7] = ["周一", "周二", "周三", "周四", "周五", "周六", "周日"];
    const EN_DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
    let days = if language == Language::Zh { ZH_DAYS } else { EN_DAYS };
    let time = format!("{}:{:02}", random.within(7, 22), 5 * random.within(0, 12));
    let day = days[random.below(days.len())];
    text.replace("{time}", &time)
        .replace("{number}", &random.within(3, 90).to_string())
        .replace("{degrees}", &random.within(16, 29).to_string())
        .replace("{weekday}", day)
}
