//! What relates two entities: one key for what is said in many words, and whether there can be more than one at a time.

use std::collections::HashMap;
use std::sync::LazyLock;

use homeagent_language::text;

use super::model::EntityKind;

/// What a known predicate's object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectForm {
    /// A value: a number, a date, words.
    Literal,
    /// An entity of a kind.
    Entity(EntityKind),
    /// Either.
    Any,
}

/// A predicate whose many spellings are known.
#[derive(Debug)]
pub struct Known {
    /// The key under which it is kept.
    pub key: &'static str,
    /// Between subject and object of a Chinese sentence.
    chinese: &'static str,
    /// Between those of an English one.
    english: &'static str,
    /// Whether a newer value takes the place of an older one.
    pub single: bool,
    /// What its object is.
    pub object: ObjectForm,
    /// Other spellings, parted by `|`; folded.
    spellings: &'static str,
}

const fn known(
    key: &'static str,
    (chinese, english): (&'static str, &'static str),
    single: bool,
    object: ObjectForm,
    spellings: &'static str,
) -> Known {
    Known { key, chinese, english, single, object, spellings }
}

use EntityKind::{Animal, Concept, Organisation, Person, Place};
use ObjectForm::{Any, Entity, Literal};

/// Every predicate that is known. Only those marked `true` are closed by a newer one.
const TABLE: &[Known] = &[
    known(
        "name",
        ("的名字是", "is named"),
        true,
        Literal,
        "叫|名字|姓名|名叫|名字叫|名字是|叫做|called|is called|named",
    ),
    known(
        "nickname",
        ("的小名是", "is also called"),
        false,
        Literal,
        "小名|昵称|外号|别名|绰号|又名|alias|also known as|aka|goes by",
    ),
    known(
        "home",
        ("住在", "lives in"),
        true,
        Entity(Place),
        "住|居住|居住在|现居|家住|家在|家|住址|搬到|搬去|搬家到|live|live in|lives in|lives|living in|residence|address|\
         resides in|reside in|moved to|move to|home is",
    ),
    known(
        "hometown",
        ("的老家是", "comes from"),
        true,
        Entity(Place),
        "老家|家乡|故乡|来自|籍贯|出生于|from|comes from|come from|born in|is from|hometown is",
    ),
    known("age", ("的年龄是", "has the age"), true, Literal, "年龄|岁|岁数|今年|年纪|is aged|years old|aged"),
    known(
        "birthday",
        ("的生日是", "has their birthday on"),
        true,
        Literal,
        "生日|出生日期|出生|born on|birth date|birthdate|date of birth|was born on",
    ),
    known("gender", ("的性别是", "has the gender"), true, Literal, "性别|sex"),
    known(
        "job",
        ("的工作是", "works as"),
        true,
        Any,
        "工作|职业|职位|工作是|当|从事|做|occupation|profession|works as|work as|job title|job is|is employed as",
    ),
    known(
        "employer",
        ("就职于", "works at"),
        true,
        Entity(Organisation),
        "就职于|就职|任职于|任职|供职于|在职|公司|上班|工作于|works at|work at|works for|work for|employed by|company",
    ),
    known(
        "school",
        ("就读于", "goes to school at"),
        true,
        Entity(Organisation),
        "就读于|就读|学校|上学|在读|studies at|study at|attends|goes to school at",
    ),
    known(
        "spouse",
        ("的配偶是", "is married to"),
        true,
        Entity(Person),
        "配偶|妻子|老婆|太太|丈夫|老公|爱人|先生|媳妇|嫁给|娶了|结婚|wife|husband|married to|is married to|partner|married",
    ),
    known("mother", ("的母亲是", "has as mother"), true, Entity(Person), "母亲|妈妈|妈|老妈|mom|mum|mother is"),
    known("father", ("的父亲是", "has as father"), true, Entity(Person), "父亲|爸爸|爸|老爸|dad|father is"),
    known(
        "phone",
        ("的电话是", "has the phone number"),
        true,
        Literal,
        "电话|手机|手机号|电话号码|phone number|telephone|mobile",
    ),
    known("email", ("的邮箱是", "has the e-mail address"), true, Literal, "邮箱|电子邮件|e-mail|mail|email address"),
    known("height", ("的身高是", "has the height"), true, Literal, "身高|is tall"),
    known("weight", ("的体重是", "has the weight"), true, Literal, "体重|weighs"),
    known(
        "child",
        ("的孩子是", "has as child"),
        false,
        Entity(Person),
        "孩子|儿子|女儿|son|daughter|kid|children|has a son|has a daughter",
    ),
    known(
        "sibling",
        ("的兄弟姐妹是", "has as sibling"),
        false,
        Entity(Person),
        "哥哥|弟弟|姐姐|妹妹|兄弟|姐妹|brother|sister",
    ),
    known(
        "grandparent",
        ("的祖辈是", "has as grandparent"),
        false,
        Entity(Person),
        "爷爷|奶奶|外公|外婆|姥姥|姥爷|grandfather|grandmother|grandma|grandpa",
    ),
    known(
        "friend",
        ("的朋友是", "is a friend of"),
        false,
        Entity(Person),
        "朋友|好友|闺蜜|friends with|is friends with|friend of",
    ),
    known("colleague", ("的同事是", "is a colleague of"), false, Entity(Person), "同事|coworker|co-worker|works with"),
    known("knows", ("认识", "knows"), false, Any, "认识|know|met|has met"),
    known("pet", ("的宠物是", "has the pet"), false, Entity(Animal), "宠物|养|养了|养着|has a pet|keeps"),
    known(
        "likes",
        ("喜欢", "likes"),
        false,
        Entity(Concept),
        "喜欢|喜爱|爱|热爱|爱吃|爱喝|爱看|爱听|喜欢吃|喜欢喝|喜欢看|喜欢听|爱好|like|love|loves|enjoy|enjoys|is fond of|\
         is into|hobby|hobbies",
    ),
    known(
        "dislikes",
        ("不喜欢", "dislikes"),
        false,
        Entity(Concept),
        "不喜欢|讨厌|不爱|不爱吃|不吃|厌恶|dislike|hate|hates|does not like|doesn't like|don't like|do not like",
    ),
    known(
        "allergic_to",
        ("过敏于", "is allergic to"),
        false,
        Entity(Concept),
        "过敏|对过敏|allergic to|allergy|has an allergy to",
    ),
    known("owns", ("有", "has"), false, Any, "拥有|有|own|has|have|possess|possesses|bought|买了"),
    known("speaks", ("会说", "speaks"), false, Entity(Concept), "会说|说|讲|speak|language"),
    known(
        "visited",
        ("去过", "has been to"),
        false,
        Entity(Place),
        "去过|去了|到过|visit|visits|went to|traveled to|travelled to|has been to",
    ),
    known("is_a", ("是", "is"), false, Any, "是|是一个|is|is a|is an|are|was|was a"),
    known("part_of", ("属于", "belongs to"), false, Any, "属于|belongs to|is part of|part of|member of|is a member of"),
    known("located_in", ("位于", "is in"), false, Entity(Place), "位于|在|is in|is located in|located at|located in"),
];

static BY_SPELLING: LazyLock<HashMap<&'static str, &'static Known>> = LazyLock::new(|| {
    let spelt = |known: &'static Known| spellings(known).map(move |spelling| (spelling, known));
    TABLE.iter().flat_map(spelt).collect()
});

/// Everything that means a known predicate, the words of its sentences among them.
fn spellings(known: &'static Known) -> impl Iterator<Item = &'static str> {
    known.spellings.split('|').map(str::trim).chain([known.key, known.chinese, known.english])
}

/// Single characters that ask for a predicate wherever they stand.
const TELLING: &[&str] = &["住", "爱", "养", "妈", "爸"];

/// The longest predicate, in characters.
const LONGEST: usize = 64;

/// The predicate that a spelling means, where it is one that is known.
#[must_use]
pub fn find(spelling: &str) -> Option<&'static Known> {
    let folded = plain(spelling);
    BY_SPELLING.get(folded.as_str()).copied().or_else(|| BY_SPELLING.get(folded.replace('_', " ").as_str()).copied())
}

/// The key under which a predicate is kept: that of the known one it means, else its own words, folded. `None` for what
/// is none: nothing, or more than a few words.
#[must_use]
pub fn key(spelling: &str) -> Option<String> {
    if let Some(known) = find(spelling) {
        return Some(known.key.to_owned());
    }
    let own = plain(spelling);
    (!own.is_empty() && own.chars().count() <= LONGEST).then_some(own)
}

/// Whether a newer value of what is kept under this key takes the place of an older one.
#[must_use]
pub fn is_single_valued(key: &str) -> bool {
    find(key).is_some_and(|known| known.single)
}

/// The keys that a question may mean, judging by its folded text: `住在` and "live" ask for `home`.
#[must_use]
pub fn asked_for(question: &str) -> Vec<&'static str> {
    let padded = format!(" {} ", text::words(question).join(" "));
    let solid = text::fold(question);
    let asks = |spelling: &str| {
        if spelling.is_ascii() {
            spelling.len() > 2 && padded.contains(&format!(" {spelling} "))
        } else {
            // Most single characters, such as 有 or 家, are in almost any question.
            (spelling.chars().nth(1).is_some() || TELLING.contains(&spelling)) && solid.contains(spelling)
        }
    };
    let spelt = |known: &&'static Known| spellings(known).any(asks);
    TABLE.iter().filter(spelt).filter(|known| known.key != "is_a").map(|known| known.key).collect()
}

/// A relation in short: Chinese where subject or object are.
#[must_use]
pub fn sentence(subject: &str, key: &str, object: &str) -> String {
    let is_chinese = [subject, object, key].iter().any(|part| part.chars().any(is_han));
    match (find(key), is_chinese) {
        (Some(known), true) => format!("{subject}{}{object}", known.chinese),
        (Some(known), false) => format!("{subject} {} {object}", known.english),
        (None, _) if key.chars().any(is_han) => format!("{subject}{key}{object}"),
        (None, _) => format!("{subject} {} {object}", key.replace('_', " ")),
    }
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{20000}'..='\u{3134f}')
}

fn plain(spelling: &str) -> String {
    text::fold(spelling).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spelling_means_one_predicate() {
        let mut seen = HashMap::new();
        for known in TABLE {
            for spelling in spellings(known) {
                let before = seen.insert(spelling, known.key);
                assert!(before.is_none_or(|before| before == known.key), "{spelling}: {before:?} and {}", known.key);
                assert_eq!(plain(spelling), spelling, "folded");
            }
        }
    }

    #[test]
    fn what_is_said_in_many_words_is_one_predicate() {
        for spelling in ["住在", "Lives In", "lives_in", "ＨＯＭＥ", "moved  to"] {
            assert_eq!(key(spelling).as_deref(), Some("home"), "{spelling}");
        }
        assert_eq!(key("妻子").as_deref(), Some("spouse"));
        assert_eq!(key("plays with").as_deref(), Some("plays with"));
        assert_eq!((key("  "), key(&"很".repeat(65))), (None, None));
        assert!(is_single_valued("home") && !is_single_valued("likes") && !is_single_valued("plays with"));
    }

    #[test]
    fn questions_ask_for_predicates() {
        assert_eq!(asked_for("Where does Melanie live?"), ["home"]);
        assert_eq!(asked_for("小明住在哪里，生日是哪天"), ["home", "birthday"]);
        assert_eq!(asked_for("小明住哪"), ["home"]);
        assert!(asked_for("他在那里有什么").is_empty());
    }

    #[test]
    fn relations_read_as_sentences() {
        assert_eq!(sentence("小明", "home", "北京"), "小明住在北京");
        assert_eq!(sentence("Ann", "home", "Paris"), "Ann lives in Paris");
        assert_eq!(sentence("Ann", "plays_with", "Bo"), "Ann plays with Bo");
        assert_eq!(sentence("小明", "打球于", "体育馆"), "小明打球于体育馆");
    }
}
