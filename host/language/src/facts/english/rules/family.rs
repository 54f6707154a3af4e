//! Whom and which animals somebody has.

use super::*;

pub(super) fn only_child(_: &Said<'_>, _: &Captures<'_>) -> Vec<Draft> {
    vec![Draft::new(Predicate::Family, "sibling").denied(true)]
}

pub(super) fn marital(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let getting = said.rest.to_lowercase();
    let past = getting.starts_with("was ").then_some(When::Past);
    if ["job", "work", "career"]
        .iter()
        .any(|work| getting.trim_end_matches(|c: char| !c.is_alphanumeric()).ends_with(work))
    {
        return Vec::new();
    }
    one(part(captures, "v").map(|state| Draft::new(Predicate::MaritalStatus, state.to_lowercase()).when(past)))
}

pub(super) static COUNTED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<n>an?|one|two|three|four|five|six|seven|\d{1,2}|no|any|another|some)?\s*(?:(?:older|elder|younger|little|big|baby|twin|small|large|black|white|orange|brown|cute|beautiful|lovely|wonderful|grown|adorable|old|young|new|tabby|rescue|pet|golden|gray|grey|fluffy|amazing|great|year-old|\d+-year-old)\s+)*(?P<what>guinea pigs?|golden retrievers?|german shepherds?|[a-zé-]+)(?:,? (?:named|called|whose name is|who is called|who is named) (?P<name>.+?))?(?: (?:who|that|at home|and we|and he|and she|in|from|with|together|when|for|since|back).*)?$",
    )
});

/// Family or pets that somebody has: "two daughters", "a cat named Milo and a dog".
pub(super) fn has(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    static AND: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)\s*,?\s+and\s+(?P<head>(?:a|an|one|two|three|four|\d)\s)|\s*,\s*(?P<head2>(?:a|an|one|two|three|four|\d)\s)",
        )
    });
    let list = part(captures, "v").unwrap_or_default();
    let mut items = Vec::new();
    let mut start = 0;
    for joint in AND.captures_iter(list) {
        let (Some(whole), Some(head)) = (joint.get(0), joint.name("head").or_else(|| joint.name("head2"))) else {
            continue;
        };
        items.push(list.get(start..whole.start()).unwrap_or_default());
        start = head.start();
    }
    items.push(list.get(start..).unwrap_or_default());
    items.into_iter().flat_map(|item| relative_or_pet(said, item)).collect()
}

pub(super) fn relative_or_pet(said: &Said<'_>, item: &str) -> Vec<Draft> {
    let Some(counted) = COUNTED.captures(item.trim()) else { return Vec::new() };
    let what = counted.name("what").map_or("", |what| what.as_str());
    let count = counted.name("n").map(|count| count.as_str().to_lowercase());
    let none = count.as_deref() == Some("no");
    let kin = kin::english(what).filter(|relation| kin::is_family(relation));
    let pet = lexicon::pet(what);
    let adopted = said.rest.to_lowercase().contains("adopted");
    let (predicate, kind) = match (kin, pet) {
        (Some(kin), _) if !adopted => (Predicate::Family, kin),
        (_, Some(pet)) => (Predicate::Pet, pet),
        _ if what.eq_ignore_ascii_case("pets") && (none || said.setting.negated) => (Predicate::Pet, "pet"),
        _ => return Vec::new(),
    };
    if count.is_none() && !said.setting.negated && !what.ends_with('s') && what != "children" {
        return Vec::new();
    }
    let number = count.as_deref().and_then(english_number).filter(|number| *number > 1);
    let past = said
        .rest
        .to_lowercase()
        .starts_with("had ")
        .then_some(When::Past)
        .or_else(|| past(said, &counted).filter(|_| said.rest.starts_with("owned")));
    let mut found =
        vec![Draft::new(predicate, kind).detail(number.map(|number| number.to_string())).denied(none).when(past)];
    let name = counted.name("name").and_then(|name| english_name(name.as_str())).filter(|_| number.is_none());
    let subject = Subject::Relative { relation: kind.to_owned(), name: None };
    found.extend(name.map(|name| Draft::new(Predicate::Name, name).of(subject).undeniable()));
    found
}

pub(super) fn pet_is_gone(said: &Said<'_>, _: &Captures<'_>) -> Vec<Draft> {
    let Subject::Relative { relation, .. } = said.subject else { return Vec::new() };
    let pet = lexicon::PETS.iter().any(|(_, kind)| kind == relation);
    one(pet.then(|| Draft::new(Predicate::Pet, relation.clone()).of(Subject::Speaker).when(Some(When::Past))))
}
