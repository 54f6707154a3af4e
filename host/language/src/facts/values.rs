//! What may stand as the value of a fact, and in which form.

use std::sync::LazyLock;

use regex::Regex;

use super::fact::{Fact, Predicate, Subject, When};
use super::reading::{is_han, pattern};
use crate::text::tagged_words;

/// A fact that a rule found, before its clause says of whom and when.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) predicate: Predicate,
    pub(super) value: String,
    pub(super) detail: Option<String>,
    /// Of whom, where not of the clause's subject.
    pub(super) subject: Option<Subject>,
    /// That the words of the rule itself deny.
    pub(super) negated: bool,
    /// When, where the rule itself says it.
    pub(super) when: Option<When>,
    /// Whether the clause's own "not" is about this.
    pub(super) deniable: bool,
}

impl Draft {
    pub(super) fn new(predicate: Predicate, value: impl Into<String>) -> Self {
        let value = value.into();
        Self { predicate, value, detail: None, subject: None, negated: false, when: None, deniable: true }
    }

    pub(super) fn detail(mut self, detail: Option<String>) -> Self {
        self.detail = detail.filter(|detail| !detail.is_empty());
        self
    }

    pub(super) fn when(mut self, when: Option<When>) -> Self {
        self.when = when.or(self.when);
        self
    }

    pub(super) fn of(mut self, subject: Subject) -> Self {
        self.subject = Some(subject);
        self
    }

    pub(super) fn denied(mut self, denied: bool) -> Self {
        self.negated = denied;
        self
    }

    /// What holds whether or not the clause denies something: a name said along with it.
    pub(super) fn undeniable(mut self) -> Self {
        self.deniable = false;
        self
    }

    /// The fact. `span` is filled in by whoever knows the sentence.
    pub(super) fn into_fact(self, subject: &Subject, negated: bool, when: When, confidence: f32) -> Fact {
        Fact {
            subject: self.subject.unwrap_or_else(|| subject.clone()),
            predicate: self.predicate,
            value: self.value,
            detail: self.detail,
            negated: self.negated ^ (negated && self.deniable),
            when: if self.deniable { self.when.unwrap_or(when) } else { When::Current },
            span: 0..0,
            confidence,
        }
    }
}

static CHINESE_JUNK: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"[我你您他她它咱妳]|什么|怎么|怎样|为什么|为何|哪|谁|多少|几[个只岁点]|吗|^(?:这|那|此|该|上述|以上|一切|所有|任何|全部|大家|别人|人家|自己|某|一下|上了|得|的|了|过|着|起来|不|没|是|都|也|就|很|太|有|给|被|把|让|说|和$|跟$|刚才|一个人$|东西|一些|有些|之一)|昨天|刚才|上次|那家|那部|那本|这家|这部|这本|(?:这个|那个|这样|那样|这种|那种|这么|那么|这些|那些|这里|那里|这儿|那儿)",
    )
});

/// A thing in Chinese: without what trails it, and nothing that only points at something or asks.
pub(super) fn chinese_thing(said: &str) -> Option<String> {
    let mut thing =
        said.trim().trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '《' | '》' | '+' | '#' | '%'));
    for ending in ["什么的", "之类的", "等等", "之类", "等", "了", "啊", "呀", "的时候"] {
        thing = thing.strip_suffix(ending).unwrap_or(thing).trim_end();
    }
    let alone = thing.trim_matches(|c| matches!(c, '《' | '》'));
    let titled = thing.starts_with('《') && thing.ends_with('》');
    let length = alone.chars().count();
    if length == 0 || length > 24 || (!titled && CHINESE_JUNK.is_match(&alone.replace("吉他", "")) && alone != "吉他")
    {
        return None;
    }
    Some(thing.to_owned())
}

/// The things of a Chinese list, such as 绘画、弹钢琴和品茶.
pub(super) fn chinese_things(said: &str) -> Vec<String> {
    let mut items = Vec::new();
    for part in said.split(['、', '/', '&']) {
        items.extend(split_at_and(part));
    }
    let phrase =
        items.iter().any(|item| item.chars().count() > 10 || tagged_words(item).iter().all(|(_, tag)| *tag == "a"));
    if items.len() > 1 && (phrase || items.first().is_some_and(|first| first.starts_with(['在', '从', '用']))) {
        items = vec![said.to_owned()];
    }
    // What begins by pointing at something goes on so.
    if items.first().is_none_or(|first| chinese_thing(first).is_none()) {
        return Vec::new();
    }
    items.iter().filter_map(|item| chinese_thing(item)).collect()
}

/// Splits at a word for "and", unless it joins company ("和朋友一起").
fn split_at_and(part: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let together =
        ["一起", "一块", "聊天", "一样", "之间", "玩", "相处", "有关", "相关"].iter().any(|word| part.contains(word));
    for (word, _) in tagged_words(part) {
        let joins = matches!(word, "和" | "跟" | "与" | "及" | "以及" | "还有" | "或" | "或者" | "并且" | "以及是");
        let begun = items.last().is_some_and(|item| !item.trim().is_empty());
        match items.last_mut() {
            Some(_) if joins && begun && !together => items.push(String::new()),
            Some(item) => item.push_str(word),
            None => {}
        }
    }
    items
}

static NO_PLACE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"沙发|床上|[睡坐躺]$|酒店|宾馆|旅馆|旅店|民宿|医院|病房|朋友家|亲戚家|梦|心里|心中|网上|回忆|一起|^(?:家|外面|外地|国外|哪|学校|公司|单位|店|附近|隔壁|一楼|二楼|楼上|楼下|城里|市区|对面|旁边|路上|车上|床上|沙发|宿舍|老家|大自然|户外|公园|图书馆|咖啡馆|咖啡厅|餐厅|厨房|办公室|里面|上面|下面|前面|后面)$|时候|情况|过程|方面|压力|阴影|幸福|世界",
    )
});

/// A place in Chinese.
pub(super) fn chinese_place(said: &str) -> Option<String> {
    static COMPANY: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(.+?)(?:和|跟|与|陪).*$"));
    let said = COMPANY.captures(said).and_then(|captures| captures.get(1)).map_or(said, |place| place.as_str());
    let mut place = chinese_thing(said)?;
    for ending in ["这边", "那边", "里面", "那儿"] {
        place.truncate(place.strip_suffix(ending).unwrap_or(&place).len());
    }
    (!NO_PLACE.is_match(&place) && place.chars().count() <= 16 && place.chars().any(char::is_alphabetic))
        .then_some(place)
}

/// Whether Chinese words name a place plainly enough to be one without a preposition before them.
pub(super) fn is_plainly_a_place(words: &str) -> bool {
    const REGIONS: &[&str] = &[
        "东北",
        "西北",
        "江浙",
        "江浙沪",
        "华北",
        "华南",
        "珠三角",
        "闽南",
        "潮汕",
        "胶东",
        "陕北",
        "苏北",
        "苏南",
        "湾区",
    ];
    if REGIONS.contains(&words) || country(words) {
        return true;
    }
    let tags = tagged_words(words);
    let ends = ["省", "市", "县", "区", "镇", "乡", "村", "州", "路", "街", "小区", "花园", "新村", "公寓"];
    let named = words.chars().count() > 2 && ends.iter().any(|end| words.ends_with(end));
    named || (!tags.is_empty() && tags.iter().all(|(_, tag)| *tag == "ns"))
}

/// Whether a word is a country's name in Chinese.
pub(super) fn country(word: &str) -> bool {
    const COUNTRIES: &[&str] = &[
        "日本",
        "韩国",
        "新加坡",
        "马来西亚",
        "加拿大",
        "澳大利亚",
        "新西兰",
        "俄罗斯",
        "印度",
        "印度尼西亚",
        "意大利",
        "西班牙",
        "葡萄牙",
        "荷兰",
        "瑞士",
        "瑞典",
        "挪威",
        "芬兰",
        "丹麦",
        "波兰",
        "乌克兰",
        "土耳其",
        "埃及",
        "巴西",
        "墨西哥",
        "阿根廷",
        "越南",
        "菲律宾",
        "奥地利",
        "比利时",
        "希腊",
        "爱尔兰",
    ];
    COUNTRIES.contains(&word) || matches!(word, "中国" | "美国" | "英国" | "法国" | "德国" | "泰国")
}

/// A Chinese name, or a Latin one within Chinese.
pub(super) fn chinese_name(said: &str) -> Option<String> {
    let name = said.trim().trim_matches(|c: char| !c.is_alphanumeric());
    if !name.chars().any(is_han) {
        let words: Vec<&str> = name.split_whitespace().collect();
        let plain = words.len() <= 3
            && words.iter().all(|word| word.chars().all(|c| c.is_alphabetic() || matches!(c, '-' | '.' | '\'')));
        return (plain && !name.is_empty() && name.chars().count() <= 30).then(|| name.to_owned());
    }
    let length = name.chars().count();
    let foreign = name.contains('·');
    if !(1..=if foreign { 16 } else { 4 }).contains(&length) || CHINESE_JUNK.is_match(name) || NO_NAMES.contains(&name)
    {
        return None;
    }
    let tags = tagged_words(name);
    let acts = |(_, tag): &(&str, &str)| matches!(*tag, "v" | "r" | "p" | "ul" | "d" | "c" | "m");
    let surname = has_surname(name);
    let nested = name.chars().next().is_some_and(|c| matches!(c, '小' | '老' | '阿' | '大'));
    let doubled = name.chars().nth(1).is_some() && name.chars().next() == name.chars().nth(1);
    let common = tags.len() == 1 && tags.first().is_some_and(acts) && length <= 2 && !surname;
    let sentence = tags.len() > 1 && tags.iter().any(|(_, tag)| matches!(*tag, "r" | "p" | "ul" | "uj" | "uz"));
    (surname || nested || doubled || (!common && !sentence)).then(|| name.to_owned())
}

/// What is called, but is no name.
const NO_NAMES: &[&str] = &[
    "外卖",
    "车",
    "出租车",
    "滴滴",
    "救护车",
    "快递",
    "服务员",
    "人",
    "醒",
    "停",
    "好",
    "苦",
    "外援",
    "代驾",
    "网约车",
    "的士",
    "警察",
    "医生",
    "苦连天",
    "不醒",
    "什么",
    "起来",
    "出来",
    "外送",
    "菜",
    "价",
    "板",
    "号",
    "卖",
    "绝",
    "早餐",
    "客房服务",
];

/// Whether a text begins with a Chinese family name and goes on like a person's name.
pub(super) fn has_surname(name: &str) -> bool {
    use super::lexicon::{LONG_SURNAMES, SURNAMES};
    let length = name.chars().count();
    let long = LONG_SURNAMES.iter().any(|surname| name.starts_with(surname)) && (3..=4).contains(&length);
    long || ((2..=3).contains(&length) && name.chars().next().is_some_and(|c| SURNAMES.contains(c)))
}

/// Whether the whole text is a person's full name and not a word of the language too.
pub(crate) fn is_full_name(name: &str) -> bool {
    has_surname(name) && {
        let tags = tagged_words(name);
        let word = tags.len() == 1 && tags.first().is_some_and(|(_, tag)| !tag.starts_with("nr"));
        let names = tags.iter().any(|(_, tag)| tag.starts_with("nr"));
        !word && (names || tags.iter().all(|(word, _)| word.chars().count() == 1))
    }
}

static ENGLISH_JUNK: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:you|your|yours|u|ur)\b|\b(?:them|something|this|that|I)\b|^(?:to|it|these|those|him|her|he|she|me|us|everything|anything|nothing|something|all|both|either|neither|one|ones|what|how|when|where|why|who|which|there|here|so|too|not|no|any|some|more|most|the (?:idea|ideas|way|fact|sound|look|plan|suggestion|suggestions|one|ones|first|second|third|last|next|answer|result|new|other|same|rest|option|part|thought|latter|former|second|concept|vibe|vibes|feeling|previous|above|name|color scheme|ending)|its|his|their|being (?:able|here|honest)|to be honest|my (?:job|life|new)|totally|literally|just|was|were|is|are|honestly|actually|really|crazy|mad|hell)\b|\b(?:it)$|\b(?:that you|you're)\b",
    )
});

static ENGLISH_TAIL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)[\s,]+(?:very much|so much|too much|that much|a lot|at all|the most|the best|a great deal|too|as well|though|now|right now|these days|at the moment|currently|nowadays|anymore|any more|any longer|lately|again|haha|lol|actually|really|by the way|btw|please|for (?:about |over |almost |more than |around |the past |the last |nearly )?(?:a|an|\d+|one|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|many|several|few|a few|some|years?|months?)(?: \w+)? ?(?:years?|months?|decades?|while|now|time)?(?: now)?|since .*|with my .*|with (?:him|her|them)|every (?:day|week|morning|evening|weekend).*|ever since.*|last (?:year|month|week|summer|winter|spring|fall)|this (?:year|month|week)|next (?:year|month|week|summer|winter|spring|fall)|(?:\w+ )?(?:years|months|weeks) ago|recently|yesterday|tomorrow|when i .*|back then|as a (?:kid|child|teenager|boy|girl)|because .*|since i .*|so .*|in (?:19|20)\d\d|until .*|of course|to be honest|for now|for work|for a living)$",
    )
});

/// A thing in English: without article-like beginnings and what trails it; nothing that only points at something.
pub(super) fn english_thing(said: &str) -> Option<String> {
    let mut thing =
        said.trim().trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '+' | '#' | '%')).to_owned();
    while let Some(tail) = ENGLISH_TAIL.find(&thing) {
        thing.truncate(tail.start());
    }
    let thing = thing.trim_end_matches([',', '.', '!', ' ']).to_owned();
    let words = thing.split_whitespace().count();
    let junk = words == 0 || words > 8 || thing.chars().count() > 60 || ENGLISH_JUNK.is_match(&thing);
    (!junk).then_some(thing)
}

/// The things of an English list, such as "cats, dogs and green tea".
pub(super) fn english_things(said: &str) -> Vec<String> {
    static AND: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?i)\s*,\s*(?:and |or |but )?|\s+(?:and|or|nor|as well as|&)\s+"));
    let Some(whole) = english_thing(said) else { return Vec::new() };
    let items: Vec<&str> = AND.split(&whole).map(str::trim).filter(|item| !item.is_empty()).collect();
    if items.len() > 1 && items.iter().any(|item| item.split_whitespace().count() > 4) {
        let first = items.first().copied().unwrap_or_default();
        return english_thing(first).into_iter().collect();
    }
    items
        .into_iter()
        .filter_map(english_thing)
        .map(|item| without_article(&item).to_owned())
        .filter(|item| !item.is_empty())
        .collect()
}

/// Without "a", "an", "some" and "to" before it.
pub(super) fn without_article(thing: &str) -> &str {
    let lower = thing.to_lowercase();
    for article in ["a ", "an ", "to ", "some ", "all kinds of ", "any "] {
        if lower.starts_with(article) {
            return thing.get(article.len()..).unwrap_or(thing).trim_start();
        }
    }
    thing
}

static NO_ENGLISH_PLACE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:fear|hope|hopes|peace|the (?:moment|past|future|present|dark|kitchen|couch|next|other|new|end|top|back|front|shadow|middle of nowhere|hospital|garden|office|same)|a (?:simulation|world|bubble|dream|hotel|hurry|way|mess|state|time)|denial|constant|harmony|luxury|my (?:head|car|room|own|mind|dreams?)|here|there|somewhere|anywhere|work|home|house|bed|town|school|college|love|need|trouble|charge|touch|good|bad|great|a good|a bad|\d+(?: (?:minutes?|hours?|days?))?|person|time|general|fact|total|particular|different|an? hotel|quarantine|isolation|vain|secret|my \w+|your .*|his .*|her .*|peanuts)\b",
    )
});

/// A place in English.
pub(super) fn english_place(said: &str) -> Option<String> {
    static COMPANY: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)\s+(?:with|together|where|which|near where|alone|and (?:i|my|we|work|love|have|am)\b|but|to be|to study|to work|as a|because|for)\b.*$",
        )
    });
    let cut = COMPANY.find(said).map_or(said.len(), |company| company.start());
    let said = said.get(..cut)?;
    // "Turin, the old part of town" is Turin; "Paris, France" is both.
    let goes_on =
        |(at, _): &(usize, &str)| said.get(at + 2..).is_some_and(|after| after.starts_with(|c: char| c.is_lowercase()));
    let cut = said.match_indices(", ").find(goes_on).map_or(said.len(), |(at, _)| at);
    let place = english_thing(said.get(..cut)?)?;
    let fits = place.split_whitespace().count() <= 7
        && !NO_ENGLISH_PLACE.is_match(&place)
        && place.chars().any(char::is_alphabetic);
    fits.then_some(place)
}

/// A name written in Latin letters: one to three words that begin with capitals, or one word alone.
pub(super) fn english_name(said: &str) -> Option<String> {
    let said = said.trim().trim_matches(|c: char| !c.is_alphanumeric());
    let cut = [",", " and ", " but ", " by the way", " if ", " please", " from ", " - "]
        .iter()
        .filter_map(|end| said.find(end))
        .min();
    let name = said.get(..cut.unwrap_or(said.len()))?.trim();
    let words: Vec<&str> = name.split_whitespace().collect();
    let letters = |word: &&str| word.chars().all(|c| c.is_alphabetic() || matches!(c, '-' | '.' | '\''));
    let capital = |word: &&str| {
        word.chars().next().is_some_and(|c| !c.is_lowercase()) || matches!(*word, "van" | "de" | "von" | "der" | "al")
    };
    let common = [
        "not", "a", "the", "later", "when", "crazy", "stupid", "back", "maybe", "tomorrow", "names", "it", "that",
        "out", "on", "in", "now", "sir", "honey",
    ];
    let known = words.iter().any(|word| common.contains(&word.to_lowercase().as_str()));
    let shape = words.iter().all(letters)
        && !known
        && (words.len() == 1 || ((2..=4).contains(&words.len()) && words.iter().all(capital)));
    (shape && name.chars().count() <= 40).then(|| name.to_owned())
}
