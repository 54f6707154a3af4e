//! The table of Chinese rules: what a predicate looks like, and the facts it gives.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::super::dates::{age, chinese_birthday, chinese_number};
use super::super::fact::{Fact, Predicate, Subject, When};
use super::super::reading::{Clause, pattern};
use super::super::values::{
    Draft, chinese_name, chinese_place, chinese_thing, chinese_things, country, is_full_name, is_plainly_a_place,
};
use super::super::{kin, lexicon};
use super::Setting;
use crate::text::tagged_words;

/// What a rule may look at.
pub(super) struct Said<'a> {
    pub(super) clause: &'a Clause,
    /// The predicate: what follows the subject, adverbs and denials.
    pub(super) rest: &'a str,
    pub(super) setting: &'a Setting,
    pub(super) subject: &'a Subject,
    /// That the clause before was about likes.
    pub(super) likes: bool,
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
pub(super) fn apply(said: &Said<'_>) -> Vec<Draft> {
    let fitting = RULES.iter().filter_map(|(rule, make)| Some(make(said, &rule.captures(said.rest)?)));
    fitting.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
}

/// The name somebody asks to be called by: 叫我小明就好, 大家都叫我老王.
pub(super) fn called(rest: &str) -> Option<String> {
    static CALLED: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"^(?:你|您|你们|大家|朋友们?|同事们?|同学们?|以后|请|也|都|可以|就|直接|平时|一般|那|,)*(?:叫|喊|称呼|管我叫)我(?P<v>[^来去做吃起]{1,8}?)(?:就行|就好|就可以|好了|吧)?(?:了)?$",
        )
    });
    let name = CALLED.captures(rest)?.name("v")?.as_str();
    chinese_name(name)
}

/// 小芳是我妹妹, 蓝色是我最喜欢的颜色: what is said comes first.
pub(super) fn reversed(clause: &Clause, rest: &str) -> Option<Vec<Fact>> {
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

fn name(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    if said.setting.le {
        return Vec::new();
    }
    one(said.part(captures, "v").and_then(chinese_name).map(|name| Draft::new(Predicate::Name, name)))
}

fn nickname(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(said.part(captures, "v").and_then(chinese_name).map(|name| Draft::new(Predicate::Nickname, name)))
}

fn surname(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    thing(said, captures, Predicate::Surname)
}

fn years(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let years = captures.name("n").and_then(|years| age(chinese_number(years.as_str())));
    let soon = said.rest.contains("快") || said.rest.contains("马上") || said.rest.contains("就要");
    one(years.map(|years| Draft::new(Predicate::Age, years).when(soon.then_some(When::Future))))
}

fn bare_years(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    if said.setting.this_year { years(said, captures) } else { Vec::new() }
}

fn birthday(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let day = said.part(captures, "v").and_then(chinese_birthday);
    one(day.map(|day| Draft::new(Predicate::Birthday, day).when(Some(When::Current))))
}

fn place(said: &Said<'_>, captures: &Captures<'_>, name: &str, predicate: Predicate) -> Option<Draft> {
    let place = said.part(captures, name).and_then(chinese_place)?;
    Some(Draft::new(predicate, place))
}

fn birthplace(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(place(said, captures, "v", Predicate::Birthplace)
        .filter(|draft| !draft.value.contains('家'))
        .map(|draft| draft.when(Some(When::Current))))
}

fn hometown(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(place(said, captures, "v", Predicate::Hometown).map(|draft| draft.when(Some(When::Current))))
}

fn address(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    thing(said, captures, Predicate::Address)
}

fn home(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
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

fn plain_home(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let plainly = captures.name("v").is_some_and(|place| is_plainly_a_place(place.as_str()));
    if plainly { home(said, captures) } else { Vec::new() }
}

fn moved(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let coming = captures.name("fut").is_some() || said.setting.when == Some(When::Future);
    let to = place(said, captures, "v", Predicate::Home)
        .filter(|to| !matches!(to.value.as_str(), "家" | "走" | "新家" | "东西" | "砖"));
    let Some(to) = to else { return Vec::new() };
    let when = if coming { When::Future } else { When::Current };
    let from = place(said, captures, "from", Predicate::Home)
        .map(|from| from.when(Some(if coming { When::Current } else { When::Past })));
    from.into_iter().chain([to.when(Some(when))]).collect()
}

fn origin(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let came = captures.name("came").is_some();
    let plainly = captures.name("v").is_some_and(|place| is_plainly_a_place(place.as_str()));
    let fits =
        said.rest.contains("来自") || (came && (said.rest.contains('从') || (said.rest.starts_with('是') && plainly)));
    if !fits {
        return Vec::new();
    }
    hometown(said, captures)
}

fn people_of(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let Some(place) = captures.name("v").map(|place| place.as_str()).filter(|place| is_plainly_a_place(place)) else {
        return Vec::new();
    };
    let predicate = if country(place) { Predicate::Nationality } else { Predicate::Hometown };
    vec![Draft::new(predicate, said.clause.as_written(place))]
}

fn phone(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    thing(said, captures, Predicate::Phone)
}

fn email(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(said.part(captures, "v").map(|address| Draft::new(Predicate::Email, address)))
}

fn favourite(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let kind = said.part(captures, "d").map(str::to_owned);
    if kind.as_deref().is_some_and(|kind| kind.contains(['我', '你', '他', '她'])) {
        return Vec::new();
    }
    one(said
        .part(captures, "v")
        .and_then(chinese_thing)
        .map(|value| Draft::new(Predicate::Favourite, value).detail(kind)))
}

fn likes(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
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

fn likes_above_all(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    if said.likes { each(said, captures, Predicate::Likes) } else { Vec::new() }
}

/// A list with commas: 我喜欢唱歌，跳舞，画画.
fn likes_too(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
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

fn dislikes(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    if said.setting.negated && !said.setting.le {
        return Vec::new();
    }
    each(said, captures, Predicate::Likes)
        .into_iter()
        .filter(|draft| draft.value.chars().count() <= 10)
        .map(|draft| draft.denied(true))
        .collect()
}

fn only_child(_: &Said<'_>, _: &Captures<'_>) -> Vec<Draft> {
    vec![Draft::new(Predicate::Family, "sibling").denied(true)]
}

fn married(_: &Said<'_>, _: &Captures<'_>) -> Vec<Draft> {
    vec![Draft::new(Predicate::MaritalStatus, "married")]
}

fn single(_: &Said<'_>, _: &Captures<'_>) -> Vec<Draft> {
    vec![Draft::new(Predicate::MaritalStatus, "single")]
}

fn divorced(said: &Said<'_>, _: &Captures<'_>) -> Vec<Draft> {
    if said.setting.negated {
        Vec::new()
    } else {
        vec![Draft::new(Predicate::MaritalStatus, "divorced").when(Some(When::Current))]
    }
}

fn engaged(_: &Said<'_>, _: &Captures<'_>) -> Vec<Draft> {
    vec![Draft::new(Predicate::MaritalStatus, "engaged")]
}

fn vegetarian(_: &Said<'_>, _: &Captures<'_>) -> Vec<Draft> {
    vec![Draft::new(Predicate::Diet, "vegetarian")]
}

fn halal(_: &Said<'_>, _: &Captures<'_>) -> Vec<Draft> {
    vec![Draft::new(Predicate::Diet, "halal")]
}

fn allergy(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let denied = captures.name("neg").is_some();
    let vague = |draft: &Draft| {
        matches!(draft.value.as_str(), "会" | "皮肤" | "容易" | "有点" | "很" | "鼻子" | "轻微")
            || draft.value.starts_with("会")
    };
    each(said, captures, Predicate::Allergy)
        .into_iter()
        .filter(|draft| !vague(draft))
        .map(|draft| draft.denied(denied))
        .collect()
}

fn condition(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let list = said.part(captures, "v").map(chinese_things).unwrap_or_default();
    list.into_iter()
        .filter(|thing| lexicon::is_condition(thing) || thing.starts_with("色"))
        .map(|thing| Draft::new(Predicate::Health, thing))
        .collect()
}

/// Only what is not eaten says something about somebody; and whoever stands what is hot.
fn eats(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let drafts = each(said, captures, Predicate::Eats);
    let hot = |draft: &Draft| matches!(draft.value.as_str(), "辣" | "辣的");
    let meal = |draft: &Draft| {
        ["饭", "下", "完", "到", "惯", "饱", "动", "起", "早餐", "午餐", "晚餐", "药", "亏", "苦", "醋", "力", "惊"]
            .iter()
            .any(|word| draft.value.starts_with(word))
            || draft.value.chars().count() > 8
    };
    drafts
        .into_iter()
        .filter(|draft| !meal(draft) && (said.setting.negated || said.setting.ended || hot(draft)))
        .collect()
}

fn drinks(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let denied = said.setting.negated || said.setting.ended;
    let thing =
        |draft: &Draft| denied && draft.value.chars().count() <= 6 && !draft.value.starts_with(['下', '完', '到']);
    each(said, captures, Predicate::Drinks).into_iter().filter(thing).collect()
}

fn smokes(_: &Said<'_>, _: &Captures<'_>) -> Vec<Draft> {
    vec![Draft::new(Predicate::Smokes, "tobacco")]
}

fn gave_up(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    if said.setting.negated || said.setting.when == Some(When::Future) {
        return Vec::new();
    }
    let draft = match said.part(captures, "v") {
        Some("烟") => Draft::new(Predicate::Smokes, "tobacco"),
        Some(drink) => Draft::new(Predicate::Drinks, drink),
        None => return Vec::new(),
    };
    vec![draft.when(Some(When::Past))]
}

/// Afraid of things, not that something happens.
fn fears(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
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

fn speaks(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let language = |draft: &Draft| {
        draft.value.ends_with(['语', '話', '话', '文', '語'])
            && draft.value.chars().count() <= 5
            && !draft.value.ends_with("笑话")
    };
    each(said, captures, Predicate::Speaks).into_iter().filter(language).collect()
}

fn can(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    each(said, captures, Predicate::Can)
}

fn out_of_work(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let Some(word) = said.part(captures, "v") else { return Vec::new() };
    let state = if word.starts_with('退') { "retired" } else { "unemployed" };
    vec![Draft::new(Predicate::Job, state)]
}

fn occupation(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
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
fn employer(said: &Said<'_>, captures: &Captures<'_>) -> Option<Draft> {
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

fn workplace(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(employer(said, captures))
}

fn work_as(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let Some(job) = said.part(captures, "j").and_then(trade_in) else { return Vec::new() };
    employer(said, captures).into_iter().chain([Draft::new(Predicate::Job, job)]).collect()
}

fn left(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(employer(said, captures).map(|draft| draft.when(Some(When::Past))))
}

/// The trade at the end of a phrase: 很好的老师 is 老师.
fn trade_in(phrase: &str) -> Option<String> {
    let phrase = phrase.trim();
    let last = phrase.rsplit('的').next().unwrap_or(phrase);
    let last = ["一名", "一个", "一位", "个", "名", "位"]
        .iter()
        .find_map(|measure| last.strip_prefix(measure))
        .unwrap_or(last);
    let fits = lexicon::is_chinese_trade(last) && last.chars().count() <= 10 && chinese_thing(phrase).is_some();
    fits.then(|| last.to_owned())
}

fn trade(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let doing = said.rest.starts_with('做');
    let activity = ["设计", "销售", "运营", "客服", "翻译", "编辑", "演示"];
    let past = captures.name("past").map(|_| When::Past);
    let job = said
        .part(captures, "v")
        .and_then(trade_in)
        .filter(|job| !(doing && said.setting.le && activity.contains(&job.as_str())));
    one(job.filter(|_| said.setting.when != Some(When::Future)).map(|job| Draft::new(Predicate::Job, job).when(past)))
}

fn line_of_work(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let work = said.part(captures, "v").and_then(chinese_thing);
    let vague = |work: &String| {
        matches!(work.as_str(), "对" | "好" | "错" | "什么" | "菜" | "饭" | "蛋糕" | "梦" | "手工" | "作业")
    };
    one(work.filter(|work| !vague(work)).map(|work| Draft::new(Predicate::Job, work)))
}

fn level(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    thing(said, captures, Predicate::School)
}

fn school(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let vague = |draft: &Draft| {
        matches!(draft.value.as_str(), "家" | "图书馆" | "学校" | "咖啡馆" | "国外" | "外地" | "房间" | "床上")
    };
    thing(said, captures, Predicate::School).into_iter().filter(|draft| !vague(draft)).collect()
}

fn graduated(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    school(said, captures).into_iter().map(|draft| draft.when(Some(When::Past))).collect()
}

fn studies(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let vague = |draft: &Draft| {
        ["如何", "怎么", "怎样", "习", "校", "着", "做", "新", "一门", "一项", "一种", "用"]
            .iter()
            .any(|word| draft.value.starts_with(word))
            || draft.value.ends_with('时')
            || draft.value.chars().count() > 10
    };
    each(said, captures, Predicate::Studies).into_iter().filter(|draft| !vague(draft)).collect()
}

static COUNTED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?P<n>[0-9]{1,2}|[一二三四五六七八九十两])?(?P<c>个|位|名|只|条|匹|头|缸|窝)?(?P<what>.+?)(?:(?:,)?(?:名字)?(?:叫做?|名叫)(?P<name>.+))?$",
    )
});

/// Family or pets that somebody has: 两个女儿, 一只叫咪咪的猫, 一儿一女.
fn has(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
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

fn keeps(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
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

fn relative_or_pet(said: &Said<'_>, item: &str, kept: bool) -> Vec<Draft> {
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

fn kin_in(word: &str) -> Option<&'static str> {
    let word = ["大", "小", "亲", "双胞胎", "可爱", "小小"]
        .iter()
        .find_map(|before| word.strip_prefix(before))
        .filter(|rest| kin::chinese(rest).is_some())
        .unwrap_or(word);
    kin::chinese(word).filter(|(_, rest)| rest.is_empty()).map(|(relation, _)| relation)
}

fn pet_in(word: &str) -> Option<&'static str> {
    let known =
        lexicon::PETS.iter().filter(|(pet, _)| !pet.is_ascii() && word.ends_with(pet) && word.chars().count() <= 6);
    known.max_by_key(|(pet, _)| pet.len()).map(|(_, kind)| *kind)
}

/// What "my dog died" says: that it was one's pet.
fn pet_is_gone(said: &Said<'_>, _: &Captures<'_>) -> Vec<Draft> {
    let Subject::Relative { relation, .. } = said.subject else { return Vec::new() };
    let pet = lexicon::PETS.iter().any(|(_, kind)| kind == relation);
    one(pet.then(|| Draft::new(Predicate::Pet, relation.clone()).of(Subject::Speaker).when(Some(When::Past))))
}

/// "我是X": a trade or, said alone, a full name.
fn being(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let Some(what) = said.part(captures, "v") else { return Vec::new() };
    if let Some(trade) = trade_in(what) {
        let employer = captures.name("w").and_then(|employer| chinese_thing(said.clause.as_written(employer.as_str())));
        let employer = employer.map(|employer| Draft::new(Predicate::Workplace, employer));
        return employer.into_iter().chain([Draft::new(Predicate::Job, trade)]).collect();
    }
    let latin = !what.is_empty()
        && what.chars().all(|c| c.is_ascii_alphabetic())
        && what.chars().next().is_some_and(char::is_uppercase)
        && what.chars().count() > 1
        && what.chars().skip(1).all(char::is_lowercase);
    let named = !said.setting.negated && !said.setting.le && (is_full_name(what) || latin);
    one(named.then(|| chinese_name(what)).flatten().map(|name| Draft::new(Predicate::Name, name)))
}

/// What is going to be done, when it is said when or that it is planned.
fn plan(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    if said.setting.when != Some(When::Future) || said.setting.negated || said.setting.le {
        return Vec::new();
    }
    let time = ["打算", "计划", "准备"].iter().fold(said.setting.time.clone(), |time, word| time.replace(word, ""));
    one(said
        .part(captures, "v")
        .and_then(chinese_thing)
        .map(|thing| Draft::new(Predicate::Plan, thing).detail(Some(time))))
}
