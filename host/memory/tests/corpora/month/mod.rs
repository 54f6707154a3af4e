//! Thirty days of talk in one home, made of hand-written sentences and a seed, with what is true at their end.

mod home;
mod kernels;
mod random;
mod replay;
mod sayings;
mod story;
mod truth;

use home::{Language, PEOPLE};
use kernels::{Act, Kernels};
use random::Random;
use story::Beat;
use truth::Truth;

const DAYS: u32 = 30;
const MESSAGES: usize = 1_500;
/// 1 March 2026, 7:00 in Shanghai.
const FIRST_MORNING_MS: i64 = 1_772_319_600_000;
const DAY_MS: i64 = 86_400_000;
/// From the first word of a day to its last.
const WAKING_MS: i64 = 15 * 3_600_000;

/// One thing that was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) at_ms: i64,
    pub(crate) conversation: String,
    /// In its text form.
    pub(crate) audience: String,
    /// The account of the one who said it; `None`: the agent.
    pub(crate) account: Option<&'static str>,
    pub(crate) text: String,
}

/// A month, in the order in which it was said.
#[derive(Debug)]
pub(crate) struct Month {
    pub(crate) messages: Vec<Message>,
    pub(crate) truth: Truth,
}

impl Month {
    /// The same seed gives the same month.
    pub(crate) fn of(seed: u64) -> Self {
        let kernels = Kernels::read();
        let mut random = Random::seeded(seed);
        let (beats, truth) = story::told(&mut random);
        let mut messages: Vec<Message> =
            beats.iter().filter_map(|beat| in_words(beat, &kernels, &mut random)).collect();
        while messages.len() < MESSAGES {
            messages.extend(small_talk(&kernels, &mut random));
        }
        messages.sort_by_key(|message| message.at_ms);
        Self { messages, truth }
    }
}

fn in_words(beat: &Beat, kernels: &Kernels, random: &mut Random) -> Option<Message> {
    let person = &PEOPLE[beat.person];
    let text = kernels.say(beat.act, Some(beat.about), person.language, (&beat.value, &beat.old), random)?;
    let at_ms = time_on(beat.day, random);
    let private = matches!(beat.act, Act::Secret | Act::Forget) || random.within(0, 2) == 0;
    let account = (beat.act != Act::Recall).then_some(person.account);
    let (conversation, audience) = match private {
        true => (person.account.to_owned(), format!("person:{}", person.account)),
        false => {
            let group = random.one_of(person.groups);
            (format!("home:{group}"), format!("group:home:{group}"))
        }
    };
    Some(Message { at_ms, conversation, audience, account, text })
}

fn small_talk(kernels: &Kernels, random: &mut Random) -> Option<Message> {
    let person = random.one_of(&PEOPLE);
    let by_agent = random.within(0, 6) == 0;
    let act = if by_agent { Act::Agent } else { Act::Chatter };
    let language = match (person.name, random.within(0, 3)) {
        ("小梅", 0) => Language::En,
        _ => person.language,
    };
    let text = kernels.say(act, None, language, ("", ""), random)?;
    let group = random.one_of(person.groups);
    Some(Message {
        at_ms: time_on(random.within(0, DAYS), random),
        conversation: format!("home:{group}"),
        audience: format!("group:home:{group}"),
        account: (!by_agent).then_some(person.account),
        text,
    })
}

fn time_on(day: u32, random: &mut Random) -> i64 {
    let waking = u32::try_from(WAKING_MS).expect("less than a day");
    FIRST_MORNING_MS + i64::from(day) * DAY_MS + i64::from(random.within(0, waking))
}

#[cfg(test)]
mod tests;
