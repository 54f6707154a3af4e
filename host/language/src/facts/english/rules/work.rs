//! What somebody does, learns and plans.

use super::*;

pub(super) fn speaks(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let known = |draft: &Draft| lexicon::LANGUAGES.contains(&draft.value.to_lowercase().as_str());
    each(captures, Predicate::Speaks).into_iter().filter(known).collect()
}

pub(super) fn occupation(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let vague = |draft: &Draft| {
        [
            "very",
            "so",
            "really",
            "pretty",
            "hard",
            "stressful",
            "great",
            "good",
            "boring",
            "killing",
            "done",
            "over",
            "easy",
            "safe",
            "fine",
            "secure",
            "going",
            "fun",
            "not",
            "demanding",
            "too",
        ]
        .contains(&draft.value.split_whitespace().next().unwrap_or_default().to_lowercase().as_str())
    };
    one(thing(captures, Predicate::Job).filter(|draft| !vague(draft)))
}

/// A trade, cut before what else is said of it.
pub(super) fn trade_in(phrase: &str) -> Option<String> {
    static END: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i),| (?:at|for|in|with|by|who|and|from|on|working|to|but|here|now|specializing|specialising|since|of)\b",
        )
    });
    let end = END.find(phrase).map_or(phrase.len(), |end| end.start());
    let words = phrase.get(..end)?.trim().trim_end_matches(|c: char| !c.is_alphanumeric());
    let words =
        ["very good ", "good ", "great ", "terrible ", "bad ", "proud ", "full-time ", "part-time ", "retired "]
            .iter()
            .find_map(|start| words.to_lowercase().starts_with(start).then(|| words.get(start.len()..)).flatten())
            .unwrap_or(words);
    (words.split_whitespace().count() <= 5 && lexicon::is_english_trade(words)).then(|| words.to_owned())
}

/// Whether a phrase ends in such words as "at Google": then that is where.
pub(super) fn employer_in(phrase: &str) -> Option<String> {
    static AT: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i) (?:at|for) (?P<w>.+)$"));
    let employer = AT.captures(phrase)?.name("w")?.as_str().to_owned();
    english_place(&employer).filter(|employer| {
        employer.split_whitespace().count() <= 5
            && !employer.to_lowercase().ends_with("years")
            && !employer.chars().next().is_some_and(|c| c.is_ascii_digit())
    })
}

pub(super) fn trade(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let phrase = part(captures, "v").unwrap_or_default();
    let past = said.rest.to_lowercase().starts_with("was ").then_some(When::Past);
    if phrase.to_lowercase().contains(" of my") {
        return Vec::new();
    }
    let Some(job) = trade_in(phrase) else { return Vec::new() };
    let student = job.to_lowercase().ends_with("student") || job.eq_ignore_ascii_case("undergraduate");
    let place = if student { Predicate::School } else { Predicate::Workplace };
    let employer = employer_in(phrase).map(|employer| Draft::new(place, employer).when(past));
    [Draft::new(Predicate::Job, job).when(past)].into_iter().chain(employer).collect()
}

pub(super) fn work_as(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let past = past(said, captures);
    let job = part(captures, "j")
        .and_then(english_thing)
        .filter(|job| job.split_whitespace().count() <= 5)
        .map(|job| Draft::new(Predicate::Job, job).when(past));
    let Some(job) = job else { return Vec::new() };
    let employer =
        part(captures, "w").and_then(employer).map(|employer| Draft::new(Predicate::Workplace, employer).when(past));
    [job].into_iter().chain(employer).collect()
}

pub(super) fn employer(phrase: &str) -> Option<String> {
    let vague = [
        "home",
        "night",
        "nights",
        "a living",
        "myself",
        "it",
        "this",
        "that",
        "the moment",
        "progress",
        "a way",
        "the morning",
        "mornings",
        "shifts",
        "a team",
        "teams",
        "person",
        "free",
        "the garden",
        "the weekend",
        "weekends",
        "hours",
        "long",
        "my favor",
    ];
    let phrase = english_place(phrase)?;
    let lower = phrase.to_lowercase();
    (!vague.iter().any(|vague| lower == *vague)
        && !lower.starts_with(|c: char| c.is_ascii_digit())
        && lower != "an hour")
        .then_some(phrase)
}

pub(super) fn workplace(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let past = past(said, captures);
    let phrase = part(captures, "w").unwrap_or_default();
    let Some(employer) = employer(phrase) else { return Vec::new() };
    let job = part(captures, "j").and_then(english_thing).map(|job| Draft::new(Predicate::Job, job).when(past));
    [Draft::new(Predicate::Workplace, employer).when(past)].into_iter().chain(job).collect()
}

pub(super) fn joined(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let phrase = part(captures, "w").unwrap_or_default();
    let capital = phrase.chars().next().is_some_and(char::is_uppercase);
    let job = said.rest.to_lowercase().contains("job") || said.rest.to_lowercase().contains("working");
    let club = ["gym", "club", "class", "group", "team"].iter().any(|word| phrase.to_lowercase().contains(word));
    let employer = employer(phrase)
        .filter(|_| (capital || job) && !club)
        .map(|employer| Draft::new(Predicate::Workplace, employer));
    let job = part(captures, "j").and_then(english_thing).map(|job| Draft::new(Predicate::Job, job));
    employer.into_iter().chain(job).collect()
}

pub(super) fn left_job(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let phrase = part(captures, "w").unwrap_or_default();
    let as_trade = said.rest.to_lowercase().contains(" as ").then(|| trade_in(without_article(phrase))).flatten();
    let draft = as_trade
        .map(|job| Draft::new(Predicate::Job, job))
        .or_else(|| employer(phrase).map(|employer| Draft::new(Predicate::Workplace, employer)));
    one(draft.filter(|_| !said.setting.negated).map(|draft| draft.when(Some(When::Past))))
}

pub(super) fn out_of_work(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let state = part(captures, "v").unwrap_or_default().to_lowercase();
    let state = if matches!(state.as_str(), "between jobs" | "out of work") { "unemployed".to_owned() } else { state };
    vec![Draft::new(Predicate::Job, state).when(Some(When::Current))]
}

pub(super) fn owns(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(thing(captures, Predicate::Job).map(|mut draft| {
        draft.value = format!("owner of a {}", draft.value.trim_start_matches("my own "));
        draft
    }))
}

pub(super) fn studies(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let past = past(said, captures);
    let subject = part(captures, "v").and_then(english_thing).filter(|subject| {
        !["hard", "abroad", "for", "the", "a", "my", "all"]
            .iter()
            .any(|word| subject.to_lowercase().split_whitespace().next() == Some(word))
    });
    let Some(subject) = subject else { return Vec::new() };
    let school =
        part(captures, "s").and_then(english_place).map(|school| Draft::new(Predicate::School, school).when(past));
    english_things(&subject)
        .into_iter()
        .map(|subject| Draft::new(Predicate::Studies, subject).when(past))
        .chain(school)
        .collect()
}

pub(super) fn learning(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let found = studies(said, captures).into_iter().map(|draft| draft.when(Some(When::Current)));
    found
        .filter(|draft| draft.value.split_whitespace().count() <= 4 && !draft.value.to_lowercase().starts_with("more"))
        .collect()
}

pub(super) fn school(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let when = past(said, captures);
    let school = part(captures, "s").and_then(english_thing).filter(|school| {
        !["the school", "my school", "my old school", "a school event", "school", "bed", "school today"]
            .contains(&school.to_lowercase().as_str())
            && school.split_whitespace().count() <= 6
    });
    one(school.map(|school| Draft::new(Predicate::School, without_article(&school)).when(when)))
}

pub(super) fn graduated(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(part(captures, "s")
        .and_then(english_thing)
        .map(|school| Draft::new(Predicate::School, school).when(Some(When::Past))))
}

pub(super) fn plan(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let will = said.rest.to_lowercase().starts_with("will ");
    let what = part(captures, "v").unwrap_or_default();
    let said_when = said.setting.coming || said.setting.when == Some(When::Future);
    let big = [
        "move",
        "get married",
        "have a baby",
        "visit",
        "travel",
        "study",
        "start",
        "buy",
        "quit",
        "retire",
        "apply",
        "go to",
        "run a",
        "learn",
        "adopt",
        "change jobs",
        "graduate",
    ]
    .iter()
    .any(|start| what.to_lowercase().starts_with(start));
    let fits = !said.setting.negated && big && (!will || said_when);
    one(fits
        .then(|| english_thing(what))
        .flatten()
        .map(|plan| Draft::new(Predicate::Plan, plan).when(Some(When::Future))))
}
