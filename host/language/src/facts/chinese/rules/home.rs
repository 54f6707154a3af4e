//! Where somebody lives and moves.

use super::*;

pub(super) fn home(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    static DURATION: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"^(?:了)?(?:快|将近|有|大概|差不多|已经|整整)*(?:[0-9一二三四五六七八九十两几好半]+多?(?:来)?(?:个月|年)多?(?:了)?)?$",
        )
    });
    static TAIL: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"^(?P<place>.+?)(?:的时候)?(?:已经|快)?(?:了)?[0-9一二三四五六七八九十两几]+多?(?:年|个月)(?:了)?$")
    });
    let duration = captures.name("d").is_none_or(|duration| DURATION.is_match(duration.as_str()));
    let Some(said_place) = said.part(captures, "v").filter(|_| duration) else { return Vec::new() };
    let said_place =
        TAIL.captures(said_place).and_then(|tail| tail.name("place")).map_or(said_place, |place| place.as_str());
    let past = captures.name("past").map(|_| When::Past);
    one(chinese_place(said_place).map(|place| Draft::new(Predicate::Home, place).when(past)))
}

pub(super) fn plain_home(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let plainly = captures.name("v").is_some_and(|place| is_plainly_a_place(place.as_str()));
    if plainly { home(said, captures) } else { Vec::new() }
}

pub(super) fn moved(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let coming = captures.name("fut").is_some() || said.setting.when == Some(When::Future);
    let to = place(said, captures, "v", Predicate::Home)
        .filter(|to| !matches!(to.value.as_str(), "家" | "走" | "新家" | "东西" | "砖"));
    let Some(to) = to else { return Vec::new() };
    let when = if coming { When::Future } else { When::Current };
    let from = place(said, captures, "from", Predicate::Home)
        .map(|from| from.when(Some(if coming { When::Current } else { When::Past })));
    from.into_iter().chain([to.when(Some(when))]).collect()
}
