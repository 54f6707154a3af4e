//! Talk of a home, made up from a seed: Chinese and English, with words as unevenly frequent as in real talk.

use homeagent_memory::index::{Passage, PassageKind};
use homeagent_types::Audience;

/// How many numbers a vector has, as those of small sentence models.
pub(crate) const DIMENSIONS: usize = 384;

/// How many words there are of each language.
const WORDS: u64 = 30_000;
const SPEAKERS: [&str; 5] = ["李明", "王芳", "Ann", "Ben", "奶奶"];

/// Splitmix64 (Steele, Lea and Flood, 2014): a word from each state.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The rank of a word: the second is half as frequent as the first, the third a third.
    fn rank(&mut self) -> u64 {
        ((WORDS as f64).powf(self.share()) - 1.0) as u64
    }
}

/// A word of this rank.
fn word(rank: u64, chinese: bool) -> String {
    let mut random = Random::seeded(rank * 2 + u64::from(chinese));
    if chinese {
        // The 3,000 characters from 一 on stand for those in use.
        let length = if rank < 60 { 1 } else { 2 };
        return (0..length).filter_map(|_| char::from_u32(0x4e00 + random.below(3000) as u32)).collect();
    }
    let syllables = 1 + rank.checked_ilog(30).unwrap_or_default();
    let syllable = |random: &mut Random| {
        let consonant = char::from(b"bcdfghjklmnpqrstvwz"[random.below(19) as usize]);
        let vowel = char::from(b"aeiou"[random.below(5) as usize]);
        format!("{consonant}{vowel}")
    };
    (0..=syllables).map(|_| syllable(&mut random)).collect()
}

fn text(random: &mut Random, words: u64, chinese: bool) -> String {
    let words: Vec<String> = (0..words).map(|_| word(random.rank(), chinese)).collect();
    words.join(if chinese { "" } else { " " })
}

/// Passage number `number`: two of three Chinese, twenty to a session, in one of nine conversations.
pub(crate) fn passage(number: u64) -> Passage {
    let mut random = Random::seeded(number);
    let length = 4 + random.below(16);
    let chinese = random.below(3) > 0;
    let conversation = number / 20 % 9;
    Passage {
        kind: if number.is_multiple_of(2) { PassageKind::Said } else { PassageKind::Answered },
        origin: number.to_string(),
        part: 0,
        conversation: format!("qq:{conversation}"),
        session: (number / 180).to_string(),
        position: number as i64,
        speaker: SPEAKERS[random.below(5) as usize].to_owned(),
        audience: Audience::Person(format!("qq:{conversation}")),
        at_ms: 1_600_000_000_000 + number as i64 * 200_000,
        text: text(&mut random, length, chinese),
    }
}

/// A question: some words of a passage among the first `count`, and some others; now and then of somebody or some time.
pub(crate) fn question(number: u64, count: u64) -> (String, Vec<f32>) {
    let mut random = Random::seeded(u64::MAX - number);
    let about = random.below(count);
    let chinese = random.below(3) > 0;
    let mut question = passage(about).text.chars().take(12).collect::<String>();
    question.push(' ');
    question.push_str(&text(&mut random, 3, chinese));
    match random.below(6) {
        0 => question.push_str(" 上周"),
        1 => question.push_str(" Ann"),
        _ => {}
    }
    (question, vector(about, number))
}

/// A vector near the topic of a passage. As a sentence model's, all lie around one direction.
pub(crate) fn vector(number: u64, noise: u64) -> Vec<f32> {
    let (mut topic, mut own) = (Random::seeded(number % 997), Random::seeded(number ^ (noise << 32)));
    let mut common = Random::seeded(1);
    let part = |random: &mut Random| random.share() as f32 - 0.5;
    (0..DIMENSIONS).map(|_| 1.5 * part(&mut common) + part(&mut topic) + part(&mut own)).collect()
}
