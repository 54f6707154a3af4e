//! What somebody likes, plays and is afraid of.

use super::*;

pub(super) fn favourite(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let kind = part(captures, "d").map(|kind| kind.trim().to_owned());
    let vague = kind.as_deref().is_some_and(|kind| {
        ["part", "thing", "thing about", "one", "moment", "memory"].iter().any(|vague| kind.starts_with(vague))
    });
    one(thing(captures, Predicate::Favourite).filter(|_| !vague).map(|draft| draft.detail(kind)))
}

pub(super) fn likes(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let past = past(said, captures);
    let episode = |draft: &Draft| {
        past.is_some() && said.setting.when != Some(When::Past) && {
            let lower = draft.value.to_lowercase();
            ["the ", "your ", "our ", "my ", "every", "being", "seeing", "hearing", "reading about", "meeting"]
                .iter()
                .any(|start| lower.starts_with(start))
        }
    };
    let person = |draft: &Draft| {
        matches!(
            draft.value.to_lowercase().as_str(),
            "life"
                | "hearing"
                | "u"
                | "talking"
                | "people"
                | "chatting"
                | "learning"
                | "myself"
                | "help"
                | "chat"
                | "him"
                | "her"
                | "hearing from"
        )
    };
    let shown = |draft: &Draft| points_at_what_is_shown(&draft.value);
    each(captures, Predicate::Likes)
        .into_iter()
        .filter(|draft| !episode(draft) && !person(draft) && !shown(draft))
        .map(|draft| draft.when(past))
        .collect()
}

/// "The colour", "the effects": of something that is talked of, and not "the sea" or "the Beatles".
pub(super) fn points_at_what_is_shown(value: &str) -> bool {
    const GENERAL: &[&str] = &[
        "sea",
        "ocean",
        "mountains",
        "beach",
        "outdoors",
        "rain",
        "snow",
        "cold",
        "heat",
        "sun",
        "city",
        "countryside",
        "piano",
        "guitar",
        "violin",
        "smell",
        "taste",
        "color",
        "colour",
        "theatre",
        "theater",
        "opera",
        "cinema",
        "gym",
        "forest",
        "woods",
        "winter",
        "summer",
        "autumn",
        "spring",
        "night",
        "stars",
        "dark",
        "quiet",
        "weekend",
        "nature",
        "desert",
    ];
    let Some(after) = value.to_lowercase().strip_prefix("the ").map(str::to_owned) else { return false };
    let named = value.split_whitespace().nth(1).is_some_and(|word| word.chars().next().is_some_and(char::is_uppercase));
    let first = after.split_whitespace().next().unwrap_or_default();
    let alone = matches!(first, "color" | "colour" | "smell" | "taste") && after.split_whitespace().count() == 1;
    !named && (alone || !GENERAL.contains(&first))
}

pub(super) fn prefers(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    if said.setting.negated { Vec::new() } else { each(captures, Predicate::Likes) }
}

pub(super) fn fan(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let past = past(said, captures);
    each(captures, Predicate::Likes).into_iter().map(|draft| draft.when(past)).collect()
}

pub(super) fn lover(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let vague = [
        "morning",
        "people",
        "good",
        "nice",
        "bad",
        "different",
        "private",
        "kind",
        "new",
        "happy",
        "better",
        "busy",
        "terrible",
        "great",
        "real",
        "young",
        "old",
        "night",
        "creative",
    ];
    let person = said.rest.to_lowercase().ends_with("person");
    let kept = |draft: &Draft| {
        !vague.contains(&draft.value.to_lowercase().as_str())
            && (!person
                || ["cat", "dog", "tea", "coffee", "beach", "mountain"].contains(&draft.value.to_lowercase().as_str()))
    };
    one(thing(captures, Predicate::Likes).filter(kept))
}

pub(super) fn likes_above_all(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    if said.likes { each(captures, Predicate::Likes) } else { Vec::new() }
}

pub(super) fn dislikes(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    if said.setting.negated && !said.setting.ended {
        return Vec::new();
    }
    let past = past(said, captures);
    let vague = |draft: &Draft| {
        draft.value.to_lowercase().starts_with("my ") || draft.value.contains("say") || draft.value.contains("admit")
    };
    each(captures, Predicate::Likes)
        .into_iter()
        .filter(|draft| !vague(draft))
        .map(|draft| draft.denied(true).when(past))
        .collect()
}

pub(super) fn fears(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let past = past(said, captures);
    let short = |draft: &Draft| {
        draft.value.split_whitespace().count() <= 3 && !draft.value.to_lowercase().starts_with("losing")
    };
    each(captures, Predicate::Fears).into_iter().filter(short).map(|draft| draft.when(past)).collect()
}

pub(super) fn plays(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    const GAMES: &[&str] = &[
        "piano",
        "guitar",
        "violin",
        "cello",
        "drums",
        "flute",
        "clarinet",
        "saxophone",
        "trumpet",
        "ukulele",
        "bass",
        "harp",
        "banjo",
        "viola",
        "accordion",
        "trombone",
        "oboe",
        "football",
        "soccer",
        "basketball",
        "tennis",
        "badminton",
        "volleyball",
        "baseball",
        "golf",
        "chess",
        "hockey",
        "table tennis",
        "ping pong",
        "rugby",
        "cricket",
        "video games",
        "squash",
        "pickleball",
        "bass guitar",
        "electric guitar",
        "acoustic guitar",
        "ice hockey",
        "poker",
        "bridge",
    ];
    let past = past(said, captures);
    let known = |draft: &Draft| GAMES.contains(&without_the(&draft.value).to_lowercase().as_str());
    let found = each(captures, Predicate::Plays).into_iter().filter(known);
    found
        .map(|mut draft| {
            draft.value = without_the(&draft.value).to_owned();
            draft.when(past)
        })
        .collect()
}

pub(super) fn without_the(thing: &str) -> &str {
    thing.strip_prefix("the ").unwrap_or(thing)
}
