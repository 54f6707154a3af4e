//! Names, origins, ages and how to reach somebody.

use super::*;

pub(super) fn name(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    if said.setting.le {
        return Vec::new();
    }
    one(said.part(captures, "v").and_then(chinese_name).map(|name| Draft::new(Predicate::Name, name)))
}

pub(super) fn nickname(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(said.part(captures, "v").and_then(chinese_name).map(|name| Draft::new(Predicate::Nickname, name)))
}

pub(super) fn surname(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    thing(said, captures, Predicate::Surname)
}

pub(super) fn years(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let years = captures.name("n").and_then(|years| age(chinese_number(years.as_str())));
    let soon = said.rest.contains("快") || said.rest.contains("马上") || said.rest.contains("就要");
    one(years.map(|years| Draft::new(Predicate::Age, years).when(soon.then_some(When::Future))))
}

pub(super) fn bare_years(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    if said.setting.this_year { years(said, captures) } else { Vec::new() }
}

pub(super) fn birthday(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let day = said.part(captures, "v").and_then(chinese_birthday);
    one(day.map(|day| Draft::new(Predicate::Birthday, day).when(Some(When::Current))))
}

pub(super) fn birthplace(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(place(said, captures, "v", Predicate::Birthplace)
        .filter(|draft| !draft.value.contains('家'))
        .map(|draft| draft.when(Some(When::Current))))
}

pub(super) fn hometown(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(place(said, captures, "v", Predicate::Hometown).map(|draft| draft.when(Some(When::Current))))
}

pub(super) fn address(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    thing(said, captures, Predicate::Address)
}

pub(super) fn origin(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let came = captures.name("came").is_some();
    let plainly = captures.name("v").is_some_and(|place| is_plainly_a_place(place.as_str()));
    let fits =
        said.rest.contains("来自") || (came && (said.rest.contains('从') || (said.rest.starts_with('是') && plainly)));
    if !fits {
        return Vec::new();
    }
    hometown(said, captures)
}

pub(super) fn people_of(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let Some(place) = captures.name("v").map(|place| place.as_str()).filter(|place| is_plainly_a_place(place)) else {
        return Vec::new();
    };
    let predicate = if country(place) { Predicate::Nationality } else { Predicate::Hometown };
    vec![Draft::new(predicate, said.clause.as_written(place))]
}

pub(super) fn phone(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    thing(said, captures, Predicate::Phone)
}

pub(super) fn email(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(said.part(captures, "v").map(|address| Draft::new(Predicate::Email, address)))
}

/// "我是X": a trade or, said alone, a full name.
pub(super) fn being(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let Some(what) = said.part(captures, "v") else { return Vec::new() };
    if let Some(trade) = trade_in(what) {
        let employer = captures.name("w").and_then(|employer| chinese_thing(said.clause.as_written(employer.as_str())));
        let employer = employer.map(|employer| Draft::new(Predicate::Workplace, employer));
        return employer.into_iter().chain([Draft::new(Predicate::Job, trade)]).collect();
    }
    let latin = !what.is_empty()
        && what.chars().all(|c| c.is_ascii_alphabetic())
        && what.chars().next().is_some_and(char::is_uppercase)
        && what.chars().count() > 1
        && what.chars().skip(1).all(char::is_lowercase);
    let named = !said.setting.negated && !said.setting.le && (is_full_name(what) || latin);
    one(named.then(|| chinese_name(what)).flatten().map(|name| Draft::new(Predicate::Name, name)))
}
