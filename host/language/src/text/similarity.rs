//! How alike two short texts are written.

use std::collections::HashSet;

use super::fold;

/// The share of neighbouring character pairs that two texts have in common, of all pairs either has: 1 for texts that are
/// equal when folded and without space and punctuation, 0 where nothing is shared. A text of one character counts as a
/// pair of its own.
#[must_use]
pub fn bigram_jaccard(a: &str, b: &str) -> f64 {
    let (a, b) = (pairs(a), pairs(b));
    let common = a.intersection(&b).count();
    let all = a.len() + b.len() - common;
    if all == 0 { 0.0 } else { common as f64 / all as f64 }
}

fn pairs(text: &str) -> HashSet<(char, Option<char>)> {
    let characters: Vec<char> = fold(text).chars().filter(|c| c.is_alphanumeric()).collect();
    match characters.as_slice() {
        [single] => HashSet::from([(*single, None)]),
        characters => characters.iter().zip(characters.iter().skip(1)).map(|(a, b)| (*a, Some(*b))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spellings_of_one_name_are_alike() {
        assert!((bigram_jaccard("Wi-Fi", "ＷＩＦＩ") - 1.0).abs() < f64::EPSILON);
        assert!(bigram_jaccard("北京大学", "北京大学图书馆") > 0.4);
        assert!(bigram_jaccard("猫", "狗") < f64::EPSILON);
    }

    proptest! {
        #[test]
        fn likeness_is_mutual_and_a_share(a in any::<String>(), b in any::<String>()) {
            let likeness = bigram_jaccard(&a, &b);
            prop_assert!((0.0..=1.0).contains(&likeness));
            prop_assert!((likeness - bigram_jaccard(&b, &a)).abs() < f64::EPSILON);
        }
    }
}
