//! A message as clauses that state something: without what is quoted, asked, imagined or only passed on.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use unicode_normalization::UnicodeNormalization as _;

use super::fact::Subject;
use crate::text;

/// Longer sentences are no talk: tables, logs, text without full stops.
const LONGEST: usize = 400;

/// Stands for text that is somebody else's.
const MASK: char = '\u{fffc}';

/// Whom the talk is of, from clause to clause.
#[derive(Debug, Default)]
pub(super) struct Thread {
    /// Whom the last clause stated something of: the next may leave the subject out.
    pub(super) carried: Option<Subject>,
    /// Whom "he", "she" or "it" means.
    pub(super) third: Option<Subject>,
    /// That the last clause was about likes, which "above all jazz" goes on with.
    pub(super) likes: bool,
}

/// A sentence in one spelling, with its place in the message.
pub(super) struct Sentence {
    /// Bytes of the message.
    pub(super) span: Range<usize>,
    clean: String,
}

/// A part of a sentence that states something.
pub(super) struct Clause {
    text: String,
    shape: String,
}

impl Clause {
    fn new(text: &str) -> Self {
        let text = text.trim().to_owned();
        let shape = text.chars().map(simplified).collect();
        Self { text, shape }
    }

    /// The clause in simplified characters, which the rules read.
    pub(super) fn shape(&self) -> &str {
        &self.shape
    }

    /// How a part of [`Self::shape`] was written. The two have the same length, as simplification is character by character
    /// within one length.
    pub(super) fn as_written(&self, part: &str) -> &str {
        let start = (part.as_ptr() as usize).wrapping_sub(self.shape.as_ptr() as usize);
        self.text.get(start..start.saturating_add(part.len())).unwrap_or_default()
    }

    /// Whether Chinese rules read it.
    pub(super) fn is_chinese(&self) -> bool {
        self.text.chars().any(is_han)
    }
}

/// Whether a character is Han.
pub(super) fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}')
}

/// The message with what is not the speaker's own masked: fenced code, quoted lines, and quotations that hold a statement.
/// It has the length of the original, byte by byte, and changes no other character.
pub(super) fn without_quotations(message: &str) -> String {
    let mut masked = String::with_capacity(message.len());
    let mut fenced = false;
    for line in message.split_inclusive('\n') {
        let begin = line.trim_start();
        let fence = begin.starts_with("```");
        if fence || fenced || begin.starts_with('>') {
            masked.extend(line.chars().map(mask));
        } else {
            mask_quotations(line, &mut masked);
        }
        fenced ^= fence;
    }
    masked
}

/// What stands between quotation marks is masked when it is somebody's sentence rather than a title or a name.
fn mask_quotations(line: &str, masked: &mut String) {
    let mut rest = line;
    while let Some((before, open, inside, close, after)) = next_quotation(rest) {
        masked.push_str(before);
        masked.push(open);
        let spoken = inside.chars().count() > 12
            || inside.contains('我')
            || inside.split(|c: char| !c.is_alphanumeric()).any(|word| matches!(word, "I" | "i" | "my" | "My"))
            || before.trim_end().ends_with(['说', '問', '问', '：', ':']);
        if spoken {
            masked.extend(inside.chars().map(mask));
        } else {
            masked.push_str(inside);
        }
        masked.push(close);
        rest = after;
    }
    masked.push_str(rest);
}

/// The first quotation of a line: what is before it, its marks with what is between them, and what is after.
fn next_quotation(line: &str) -> Option<(&str, char, &str, char, &str)> {
    let (start, open) = line.char_indices().find(|(_, c)| matches!(c, '“' | '"' | '「' | '『'))?;
    let close = match open {
        '“' => '”',
        '「' => '」',
        '『' => '』',
        _ => '"',
    };
    let inside = line.get(start + open.len_utf8()..)?;
    let end = inside.find(close)?;
    Some((line.get(..start)?, open, inside.get(..end)?, close, inside.get(end + close.len_utf8()..)?))
}

/// A character that shows nothing, of the length of another.
fn mask(c: char) -> char {
    match c.len_utf8() {
        _ if c == '\n' => c,
        1 => '\u{1a}',
        2 => '\u{9a}',
        3 => MASK,
        _ => '\u{1fffe}',
    }
}

/// The sentences of a masked message that may state something of the speaker's. After a request to translate, to rewrite or
/// to play a part, what follows is material.
pub(super) fn sentences(masked: &str) -> Vec<Sentence> {
    let start_of = |part: &str| (part.as_ptr() as usize).wrapping_sub(masked.as_ptr() as usize);
    let mut kept = Vec::new();
    for sentence in text::sentences(masked) {
        if sentence.chars().nth(LONGEST).is_some() {
            continue;
        }
        let clean = clean(sentence);
        if MATERIAL.is_match(&clean) {
            break;
        }
        let start = start_of(sentence);
        kept.push(Sentence { span: start..start + sentence.len(), clean });
    }
    kept
}

static MATERIAL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)翻译[一下成为:]|翻译(?:这|下)|译成|润色|改写|造句|扮演|假装|角色扮演|假设你|写(?:一)?[个篇首段].{0,12}(?:故事|小说|剧本|诗|歌词|台词)|\btranslat(?:e|ion)\b|\brephrase\b|\bparaphrase\b|\bproofread\b|\brewrite\b|\brole-?play|\bpretend\b|\bact as\b|\bwrite (?:me )?a (?:short )?(?:story|poem|song|scene|dialogue)|\bcorrect (?:this|my|the) (?:sentence|grammar)|\bin (?:the|my) (?:novel|story|game)\b|\blyrics?\b",
    )
});

/// One spelling: compatibility forms made plain, nothing invisible, straight apostrophes, single spaces.
fn clean(sentence: &str) -> String {
    let mut clean = String::with_capacity(sentence.len());
    for c in sentence.chars().nfkc() {
        match c {
            '\u{1a}' | '\u{9a}' | MASK | '\u{1fffe}' => clean.push(MASK),
            '’' | '‘' | 'ʼ' => clean.push('\''),
            '“' | '”' | '"' | '「' | '」' | '『' | '』' | '*' | '_' | '`' => {}
            '\u{ad}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' => {}
            c if c.is_whitespace() || c.is_control() => {
                if !clean.ends_with(' ') {
                    clean.push(' ');
                }
            }
            c => clean.push(c),
        }
    }
    clean
}

impl Sentence {
    /// The clauses that state something, in order.
    pub(super) fn clauses(&self) -> Vec<Clause> {
        let parts =
            if self.clean.chars().any(is_han) { chinese_parts(&self.clean) } else { english_parts(&self.clean) };
        let parts = stated(&parts, self.clean.trim_end().ends_with(['?', ')']) && self.clean.contains('?'));
        parts.into_iter().filter(|part| !part.contains(MASK)).map(Clause::new).collect()
    }
}

fn chinese_parts(sentence: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut characters = sentence.chars().peekable();
    let mut before = ' ';
    while let Some(c) = characters.next() {
        let next = characters.peek().copied().unwrap_or(' ');
        let thousands = c == ',' && before.is_ascii_digit() && next.is_ascii_digit();
        let splits = match c {
            ',' => !thousands,
            '。' | '!' | '?' | ';' | '~' | '—' | '…' | '(' | ')' | '|' => true,
            ' ' => is_han(before) && is_han(next),
            _ => false,
        };
        match parts.last_mut() {
            Some(part) if !splits => part.push(c),
            _ => parts.push(String::new()),
        }
        before = c;
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}

static ENGLISH_JOINT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\s*[;()]\s*|\s+[-–—]+\s+|\s*,?\s+(?:but|because|so|although|though|while|whereas|and then)\s+",
        r"|\s*(?:,\s*|,?\s+and\s+)(?P<head>(?:i|i'[a-z]+|my|he|she|he's|she's|we|we're|they|you|it|it's|this|that|there|can|could|do|does|did|are|is|am|what|where|who|which|when|why|how|would|will|please|thanks|right|don't|aren't|isn't|if|unless|never|not|live|lives|living|work|works|working|love|loves|like|likes|hate|hates|enjoy|enjoys|have|has|was|used|moved|study|studies|prefer|play|plays|speak|speaks|any|also|originally|currently|now|especially|in the)\b)",
    ))
});

/// Cuts where another clause begins, and nowhere within a list.
fn english_parts(sentence: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut start = 0;
    for joint in ENGLISH_JOINT.captures_iter(sentence) {
        let Some(whole) = joint.get(0) else { continue };
        parts.push(sentence.get(start..whole.start()).unwrap_or_default().to_owned());
        start = joint.name("head").map_or(whole.end(), |head| head.start());
    }
    parts.push(sentence.get(start..).unwrap_or_default().to_owned());
    parts.retain(|part| !part.trim().is_empty());
    parts
}

static CONDITION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)如果|要是|假如|假设|假使|倘若|倘使|若是|万一|的话$|除非|就算|哪怕|即使|即便|想象|想像|比方说|梦见|梦到|比如说我|的歌词",
        // "等我有钱了，我要住在海边": what waits for something else is not so yet.
        r"|有朝一日|总有一天|^等[^了待级于]\S{0,30}(?:了|后|时|时候|那天|那会儿)$",
        r"|^\W*(?:and |or |even |what |only |as )?(?:if|unless|suppose|supposing|imagine|pretend|assuming|assume|in case|let's say|let us say|say i|whether|i wish|i dreamed|i dreamt|i had a dream)\b",
    ))
});

static INNER_CONDITION: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\b(?:if|unless|as if|whether|as though|provided that|as long as)\b"));

/// A clause after which others' words or thoughts follow.
static PASSED_ON: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)^[^我俺].*(?:说|說|问|问我|告诉我|告訴我|表示|认为|觉得|以为|提到|回答|写道)[:]?$|^(?:听说|聽說|据说|據說|有人说|网上说|传说)|.(?:妈|爸|哥|姐|弟|妹|友|事|板|师|生|婆|公|爷|奶)(?:总|老|常)?(?:说|告诉我|觉得|认为)[:]?$",
        r"|^\W*(?:according to|apparently|rumor has it|rumour has it)\b|^\W*(?:[^i\W]|i\w).*\b(?:said|says|told me|asked|asks|thinks|claims|claimed|wrote|writes|tells me|insists)[:]?$",
    ))
});

static TAG: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:对吗|对吧|是吗|是吧|对不对|是不是|没错吧|不是吗|right|correct|yes|no|isn't it|wasn't it|don't i|doesn't (?:he|she|it)|do i|am i|aren't i|ain't i|didn't i|did i|wasn't i|was i|haven't i|isn't that right|is that right|huh|eh|you remember|remember|你记得吗|记得吗|你还记得吗)\W*$",
    )
});

static ASKING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)[你您]|有没有|有什么|能不能|可不可以|怎么|帮|推荐|哪|什么|好吗|行吗|可以吗|吗$|呢$|该|如何|为啥|咋",
        r"|^\W*(?:and |so |or |but |then )?(?:can|could|do|does|did|don't|doesn't|are|aren't|is|isn't|what|what's|where|where's|who|which|when|why|how|how's|would|will|should|shall|have|has|any|anything|you|got)\b",
    ))
});

/// The parts that state something. `asked`: the sentence ends with a question mark, and its last part asks.
fn stated(parts: &[String], asked: bool) -> Vec<&str> {
    let mut parts: Vec<&str> = parts.iter().map(|part| part.trim()).collect();
    if asked {
        let question = parts.pop().unwrap_or_default();
        if TAG.is_match(question) || !ASKING.is_match(question) {
            return Vec::new();
        }
    }
    let mut kept = Vec::new();
    for part in parts {
        if CONDITION.is_match(part) || PASSED_ON.is_match(part) {
            break;
        }
        if !INNER_CONDITION.is_match(part) {
            kept.push(part);
        }
    }
    kept
}

/// Compiles a pattern of this module's.
pub(super) fn pattern(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern that is part of the program")
}

/// The simplified form of those traditional characters that the rules have words with.
fn simplified(c: char) -> char {
    const PAIRS: &str = "歡欢愛爱討讨厭厌過过敏敏歲岁書书學学業业醫医師师員员護护媽妈爺爷奶奶個个隻只條条養养貓猫狗狗兒儿孫孙對对會会說说語语話话國国臺台灣湾來来從从現现經经沒没還还與与覺觉時时後后歷历當当職职辦办單单離离婚婚訂订結结親亲兩两幾几萬万這这裡里裏里什什麼么嗎吗們们聽听視视電电號号機机郵邮箱箱東东車车馬马鳥鸟魚鱼龜龟雞鸡鴨鸭彈弹鋼钢琴琴吉吉畫画遊游練练運运動动總总長长歌歌戲戏樂乐園园場场點点氣气漢汉課课讀读專专畢毕門门間间問问題题術术藝艺報报記记編编輯辑譯译導导遊游約约紐纽倫伦羅罗馬马蘭兰紹绍顧顾鐘钟頭头體体關关節节風风濕湿熱热煙烟醬酱麵面湯汤飯饭蝦虾蟹蟹魷鱿鹹咸誕诞華华鄉乡縣县鎮镇區区務务農农飛飞實实習习創创設设計计產产繼继續续應应該该請请讓让給给雙双鄰邻閨闺蜜蜜舊旧聖圣遷迁搬搬";
    static TABLE: LazyLock<std::collections::HashMap<char, char>> = LazyLock::new(|| {
        let characters: Vec<char> = PAIRS.chars().collect();
        characters.chunks_exact(2).filter_map(|pair| Some((*pair.first()?, *pair.get(1)?))).collect()
    });
    if is_han(c) { TABLE.get(&c).copied().unwrap_or(c) } else { c }
}
