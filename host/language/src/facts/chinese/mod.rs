//! Facts in Chinese clauses: of whom, when, whether it is denied; then what, by the table of rules.

mod rules;

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::fact::{Fact, Predicate, Subject, When};
use super::reading::{Clause, Thread, pattern};
use super::values::Draft;
use super::{kin, lexicon};

/// What a clause says before its predicate.
#[derive(Clone, Debug, Default)]
pub(super) struct Setting {
    /// When, if it is said.
    pub(super) when: Option<When>,
    /// "This year", which a bare number may follow as an age.
    pub(super) this_year: bool,
    /// Denied once.
    pub(super) negated: bool,
    /// That something is not so any more.
    pub(super) ended: bool,
    /// That the clause ends in 了.
    pub(super) le: bool,
    /// The words about time, for plans.
    pub(super) time: String,
}

/// Reads one clause.
pub(in crate::facts) fn read(clause: &Clause, thread: &mut Thread) -> Vec<Fact> {
    let facts = facts(clause, thread);
    let goes_on = facts.last().map(|fact| &fact.predicate);
    thread.likes = matches!(goes_on, Some(Predicate::Likes | Predicate::Favourite));
    if facts.is_empty() && !GREETING.is_match(clause.shape()) {
        thread.carried = None;
    }
    facts
}

static GREETING: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:你好|您好|大家好|嗨|哈喽|嘿|早上好|晚上好|下午好|是的|嗯|对|哦|好的|哈哈)\S{0,3}$"));

static PARTICLES: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"[啊呀哦哈啦嘛喔噢呢哟嘞咯噻唷\s~!.。…:\p{Extended_Pictographic}]+$"));

/// Words before the subject that change nothing.
static OPENING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"^(?:嗯+|哦+|噢|啊|诶|欸|哎|唉|嗨|嘿|哈喽|哈+|对了|对|是的|是啊|好的|好|其实|不过|但是|可是|但|而且|并且|另外|此外|还有|然后|所以|因此|因为|由于|毕竟|顺便说(?:一下|一句)?|顺便提(?:一下|一句)?|",
        r"说实话|老实说|实话说|说真的|告诉你(?:一下)?|跟你说(?:一下)?|和你说(?:一下)?|(?:请)?(?:帮我)?(?:记住|记一下|记得|记下来?)|提醒(?:你)?(?:一下)?|自我介绍一下|介绍一下|填表用的?|备注(?:一下)?|补充一下|补充|更新一下|说明一下|总之|反正|当然|虽然|尽管|事实上|说起来|忘了说|更正一下|纠正一下|",
        r"你好|您好|大家好|早上好|晚上好|AI伴侣|ai伴侣|朋友|那个|那|我说过|我说了|我跟你说过|我告诉过你|我之前说过|我之前跟你说过|(?:也)?别忘了|不瞒你说|众所周知|没错|也|:|\s|\W)+",
    ))
});

/// A word about time, with what it says.
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    let number = "[0-9一二三四五六七八九十两几好]+";
    pattern(&format!(
        concat!(
            r"^(?:(?P<past>以前|从前|过去|曾经|曾|原来|原先|原本|之前|先前|早先|小时候|小的时候|儿时|童年|年轻的?时候?|当年|那时候?|那会儿|当时|早年|早些年|去年|前年|上个?(?:月|周|学期|星期)|前几年|前些年|",
            r"{n}多?(?:年|个月)之?前|(?:在)?(?:上|读|念)?(?:小学|初中|高中|大学|学)(?:的)?时候?|[0-9一二三四五六七八九十]+岁(?:之前|以前|的时候|时|那年)|(?:19|20)[0-9]{{2}}年(?:的)?时?候?|刚毕业(?:的)?时候?|一开始|最初|起初)",
            r"|(?P<now>现在|目前|如今|眼下|当前|今年|最近|近来|这几年|这段时间|这阵子|这两年|后来|从今天起|平时|平常)",
            r"|(?P<future>明年|后年|下个?(?:月|周|星期|学期|半年)|今年(?:年底|下半年)|年底|月底|明天|后天|将来|以后|未来|过几天|过两天|过段时间|过一阵子|再过{n}(?:年|个月|天|周)|周末|这周末|[0-9一二三四五六七八九十]+月(?:份|底|初)?|即将|将要|马上就?要?|快要|很快就?要?|就要|打算|计划|准备))",
        ),
        n = number
    ))
});

/// An adverb that changes nothing.
static ADVERB: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:也|都|就|是真的|真的是?|真心|确实|的确|非常|特别|十分|超级|超|挺|蛮|比较|其实|本来就|一直以来|一直都?|从小到大|从小就?|打小就?|从来都?|向来|通常|经常|常常|一般|总是|主要|已经|早就|早已|刚刚|刚|才|更|尤其|个人|自己|本身|天生就?|稍微|有点儿?|还是|仍然|依然|还|又|很|最|可|，|的确|觉得自己)",
    )
});

/// What goes on about likes.
static ABOVE_ALL: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(?:特别是|尤其是|尤其)"));

static NEGATION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?P<ended>不再|再也不|再也没|已经不|早就不)|^(?:从来不|从来没|从不|并不|并没|绝不|不太|不怎么|不是很|不是特别|不大|不)",
    )
});

/// What is not said plainly.
static UNCERTAIN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"可能|也许|大概|或许|似乎|好像|说不定|估计|恐怕|应该是|吧$|吗$|么$|呢$|[^什]么样|是不是|有没有|会不会|能不能|喜不喜欢|爱不爱|要不要|住不住|什么|哪[里儿个些位]|多少|几岁|为什么|怎么|谁|想当|想做|想要|想成为|希望|梦想|差点|恨不得|不是不|不得不|除了",
    )
});

fn facts(clause: &Clause, thread: &mut Thread) -> Vec<Fact> {
    let shape = PARTICLES.replace(clause.shape(), "");
    let mut rest = clause.shape().get(..shape.len()).unwrap_or_default();
    let asks_to_be_called = rules::called(rest);
    if let Some(name) = asks_to_be_called {
        return vec![Draft::new(Predicate::Nickname, name).into_fact(&Subject::Speaker, false, When::Current, 0.9)];
    }
    if let Some(facts) = rules::reversed(clause, rest) {
        return facts;
    }
    if UNCERTAIN.is_match(rest) && !rest.contains("没什么") {
        return Vec::new();
    }
    let mut setting = Setting::default();
    rest = after_opening(rest);
    if !(thread.likes && ABOVE_ALL.is_match(rest)) {
        rest = after_adverbs(rest, &mut setting);
    }
    let Some((subject, confidence, after)) = subject(clause, rest, thread) else { return Vec::new() };
    rest = after;
    if let Some(without) = rest.strip_suffix('了') {
        (setting.le, rest) = (true, without);
    }
    let found = read_predicate(clause, rest, &mut setting, &subject, thread.likes);
    if found.is_empty() {
        return Vec::new();
    }
    let (negated, when) = settled(&setting);
    let facts: Vec<Fact> =
        found.into_iter().map(|draft| draft.into_fact(&subject, negated, when, confidence)).collect();
    remember(&subject, &facts, thread);
    facts
}

/// Whether it is denied, and when it held: what is not so any more was so.
fn settled(setting: &Setting) -> (bool, When) {
    let ended = setting.ended || (setting.negated && setting.le && setting.when != Some(When::Past));
    if ended {
        return (false, When::Past);
    }
    (setting.negated, setting.when.unwrap_or(When::Current))
}

/// Whom the next clause goes on about: the new person or animal in this one, else its subject.
fn remember(subject: &Subject, facts: &[Fact], thread: &mut Thread) {
    let met = facts.iter().rev().find_map(|fact| match fact.predicate {
        Predicate::Family | Predicate::Pet if !fact.negated => {
            Some(Subject::Relative { relation: fact.value.clone(), name: None })
        }
        _ => None,
    });
    let several =
        facts.iter().any(|fact| matches!(fact.predicate, Predicate::Family | Predicate::Pet) && fact.detail.is_some());
    let families = facts.iter().filter(|fact| fact.predicate == Predicate::Family).count() > 1;
    match met {
        Some(_) if several || families => thread.carried = None,
        Some(met) => {
            thread.third = Some(met.clone());
            thread.carried = Some(met);
        }
        None => {
            if *subject != Subject::Speaker {
                thread.third = Some(subject.clone());
            }
            thread.carried = Some(subject.clone());
        }
    }
}

fn after_opening(rest: &str) -> &str {
    let after = OPENING.find(rest).map_or(0, |opening| opening.end());
    rest.get(after..).unwrap_or_default()
}

/// Reads words of time, adverbs and denials until something else comes.
fn after_adverbs<'a>(mut rest: &'a str, setting: &mut Setting) -> &'a str {
    loop {
        let before = rest.len();
        if rest.starts_with("最喜欢的")
            || rest.starts_with("最爱的")
            || rest.starts_with("最喜爱的")
            || rest.starts_with("最讨厌的")
        {
            return rest;
        }
        if let Some(time) = TIME.captures(rest).filter(|time| !is_a_birth_year(rest, time)) {
            let whole = time.get(0).map_or("", |whole| whole.as_str());
            if time.name("past").is_some() {
                setting.when = Some(When::Past);
            } else if time.name("now").is_some() {
                setting.when = Some(When::Current);
                setting.this_year |= whole == "今年";
            } else {
                setting.when = Some(When::Future);
                setting.time.push_str(whole);
            }
            rest = rest.get(whole.len()..).unwrap_or_default();
        } else if let Some(denial) = NEGATION.captures(rest) {
            let whole = denial.get(0).map_or("", |whole| whole.as_str());
            if rest.starts_with("不耐受") {
                return rest;
            }
            setting.ended |= denial.name("ended").is_some();
            setting.negated = true;
            rest = rest.get(whole.len()..).unwrap_or_default();
        } else if rest.starts_with('没')
            && ["有", "养", "结婚", "住", "在", "学", "订婚"]
                .iter()
                .any(|verb| rest.get("没".len()..).is_some_and(|after| after.starts_with(verb)))
        {
            setting.negated = true;
            rest = rest.get("没".len()..).unwrap_or_default();
        } else if let Some(adverb) = ADVERB.find(rest) {
            rest = rest.get(adverb.end()..).unwrap_or_default();
        }
        if rest.len() == before {
            return rest;
        }
    }
}

/// Whether what looks like a year in which something was is part of a date of birth.
fn is_a_birth_year(rest: &str, time: &Captures<'_>) -> bool {
    let end = time.get(0).map_or(0, |whole| whole.end());
    let next = rest.get(end..).unwrap_or_default();
    rest.get(..end).is_some_and(|time| time.ends_with('年') && time.starts_with(|c: char| c.is_ascii_digit()))
        && (next.starts_with(|c: char| c.is_ascii_digit()) || next.starts_with(['出', '生']))
}

/// Of whom a clause speaks, how surely, and what follows.
fn subject<'a>(clause: &Clause, rest: &'a str, thread: &Thread) -> Option<(Subject, f32, &'a str)> {
    static SPEAKER: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(?:我们|咱们|我|本人|俺|咱)(?:自己|这个人|这人)?"));
    static THIRD: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(?P<who>他|她|它)(?:们)?"));
    if let Some(speaker) = SPEAKER.find(rest) {
        let after = rest.get(speaker.end()..)?;
        return Some(near_speaker(clause, after).unwrap_or((Subject::Speaker, 0.9, after)));
    }
    if let Some(third) = THIRD.captures(rest) {
        let known = thread.third.clone()?;
        let Subject::Relative { relation, .. } = &known else { return None };
        let fits = match (third.name("who")?.as_str(), kin::is_male(relation)) {
            (_, None) => true,
            ("他", Some(male)) => male,
            ("她", Some(male)) => !male,
            _ => false,
        };
        return fits.then(|| {
            (known.clone(), 0.7, rest.get(third.get(0).map_or(0, |whole| whole.end())..).unwrap_or_default())
        });
    }
    let carried = thread.carried.clone()?;
    let goes_on = !rest.is_empty() && !rest.starts_with(['你', '您', '这', '那', '谁']);
    goes_on.then_some((carried, 0.8, rest))
}

/// Somebody or some animal of the speaker's, when such a word follows "我".
fn near_speaker<'a>(clause: &Clause, after: &'a str) -> Option<(Subject, f32, &'a str)> {
    static JOINT: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"^(?:家里?的?|们家的?|的)?(?:那只|那条|那个|一?个|这个)?(?:大学|高中|最好的|好|亲|双胞胎|前)?")
    });
    let joint = JOINT.find(after).map_or(0, |joint| joint.end());
    for start in [joint, 0] {
        let word = after.get(start..)?;
        if let Some((relation, rest)) = kin::chinese(word) {
            if after.get(..start).is_some_and(|joint| joint.contains('前')) {
                return None;
            }
            return named(clause, relation, rest);
        }
        let owned = start > 0;
        let pets = lexicon::PETS.iter().filter(|(pet, _)| owned && word.starts_with(pet) && !pet.is_ascii());
        if let Some((pet, kind)) = pets.max_by_key(|(pet, _)| pet.len()) {
            return named(clause, kind, word.get(pet.len()..)?);
        }
    }
    None
}

/// The name that may follow a relation: 我朋友小李.
fn named<'a>(clause: &Clause, relation: &str, rest: &'a str) -> Option<(Subject, f32, &'a str)> {
    static NAME: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"^(?P<name>[小老阿]\p{Han}|[A-Z][a-zA-Z]+|\p{Han}{2,3}?)(?P<next>在|住|是|喜欢|爱|叫|今年|现在|以前|也|很|最|对|有|养|不|从|的|姓|已经|工作|毕业)",
        )
    });
    let relative = |name: Option<String>| Subject::Relative { relation: relation.to_owned(), name };
    if rest.starts_with("们") || rest.starts_with('家') {
        return None;
    }
    if let Some(captures) = NAME.captures(rest) {
        let name = captures.name("name")?.as_str();
        let short = name.chars().next().is_some_and(|c| matches!(c, '小' | '老' | '阿'))
            || !name.chars().any(super::reading::is_han);
        if (short && !matches!(name, "小时")) || super::values::is_full_name(name) {
            let written = clause.as_written(name).to_owned();
            return Some((relative(Some(written)), 0.85, rest.get(name.len()..)?));
        }
    }
    Some((relative(None), 0.85, rest))
}

/// Tries the table, and again behind each adverb.
fn read_predicate(clause: &Clause, rest: &str, setting: &mut Setting, subject: &Subject, likes: bool) -> Vec<Draft> {
    let rest = if likes && ABOVE_ALL.is_match(rest) { rest } else { after_adverbs(rest, setting) };
    rules::apply(&rules::Said { clause, rest, setting, subject, likes })
}
