//! What somebody can't take, does not eat or drink, and lives with.

use super::*;

pub(super) fn vegetarian(_: &Said<'_>, _: &Captures<'_>) -> Vec<Draft> {
    vec![Draft::new(Predicate::Diet, "vegetarian")]
}

pub(super) fn halal(_: &Said<'_>, _: &Captures<'_>) -> Vec<Draft> {
    vec![Draft::new(Predicate::Diet, "halal")]
}

pub(super) fn allergy(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let denied = captures.name("neg").is_some();
    let vague = |draft: &Draft| {
        matches!(draft.value.as_str(), "会" | "皮肤" | "容易" | "有点" | "很" | "鼻子" | "轻微")
            || draft.value.starts_with("会")
    };
    each(said, captures, Predicate::Allergy)
        .into_iter()
        .filter(|draft| !vague(draft))
        .map(|draft| draft.denied(denied))
        .collect()
}

pub(super) fn condition(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let list = said.part(captures, "v").map(chinese_things).unwrap_or_default();
    list.into_iter()
        .filter(|thing| lexicon::is_condition(thing) || thing.starts_with("色"))
        .map(|thing| Draft::new(Predicate::Health, thing))
        .collect()
}

/// Only what is not eaten says something about somebody; and whoever stands what is hot.
pub(super) fn eats(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let drafts = each(said, captures, Predicate::Eats);
    let hot = |draft: &Draft| matches!(draft.value.as_str(), "辣" | "辣的");
    let meal = |draft: &Draft| {
        ["饭", "下", "完", "到", "惯", "饱", "动", "起", "早餐", "午餐", "晚餐", "药", "亏", "苦", "醋", "力", "惊"]
            .iter()
            .any(|word| draft.value.starts_with(word))
            || draft.value.chars().count() > 8
    };
    drafts
        .into_iter()
        .filter(|draft| !meal(draft) && (said.setting.negated || said.setting.ended || hot(draft)))
        .collect()
}

pub(super) fn drinks(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let denied = said.setting.negated || said.setting.ended;
    let thing =
        |draft: &Draft| denied && draft.value.chars().count() <= 6 && !draft.value.starts_with(['下', '完', '到']);
    each(said, captures, Predicate::Drinks).into_iter().filter(thing).collect()
}

pub(super) fn smokes(_: &Said<'_>, _: &Captures<'_>) -> Vec<Draft> {
    vec![Draft::new(Predicate::Smokes, "tobacco")]
}

pub(super) fn gave_up(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    if said.setting.negated || said.setting.when == Some(When::Future) {
        return Vec::new();
    }
    let draft = match said.part(captures, "v") {
        Some("烟") => Draft::new(Predicate::Smokes, "tobacco"),
        Some(drink) => Draft::new(Predicate::Drinks, drink),
        None => return Vec::new(),
    };
    vec![draft.when(Some(When::Past))]
}
