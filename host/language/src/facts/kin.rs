//! Who is what to the speaker, in one word for both languages.

/// Chinese words for people near the speaker, longer ones first where one begins with another.
const CHINESE: &[(&str, &str)] = &[
    ("男朋友", "boyfriend"),
    ("女朋友", "girlfriend"),
    ("未婚妻", "fiancee"),
    ("未婚夫", "fiance"),
    ("双胞胎哥哥", "brother"),
    ("双胞胎妹妹", "sister"),
    ("妈妈", "mother"),
    ("母亲", "mother"),
    ("老妈", "mother"),
    ("妈咪", "mother"),
    ("妈", "mother"),
    ("爸爸", "father"),
    ("父亲", "father"),
    ("老爸", "father"),
    ("爸", "father"),
    ("爸妈", "parents"),
    ("父母", "parents"),
    ("外公", "grandfather"),
    ("姥爷", "grandfather"),
    ("爷爷", "grandfather"),
    ("外婆", "grandmother"),
    ("姥姥", "grandmother"),
    ("奶奶", "grandmother"),
    ("表哥", "cousin"),
    ("表姐", "cousin"),
    ("表弟", "cousin"),
    ("表妹", "cousin"),
    ("堂哥", "cousin"),
    ("堂姐", "cousin"),
    ("堂弟", "cousin"),
    ("堂妹", "cousin"),
    ("哥哥", "brother"),
    ("大哥", "brother"),
    ("二哥", "brother"),
    ("弟弟", "brother"),
    ("哥", "brother"),
    ("弟", "brother"),
    ("姐姐", "sister"),
    ("大姐", "sister"),
    ("二姐", "sister"),
    ("妹妹", "sister"),
    ("姐", "sister"),
    ("妹", "sister"),
    ("老公", "husband"),
    ("丈夫", "husband"),
    ("先生", "husband"),
    ("老婆", "wife"),
    ("妻子", "wife"),
    ("太太", "wife"),
    ("媳妇", "wife"),
    ("爱人", "spouse"),
    ("对象", "partner"),
    ("儿子", "son"),
    ("大儿子", "son"),
    ("小儿子", "son"),
    ("女儿", "daughter"),
    ("大女儿", "daughter"),
    ("小女儿", "daughter"),
    ("闺女", "daughter"),
    ("孩子", "child"),
    ("小孩", "child"),
    ("宝宝", "child"),
    ("孙子", "grandson"),
    ("孙女", "granddaughter"),
    ("侄子", "nephew"),
    ("外甥", "nephew"),
    ("侄女", "niece"),
    ("外甥女", "niece"),
    ("岳父", "father-in-law"),
    ("公公", "father-in-law"),
    ("岳母", "mother-in-law"),
    ("丈母娘", "mother-in-law"),
    ("婆婆", "mother-in-law"),
    ("叔叔", "uncle"),
    ("伯伯", "uncle"),
    ("舅舅", "uncle"),
    ("姑父", "uncle"),
    ("阿姨", "aunt"),
    ("姑姑", "aunt"),
    ("小姨", "aunt"),
    ("舅妈", "aunt"),
    ("好朋友", "friend"),
    ("好友", "friend"),
    ("朋友", "friend"),
    ("闺蜜", "friend"),
    ("发小", "friend"),
    ("哥们", "friend"),
    ("同事", "colleague"),
    ("室友", "roommate"),
    ("舍友", "roommate"),
    ("邻居", "neighbour"),
    ("同学", "classmate"),
    ("同桌", "classmate"),
    ("老板", "boss"),
    ("领导", "boss"),
    ("经理", "boss"),
    ("导师", "supervisor"),
    ("老师", "teacher"),
];

/// English words for the same.
const ENGLISH: &[(&str, &str)] = &[
    ("mother", "mother"),
    ("mom", "mother"),
    ("mum", "mother"),
    ("mommy", "mother"),
    ("mama", "mother"),
    ("father", "father"),
    ("dad", "father"),
    ("daddy", "father"),
    ("papa", "father"),
    ("parents", "parents"),
    ("grandfather", "grandfather"),
    ("grandpa", "grandfather"),
    ("granddad", "grandfather"),
    ("grandmother", "grandmother"),
    ("grandma", "grandmother"),
    ("granny", "grandmother"),
    ("nana", "grandmother"),
    ("cousin", "cousin"),
    ("brother", "brother"),
    ("sister", "sister"),
    ("sibling", "sibling"),
    ("twin", "sibling"),
    ("stepmother", "stepmother"),
    ("stepfather", "stepfather"),
    ("stepson", "stepson"),
    ("stepdaughter", "stepdaughter"),
    ("husband", "husband"),
    ("hubby", "husband"),
    ("wife", "wife"),
    ("spouse", "spouse"),
    ("partner", "partner"),
    ("boyfriend", "boyfriend"),
    ("girlfriend", "girlfriend"),
    ("fiance", "fiance"),
    ("fiancé", "fiance"),
    ("fiancee", "fiancee"),
    ("fiancée", "fiancee"),
    ("son", "son"),
    ("daughter", "daughter"),
    ("kid", "child"),
    ("child", "child"),
    ("baby", "child"),
    ("toddler", "child"),
    ("grandson", "grandson"),
    ("granddaughter", "granddaughter"),
    ("nephew", "nephew"),
    ("niece", "niece"),
    ("mother-in-law", "mother-in-law"),
    ("father-in-law", "father-in-law"),
    ("sister-in-law", "sister-in-law"),
    ("brother-in-law", "brother-in-law"),
    ("uncle", "uncle"),
    ("aunt", "aunt"),
    ("auntie", "aunt"),
    ("friend", "friend"),
    ("buddy", "friend"),
    ("colleague", "colleague"),
    ("coworker", "colleague"),
    ("co-worker", "colleague"),
    ("roommate", "roommate"),
    ("flatmate", "roommate"),
    ("neighbour", "neighbour"),
    ("neighbor", "neighbour"),
    ("classmate", "classmate"),
    ("boss", "boss"),
    ("manager", "boss"),
    ("supervisor", "supervisor"),
    ("teacher", "teacher"),
];

/// The relations of a family, which somebody "has".
const FAMILY: &[&str] = &[
    "brother",
    "sister",
    "sibling",
    "son",
    "daughter",
    "child",
    "grandson",
    "granddaughter",
    "nephew",
    "niece",
    "cousin",
    "husband",
    "wife",
    "boyfriend",
    "girlfriend",
    "partner",
    "fiance",
    "fiancee",
    "stepson",
    "stepdaughter",
    "uncle",
    "aunt",
];

/// The relation with whose Chinese word the text begins, and the rest.
pub(super) fn chinese(text: &str) -> Option<(&'static str, &str)> {
    let known = CHINESE.iter().filter(|(word, _)| text.starts_with(word)).max_by_key(|(word, _)| word.len())?;
    Some((known.1, text.get(known.0.len()..).unwrap_or_default()))
}

/// The relation an English word names; plural forms too.
pub(super) fn english(word: &str) -> Option<&'static str> {
    let word = word.to_lowercase();
    let find = |word: &str| ENGLISH.iter().find(|(known, _)| *known == word).map(|(_, relation)| *relation);
    let plural = match word.as_str() {
        "children" => Some("child"),
        "wives" => Some("wife"),
        other => other.strip_suffix('s').and_then(find),
    };
    find(&word).or(plural)
}

/// Titles beside the words for family, by which people are called after their name or before it.
const CHINESE_TITLES: &[&str] = &[
    "医生", "大夫", "护士", "律师", "教授", "教练", "师傅", "女士", "小姐", "大妈", "大爷", "大叔", "大婶", "总", "姨",
    "叔", "婶", "伯",
];
const ENGLISH_TITLES: &[&str] =
    &["mr", "mrs", "ms", "miss", "dr", "doctor", "prof", "professor", "sir", "madam", "coach", "nurse"];

/// Whether somebody is called so by what they are to others, as in 刘奶奶, 陈医生, "grandma Liu" or "Dr. Chen": that is no
/// full name, and another writing of it may have nothing in common with it.
pub(crate) fn is_address(name: &str) -> bool {
    let name = name.trim();
    let ends_so = |word: &&str| name.strip_suffix(*word).is_some_and(|rest| !rest.is_empty());
    let lower = name.to_lowercase();
    let mut words = lower.split_whitespace().map(|word| word.trim_matches('.'));
    CHINESE.iter().map(|(word, _)| word).chain(CHINESE_TITLES).any(ends_so)
        || (lower.contains(' ') && words.any(|word| english(word).is_some() || ENGLISH_TITLES.contains(&word)))
}

/// The family name before a Chinese address, as 刘 in 刘奶奶.
pub(crate) fn addressed_family(name: &str) -> Option<char> {
    let first = name.trim().chars().next()?;
    (super::lexicon::SURNAMES.contains(first) && is_address(name)).then_some(first)
}

/// Whether a relation is one of a family.
pub(super) fn is_family(relation: &str) -> bool {
    FAMILY.contains(&relation)
}

/// Whether somebody in this relation may be called "he" (`true`), "she" (`false`), or either (`None`).
pub(super) fn is_male(relation: &str) -> Option<bool> {
    const MALE: &[&str] = &[
        "father",
        "grandfather",
        "brother",
        "husband",
        "boyfriend",
        "fiance",
        "son",
        "grandson",
        "nephew",
        "uncle",
        "stepfather",
        "stepson",
        "father-in-law",
        "brother-in-law",
    ];
    const FEMALE: &[&str] = &[
        "mother",
        "grandmother",
        "sister",
        "wife",
        "girlfriend",
        "fiancee",
        "daughter",
        "granddaughter",
        "niece",
        "aunt",
        "stepmother",
        "stepdaughter",
        "mother-in-law",
        "sister-in-law",
    ];
    if MALE.contains(&relation) {
        return Some(true);
    }
    FEMALE.contains(&relation).then_some(false)
}

/// The people of one family in a sentence are in one table, so that what is added in one language is asked for in the other.
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_word_names_the_relation_in_either_language() {
        assert_eq!(chinese("妈妈叫王芳"), Some(("mother", "叫王芳")));
        assert_eq!(chinese("女朋友是护士"), Some(("girlfriend", "是护士")));
        assert_eq!(chinese("桌子"), None);
        assert_eq!(
            (english("Mum"), english("children"), english("sisters"), english("table")),
            (Some("mother"), Some("child"), Some("sister"), None)
        );
        assert!(CHINESE.iter().all(|(_, relation)| *relation == "parents" || english(relation).is_some()));
    }
}
