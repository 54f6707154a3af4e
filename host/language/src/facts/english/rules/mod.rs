//! The table of English rules: what a predicate looks like, and the facts it gives.

mod family;
mod health;
mod home;
mod identity;
mod taste;
mod work;

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::Setting;
use crate::facts::dates::{age, english_birthday, english_number};
use crate::facts::fact::{Fact, Predicate, Subject, When};
use crate::facts::reading::pattern;
use crate::facts::values::{Draft, english_name, english_place, english_thing, english_things, without_article};
use crate::facts::{kin, lexicon};

use family::*;
use health::*;
use home::*;
use identity::*;
use taste::*;
use work::*;

/// What a rule may look at.
pub(in crate::facts::english) struct Said<'a> {
    /// The predicate, beginning with its verb.
    pub(in crate::facts::english) rest: &'a str,
    pub(in crate::facts::english) setting: &'a Setting,
    pub(in crate::facts::english) subject: &'a Subject,
    /// That the clause before was about likes.
    pub(in crate::facts::english) likes: bool,
}

type Make = fn(&Said<'_>, &Captures<'_>) -> Vec<Draft>;

static RULES: LazyLock<Vec<(Regex, Make)>> =
    LazyLock::new(|| TABLE.iter().map(|(rule, make)| (pattern(&format!("(?i){rule}")), *make)).collect());

/// In the order in which they are tried; the first that gives something ends the search.
const TABLE: &[(&str, Make)] = &[
    // What is the speaker's own: "my name is", for others "name is" follows "my mother's".
    (r"^(?:my |our )?(?:full |real |first |given )?name (?:is|was) (?:actually )?(?P<v>.+)$", name),
    (r"^(?:my )?(?:last name|surname|family name) is (?P<v>\S+)$", surname),
    (r"^(?:my )?nickname is (?P<v>.+)$", nickname),
    (r"^(?:my )?(?:birthday|birthdate|date of birth|birth date) (?:is|was|falls)(?: on| in)? (?P<v>.+)$", birthday),
    (
        r"^(?:was|am|were|is) born (?:and raised )?(?:on|in) (?P<v>.*(?:\d|january|february|march|april|may|june|july|august|september|october|november|december).*)$",
        birthday,
    ),
    (r"^(?:was|am|were|is) born (?:and (?:raised|bred|grew up) )?in (?P<v>.+)$", birthplace),
    (r"^(?:my |our )?(?:home ?town|home country) is (?P<v>.+)$", hometown),
    (r"^(?:my |our )?(?:home )?address is (?P<v>.+)$", address),
    (r"^(?:my )?(?:phone|cell|mobile)(?: number)? is (?P<v>\+?[\d][\d\- ()]{4,20})$", phone),
    (r"^(?:my )?e-?mail(?: address)? is (?P<v>[^\s@]+@[^\s@]+?)\W*$", email),
    (
        r"^(?:my |our )?favou?rite (?P<d>[a-z ]{1,30}?) (?:is|are|was|has always been|would be) (?:probably |definitely |always )?(?P<v>.+)$",
        favourite,
    ),
    (r"^(?:my )?favou?rites? (?:is|are) (?P<v>.+)$", likes),
    (r"^(?:my )?(?:hobby|hobbies|interests|passion|biggest passion|passions) (?:is|are|include) (?P<v>.+)$", likes),
    (r"^(?:my )?(?:job|occupation|profession|day job) is (?:being |working as )?(?:an? )?(?P<v>.+)$", occupation),
    (r"^(?:my )?(?:major|degree) is(?: in)? (?P<v>.+)$", studies),
    // Ages.
    (
        r"^(?:am|is|was|turned|just turned|have turned|will be|am turning|is turning|turn|turns|will turn|am going to be|am about to turn|be) (?:only |almost |nearly )?(?P<n>\d{1,3}|[a-z]+(?:[- ][a-z]+)?)(?P<y> ?-? ?(?:years? old|yrs? old|y/?o|years? of age))?(?:\W*| now| today| this year|,.*)$",
        years,
    ),
    // Homes.
    (
        r"^(?P<verb>live|lives|lived|reside|resides|resided|living|am living|is living|was living|am staying permanently|be living) (?:(?:alone|together|happily|full-time|permanently|here|with [a-z ]{1,25}) )?(?:in|at|on|near|outside|just outside|close to) (?P<v>.+)$",
        home,
    ),
    (r"^(?:have|has) (?:lived|been living|resided) (?:here )?(?:in|at|near) (?P<v>.+)$", lived),
    (r"^(?:am|is|was) (?:currently )?based (?:in|out of|near) (?P<v>.+)$", home),
    (r"^(?:my |our )?(?:home|house|apartment|flat|place) is in (?P<v>.+)$", home),
    (
        r"^(?P<fut>will |am going to |is going to |are going to |plan to |am planning to |am about to )?(?P<verb>moved|move|moves|relocated|relocate|have moved|has moved|am moving|is moving|are moving|am relocating|is relocating|immigrated|emigrated)(?: here| back| away| house)?(?: from (?P<from>.+?))? to (?P<v>.+)$",
        moved,
    ),
    (r"^(?:am|is|come|comes|was) (?:originally )?from (?P<v>.+)$", hometown),
    (r"^(?:grew up|was raised|was brought up|grow up) (?:in|on|near) (?P<v>.+)$", hometown),
    // Likes.
    (r"^(?P<verb>like|likes|love|loves|enjoy|enjoys|adore|adores|liked|loved|enjoyed|adored) (?P<v>.+)$", likes),
    (r"^(?:have|has) (?:liked|loved|enjoyed|adored) (?P<v>.+)$", likes),
    (r"^(?:prefer|prefers) (?P<v>.+?)(?:,? (?:to|over|rather than|instead of|than) .+)?$", prefers),
    (
        r"^(?:am|is|was|are|be) (?:(?:a |an )?(?:huge |big |massive |die-hard |lifelong |avid |great |such a |real )*fan of|fond of|into|keen on|crazy about|passionate about|obsessed with|addicted to|interested in|hooked on|a sucker for) (?P<v>.+)$",
        fan,
    ),
    (
        r"^(?:am|is) (?:a |an )?(?:big |huge |real |total |avid |massive )*(?P<v>[a-z ]{3,20}) (?:lover|fan|person|enthusiast|addict|buff|nerd|fanatic)$",
        lover,
    ),
    (
        r"^(?:hate|hates|dislike|dislikes|detest|detests|despise|despises|loathe|loathes|hated|disliked|can not stand|can not bear) (?P<v>.+)$",
        dislikes,
    ),
    (r"^especially (?P<v>.+)$", likes_above_all),
    // Health and food.
    (r"^(?:am|is|was) (?:\w+ )?allergic to (?P<v>.+)$", allergy),
    (
        r"^(?:have|has|had) (?:a |an )?(?:(?:severe|bad|mild|serious|slight|terrible) )?(?:allergy|allergies) to (?P<v>.+)$",
        allergy,
    ),
    (
        r"^(?:have|has|had) (?:a |an )?(?:(?:severe|bad|mild|serious|slight|terrible) )?(?P<v>[a-z ]{2,25}?) (?:allergy|allergies)$",
        allergy,
    ),
    (r"^(?:am|is) (?P<v>lactose|gluten|fructose|histamine)[ -]intolerant$", allergy),
    (r"^(?:am|is) intolerant to (?P<v>.+)$", allergy),
    (
        r"^(?:am|is|was|became|have been|has been|went|be) (?:an? )?(?:strict |lifelong )?(?P<v>vegetarian|vegan|pescatarian|pescetarian)(?: (?:for|since) .+)?$",
        diet,
    ),
    (r"^(?:eat|keep|eats|keeps) (?:only )?(?P<v>halal|kosher|vegetarian|vegan)(?: food)?$", diet),
    (r"^(?:can not |can )?(?:eat|eats|ate|tolerate) (?P<v>.+)$", eats),
    (r"^(?:drink|drinks) (?P<v>.+)$", drinks),
    (r"^(?:drink|drinks)(?: at all)?$", drinks_at_all),
    (r"^(?:smoke|smokes)(?: cigarettes)?$", smokes),
    (r"^(?:quit|stopped|gave up) (?P<v>smoking|drinking)$", gave_up),
    (
        r"^(?:have|has|had|suffer from|suffers from|was diagnosed with|am diagnosed with|have been diagnosed with|live with|got diagnosed with) (?:mild |severe |chronic |bad |slight )?(?P<v>.+)$",
        condition,
    ),
    (
        r"^(?:am|is) (?P<v>diabetic|asthmatic|epileptic|dyslexic|colou?r[- ]?blind|near-?sighted|short-?sighted|autistic|anemic|left-handed|deaf|blind)$",
        state,
    ),
    (r"^(?:am|is|was) (?:\w+ )?(?:afraid|scared|terrified|frightened) of (?P<v>.+)$", fears),
    (r"^(?:have|has) a (?:fear|phobia) of (?P<v>.+)$", fears),
    // Skills.
    (
        r"^(?:can )?(?:speak|speaks) (?:fluent |some |a little |a bit of |a little bit of |native |good |basic )?(?P<v>.+?)(?: fluently| well| at home| natively)?$",
        speaks,
    ),
    (r"^(?:am|is) fluent in (?P<v>.+)$", speaks),
    (r"^(?:can )?(?P<verb>play|plays|played) (?:the )?(?P<v>.+)$", plays),
    // Family, pets.
    (r"^(?:am|is) (?:an )?only child$", only_child),
    (
        r"^(?:am|is|was|have been|has been|got|be) (?P<v>married|divorced|engaged|single|widowed)(?: now| to .+| for .+| since .+| with .+| again| recently| last .+)?$",
        marital,
    ),
    (r"^(?:have|has|had|got|own|owns|owned|have got|has got|adopted|have adopted|just adopted|raised) (?P<v>.+)$", has),
    (r"^(?:died|passed away|is dead|has died|has passed away)\b.*$", pet_is_gone),
    (r"^is (?:called|named) (?P<v>.+)$", name),
    // Work and school.
    (
        r"^(?P<verb>work|works|worked|am working|is working|was working|be working|have been working|has been working|have worked|has worked) as (?:an? |the )?(?P<j>.+?)(?: (?:at|for|in) (?P<w>.+))?$",
        work_as,
    ),
    (
        r"^(?P<verb>work|works|worked|am working|is working|was working|have been working|has been working|have worked|has worked) (?P<prep>at|for|in) (?P<w>.+?)(?: as (?:an? |the )?(?P<j>.+))?$",
        workplace,
    ),
    (r"^(?:am|is) employed (?:at|by) (?P<w>.+)$", workplace),
    (
        r"^(?:(?:just |recently )?(?:got|started|have|has|took) (?:a )?(?:new )?(?:job|position) (?:at|with) |(?:just |recently )?(?:joined|started (?:working )?(?:at|for)) )(?P<w>.+?)(?: as (?:an? |the )?(?P<j>.+))?$",
        joined,
    ),
    (
        r"^(?:just |recently )?(?:quit|left|resigned from|got laid off from|was laid off from|got fired from) (?:my )?(?:job|position|work) (?:at|with|as an?|as) (?P<w>.+)$",
        left_job,
    ),
    (r"^(?:am|is) (?:now |currently )?(?P<v>retired|unemployed|self-employed|between jobs|out of work)$", out_of_work),
    (r"^(?P<v>retired)(?: (?:last|in|from|two|three|a|\d).*)?$", out_of_work),
    (
        r"^(?:own|owns|run|runs) (?P<v>(?:an? |my own )?(?:small |little |local |online )*(?:bakery|restaurant|cafe|café|coffee shop|shop|store|bookstore|business|company|startup|farm|bar|salon|studio|gym|flower shop).*)$",
        owns,
    ),
    (
        r"^(?:study|studies|studied|am studying|is studying|was studying|major in|am majoring in|is majoring in|majored in) (?P<v>.+?)(?: (?:at|in) (?P<s>.+))?$",
        studies,
    ),
    (
        r"^(?:am learning|is learning|have been learning|started learning) (?:how )?(?:to (?:speak |play )?)?(?P<v>.+)$",
        learning,
    ),
    (
        r"^(?:go|goes|went|am going|attend|attends|attended) (?:to )?(?P<s>.*\b(?:university|college|school|academy|mit|kindergarten|elementary school|high school|middle school|preschool)\b.*)$",
        school,
    ),
    (
        r"^(?:am|is) in (?P<s>(?:\w+ (?:grade|year)|kindergarten|preschool|college|high school|middle school|elementary school|grad school)(?: at .+)?)$",
        school,
    ),
    (r"^(?:graduated) from (?P<s>.+)$", graduated),
    (r"^(?:am|is|was|became|am working as|have been|has been|be) (?:an? |the )(?P<v>.+?)$", trade),
    (r"^(?:am|is) (?P<v>[a-z]+(?: [a-z]+)?)$", nation),
    (r"^(?:am|is) (?:called )?(?P<v>.+)$", named),
    (r"^(?:am going to|am planning to|plan to|will|plan on|am planning on|intend to|am about to) (?P<v>.+)$", plan),
];

/// What the first fitting rule finds.
pub(in crate::facts::english) fn apply(said: &Said<'_>) -> Vec<Draft> {
    static UNREAL: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)^(?:would|could|should|might|may|must|wish|want|wanted|hope|need)\b|\bi guess\b|\bmaybe\b|\bprobably not\b|\bperhaps\b|\?\W*$",
        )
    });
    if UNREAL.is_match(said.rest) {
        return Vec::new();
    }
    let rest = said.rest.trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, ')' | '+' | '#'));
    let found =
        RULES.iter().filter_map(|(rule, make)| Some(make(said, &rule.captures(rest)?))).find(|found| !found.is_empty());
    found.unwrap_or_default()
}

/// "Call me Al", "people call me Al", "you can call me Al".
pub(in crate::facts::english) fn called(clause: &str) -> Option<Fact> {
    static CALLED: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)^(?:\W|\b(?:so|and|but|please|just|hi|hey|hello|you can|you may|people|everyone|everybody|my friends|friends|most people|they|usually|all|also)\b)*(?:call|calls) me (?P<v>.+)$",
        )
    });
    let called = CALLED.captures(clause)?;
    let name = english_name(called.name("v")?.as_str())?;
    let capital = name.chars().next().is_some_and(|c| !c.is_lowercase());
    capital.then(|| Draft::new(Predicate::Nickname, name).into_fact(&Subject::Speaker, false, When::Current, 0.9))
}

/// "Anna is my sister", "Blue is my favourite colour": what is said comes first.
pub(in crate::facts::english) fn reversed(rest: &str) -> Option<Vec<Fact>> {
    static WHO: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"^(?P<v>[A-Z]\p{L}+)(?: is|'s) my (?:(?:older|elder|younger|little|big|twin|best|good|only|eldest|youngest|oldest|new) )*(?P<kin>\p{L}+(?:-in-law)?)\W*$",
        )
    });
    static BEST: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)^(?P<v>.{2,40}?) (?:is|are|has always been) my (?:all-time )?favou?rite(?P<d> [a-z ]{2,25}?)?\W*$",
        )
    });
    if let Some(best) = BEST.captures(rest) {
        let value = english_thing(best.name("v")?.as_str())?;
        let kind = best.name("d").map(|kind| kind.as_str().trim().to_owned());
        let named = !["a", "one", "my", "he", "she", "what", "who"].contains(&value.to_lowercase().as_str());
        let predicate = if kind.is_some() { Predicate::Favourite } else { Predicate::Likes };
        let draft = Draft::new(predicate, value).detail(kind);
        return named.then(|| vec![draft.into_fact(&Subject::Speaker, false, When::Current, 0.85)]);
    }
    let who = WHO.captures(rest)?;
    let word = who.name("kin")?.as_str();
    let relation = kin::english(word).or_else(|| lexicon::pet(word))?;
    let name = who.name("v")?.as_str();
    let pronoun = ["He", "She", "It", "This", "That", "They", "Who", "What", "Here", "There", "Someone", "Everyone"]
        .contains(&name);
    let subject = Subject::Relative { relation: relation.to_owned(), name: None };
    (!pronoun).then(|| vec![Draft::new(Predicate::Name, name).into_fact(&subject, false, When::Current, 0.8)])
}

fn one(draft: Option<Draft>) -> Vec<Draft> {
    draft.into_iter().collect()
}

fn part<'a>(captures: &'a Captures<'_>, name: &str) -> Option<&'a str> {
    captures.name(name).map(|part| part.as_str())
}

/// A verb in the past, unless something else says when.
fn past(said: &Said<'_>, captures: &Captures<'_>) -> Option<When> {
    let verb = part(captures, "verb").unwrap_or(said.rest).to_lowercase();
    let first = verb.split_whitespace().next().unwrap_or_default();
    let past = first.ends_with("ed") && first != "need" || ["was", "were", "had", "ate", "went"].contains(&first);
    past.then_some(When::Past)
}

fn thing(captures: &Captures<'_>, predicate: Predicate) -> Option<Draft> {
    part(captures, "v").and_then(english_thing).map(|thing| Draft::new(predicate, without_article(&thing)))
}

fn each(captures: &Captures<'_>, predicate: Predicate) -> Vec<Draft> {
    part(captures, "v")
        .map(english_things)
        .unwrap_or_default()
        .into_iter()
        .map(|thing| Draft::new(predicate, thing))
        .collect()
}

fn place(captures: &Captures<'_>, name: &str, predicate: Predicate) -> Option<Draft> {
    part(captures, name).and_then(english_place).map(|place| Draft::new(predicate, place))
}
