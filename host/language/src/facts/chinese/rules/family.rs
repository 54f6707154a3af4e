//! Whom and which animals somebody has.

use super::*;

pub(super) fn only_child(_: &Said<'_>, _: &Captures<'_>) -> Vec<Draft> {
    vec![Draft::new(Predicate::Family, "sibling").denied(true)]
}

pub(super) fn married(_: &Said<'_>, _: &Captures<'_>) -> Vec<Draft> {
    vec![Draft::new(Predicate::MaritalStatus, "married")]
}

pub(super) fn single(_: &Said<'_>, _: &Captures<'_>) -> Vec<Draft> {
    vec![Draft::new(Predicate::MaritalStatus, "single")]
}

pub(super) fn divorced(said: &Said<'_>, _: &Captures<'_>) -> Vec<Draft> {
    if said.setting.negated {
        Vec::new()
    } else {
        vec![Draft::new(Predicate::MaritalStatus, "divorced").when(Some(When::Current))]
    }
}

pub(super) fn engaged(_: &Said<'_>, _: &Captures<'_>) -> Vec<Draft> {
    vec![Draft::new(Predicate::MaritalStatus, "engaged")]
}

pub(super) static COUNTED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?P<n>[0-9]{1,2}|[一二三四五六七八九十两])?(?P<c>个|位|名|只|条|匹|头|缸|窝)?(?P<what>.+?)(?:(?:,)?(?:名字)?(?:叫做?|名叫)(?P<name>.+))?$",
    )
});

/// Family or pets that somebody has: 两个女儿, 一只叫咪咪的猫, 一儿一女.
pub(super) fn has(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let Some(list) = captures.name("v").map(|list| list.as_str()) else { return Vec::new() };
    if list == "一儿一女" {
        return ["son", "daughter"].into_iter().map(|child| Draft::new(Predicate::Family, child)).collect();
    }
    if matches!(list, "兄弟姐妹" | "任何兄弟姐妹") && said.setting.negated {
        return vec![Draft::new(Predicate::Family, "sibling")];
    }
    if matches!(list, "宠物" | "任何宠物") && said.setting.negated {
        return vec![Draft::new(Predicate::Pet, "pet")];
    }
    list.split(['和', '、', '跟']).flat_map(|item| relative_or_pet(said, item, false)).collect()
}

pub(super) fn keeps(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let Some(list) = captures.name("v").map(|list| list.as_str()) else { return Vec::new() };
    let past = captures.name("past").map(|_| When::Past);
    if list == "宠物" && said.setting.negated {
        return vec![Draft::new(Predicate::Pet, "pet").when(past)];
    }
    list.split(['和', '、', '跟'])
        .flat_map(|item| relative_or_pet(said, item, true))
        .map(|draft| draft.when(past))
        .collect()
}

pub(super) fn relative_or_pet(said: &Said<'_>, item: &str, kept: bool) -> Vec<Draft> {
    static INSIDE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(?:名?叫做?(?P<name>.{1,6}?)的)?(?P<what>.+)$"));
    let Some(counted) = COUNTED.captures(item.trim()) else { return Vec::new() };
    let what = counted.name("what").map_or("", |what| what.as_str());
    let inside = INSIDE.captures(what);
    let what = inside.as_ref().and_then(|inside| inside.name("what")).map_or(what, |what| what.as_str());
    let name = counted.name("name").or_else(|| inside.as_ref().and_then(|inside| inside.name("name")));
    let last = what.rsplit('的').next().unwrap_or(what);
    let number = counted.name("n").and_then(|number| chinese_number(number.as_str())).filter(|number| *number != 1);
    let measured = counted.name("c").is_some();
    let (predicate, kind) = match (kin_in(last), pet_in(last)) {
        (Some(relation), _) if kin::is_family(relation) && !kept => (Predicate::Family, relation),
        (_, Some(pet)) if kept || measured || said.setting.negated => (Predicate::Pet, pet),
        _ => return Vec::new(),
    };
    let mut found = vec![Draft::new(predicate, kind).detail(number.map(|number| number.to_string()))];
    let name = name.map(|name| said.clause.as_written(name.as_str())).and_then(chinese_name);
    let subject = Subject::Relative { relation: kind.to_owned(), name: None };
    found.extend(name.map(|name| Draft::new(Predicate::Name, name).of(subject).undeniable()));
    found
}

pub(super) fn kin_in(word: &str) -> Option<&'static str> {
    let word = ["大", "小", "亲", "双胞胎", "可爱", "小小"]
        .iter()
        .find_map(|before| word.strip_prefix(before))
        .filter(|rest| kin::chinese(rest).is_some())
        .unwrap_or(word);
    kin::chinese(word).filter(|(_, rest)| rest.is_empty()).map(|(relation, _)| relation)
}

pub(super) fn pet_in(word: &str) -> Option<&'static str> {
    let known =
        lexicon::PETS.iter().filter(|(pet, _)| !pet.is_ascii() && word.ends_with(pet) && word.chars().count() <= 6);
    known.max_by_key(|(pet, _)| pet.len()).map(|(_, kind)| *kind)
}

/// What "my dog died" says: that it was one's pet.
pub(super) fn pet_is_gone(said: &Said<'_>, _: &Captures<'_>) -> Vec<Draft> {
    let Subject::Relative { relation, .. } = said.subject else { return Vec::new() };
    let pet = lexicon::PETS.iter().any(|(_, kind)| kind == relation);
    one(pet.then(|| Draft::new(Predicate::Pet, relation.clone()).of(Subject::Speaker).when(Some(When::Past))))
}
