//! What somebody can't take, does not eat or drink, and lives with.

use super::*;

pub(super) fn allergy(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let past = past(said, captures);
    let vague = |draft: &Draft| {
        ["bad", "any", "no", "seasonal", "work", "mornings", "exercise", "a lot of"]
            .contains(&draft.value.to_lowercase().as_str())
    };
    each(captures, Predicate::Allergy).into_iter().filter(|draft| !vague(draft)).map(|draft| draft.when(past)).collect()
}

pub(super) fn diet(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let past = past(said, captures);
    one(part(captures, "v").map(|diet| Draft::new(Predicate::Diet, diet.to_lowercase()).when(past)))
}

/// Only what is not eaten says something about somebody.
pub(super) fn eats(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let denied = said.setting.negated || said.rest.to_lowercase().starts_with("can not");
    let meal = |draft: &Draft| {
        ["breakfast", "lunch", "dinner", "out", "much", "enough", "well", "yet"]
            .iter()
            .any(|word| draft.value.to_lowercase().starts_with(word))
    };
    let found = each(captures, Predicate::Eats)
        .into_iter()
        .filter(|draft| !meal(draft) && denied && past(said, captures).is_none());
    found.map(|draft| draft.denied(!said.setting.negated)).collect()
}

pub(super) fn drinks(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let enough = |draft: &Draft| ["much", "enough"].iter().any(|word| draft.value.to_lowercase().starts_with(word));
    if said.setting.negated {
        each(captures, Predicate::Drinks).into_iter().filter(|draft| !enough(draft)).collect()
    } else {
        Vec::new()
    }
}

pub(super) fn drinks_at_all(said: &Said<'_>, _: &Captures<'_>) -> Vec<Draft> {
    one(said.setting.negated.then(|| Draft::new(Predicate::Drinks, "alcohol")))
}

pub(super) fn smokes(_: &Said<'_>, _: &Captures<'_>) -> Vec<Draft> {
    vec![Draft::new(Predicate::Smokes, "tobacco")]
}

pub(super) fn gave_up(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    if said.setting.negated {
        return Vec::new();
    }
    let smoking = part(captures, "v").is_some_and(|what| what.eq_ignore_ascii_case("smoking"));
    let draft =
        if smoking { Draft::new(Predicate::Smokes, "tobacco") } else { Draft::new(Predicate::Drinks, "alcohol") };
    vec![draft.when(Some(When::Past))]
}

pub(super) fn condition(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let past = said.rest.to_lowercase().starts_with("had ").then_some(When::Past);
    let list = part(captures, "v").map(english_things).unwrap_or_default();
    let known =
        list.into_iter().filter(|thing| lexicon::is_condition(thing) || lexicon::is_condition(&format!("a {thing}")));
    known.map(|thing| Draft::new(Predicate::Health, thing).when(past)).collect()
}

pub(super) fn state(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(part(captures, "v").map(|state| Draft::new(Predicate::Health, state.to_lowercase())))
}
