use super::*;

fn shown(sentence: &str) -> String {
    let parsed = RuleParser.parse(sentence, Language::of(sentence)).expect("short enough");
    let word = |token: &Token| {
        let head = token.head.and_then(|head| parsed.tokens.get(head)).map_or("-", |head| head.text.as_str());
        format!("{} {} < {head}", token.text, token.deprel)
    };
    parsed.tokens.iter().filter(|token| token.upos != Upos::Punct).map(word).collect::<Vec<_>>().join("; ")
}

#[test]
fn plain_statements_become_trees() {
    insta::assert_snapshot!(
        [
            "Anna bought a red car in Berlin.",
            "The house was built by my uncle.",
            "My sister is a nurse and lives in Rome.",
            "小明在北京买了一辆车。",
            "我妈妈是护士。",
        ]
        .map(shown)
        .join("\n"),
        @r#"
        Anna nsubj < bought; bought root < -; a det < car; red amod < car; car obj < bought; in case < Berlin; Berlin obl < bought
        The det < house; house nsubj:pass < built; was aux < built; built root < -; by case < uncle; my det < uncle; uncle obl < built
        My det < sister; sister nsubj < nurse; is cop < nurse; a det < nurse; nurse root < -; and cc < lives; lives conj < nurse; in case < Rome; Rome obl < lives
        小明 nsubj < 买; 在 case < 北京; 北京 obl < 买; 买 root < -; 了 aux < 买; 一辆车 obj < 买
        我 nmod < 妈妈; 妈妈 nsubj < 护士; 是 cop < 护士; 护士 root < -
        "#
    );
}

#[test]
fn the_language_is_that_of_most_words() {
    assert_eq!(Language::of("我用Python写程序"), Language::Chinese);
    assert_eq!(Language::of("The word 你好 means hello in the Chinese language"), Language::English);
    assert_eq!(Language::of("123"), Language::English);
}

proptest::proptest! {
    #[test]
    fn every_word_of_any_sentence_reaches_the_root(sentence in "(我|的|在|是|买|车|和|Anna |is |the |of |bought |who |to |and |, |\\PC){0,30}") {
        for language in [Language::Chinese, Language::English] {
            let Ok(parsed) = RuleParser.parse(&sentence, language) else { continue };
            for (at, token) in parsed.tokens.iter().enumerate() {
                proptest::prop_assert_eq!(sentence.get(token.span.clone()), Some(token.text.as_str()));
                let (mut at, mut steps) = (at, 0);
                while let Some(head) = parsed.tokens.get(at).and_then(|token| token.head) {
                    (at, steps) = (head, steps + 1);
                    proptest::prop_assert!(steps <= parsed.tokens.len());
                }
            }
        }
    }
}
