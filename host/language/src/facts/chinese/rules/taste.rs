//! What somebody likes, speaks, knows how to do and is afraid of.

use super::*;

pub(super) fn favourite(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let kind = said.part(captures, "d").map(str::to_owned);
    if kind.as_deref().is_some_and(|kind| kind.contains(['我', '你', '他', '她'])) {
        return Vec::new();
    }
    one(said
        .part(captures, "v")
        .and_then(chinese_thing)
        .map(|value| Draft::new(Predicate::Favourite, value).detail(kind)))
}

pub(super) fn likes(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let denied = captures.name("neg").is_some();
    let love = said.rest.starts_with('爱')
        && !["吃", "喝", "看", "玩", "听", "上", "好", "睡", "运", "读", "唱", "跑"]
            .iter()
            .any(|verb| said.rest.get("爱".len()..).is_some_and(|after| after.starts_with(verb)));
    let person = |draft: &Draft| love && draft.value.chars().count() > 6;
    let nothing = |draft: &Draft| {
        matches!(draft.value.as_str(), "说" | "是" | "人" | "好" | "一" | "国" | "情" | "心")
            || draft.value.contains("女孩")
            || draft.value.contains("男孩")
    };
    let found = each(said, captures, Predicate::Likes);
    found.into_iter().filter(|draft| !person(draft) && !nothing(draft)).map(|draft| draft.denied(denied)).collect()
}

pub(super) fn likes_above_all(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    if said.likes { each(said, captures, Predicate::Likes) } else { Vec::new() }
}

/// A list with commas: 我喜欢唱歌，跳舞，画画.
pub(super) fn likes_too(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let polite = [
        "谢谢", "哈哈", "再见", "拜拜", "晚安", "真的", "没错", "加油", "多谢", "感谢", "有点", "不过", "随便", "开心",
        "完毕", "没有", "打扰",
    ];
    let thing = said
        .part(captures, "v")
        .filter(|thing| said.likes && !said.setting.le && !polite.iter().any(|word| thing.contains(word)));
    let noun = thing
        .filter(|thing| tagged_words(thing).iter().all(|(_, tag)| tag.starts_with('n') || matches!(*tag, "v" | "vn")));
    one(noun.and_then(chinese_thing).map(|thing| Draft::new(Predicate::Likes, thing)))
}

pub(super) fn dislikes(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    if said.setting.negated && !said.setting.le {
        return Vec::new();
    }
    each(said, captures, Predicate::Likes)
        .into_iter()
        .filter(|draft| draft.value.chars().count() <= 10)
        .map(|draft| draft.denied(true))
        .collect()
}

/// Afraid of things, not that something happens.
pub(super) fn fears(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let noun = |draft: &Draft| {
        let tags = tagged_words(&draft.value);
        draft.value.chars().count() <= 5
            && tags.iter().all(|(_, tag)| tag.starts_with('n') || matches!(*tag, "a" | "uj" | "m" | "s"))
            || matches!(
                draft.value.as_str(),
                "黑" | "高" | "冷" | "热" | "打雷" | "坐飞机" | "打针" | "狗" | "猫" | "蛇" | "虫子"
            )
    };
    each(said, captures, Predicate::Fears).into_iter().filter(noun).collect()
}

pub(super) fn speaks(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let language = |draft: &Draft| {
        draft.value.ends_with(['语', '話', '话', '文', '語'])
            && draft.value.chars().count() <= 5
            && !draft.value.ends_with("笑话")
    };
    each(said, captures, Predicate::Speaks).into_iter().filter(language).collect()
}

pub(super) fn can(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    each(said, captures, Predicate::Can)
}
