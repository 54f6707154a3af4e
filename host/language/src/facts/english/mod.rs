//! Facts in English clauses: of whom, when, whether it is denied; then what, by the table of rules.

mod rules;

use std::sync::LazyLock;

use regex::Regex;

use super::fact::{Fact, Predicate, Subject, When};
use super::reading::{Clause, Thread, pattern};
use super::{kin, lexicon};

/// What a clause says before its predicate.
#[derive(Clone, Debug, Default)]
pub(super) struct Setting {
    /// When, if a word or the verb says it.
    pub(super) when: Option<When>,
    pub(super) negated: bool,
    /// "No longer", "not any more".
    pub(super) ended: bool,
    /// "Will", "going to".
    pub(super) coming: bool,
}

/// Reads one clause.
pub(in crate::facts) fn read(clause: &Clause, thread: &mut Thread) -> Vec<Fact> {
    let facts = facts(clause, thread);
    thread.likes = matches!(facts.last().map(|fact| fact.predicate), Some(Predicate::Likes | Predicate::Favourite));
    if facts.is_empty() {
        thread.carried = None;
    }
    facts
}

/// Short forms in full, so that one rule reads both.
fn in_full(clause: &str) -> String {
    static SHORT: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        [
            (r"(?i)\bcan't\b|\bcannot\b", "can not"),
            (r"(?i)\bwon't\b", "will not"),
            (r"(?i)\bain't\b", "am not"),
            (r"(?i)\bcant\b", "can not"),
            (r"(?i)\b(do|does|did|is|are|was|were|have|has|had|would|could|should)n'?t\b", "$1 not"),
            (r"(?i)\bi'?m\b", "I am"),
            (r"(?i)\bi'?ve\b", "I have"),
            (r"(?i)\bi'll\b", "I will"),
            (r"(?i)\bi'd\b", "I would"),
            (r"(?i)\b(he|she|it|we|they|that|there)'(?:re|s)\b", "$1 is"),
            (r"(?i)\b(name|birthday|favou?rite \w+|job|email|number)'s\b", "$1 is"),
            (r"(?i)\bwe've\b", "we have"),
            (r"(?i)\bgonna\b", "going to"),
            (r"(?i)\bi dont\b", "I do not"),
            (r"(?i)\bim\b", "I am"),
        ]
        .into_iter()
        .map(|(short, full)| (pattern(short), full))
        .collect()
    });
    SHORT.iter().fold(clause.to_owned(), |text, (short, full)| short.replace_all(&text, *full).into_owned())
}

static OPENING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)^(?:\W|note (?:this|that)(?: down)?:|(?:for the form|about me|about my \w+|my \w+|reminder|update|an update|for you to know|to be clear):|\b(?:hi|hello|hey|there|yes|yeah|yep|yup|no|nope|nah|oh|ah|well|so|ok|okay|and|but|or|also|plus|btw|by the way|actually|honestly|to be honest|tbh|frankly|personally|anyway|anyways|fyi|just so you know|you know|you should know(?: that)?|i should mention(?: that)?|i should say(?: that)?|",
        r"as you know|as i said|like i said|i told you(?: that)?|i said(?: that)?|i mentioned(?: that)?|remember(?: that)?|please remember(?: that)?|please note(?: that)?|note(?: that)?|keep in mind(?: that)?|don't forget(?: that)?|do not forget(?: that)?|i mean|i must say(?: that)?|i have to say(?: that)?|the thing is(?: that)?|the truth is(?: that)?|in fact|because|since|as|although|though|while|unfortunately|sadly|luckily|fortunately|good morning|good evening|good afternoon|nice to meet you|thanks|thank you|correction|sorry|haha|lol|guess what|fun fact|for the record|to introduce myself|let me introduce myself|that|it is because|first|second|finally)\b)+",
    ))
});

static TIME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)^(?:(?P<past>(?:a few |a couple of |many |several |some |\w+ )?(?:years|months|weeks) ago|previously|formerly|in the past|back then|back in (?:the day|college|school|high school|\d{4})|once|long ago|when i was .{1,25}|when i lived .{1,20}|as a (?:kid|child|teenager|boy|girl|student)|growing up|in my (?:twenties|teens|youth|childhood)|last (?:year|month|week|summer|winter)|in (?:19|20)\d\d|before that|before|at first|originally)",
        r"|(?P<now>now|right now|nowadays|these days|currently|at the moment|at present|today|this year|lately|recently|for (?:the past |the last )?\w+ years(?: now)?|at (?:the age of )?\d+|in my free time|in my spare time|on weekends|for a living)",
        r"|(?P<future>next (?:year|month|week|summer|winter|spring|fall|semester)|soon|tomorrow|someday|in the future|later this year|this (?:summer|winter|fall|spring|weekend)|in (?:a few|\w+) (?:years|months|weeks|days)|in (?:january|february|march|april|may|june|july|august|september|october|november|december)))\s*,?\s+",
    ))
});

fn facts(clause: &Clause, thread: &mut Thread) -> Vec<Fact> {
    let full = in_full(clause.shape());
    if let Some(fact) = rules::called(&full) {
        return vec![fact];
    }
    let mut setting = Setting::default();
    let mut rest = full.as_str();
    loop {
        let before = rest.len();
        let after = OPENING.find(rest).map_or(0, |opening| opening.end());
        rest = rest.get(after..).unwrap_or_default();
        rest = after_time(rest, &mut setting);
        if rest.len() == before {
            break;
        }
    }
    if let Some(facts) = rules::reversed(rest) {
        return facts;
    }
    let hedged = hedge(&mut rest);
    let Some((subject, mut confidence, after)) = subject(rest, thread) else { return Vec::new() };
    if hedged {
        confidence *= 0.7;
    }
    let mut rest = after;
    ending(&mut rest, &mut setting);
    let rest = verb_first(rest, &mut setting);
    let found = rules::apply(&rules::Said { rest: &rest, setting: &setting, subject: &subject, likes: thread.likes });
    let (negated, when) = settled(&setting);
    let facts: Vec<Fact> =
        found.into_iter().map(|draft| draft.into_fact(&subject, negated, when, confidence)).collect();
    if !facts.is_empty() {
        remember(&subject, &facts, thread);
    }
    facts
}

fn after_time<'a>(rest: &'a str, setting: &mut Setting) -> &'a str {
    let Some(time) = TIME.captures(rest) else { return rest };
    setting.when = if time.name("past").is_some() {
        Some(When::Past)
    } else if time.name("future").is_some() {
        Some(When::Future)
    } else {
        Some(When::Current)
    };
    rest.get(time.get(0).map_or(0, |whole| whole.end())..).unwrap_or_default()
}

/// "I think (that) I ...": less sure, and still the speaker's.
fn hedge(rest: &mut &str) -> bool {
    static HEDGE: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?i)^i (?:think|believe|feel)(?: that)? (?P<i>(?:i|my) )"));
    let Some(start) = HEDGE.captures(rest).and_then(|hedge| hedge.name("i")).map(|i| i.start()) else { return false };
    *rest = rest.get(start..).unwrap_or_default();
    true
}

/// "Any more" at the end goes with a denial; other words of time there say when.
fn ending(rest: &mut &str, setting: &mut Setting) {
    static ANYMORE: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)[\s,]+(?:any ?more|any longer)\W*$"));
    static LATER: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)\s(?:(?P<past>(?:back )?(?:when i was .{1,25}|as a (?:kid|child|teenager|boy|girl)|back then|in the past|years ago|before))|(?P<future>next (?:year|month|week|summer|winter|spring|fall|semester|january|february|march|april|may|june|july|august|september|october|november|december)|soon|tomorrow|(?:later )?this (?:year|summer|fall|autumn|winter|spring)|in (?:a few|two|three|four|six) (?:years|months|weeks|days)))\W*$",
        )
    });
    if let Some(anymore) = ANYMORE.find(rest) {
        setting.ended = true;
        *rest = rest.get(..anymore.start()).unwrap_or_default();
    }
    if let Some(later) = LATER.captures(rest) {
        if later.name("past").is_some() {
            setting.when = Some(When::Past);
        } else {
            setting.coming = true;
        }
        *rest = rest.get(..later.get(0).map_or(rest.len(), |whole| whole.start())).unwrap_or_default();
    }
}

/// Whether it is denied, and when it held: what is not so any more was so.
fn settled(setting: &Setting) -> (bool, When) {
    if setting.ended && setting.negated {
        return (false, When::Past);
    }
    (setting.negated, setting.when.unwrap_or(When::Current))
}

/// Whom the next clause goes on about.
fn remember(subject: &Subject, facts: &[Fact], thread: &mut Thread) {
    let met = facts.iter().find_map(|fact| match fact.predicate {
        Predicate::Family | Predicate::Pet if !fact.negated && fact.detail.is_none() => {
            Some(Subject::Relative { relation: fact.value.clone(), name: None })
        }
        _ => None,
    });
    if let Some(third) = met.or_else(|| (*subject != Subject::Speaker).then(|| subject.clone())) {
        thread.third = Some(third);
    }
    thread.carried = Some(subject.clone());
}

/// Of whom a clause speaks, how surely, and what follows. A clause that begins with its verb goes on about the last one.
fn subject<'a>(rest: &'a str, thread: &Thread) -> Option<(Subject, f32, &'a str)> {
    static SPEAKER: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)^(?:i|we|my (?:husband|wife|partner|family|girlfriend|boyfriend) and i|me and my (?:husband|wife|partner|family|girlfriend|boyfriend))\s+",
        )
    });
    static NEAR: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)^(?:my|our)\s+(?:(?:own|dear|old|older|elder|younger|little|big|baby|twin|best|good|close|eldest|oldest|youngest|only|late|lovely|beloved|sweet)\s+){0,2}(?P<who>guinea pig|golden retriever|german shepherd|[a-zé]+(?:-in-law)?)(?P<s>'s)?(?:\s*,?\s+(?P<name>(?-i:[A-Z][a-zé]+))\s*,?)?\s+",
        )
    });
    static THIRD: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)^(?P<who>he|she|it)\s+"));
    static OWN: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)^(?P<own>(?:my|our)\s+.+|i)$"));
    static VERB: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)^(?:am|live|lives|living|work|works|love|loves|like|likes|hate|hates|enjoy|enjoys|have|has|used to|study|studies|prefer|play|plays|speak|speaks|never|do not|does not|moved|is|grew up|was born|especially)\b",
        )
    });
    static EX: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)\b(?:ex|former)[- ]"));
    if let Some(speaker) = SPEAKER.find(rest) {
        return Some((Subject::Speaker, 0.9, rest.get(speaker.end()..)?));
    }
    if let Some(near) = NEAR.captures(rest).filter(|_| !EX.is_match(rest)) {
        let who = near.name("who")?.as_str();
        let relation = kin::english(who).or_else(|| lexicon::pet(who));
        if let Some(relation) = relation {
            let several = who.to_lowercase().ends_with('s')
                && !matches!(who.to_lowercase().as_str(), "boss" | "parents")
                || who == "children"
                || who == "Children";
            let after = rest.get(near.get(0)?.end()..)?;
            let name = near.name("name").map(|name| name.as_str().to_owned());
            return (!several).then_some((Subject::Relative { relation: relation.to_owned(), name }, 0.85, after));
        }
    }
    if let Some(third) = THIRD.captures(rest) {
        let known = thread.third.clone()?;
        let Subject::Relative { relation, .. } = &known else { return None };
        let pet = lexicon::PETS.iter().any(|(_, kind)| kind == relation);
        let fits = match (third.name("who")?.as_str().to_lowercase().as_str(), kin::is_male(relation)) {
            ("it", _) => pet,
            (_, None) => true,
            (pronoun, Some(male)) => (pronoun == "he") == male,
        };
        return fits.then(|| {
            (known.clone(), 0.7, rest.get(third.get(0).map_or(0, |whole| whole.end())..).unwrap_or_default())
        });
    }
    if OWN.is_match(rest) {
        return Some((Subject::Speaker, 0.9, rest));
    }
    let carried = thread.carried.clone()?;
    VERB.is_match(rest).then_some((carried, 0.75, rest))
}

/// A predicate that begins with its verb: adverbs, denials and "used to" are read and left out.
fn verb_first(rest: &str, setting: &mut Setting) -> String {
    static ADVERB: LazyLock<Regex> = LazyLock::new(|| {
        let adverb = r"really|also|just|still|always|actually|definitely|absolutely|truly|particularly|especially|usually|often|generally|mostly|mainly|simply|personally|totally|genuinely|already|now|currently|presently|recently|even|honestly|certainly|kind of|kinda|sort of|quite|originally|only|both|all|too|so|very|super|naturally|happily|a bit|severely|deathly|terribly|highly|mildly|extremely|pretty";
        pattern(&format!(
            r"(?i)^(?P<verb>(?:(?:am|is|are|was|were|have|has|had|do|does|did|have been|has been)\s+)?)(?:{adverb})\s+"
        ))
    });
    static NOT: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)^(?:(?P<be>(?:am|is|are|was|were|have|has|had)\s+)(?:not|never|no longer)|(?P<do>do|does|did)\s+not|(?P<bare>never|no longer|not))\s+",
        )
    });
    static USED: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)^used? to\s+"));
    static EMPHASIS: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)^(?:do|does)\s+"));
    let mut rest = rest.trim_start().to_owned();
    loop {
        let before = rest.len();
        if let Some(not) = NOT.captures(&rest) {
            let whole = not.get(0).map_or("", |whole| whole.as_str()).to_lowercase();
            setting.negated = true;
            setting.ended |= whole.contains("no longer");
            if whole.starts_with("did") {
                setting.when = Some(When::Past);
            }
            rest = NOT.replace(&rest, "$be").into_owned();
        } else if ADVERB.is_match(&rest) {
            rest = ADVERB.replace(&rest, "$verb").into_owned();
        } else if USED.is_match(&rest) {
            setting.when = Some(When::Past);
            rest = USED.replace(&rest, "").into_owned();
        } else {
            rest = EMPHASIS.replace(&rest, "").into_owned();
        }
        if rest.len() == before {
            return rest;
        }
    }
}
