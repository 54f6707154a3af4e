//! Names, origins, ages and how to reach somebody.

use super::*;

pub(super) fn name(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let event = ["called", "mentioned", "changed", "taken"]
        .iter()
        .any(|event| said.rest.to_lowercase().trim_end_matches(|c: char| !c.is_alphanumeric()).ends_with(event));
    if event {
        return Vec::new();
    }
    let about_speaker = said.rest.to_lowercase().starts_with("my ");
    let draft = part(captures, "v").and_then(english_name).map(|name| Draft::new(Predicate::Name, name));
    one(draft.filter(|_| about_speaker || *said.subject != Subject::Speaker))
}

pub(super) fn surname(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(part(captures, "v").and_then(english_name).map(|name| Draft::new(Predicate::Surname, name)))
}

pub(super) fn nickname(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(part(captures, "v").and_then(english_name).map(|name| Draft::new(Predicate::Nickname, name)))
}

pub(super) fn birthday(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(part(captures, "v")
        .and_then(english_birthday)
        .map(|day| Draft::new(Predicate::Birthday, day).when(Some(When::Current))))
}

pub(super) fn birthplace(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(place(captures, "v", Predicate::Birthplace).map(|draft| draft.when(Some(When::Current))))
}

pub(super) fn hometown(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let personal = !said.rest.to_lowercase().starts_with("was from");
    one(place(captures, "v", Predicate::Hometown).filter(|_| personal).map(|draft| draft.when(Some(When::Current))))
}

pub(super) fn address(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(thing(captures, Predicate::Address).filter(|draft| draft.value.chars().any(|c| c.is_ascii_digit())))
}

pub(super) fn phone(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(part(captures, "v").map(|number| Draft::new(Predicate::Phone, number.trim())))
}

pub(super) fn email(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(part(captures, "v").map(|address| Draft::new(Predicate::Email, address)))
}

pub(super) fn years(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let number = part(captures, "n").and_then(english_number);
    let lower = said.rest.to_lowercase();
    let coming = said.setting.coming
        || ["will ", "am turning", "is turning", "turn ", "am going", "am about", "turns"]
            .iter()
            .any(|start| lower.starts_with(start));
    let past = lower.starts_with("was ").then_some(When::Past);
    let plausible = captures.name("y").is_some() || number.is_some_and(|number| number >= 3);
    let when = if coming { Some(When::Future) } else { past };
    one(age(number)
        .filter(|_| plausible && !said.setting.negated)
        .map(|years| Draft::new(Predicate::Age, years).when(when)))
}

pub(super) fn nation(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let known = part(captures, "v").filter(|word| lexicon::NATIONALITIES.contains(&word.to_lowercase().as_str()));
    one(known.map(|word| Draft::new(Predicate::Nationality, word)))
}

/// "I'm Anna": a word with a capital that is nothing else.
pub(super) fn named(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    const OTHERS: &[&str] = &[
        "ok",
        "okay",
        "fine",
        "sorry",
        "sure",
        "happy",
        "sad",
        "tired",
        "christian",
        "muslim",
        "jewish",
        "buddhist",
        "catholic",
        "hindu",
        "american",
        "lgbtq",
        "gay",
        "bisexual",
        "trans",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "january",
        "god",
        "batman",
        "superman",
        "santa",
        "ai",
        "adhd",
        "team",
        "type",
        "aries",
        "taurus",
        "gemini",
        "cancer",
        "leo",
        "virgo",
        "libra",
        "scorpio",
        "sagittarius",
        "capricorn",
        "aquarius",
        "pisces",
        "european",
        "asian",
        "african",
        "latino",
        "latina",
        "hispanic",
        "jewish",
        "so",
        "very",
        "here",
        "done",
        "back",
        "in",
    ];
    let said_name = part(captures, "v").unwrap_or_default();
    let words: Vec<&str> = said_name.split_whitespace().collect();
    let capitals = (1..=2).contains(&words.len())
        && words.iter().all(|word| {
            let mut letters = word.chars();
            letters.next().is_some_and(char::is_uppercase)
                && letters.clone().count() > 0
                && letters.all(|c| c.is_lowercase() || matches!(c, '\'' | '-'))
        });
    let other = words.iter().any(|word| {
        OTHERS.contains(&word.to_lowercase().as_str()) || lexicon::NATIONALITIES.contains(&word.to_lowercase().as_str())
    });
    let fits = capitals && !other && !said.setting.negated && said.setting.when.is_none();
    one(fits.then(|| Draft::new(Predicate::Name, said_name)))
}
