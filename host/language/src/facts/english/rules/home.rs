//! Where somebody lives and moves.

use super::*;

pub(super) fn home(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let when = if said.setting.coming { Some(When::Future) } else { past(said, captures) };
    one(place(captures, "v", Predicate::Home).map(|draft| draft.when(when)))
}

/// "Have lived": still, when it is said for how long.
pub(super) fn lived(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    static STILL: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?i)\b(?:for|since|all my life|my (?:whole|entire) life)\b"));
    let still = STILL.is_match(said.rest) || said.rest.to_lowercase().contains("been living");
    let places = part(captures, "v")
        .map(|place| place.replace(" all my life", "").replace(" my whole life", "").replace(" my entire life", ""))
        .unwrap_or_default();
    let when = if still { When::Current } else { When::Past };
    one(english_place(&places).map(|place| Draft::new(Predicate::Home, place).when(Some(when))))
}

pub(super) fn moved(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let verb = part(captures, "verb").unwrap_or_default().to_lowercase();
    let progressive = verb.ends_with("ing");
    let coming = captures.name("fut").is_some() || said.setting.coming || progressive;
    let stays =
        ["move", "moves", "relocate"].contains(&verb.as_str()) && !coming && said.setting.when != Some(When::Past);
    if said.setting.negated || stays {
        return Vec::new();
    }
    let Some(to) = place(captures, "v", Predicate::Home) else { return Vec::new() };
    let vague = |place: &str| {
        ["a ", "the ", "my ", "our ", "another", "new "].iter().any(|start| place.to_lowercase().starts_with(start))
            && !place.chars().any(char::is_uppercase)
    };
    if vague(&to.value) {
        return Vec::new();
    }
    let from = place(captures, "from", Predicate::Home)
        .map(|from| from.when(Some(if coming { When::Current } else { When::Past })));
    from.into_iter().chain([to.when(Some(if coming { When::Future } else { When::Current }))]).collect()
}
