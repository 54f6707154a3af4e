//! The table of English rules: what a predicate looks like, and the facts it gives.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::super::dates::{age, english_birthday, english_number};
use super::super::fact::{Fact, Predicate, Subject, When};
use super::super::reading::pattern;
use super::super::values::{Draft, english_name, english_place, english_thing, english_things, without_article};
use super::super::{kin, lexicon};
use super::Setting;

/// What a rule may look at.
pub(super) struct Said<'a> {
    /// The predicate, beginning with its verb.
    pub(super) rest: &'a str,
    pub(super) setting: &'a Setting,
    pub(super) subject: &'a Subject,
    /// That the clause before was about likes.
    pub(super) likes: bool,
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
pub(super) fn apply(said: &Said<'_>) -> Vec<Draft> {
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
pub(super) fn called(clause: &str) -> Option<Fact> {
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
pub(super) fn reversed(rest: &str) -> Option<Vec<Fact>> {
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

fn name(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let about_speaker = said.rest.to_lowercase().starts_with("my ");
    let draft = part(captures, "v").and_then(english_name).map(|name| Draft::new(Predicate::Name, name));
    one(draft.filter(|_| about_speaker || *said.subject != Subject::Speaker))
}

fn surname(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(part(captures, "v").and_then(english_name).map(|name| Draft::new(Predicate::Surname, name)))
}

fn nickname(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(part(captures, "v").and_then(english_name).map(|name| Draft::new(Predicate::Nickname, name)))
}

fn birthday(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(part(captures, "v")
        .and_then(english_birthday)
        .map(|day| Draft::new(Predicate::Birthday, day).when(Some(When::Current))))
}

fn place(captures: &Captures<'_>, name: &str, predicate: Predicate) -> Option<Draft> {
    part(captures, name).and_then(english_place).map(|place| Draft::new(predicate, place))
}

fn birthplace(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(place(captures, "v", Predicate::Birthplace).map(|draft| draft.when(Some(When::Current))))
}

fn hometown(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let personal = !said.rest.to_lowercase().starts_with("was from");
    one(place(captures, "v", Predicate::Hometown).filter(|_| personal).map(|draft| draft.when(Some(When::Current))))
}

fn address(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(thing(captures, Predicate::Address).filter(|draft| draft.value.chars().any(|c| c.is_ascii_digit())))
}

fn phone(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(part(captures, "v").map(|number| Draft::new(Predicate::Phone, number.trim())))
}

fn email(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(part(captures, "v").map(|address| Draft::new(Predicate::Email, address)))
}

fn favourite(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let kind = part(captures, "d").map(|kind| kind.trim().to_owned());
    let vague = kind.as_deref().is_some_and(|kind| {
        ["part", "thing", "thing about", "one", "moment", "memory"].iter().any(|vague| kind.starts_with(vague))
    });
    one(thing(captures, Predicate::Favourite).filter(|_| !vague).map(|draft| draft.detail(kind)))
}

fn likes(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let past = past(said, captures);
    let episode = |draft: &Draft| {
        past.is_some() && said.setting.when != Some(When::Past) && {
            let lower = draft.value.to_lowercase();
            ["the ", "your ", "our ", "my ", "every", "being", "seeing", "hearing", "reading about", "meeting"]
                .iter()
                .any(|start| lower.starts_with(start))
        }
    };
    let person = |draft: &Draft| {
        matches!(
            draft.value.to_lowercase().as_str(),
            "life"
                | "hearing"
                | "u"
                | "talking"
                | "people"
                | "chatting"
                | "learning"
                | "myself"
                | "help"
                | "chat"
                | "him"
                | "her"
                | "hearing from"
        )
    };
    let shown = |draft: &Draft| points_at_what_is_shown(&draft.value);
    each(captures, Predicate::Likes)
        .into_iter()
        .filter(|draft| !episode(draft) && !person(draft) && !shown(draft))
        .map(|draft| draft.when(past))
        .collect()
}

/// "The colour", "the effects": of something that is talked of, and not "the sea" or "the Beatles".
fn points_at_what_is_shown(value: &str) -> bool {
    const GENERAL: &[&str] = &[
        "sea",
        "ocean",
        "mountains",
        "beach",
        "outdoors",
        "rain",
        "snow",
        "cold",
        "heat",
        "sun",
        "city",
        "countryside",
        "piano",
        "guitar",
        "violin",
        "smell",
        "taste",
        "color",
        "colour",
        "theatre",
        "theater",
        "opera",
        "cinema",
        "gym",
        "forest",
        "woods",
        "winter",
        "summer",
        "autumn",
        "spring",
        "night",
        "stars",
        "dark",
        "quiet",
        "weekend",
        "nature",
        "desert",
    ];
    let Some(after) = value.to_lowercase().strip_prefix("the ").map(str::to_owned) else { return false };
    let named = value.split_whitespace().nth(1).is_some_and(|word| word.chars().next().is_some_and(char::is_uppercase));
    let first = after.split_whitespace().next().unwrap_or_default();
    let alone = matches!(first, "color" | "colour" | "smell" | "taste") && after.split_whitespace().count() == 1;
    !named && (alone || !GENERAL.contains(&first))
}

fn prefers(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    if said.setting.negated { Vec::new() } else { each(captures, Predicate::Likes) }
}

fn fan(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let past = past(said, captures);
    each(captures, Predicate::Likes).into_iter().map(|draft| draft.when(past)).collect()
}

fn lover(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let vague = [
        "morning",
        "people",
        "good",
        "nice",
        "bad",
        "different",
        "private",
        "kind",
        "new",
        "happy",
        "better",
        "busy",
        "terrible",
        "great",
        "real",
        "young",
        "old",
        "night",
        "creative",
    ];
    let person = said.rest.to_lowercase().ends_with("person");
    let kept = |draft: &Draft| {
        !vague.contains(&draft.value.to_lowercase().as_str())
            && (!person
                || ["cat", "dog", "tea", "coffee", "beach", "mountain"].contains(&draft.value.to_lowercase().as_str()))
    };
    one(thing(captures, Predicate::Likes).filter(kept))
}

fn likes_above_all(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    if said.likes { each(captures, Predicate::Likes) } else { Vec::new() }
}

fn dislikes(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    if said.setting.negated && !said.setting.ended {
        return Vec::new();
    }
    let past = past(said, captures);
    let vague = |draft: &Draft| {
        draft.value.to_lowercase().starts_with("my ") || draft.value.contains("say") || draft.value.contains("admit")
    };
    each(captures, Predicate::Likes)
        .into_iter()
        .filter(|draft| !vague(draft))
        .map(|draft| draft.denied(true).when(past))
        .collect()
}

fn allergy(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let past = past(said, captures);
    let vague = |draft: &Draft| {
        ["bad", "any", "no", "seasonal", "work", "mornings", "exercise", "a lot of"]
            .contains(&draft.value.to_lowercase().as_str())
    };
    each(captures, Predicate::Allergy).into_iter().filter(|draft| !vague(draft)).map(|draft| draft.when(past)).collect()
}

fn diet(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let past = past(said, captures);
    one(part(captures, "v").map(|diet| Draft::new(Predicate::Diet, diet.to_lowercase()).when(past)))
}

/// Only what is not eaten says something about somebody.
fn eats(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let denied = said.setting.negated || said.rest.to_lowercase().starts_with("can not");
    let meal = |draft: &Draft| {
        ["breakfast", "lunch", "dinner", "out", "much", "enough", "well", "yet"]
            .iter()
            .any(|word| draft.value.to_lowercase().starts_with(word))
    };
    let found = each(captures, Predicate::Eats)
        .into_iter()
        .filter(|draft| !meal(draft) && denied && past(said, captures).is_none());
    found.map(|draft| draft.denied(!said.setting.negated)).collect()
}

fn drinks(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let enough = |draft: &Draft| ["much", "enough"].iter().any(|word| draft.value.to_lowercase().starts_with(word));
    if said.setting.negated {
        each(captures, Predicate::Drinks).into_iter().filter(|draft| !enough(draft)).collect()
    } else {
        Vec::new()
    }
}

fn drinks_at_all(said: &Said<'_>, _: &Captures<'_>) -> Vec<Draft> {
    one(said.setting.negated.then(|| Draft::new(Predicate::Drinks, "alcohol")))
}

fn smokes(_: &Said<'_>, _: &Captures<'_>) -> Vec<Draft> {
    vec![Draft::new(Predicate::Smokes, "tobacco")]
}

fn gave_up(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    if said.setting.negated {
        return Vec::new();
    }
    let smoking = part(captures, "v").is_some_and(|what| what.eq_ignore_ascii_case("smoking"));
    let draft =
        if smoking { Draft::new(Predicate::Smokes, "tobacco") } else { Draft::new(Predicate::Drinks, "alcohol") };
    vec![draft.when(Some(When::Past))]
}

fn condition(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let past = said.rest.to_lowercase().starts_with("had ").then_some(When::Past);
    let list = part(captures, "v").map(english_things).unwrap_or_default();
    let known =
        list.into_iter().filter(|thing| lexicon::is_condition(thing) || lexicon::is_condition(&format!("a {thing}")));
    known.map(|thing| Draft::new(Predicate::Health, thing).when(past)).collect()
}

fn state(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(part(captures, "v").map(|state| Draft::new(Predicate::Health, state.to_lowercase())))
}

fn fears(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let past = past(said, captures);
    let short = |draft: &Draft| {
        draft.value.split_whitespace().count() <= 3 && !draft.value.to_lowercase().starts_with("losing")
    };
    each(captures, Predicate::Fears).into_iter().filter(short).map(|draft| draft.when(past)).collect()
}

fn speaks(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let known = |draft: &Draft| lexicon::LANGUAGES.contains(&draft.value.to_lowercase().as_str());
    each(captures, Predicate::Speaks).into_iter().filter(known).collect()
}

fn plays(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    const GAMES: &[&str] = &[
        "piano",
        "guitar",
        "violin",
        "cello",
        "drums",
        "flute",
        "clarinet",
        "saxophone",
        "trumpet",
        "ukulele",
        "bass",
        "harp",
        "banjo",
        "viola",
        "accordion",
        "trombone",
        "oboe",
        "football",
        "soccer",
        "basketball",
        "tennis",
        "badminton",
        "volleyball",
        "baseball",
        "golf",
        "chess",
        "hockey",
        "table tennis",
        "ping pong",
        "rugby",
        "cricket",
        "video games",
        "squash",
        "pickleball",
        "bass guitar",
        "electric guitar",
        "acoustic guitar",
        "ice hockey",
        "poker",
        "bridge",
    ];
    let past = past(said, captures);
    let known = |draft: &Draft| GAMES.contains(&without_the(&draft.value).to_lowercase().as_str());
    let found = each(captures, Predicate::Plays).into_iter().filter(known);
    found
        .map(|mut draft| {
            draft.value = without_the(&draft.value).to_owned();
            draft.when(past)
        })
        .collect()
}

fn without_the(thing: &str) -> &str {
    thing.strip_prefix("the ").unwrap_or(thing)
}

fn only_child(_: &Said<'_>, _: &Captures<'_>) -> Vec<Draft> {
    vec![Draft::new(Predicate::Family, "sibling").denied(true)]
}

fn marital(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let getting = said.rest.to_lowercase();
    let past = getting.starts_with("was ").then_some(When::Past);
    one(part(captures, "v").map(|state| Draft::new(Predicate::MaritalStatus, state.to_lowercase()).when(past)))
}

static COUNTED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<n>an?|one|two|three|four|five|six|seven|\d{1,2}|no|any|another|some)?\s*(?:(?:older|elder|younger|little|big|baby|twin|small|large|black|white|orange|brown|cute|beautiful|lovely|wonderful|grown|adorable|old|young|new|tabby|rescue|pet|golden|gray|grey|fluffy|amazing|great|year-old|\d+-year-old)\s+)*(?P<what>guinea pigs?|golden retrievers?|german shepherds?|[a-zé-]+)(?:,? (?:named|called|whose name is|who is called|who is named) (?P<name>.+?))?(?: (?:who|that|at home|and we|and he|and she|in|from|with|together|when|for|since|back).*)?$",
    )
});

/// Family or pets that somebody has: "two daughters", "a cat named Milo and a dog".
fn has(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    static AND: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)\s*,?\s+and\s+(?P<head>(?:a|an|one|two|three|four|\d)\s)|\s*,\s*(?P<head2>(?:a|an|one|two|three|four|\d)\s)",
        )
    });
    let list = part(captures, "v").unwrap_or_default();
    let mut items = Vec::new();
    let mut start = 0;
    for joint in AND.captures_iter(list) {
        let (Some(whole), Some(head)) = (joint.get(0), joint.name("head").or_else(|| joint.name("head2"))) else {
            continue;
        };
        items.push(list.get(start..whole.start()).unwrap_or_default());
        start = head.start();
    }
    items.push(list.get(start..).unwrap_or_default());
    items.into_iter().flat_map(|item| relative_or_pet(said, item)).collect()
}

fn relative_or_pet(said: &Said<'_>, item: &str) -> Vec<Draft> {
    let Some(counted) = COUNTED.captures(item.trim()) else { return Vec::new() };
    let what = counted.name("what").map_or("", |what| what.as_str());
    let count = counted.name("n").map(|count| count.as_str().to_lowercase());
    let none = count.as_deref() == Some("no");
    let kin = kin::english(what).filter(|relation| kin::is_family(relation));
    let pet = lexicon::pet(what);
    let adopted = said.rest.to_lowercase().contains("adopted");
    let (predicate, kind) = match (kin, pet) {
        (Some(kin), _) if !adopted => (Predicate::Family, kin),
        (_, Some(pet)) => (Predicate::Pet, pet),
        _ if what.eq_ignore_ascii_case("pets") && (none || said.setting.negated) => (Predicate::Pet, "pet"),
        _ => return Vec::new(),
    };
    if count.is_none() && !said.setting.negated && !what.ends_with('s') && what != "children" {
        return Vec::new();
    }
    let number = count.as_deref().and_then(english_number).filter(|number| *number > 1);
    let past = said
        .rest
        .to_lowercase()
        .starts_with("had ")
        .then_some(When::Past)
        .or_else(|| past(said, &counted).filter(|_| said.rest.starts_with("owned")));
    let mut found =
        vec![Draft::new(predicate, kind).detail(number.map(|number| number.to_string())).denied(none).when(past)];
    let name = counted.name("name").and_then(|name| english_name(name.as_str())).filter(|_| number.is_none());
    let subject = Subject::Relative { relation: kind.to_owned(), name: None };
    found.extend(name.map(|name| Draft::new(Predicate::Name, name).of(subject).undeniable()));
    found
}

fn pet_is_gone(said: &Said<'_>, _: &Captures<'_>) -> Vec<Draft> {
    let Subject::Relative { relation, .. } = said.subject else { return Vec::new() };
    let pet = lexicon::PETS.iter().any(|(_, kind)| kind == relation);
    one(pet.then(|| Draft::new(Predicate::Pet, relation.clone()).of(Subject::Speaker).when(Some(When::Past))))
}

fn years(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let number = part(captures, "n").and_then(english_number);
    let lower = said.rest.to_lowercase();
    let coming = said.setting.coming
        || ["will ", "am turning", "is turning", "turn ", "am going", "am about", "turns"]
            .iter()
            .any(|start| lower.starts_with(start));
    let past = lower.starts_with("was ").then_some(When::Past);
    let plausible = captures.name("y").is_some() || number.is_some_and(|number| number >= 3);
    let when = if coming { Some(When::Future) } else { past };
    one(age(number)
        .filter(|_| plausible && !said.setting.negated)
        .map(|years| Draft::new(Predicate::Age, years).when(when)))
}

fn home(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let when = if said.setting.coming { Some(When::Future) } else { past(said, captures) };
    one(place(captures, "v", Predicate::Home).map(|draft| draft.when(when)))
}

/// "Have lived": still, when it is said for how long.
fn lived(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    static STILL: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?i)\b(?:for|since|all my life|my (?:whole|entire) life)\b"));
    let still = STILL.is_match(said.rest) || said.rest.to_lowercase().contains("been living");
    let places = part(captures, "v")
        .map(|place| place.replace(" all my life", "").replace(" my whole life", "").replace(" my entire life", ""))
        .unwrap_or_default();
    let when = if still { When::Current } else { When::Past };
    one(english_place(&places).map(|place| Draft::new(Predicate::Home, place).when(Some(when))))
}

fn moved(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let verb = part(captures, "verb").unwrap_or_default().to_lowercase();
    let progressive = verb.ends_with("ing");
    let coming = captures.name("fut").is_some() || said.setting.coming || progressive;
    let stays =
        ["move", "moves", "relocate"].contains(&verb.as_str()) && !coming && said.setting.when != Some(When::Past);
    if said.setting.negated || stays {
        return Vec::new();
    }
    let Some(to) = place(captures, "v", Predicate::Home) else { return Vec::new() };
    let vague = |place: &str| {
        ["a ", "the ", "my ", "our ", "another", "new "].iter().any(|start| place.to_lowercase().starts_with(start))
            && !place.chars().any(char::is_uppercase)
    };
    if vague(&to.value) {
        return Vec::new();
    }
    let from = place(captures, "from", Predicate::Home)
        .map(|from| from.when(Some(if coming { When::Current } else { When::Past })));
    from.into_iter().chain([to.when(Some(if coming { When::Future } else { When::Current }))]).collect()
}

fn occupation(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let vague = |draft: &Draft| {
        [
            "very",
            "so",
            "really",
            "pretty",
            "hard",
            "stressful",
            "great",
            "good",
            "boring",
            "killing",
            "going",
            "fun",
            "not",
            "demanding",
            "too",
        ]
        .contains(&draft.value.split_whitespace().next().unwrap_or_default().to_lowercase().as_str())
    };
    one(thing(captures, Predicate::Job).filter(|draft| !vague(draft)))
}

/// A trade, cut before what else is said of it.
fn trade_in(phrase: &str) -> Option<String> {
    static END: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i),| (?:at|for|in|with|by|who|and|from|on|working|to|but|here|now|specializing|specialising|since|of)\b",
        )
    });
    let end = END.find(phrase).map_or(phrase.len(), |end| end.start());
    let words = phrase.get(..end)?.trim().trim_end_matches(|c: char| !c.is_alphanumeric());
    let words =
        ["very good ", "good ", "great ", "terrible ", "bad ", "proud ", "full-time ", "part-time ", "retired "]
            .iter()
            .find_map(|start| words.to_lowercase().starts_with(start).then(|| words.get(start.len()..)).flatten())
            .unwrap_or(words);
    (words.split_whitespace().count() <= 5 && lexicon::is_english_trade(words)).then(|| words.to_owned())
}

/// Whether a phrase ends in such words as "at Google": then that is where.
fn employer_in(phrase: &str) -> Option<String> {
    static AT: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i) (?:at|for) (?P<w>.+)$"));
    let employer = AT.captures(phrase)?.name("w")?.as_str().to_owned();
    english_place(&employer).filter(|employer| {
        employer.split_whitespace().count() <= 5
            && !employer.to_lowercase().ends_with("years")
            && !employer.chars().next().is_some_and(|c| c.is_ascii_digit())
    })
}

fn trade(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let phrase = part(captures, "v").unwrap_or_default();
    let past = said.rest.to_lowercase().starts_with("was ").then_some(When::Past);
    let Some(job) = trade_in(phrase) else { return Vec::new() };
    let student = job.to_lowercase().ends_with("student") || job.eq_ignore_ascii_case("undergraduate");
    let place = if student { Predicate::School } else { Predicate::Workplace };
    let employer = employer_in(phrase).map(|employer| Draft::new(place, employer).when(past));
    [Draft::new(Predicate::Job, job).when(past)].into_iter().chain(employer).collect()
}

fn work_as(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let past = past(said, captures);
    let job = part(captures, "j")
        .and_then(english_thing)
        .filter(|job| job.split_whitespace().count() <= 5)
        .map(|job| Draft::new(Predicate::Job, job).when(past));
    let Some(job) = job else { return Vec::new() };
    let employer =
        part(captures, "w").and_then(employer).map(|employer| Draft::new(Predicate::Workplace, employer).when(past));
    [job].into_iter().chain(employer).collect()
}

fn employer(phrase: &str) -> Option<String> {
    let vague = [
        "home",
        "night",
        "nights",
        "a living",
        "myself",
        "it",
        "this",
        "that",
        "the moment",
        "progress",
        "a way",
        "the morning",
        "mornings",
        "shifts",
        "a team",
        "teams",
        "person",
        "free",
        "the garden",
        "the weekend",
        "weekends",
        "hours",
        "long",
        "my favor",
    ];
    let phrase = english_place(phrase)?;
    let lower = phrase.to_lowercase();
    (!vague.iter().any(|vague| lower == *vague)
        && !lower.starts_with(|c: char| c.is_ascii_digit())
        && lower != "an hour")
        .then_some(phrase)
}

fn workplace(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let past = past(said, captures);
    let phrase = part(captures, "w").unwrap_or_default();
    let Some(employer) = employer(phrase) else { return Vec::new() };
    let job = part(captures, "j").and_then(english_thing).map(|job| Draft::new(Predicate::Job, job).when(past));
    [Draft::new(Predicate::Workplace, employer).when(past)].into_iter().chain(job).collect()
}

fn joined(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let phrase = part(captures, "w").unwrap_or_default();
    let capital = phrase.chars().next().is_some_and(char::is_uppercase);
    let job = said.rest.to_lowercase().contains("job") || said.rest.to_lowercase().contains("working");
    let club = ["gym", "club", "class", "group", "team"].iter().any(|word| phrase.to_lowercase().contains(word));
    let employer = employer(phrase)
        .filter(|_| (capital || job) && !club)
        .map(|employer| Draft::new(Predicate::Workplace, employer));
    let job = part(captures, "j").and_then(english_thing).map(|job| Draft::new(Predicate::Job, job));
    employer.into_iter().chain(job).collect()
}

fn left_job(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let phrase = part(captures, "w").unwrap_or_default();
    let as_trade = said.rest.to_lowercase().contains(" as ").then(|| trade_in(without_article(phrase))).flatten();
    let draft = as_trade
        .map(|job| Draft::new(Predicate::Job, job))
        .or_else(|| employer(phrase).map(|employer| Draft::new(Predicate::Workplace, employer)));
    one(draft.filter(|_| !said.setting.negated).map(|draft| draft.when(Some(When::Past))))
}

fn out_of_work(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let state = part(captures, "v").unwrap_or_default().to_lowercase();
    let state = if matches!(state.as_str(), "between jobs" | "out of work") { "unemployed".to_owned() } else { state };
    vec![Draft::new(Predicate::Job, state).when(Some(When::Current))]
}

fn owns(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(thing(captures, Predicate::Job).map(|mut draft| {
        draft.value = format!("owner of a {}", draft.value.trim_start_matches("my own "));
        draft
    }))
}

fn studies(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let past = past(said, captures);
    let subject = part(captures, "v").and_then(english_thing).filter(|subject| {
        !["hard", "abroad", "for", "the", "a", "my", "all"]
            .iter()
            .any(|word| subject.to_lowercase().split_whitespace().next() == Some(word))
    });
    let Some(subject) = subject else { return Vec::new() };
    let school =
        part(captures, "s").and_then(english_place).map(|school| Draft::new(Predicate::School, school).when(past));
    english_things(&subject)
        .into_iter()
        .map(|subject| Draft::new(Predicate::Studies, subject).when(past))
        .chain(school)
        .collect()
}

fn learning(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let found = studies(said, captures).into_iter().map(|draft| draft.when(Some(When::Current)));
    found
        .filter(|draft| draft.value.split_whitespace().count() <= 4 && !draft.value.to_lowercase().starts_with("more"))
        .collect()
}

fn school(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let when = past(said, captures);
    let school = part(captures, "s").and_then(english_thing).filter(|school| {
        !["the school", "my school", "my old school", "a school event", "school", "bed", "school today"]
            .contains(&school.to_lowercase().as_str())
            && school.split_whitespace().count() <= 6
    });
    one(school.map(|school| Draft::new(Predicate::School, without_article(&school)).when(when)))
}

fn graduated(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    one(part(captures, "s")
        .and_then(english_thing)
        .map(|school| Draft::new(Predicate::School, school).when(Some(When::Past))))
}

fn nation(_: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let known = part(captures, "v").filter(|word| lexicon::NATIONALITIES.contains(&word.to_lowercase().as_str()));
    one(known.map(|word| Draft::new(Predicate::Nationality, word)))
}

/// "I'm Anna": a word with a capital that is nothing else.
fn named(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    const OTHERS: &[&str] = &[
        "ok",
        "okay",
        "fine",
        "sorry",
        "sure",
        "happy",
        "sad",
        "tired",
        "christian",
        "muslim",
        "jewish",
        "buddhist",
        "catholic",
        "hindu",
        "american",
        "lgbtq",
        "gay",
        "bisexual",
        "trans",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "january",
        "god",
        "batman",
        "superman",
        "santa",
        "ai",
        "adhd",
        "team",
        "type",
        "aries",
        "taurus",
        "gemini",
        "cancer",
        "leo",
        "virgo",
        "libra",
        "scorpio",
        "sagittarius",
        "capricorn",
        "aquarius",
        "pisces",
        "european",
        "asian",
        "african",
        "latino",
        "latina",
        "hispanic",
        "jewish",
        "so",
        "very",
        "here",
        "done",
        "back",
        "in",
    ];
    let said_name = part(captures, "v").unwrap_or_default();
    let words: Vec<&str> = said_name.split_whitespace().collect();
    let capitals = (1..=2).contains(&words.len())
        && words.iter().all(|word| {
            let mut letters = word.chars();
            letters.next().is_some_and(char::is_uppercase)
                && letters.clone().count() > 0
                && letters.all(|c| c.is_lowercase() || matches!(c, '\'' | '-'))
        });
    let other = words.iter().any(|word| {
        OTHERS.contains(&word.to_lowercase().as_str()) || lexicon::NATIONALITIES.contains(&word.to_lowercase().as_str())
    });
    let fits = capitals && !other && !said.setting.negated && said.setting.when.is_none();
    one(fits.then(|| Draft::new(Predicate::Name, said_name)))
}

fn plan(said: &Said<'_>, captures: &Captures<'_>) -> Vec<Draft> {
    let will = said.rest.to_lowercase().starts_with("will ");
    let what = part(captures, "v").unwrap_or_default();
    let said_when = said.setting.coming || said.setting.when == Some(When::Future);
    let big = [
        "move",
        "get married",
        "have a baby",
        "visit",
        "travel",
        "study",
        "start",
        "buy",
        "quit",
        "retire",
        "apply",
        "go to",
        "run a",
        "learn",
        "adopt",
        "change jobs",
        "graduate",
    ]
    .iter()
    .any(|start| what.to_lowercase().starts_with(start));
    let fits = !said.setting.negated && big && (!will || said_when);
    one(fits
        .then(|| english_thing(what))
        .flatten()
        .map(|plan| Draft::new(Predicate::Plan, plan).when(Some(When::Future))))
}
