//! Who lives in the home of the month, where they talk, and of what their facts are made.

use serde::Deserialize;

/// What a fact says of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum About {
    Name,
    Home,
    Job,
    Age,
    Likes,
    Code,
    Thing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Language {
    Zh,
    En,
}

/// One who talks. Two of them may have one `name`; `account` tells them apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Person {
    /// `namespace:user`.
    pub(crate) account: &'static str,
    pub(crate) name: &'static str,
    pub(crate) language: Language,
    /// The groups in which they take part, beside their private conversation.
    pub(crate) groups: &'static [&'static str],
}

const fn person(
    account: &'static str,
    name: &'static str,
    language: Language,
    groups: &'static [&'static str],
) -> Person {
    Person { account, name, language, groups }
}

/// Those who talk in the month. There are two 张伟 and two Annas, who meet in the group `all`.
pub(crate) const PEOPLE: [Person; 9] = [
    person("home:wangfang", "王芳", Language::Zh, &["family", "all"]),
    person("home:liqiang", "李强", Language::Zh, &["family", "all"]),
    person("home:zhangwei", "张伟", Language::Zh, &["family", "all"]),
    person("home:zhangwei2", "张伟", Language::Zh, &["all"]),
    person("home:xiaomei", "小梅", Language::Zh, &["family", "flat", "all"]),
    person("home:emma", "Emma", Language::En, &["flat", "all"]),
    person("home:tom", "Tom", Language::En, &["flat", "all"]),
    person("home:anna", "Anna", Language::En, &["flat", "all"]),
    person("home:anna2", "Anna", Language::En, &["all"]),
];

/// Things that differ by a number alone, and so are never the same.
pub(crate) const TWINS: [(Language, &str, &str); 5] = [
    (Language::Zh, "3号楼的备用钥匙", "5号楼的备用钥匙"),
    (Language::Zh, "三月四日的电影票", "三月五日的电影票"),
    (Language::Zh, "净化器滤芯A14", "净化器滤芯A15"),
    (Language::En, "router model 6400", "router model 6500"),
    (Language::En, "concert ticket of 12 May", "concert ticket of 13 May"),
];

/// The values a fact may have. None is part of another.
pub(crate) fn values(about: About, language: Language) -> Vec<String> {
    let list: &[&str] = match (about, language) {
        (About::Home, Language::Zh) => &[
            "杭州",
            "成都",
            "青岛",
            "厦门",
            "西安",
            "武汉",
            "昆明",
            "大连",
            "苏州",
            "长沙",
            "贵阳",
            "哈尔滨",
            "珠海",
            "洛阳",
            "扬州",
            "桂林",
        ],
        (About::Home, Language::En) => &[
            "Leeds", "Bristol", "Utrecht", "Porto", "Dublin", "Ghent", "Lyon", "Krakow", "Bergen", "Seville", "Graz",
            "Turin", "Malmo", "Basel", "Cork", "Aarhus",
        ],
        (About::Job, Language::Zh) => &[
            "护士",
            "厨师",
            "会计",
            "律师",
            "电工",
            "摄影师",
            "建筑师",
            "司机",
            "记者",
            "药剂师",
            "翻译",
            "木匠",
            "图书管理员",
            "飞行员",
            "兽医",
            "消防员",
        ],
        (About::Job, Language::En) => &[
            "nurse",
            "plumber",
            "teacher",
            "baker",
            "translator",
            "carpenter",
            "librarian",
            "pilot",
            "tailor",
            "lawyer",
            "dentist",
            "gardener",
            "journalist",
            "pharmacist",
            "welder",
            "chef",
        ],
        (About::Likes, Language::Zh) => &[
            "火锅",
            "咖啡",
            "绿茶",
            "爬山",
            "摄影",
            "羽毛球",
            "下象棋",
            "钓鱼",
            "榴莲",
            "古典音乐",
            "科幻小说",
            "游泳",
            "饺子",
            "养花",
            "酸辣粉",
            "京剧",
            "滑雪",
            "臭豆腐",
        ],
        (About::Likes, Language::En) => &[
            "coffee",
            "hiking",
            "chess",
            "jazz",
            "pizza",
            "gardening",
            "football",
            "dumplings",
            "cycling",
            "crosswords",
            "opera",
            "sailing",
            "knitting",
            "oysters",
            "karaoke",
            "green tea",
            "birdwatching",
            "liquorice",
        ],
        _ => &[],
    };
    list.iter().map(|value| (*value).to_owned()).collect()
}
