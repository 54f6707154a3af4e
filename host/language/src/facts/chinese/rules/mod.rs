//! The table of Chinese rules: what a predicate looks like, and the facts it gives.

mod family;
mod health;
mod home;
mod identity;
mod taste;
mod work;

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::Setting;
use crate::facts::dates::{age, chinese_birthday, chinese_number};
use crate::facts::fact::{Fact, Predicate, Subject, When};
use crate::facts::reading::{Clause, pattern};
use crate::facts::values::{
    Draft, chinese_name, chinese_place, chinese_thing, chinese_things, country, is_full_name, is_plainly_a_place,
};
use crate::facts::{kin, lexicon};
use crate::text::tagged_words;

use family::*;
use health::*;
use home::*;
use identity::*;
use taste::*;
use work::*;

/// What a rule may look at.
pub(in crate::facts::chinese) struct Said<'a> {
    pub(in crate::facts::chinese) clause: &'a Clause,
    /// The predicate: what follows the subject, adverbs and denials.
    pub(in crate::facts::chinese) rest: &'a str,
    pub(in crate::facts::chinese) setting: &'a Setting,
    pub(in crate::facts::chinese) subject: &'a Subject,
    /// That the clause before was about likes.
    pub(in crate::facts::chinese) likes: bool,
}

impl Said<'_> {
    /// A captured part, as it was written.
    fn part(&self, captures: &Captures<'_>, name: &str) -> Option<&str> {
        captures.name(name).map(|part| self.clause.as_written(part.as_str()))
    }
}

type Make = fn(&Said<'_>, &Captures<'_>) -> Vec<Draft>;

/// The rules in the order in which they are tried; the first that gives something ends the search.
static RULES: LazyLock<Vec<(Regex, Make)>> =
    LazyLock::new(|| TABLE.iter().map(|(rule, make)| (pattern(rule), *make)).collect());

const TABLE: &[(&str, Make)] = &[
    (r"^(?:的)?(?:全名|名字|大名|真名|姓名|本名|中文名)(?:就)?(?:叫做?|是|:)(?P<v>.+)$", name),
    (r"^(?:的)?(?:英文名|小名|昵称|外号|绰号|网名|花名|笔名)(?:就)?(?:叫做?|是|:)(?P<v>.+)$", nickname),
    (r"^(?:名叫|名字叫|叫做?|叫)(?P<v>.+)$", name),
    (r"^姓(?P<v>\p{Han}{1,2})$", surname),
    (
        r"^(?:的)?(?:年龄|年纪|岁数)?(?:是|有|满|已经)?(?:快|马上|就要)?(?P<n>[0-9]{1,3}|[零一二三四五六七八九十百两廿]+)(?:周)?岁(?:半)?$",
        years,
    ),
    (
        r"^(?:刚|刚刚|快|马上|就)?(?:满|过完|过)(?P<n>[0-9]{1,3}|[零一二三四五六七八九十百两廿]+)(?:周)?岁(?:生日)?$",
        years,
    ),
    (r"^(?P<n>[0-9]{1,3}|[零一二三四五六七八九十百两廿]+)$", bare_years),
    (r"^(?:的)?(?:生日|出生日期)(?:就)?(?:是在|是|在|:)?(?:每年的?)?(?P<v>.+)$", birthday),
    (r"^(?:是|在)*(?P<v>[0-9年月日号零〇一二三四五六七八九十]+)(?:出生|生)(?:的|人)?$", birthday),
    (r"^(?:出生于|生于|出生在)(?P<v>[0-9零〇一二三四五六七八九十]+年.*)$", birthday),
    (r"^(?:出生在|出生于|生在|生于)(?P<v>.+)$", birthplace),
    (r"^(?:是)?在(?P<v>[^0-9]+?)出生(?:的|长大的?)?$", birthplace),
    (r"^(?:是)?在(?P<v>.+?)(?:长大|土生土长)(?:的)?$", hometown),
    (r"^(?:的)?(?:家庭)?(?:住址|地址)(?:就)?(?:是在|是|在|:)(?P<v>.+)$", address),
    (
        r"^(?:全家|一家人?|家里?人?|一个人|独自|单独|(?:跟|和|与).{1,6}?)?(?:一起)?(?:租|居|定|暂|长|搬)?(?:住|居|生活|安家)(?P<past>过)?(?:在|于|到)(?P<v>.+)$",
        home,
    ),
    (r"^(?:的)?家(?:就|也)?(?:在|住在|住|搬到)(?P<v>.+)$", home),
    (r"^(?:现居|定居|住)(?:在)?(?P<v>.+)$", plain_home),
    (
        r"^(?:全家|一家人?|一个人|独自|(?:跟|和|与).{1,6}?)?(?:一起)?在(?P<v>.+?)(?:定居|居住|生活|安家|租房|租房子|买房|住)(?:住|居住)?(?P<past>过)?(?P<d>.*)$",
        home,
    ),
    (
        r"^(?P<fut>要|打算|准备|计划|会|将|将要)?(?:从(?P<from>.+?))?(?:全家)?(?:搬家|搬回|搬|移居|移民|迁居|迁)(?:到|去|来|至|往)?(?:了)?(?P<v>.+?)(?:住|居住|生活|定居|去|来)?$",
        moved,
    ),
    (r"^(?:是)?(?:来自|从)?(?P<v>.+?)(?P<came>来的)?$", origin),
    (r"^(?:的)?(?:老家|家乡|故乡|祖籍|籍贯)(?:就)?(?:是在|是|在|:)?(?P<v>.+)$", hometown),
    (r"^是(?:地地道道的?|土生土长的?|一?个|地道的?)?(?P<v>.+?)人$", people_of),
    (r"^(?:的)?(?:手机号码?|手机|电话号码|电话|号码)(?:就)?(?:是|:)?(?P<v>[0-9+][0-9\- ]{4,20})$", phone),
    (r"(?i)^(?:的)?(?:电子)?(?:邮箱|邮件|email)(?:地址)?(?:就)?(?:是|:)?\s*(?P<v>[^\s@]+@[^\s@]+)$", email),
    (r"^(?:最|)(?:喜欢|爱|喜爱)的(?P<d>.{1,8}?)(?:就)?(?:是|叫|:)(?P<v>.+)$", favourite),
    (r"^最(?:喜欢|爱|喜爱)的(?P<d>.{1,8}?)(?:就)?(?:是|叫|:)(?P<v>.+)$", favourite),
    (r"^最(?:喜欢|爱|喜爱)的(?:就)?是(?P<v>.+)$", likes),
    (r"^最讨厌的(?:.{1,8}?)?(?:就)?是(?P<v>.+)$", dislikes),
    (r"^(?:是|算是)?独生(?:子女|子|女)$", only_child),
    (r"^(?:是)?(?:已婚|结婚|成家)(?:了)?(?:[0-9一二三四五六七八九十两几]+多?年)?$", married),
    (r"^(?:是|还是)?(?:单身|未婚)(?:狗)?$", single),
    (r"^(?:离婚|离异)$", divorced),
    (r"^订婚$", engaged),
    (r"^(?:是)?(?:一?个)?(?:素食(?:主义)?者|素食主义|吃素(?:的)?)$", vegetarian),
    (r"^只吃素$", vegetarian),
    (r"^(?:只)?吃清真(?:食品|菜)?$", halal),
    (
        r"^(?:是)?对(?P<v>.+?)(?P<neg>不|没有|没)?(?:严重|重度|轻度|有点儿?|有些|有|会|很|都|是)*过敏(?:的|体质)?$",
        allergy,
    ),
    (r"^有(?:严重的?)?(?P<v>.+?)过敏(?:症|史)?$", allergy),
    (r"^(?:一)?(?:吃|喝|碰|闻|沾)(?:到|了)?(?P<v>.+?)(?:就会|会|就)(?:过敏|起疹子)$", allergy),
    (r"^(?P<v>[^，是有]{1,8}?)(?:严重)?过敏$", allergy),
    (r"^(?P<v>.{1,6}?)不耐受$", allergy),
    (r"^(?:有|得|患有|患|查出|查出来|确诊)(?:了)?(?:轻微的?|严重的?|轻度|先天性?|慢性)?(?P<v>.+)$", condition),
    (r"^(?:是)?(?P<v>近视|远视|散光|色盲|色弱)(?:眼)?$", condition),
    (r"^(?:的)?(?:业余爱好|兴趣爱好|爱好|兴趣)(?:就)?(?:是|有|包括|:)(?P<v>.+)$", likes),
    (
        r"^(?:喜欢|喜爱|热爱|酷爱|钟爱|偏爱|爱上|迷上|迷恋|痴迷|痴迷于|沉迷于|沉迷|热衷于|爱)(?P<past>过)?(?:了|上)?(?P<v>.+)$",
        likes,
    ),
    (r"^(?:讨厌|厌恶|痛恨|反感|受不了|憎恨|烦|嫌弃|恨)(?:过)?(?P<v>.+)$", dislikes),
    (
        r"^对(?P<v>.+?)(?P<neg>不太|不怎么|不|没什么|没有|没)?(?:很|非常|特别|比较|挺|十分|蛮|最|也|越来越)*(?:感兴趣|有兴趣|兴趣|着迷)$",
        likes,
    ),
    (r"^(?:特别是|尤其是|尤其|特别)(?P<v>.+)$", likes_above_all),
    (r"^(?P<v>\p{Han}{2,4})$", likes_too),
    (
        r"^是(?:一?个|一名|一位)?(?:超级|忠实|铁杆|资深|死忠|狂热|业余)*(?:的)?(?P<v>.{1,10}?)(?:的)?(?:超级|忠实|铁杆|资深|死忠|狂热)*(?:的)?(?:迷|粉丝|爱好者|发烧友)$",
        likes,
    ),
    (r"^(?:能|可以|敢|会|能够)?吃(?P<v>.+)$", eats),
    (r"^(?:能|可以|敢|会|能够)?喝(?P<v>.+)$", drinks),
    (r"^(?:会)?(?:抽烟|吸烟)$", smokes),
    (r"^戒(?:掉)?(?:了)?(?P<v>烟|酒|咖啡|奶茶)$", gave_up),
    (r"^(?:害怕|恐惧|怕)(?P<v>.+)$", fears),
    (r"^(?:会|能)(?:(?:说|讲)(?:一点儿?|一些|流利的?|一口)?|一点儿?|一些|点)(?P<v>.+)$", speaks),
    (
        r"^会(?P<v>(?:弹|拉|吹|跳|骑|滑|下)(?:钢琴|吉他|古筝|琵琶|小提琴|大提琴|二胡|笛子|萨克斯|口琴|舞|街舞|芭蕾|马|自行车|摩托车|雪|冰|围棋|象棋|国际象棋)|游泳|编程|开车|做饭|书法|摄影|武术|木工|织毛衣)$",
        can,
    ),
    (r"^(?:已经)?(?P<v>退休|退伍|失业|下岗|待业)(?:在家)?(?:[0-9一二三四五六七八九十两几]+年)?$", out_of_work),
    (r"^(?:的)?(?:职业|工作|本职工作|职位|岗位)(?:就)?(?:是|:)(?:一[名个位])?(?:做)?(?P<v>.+?)(?:的)?$", occupation),
    (r"^在(?P<w>.+?)(?:当|做|担任|任)(?:一[名个位]|了[0-9一二三四五六七八九十两几]+年的?)?(?P<j>.+)$", work_as),
    (
        r"^在(?P<w>.+?)(?:工作|上班|任职|就职|打工|实习|供职)(?P<past>过)?(?:了?(?:快|将近|有)?[0-9一二三四五六七八九十两几]+多?(?:年|个月))?$",
        workplace,
    ),
    (r"^(?:就职|任职|供职|效力)于(?P<w>.+)$", workplace),
    (r"^从(?P<w>.+?)(?:离职|辞职|跳槽|退休)$", left),
    (r"^(?:跳槽|入职|加入)(?:到|去|了)?(?P<w>.+)$", workplace),
    (
        r"^(?:当|做|担任)(?P<past>过)?(?:了?[0-9一二三四五六七八九十两几]+多?年的?)?(?:一[名个位])?(?P<v>.+?)(?:的)?$",
        trade,
    ),
    (r"^(?:是)?(?:做|搞|干)(?P<v>.{1,8}?)(?:工作|行业|生意|这一?行)?的$", line_of_work),
    (r"^(?:从事)(?:着)?(?P<v>.+?)(?:相关)?(?:的)?(?:工作|行业|职业)?$", line_of_work),
    (
        r"^(?:正|还|正在|还在)?(?:在)?(?:上|读|念|是)(?P<v>(?:幼儿园|小学|初中|高中|大学)?(?:[一二三四五六]年级|小班|中班|大班)|幼儿园|小学|初中|高中|大学|研究生|博士|[初高大研][一二三四])(?:的?学生|的)?$",
        level,
    ),
    (
        r"^(?:正|还|正在|还在)?(?:在|就读于|就读)(?P<v>.+?)(?:上学|读书|念书|读大学|上大学|念大学|读研究生|读研|读博|读本科|就读|留学|求学)$",
        school,
    ),
    (r"^(?:就读于?|考上了?|考入了?)(?P<v>.+)$", school),
    (r"^(?:毕业于)(?P<v>.+)$", graduated),
    (r"^(?:是)?从(?P<v>.+?)毕业(?:的)?$", graduated),
    (r"^(?:的)?专业是(?P<v>.+)$", studies),
    (r"^(?:是)?(?:学|读|念)(?P<v>.{2,10}?)(?:专业)?的$", studies),
    (r"^(?:主修|攻读|学的是|读的是|念的是)(?P<v>.+?)(?:专业)?$", studies),
    (r"^(?:正在|在|开始)(?:学习|自学|学)(?P<v>.+)$", studies),
    (r"^有(?:了)?(?P<v>.+)$", has),
    (r"^(?:家里?|的家里)(?:有|养了?)(?P<v>.+)$", has),
    (r"^(?:家里?)?(?:养|领养|收养)(?P<past>过)?(?:了|着)?(?P<v>.+)$", keeps),
    (r"^买(?:了)?(?P<v>[一两二三四五0-9]+(?:只|条|匹|缸).+)$", keeps),
    (r"^(?:去世|死|离世|走丢|过世)$", pet_is_gone),
    (r"^(?:是)(?:一家(?P<w>.+?)的)?(?:一?[名个位])?(?P<v>.+)$", being),
    (
        r"^(?:要|想|会|将|将要)?(?P<v>(?:去|换|买|考|学|参加|结婚|辞职|回|出国|出差|开|办|读|养|生|装修|搬家|旅行|跑).*)$",
        plan,
    ),
];

/// What the first fitting rule finds.
pub(in crate::facts::chinese) fn apply(said: &Said<'_>) -> Vec<Draft> {
    let fitting = RULES.iter().filter_map(|(rule, make)| Some(make(said, &rule.captures(said.rest)?)));
    fitting.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
}

/// The name somebody asks to be called by: 叫我小明就好, 大家都叫我老王.
pub(in crate::facts::chinese) fn called(rest: &str) -> Option<String> {
    static CALLED: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"^(?:你|您|你们|大家|朋友们?|同事们?|同学们?|以后|请|也|都|可以|就|直接|平时|一般|那|,)*(?:叫|喊|称呼|管我叫)我(?P<v>[^来去做吃起]{1,8}?)(?:就行|就好|就可以|好了|吧)?(?:了)?$",
        )
    });
    let name = CALLED.captures(rest)?.name("v")?.as_str();
    chinese_name(name)
}

/// 小芳是我妹妹, 蓝色是我最喜欢的颜色: what is said comes first.
pub(in crate::facts::chinese) fn reversed(clause: &Clause, rest: &str) -> Option<Vec<Fact>> {
    static WHO: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"^(?P<v>[^我你他她这那]{2,8}?)是我(?:的|们家的?|家的?)?(?P<kin>\p{Han}+)$"));
    static BEST: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"^(?P<v>[^我你他她这那]{1,12}?)(?:一直)?是我最(?:喜欢|爱|喜爱)的(?P<d>\p{Han}{1,8})$")
    });
    if let Some(best) = BEST.captures(rest) {
        let value = chinese_thing(clause.as_written(best.name("v")?.as_str()))?;
        let kind = clause.as_written(best.name("d")?.as_str()).to_owned();
        let draft = Draft::new(Predicate::Favourite, value).detail(Some(kind));
        return Some(vec![draft.into_fact(&Subject::Speaker, false, When::Current, 0.85)]);
    }
    let who = WHO.captures(rest)?;
    let word = who.name("kin")?.as_str();
    let pet = lexicon::pet(word);
    let (relation, after) = kin::chinese(word).or_else(|| Some((pet?, "")))?;
    let name = chinese_name(clause.as_written(who.name("v")?.as_str())).filter(|_| after.is_empty())?;
    let personal = is_full_name(&name)
        || name.starts_with(['小', '老', '阿'])
        || !name.chars().any(super::super::reading::is_han)
        || doubled(&name)
        || pet.is_some();
    let subject = Subject::Relative { relation: relation.to_owned(), name: None };
    personal.then(|| vec![Draft::new(Predicate::Name, name).into_fact(&subject, false, When::Current, 0.8)])
}

fn doubled(name: &str) -> bool {
    let mut characters = name.chars();
    let first = characters.next();
    first.is_some() && first == characters.next()
}

fn one(draft: Option<Draft>) -> Vec<Draft> {
    draft.into_iter().collect()
}

/// Facts with each thing of a list.
fn each(said: &Said<'_>, captures: &Captures<'_>, predicate: Predicate) -> Vec<Draft> {
    let list = said.part(captures, "v").map(chinese_things).unwrap_or_default();
    let past = captures.name("past").map(|_| When::Past);
    list.into_iter().map(|thing| Draft::new(predicate, thing).when(past)).collect()
}

fn thing(said: &Said<'_>, captures: &Captures<'_>, predicate: Predicate) -> Vec<Draft> {
    one(said.part(captures, "v").and_then(chinese_thing).map(|thing| Draft::new(predicate, thing)))
}

fn place(said: &Said<'_>, captures: &Captures<'_>, name: &str, predicate: Predicate) -> Option<Draft> {
    let place = said.part(captures, name).and_then(chinese_place)?;
    Some(Draft::new(predicate, place))
}
