//! What somebody does, learns and plans.

use super::*;

pub(super) fn out_of_work(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let Some(word) = said.part(captures, "v") else { return Vec::new() };
    let state = if word.starts_with('退') { "retired" } else { "unemployed" };
    vec![Draft::new(Predicate::Job, state)]
}

pub(super) fn occupation(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let vague = |thing: &String| {
        ["很", "非常", "太", "比较", "有点", "挺", "真", "为", "需要", "要", "让"]
            .iter()
            .any(|word| thing.starts_with(word))
    };
    let thing =
        said.part(captures, "v").and_then(chinese_thing).filter(|thing| !vague(thing) && thing.chars().count() <= 12);
    one(thing.map(|thing| Draft::new(Predicate::Job, thing)))
}

/// An employer, a town or a field: not "here" and not one's own home.
pub(super) fn employer(said: &Said<'_>, captures: &Captures<'_>) -> Option<Draft> {
    let place = said.part(captures, "w").and_then(chinese_thing)?;
    static SOME_COMPANY: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"^(?:一[家个间所]|当前|现在的?|目前的?|某|新|自己的?)?(?:大|小|国|外|私)?(?:公司|单位|企业|机构|岗位|行业)$",
        )
    });
    let acts = tagged_words(&place).first().is_some_and(|(_, tag)| matches!(*tag, "v" | "d" | "p"));
    let vague = [
        "家", "家里", "公司", "单位", "外地", "外面", "学习", "努力", "认真", "线上", "网上", "附近", "周末", "晚上",
        "加班", "拼命", "兼职",
    ];
    let past = captures.name("past").map(|_| When::Past);
    (!acts && !SOME_COMPANY.is_match(&place) && !vague.contains(&place.as_str()) && place.chars().count() <= 16)
        .then(|| Draft::new(Predicate::Workplace, place).when(past))
}

pub(super) fn workplace(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(employer(said, captures))
}

pub(super) fn work_as(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let Some(job) = said.part(captures, "j").and_then(trade_in) else { return Vec::new() };
    employer(said, captures).into_iter().chain([Draft::new(Predicate::Job, job)]).collect()
}

pub(super) fn left(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(employer(said, captures).map(|draft| draft.when(Some(When::Past))))
}

/// The trade at the end of a phrase: 很好的老师 is 老师.
pub(super) fn trade_in(phrase: &str) -> Option<String> {
    let phrase = phrase.trim();
    let last = phrase.rsplit('的').next().unwrap_or(phrase);
    let last = ["一名", "一个", "一位", "个", "名", "位"]
        .iter()
        .find_map(|measure| last.strip_prefix(measure))
        .unwrap_or(last);
    let fits = lexicon::is_chinese_trade(last) && last.chars().count() <= 10 && chinese_thing(phrase).is_some();
    fits.then(|| last.to_owned())
}

pub(super) fn trade(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let doing = said.rest.starts_with('做');
    let activity = ["设计", "销售", "运营", "客服", "翻译", "编辑", "演示"];
    let past = captures.name("past").map(|_| When::Past);
    let job = said
        .part(captures, "v")
        .and_then(trade_in)
        .filter(|job| !(doing && said.setting.le && activity.contains(&job.as_str())));
    one(job.filter(|_| said.setting.when != Some(When::Future)).map(|job| Draft::new(Predicate::Job, job).when(past)))
}

pub(super) fn line_of_work(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let work = said.part(captures, "v").and_then(chinese_thing);
    let vague = |work: &String| {
        matches!(work.as_str(), "对" | "好" | "错" | "什么" | "菜" | "饭" | "蛋糕" | "梦" | "手工" | "作业")
    };
    one(work.filter(|work| !vague(work)).map(|work| Draft::new(Predicate::Job, work)))
}

pub(super) fn level(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    thing(said, captures, Predicate::School)
}

pub(super) fn school(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let vague = |draft: &Draft| {
        matches!(draft.value.as_str(), "家" | "图书馆" | "学校" | "咖啡馆" | "国外" | "外地" | "房间" | "床上")
    };
    thing(said, captures, Predicate::School).into_iter().filter(|draft| !vague(draft)).collect()
}

pub(super) fn graduated(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    school(said, captures).into_iter().map(|draft| draft.when(Some(When::Past))).collect()
}

pub(super) fn studies(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let vague = |draft: &Draft| {
        ["如何", "怎么", "怎样", "习", "校", "着", "做", "新", "一门", "一项", "一种", "用"]
            .iter()
            .any(|word| draft.value.starts_with(word))
            || draft.value.ends_with('时')
            || draft.value.chars().count() > 10
    };
    each(said, captures, Predicate::Studies).into_iter().filter(|draft| !vague(draft)).collect()
}

/// What is going to be done, when it is said when or that it is planned.
pub(super) fn plan(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    if said.setting.when != Some(When::Future) || said.setting.negated || said.setting.le {
        return Vec::new();
    }
    let time = ["打算", "计划", "准备"].iter().fold(said.setting.time.clone(), |time, word| time.replace(word, ""));
    one(said
        .part(captures, "v")
        .and_then(chinese_thing)
        .map(|thing| Draft::new(Predicate::Plan, thing).detail(Some(time))))
}
