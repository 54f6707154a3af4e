use super::*;
use crate::parse::RuleParser;

fn stated(text: &str) -> Vec<String> {
    let found = triples(text, &RuleParser);
    found
        .iter()
        .map(|Fused { triple, spans }| {
            format!(
                "{}{} | {} | {} x{}",
                if triple.negated { "not " } else { "" },
                triple.subject,
                triple.predicate,
                triple.object,
                spans.len()
            )
        })
        .collect()
}

#[test]
fn statements_are_read_off_sentences() {
    insta::assert_snapshot!(
        [
            "Anna bought a red car in Berlin.",
            "The house was built by my uncle in 1990.",
            "My sister is a nurse and lives in Rome.",
            "Tom does not like cats.",
            "Marie Curie, a physicist, won two prizes.",
            "小明买了一辆红色的车。",
            "我妈妈在医院工作。",
            "张三是老师。",
            "小李不喜欢香菜。",
        ]
        .map(|sentence| format!("{sentence}\n  {}", stated(sentence).join("\n  ")))
        .join("\n"),
        @r#"
        Anna bought a red car in Berlin.
          Anna | bought | a red car x1
          Anna | bought a red car in | Berlin x1
        The house was built by my uncle in 1990.
          The house | was built by | my uncle x1
          The house | was built in | 1990 x1
        My sister is a nurse and lives in Rome.
          My sister | is | a nurse x1
          My sister | lives in | Rome x1
        Tom does not like cats.
          not Tom | like | cats x1
        Marie Curie, a physicist, won two prizes.
          Marie Curie | is | a physicist x1
          Marie Curie | won | two prizes x1
        小明买了一辆红色的车。
          小明 | 买 | 一辆红色的车 x1
        我妈妈在医院工作。
          我妈妈 | 工作在 | 医院 x1
        张三是老师。
          张三 | 是 | 老师 x1
        小李不喜欢香菜。
          not 小李 | 喜欢 | 香菜 x1
        "#
    );
}

#[test]
fn what_is_not_certain_states_nothing() {
    for sentence in [
        "Did Anna buy a car?",
        "If Anna buys a car, Tom will drive it.",
        "Anna might buy a car.",
        "He bought a car.",
        "Tom said Anna bought a car.",
        "如果小明买车，小红会开车。",
        "等我有钱了，我要住在西安",
        "等我退休了，我就住在大理。",
        "要是中了彩票，我就住在三亚。",
        "我想住在昆明",
        "If I win the lottery I'll live in Lisbon.",
        "When I'm rich I'll live in Lisbon.",
        "Once I retire, I will live in Lisbon.",
        "小明买车了吗？",
        "他买了一辆车。",
        "“小明买了车”，小红说。",
        "Thank you!",
        "谢谢你。",
    ] {
        assert_eq!(stated(sentence), Vec::<String>::new(), "{sentence}");
    }
}

#[test]
fn the_same_statement_counts_its_sentences() {
    let text = "Anna owns a dog. Tom owns a cat. Anna owns the dog!";
    let found = triples(text, &RuleParser);
    let dog = found.iter().find(|fused| fused.triple.object.contains("dog")).expect("the dog");
    let sentences: Vec<&str> = dog.spans.iter().filter_map(|span| text.get(span.clone())).collect();
    assert_eq!(sentences, ["Anna owns a dog.", "Anna owns the dog!"]);
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_without_harm(text in "(我|的|在|是|买|车|和|。|，|Anna |is |the |of |bought |who |, |\\. |\\PC){0,40}") {
        for Fused { spans, .. } in triples(&text, &RuleParser) {
            for span in spans {
                proptest::prop_assert!(text.get(span).is_some());
            }
        }
    }
}

#[test]
fn a_time_before_a_subject_is_no_part_of_its_name() {
    for (said, subject) in [
        ("Last summer Anna moved to Wroclaw.", "Anna"),
        ("Yesterday Tom bought a kettle.", "Tom"),
        ("Every Friday my brother visits Prague.", "brother"),
    ] {
        let found = triples(said, &RuleParser);
        assert!(!found.is_empty(), "{said}");
        for Fused { triple, .. } in &found {
            assert!(triple.subject.ends_with(subject) && !triple.subject.contains("ast summer"), "{said}: {triple:?}");
            assert!(!triple.subject.to_lowercase().starts_with("yesterday"), "{said}: {triple:?}");
        }
    }
}
