//! What people ask a calculator, and what must never happen to it.

use homeagent_sdk::testing;
use proptest::prelude::*;

use super::*;

fn ask(tool: &str, arguments: &str) -> Result<String, Error> {
    testing::run(Calc::call(tool, Arguments::new(arguments), testing::cause())).map(|output| output.shown())
}

fn complaint(tool: &str, arguments: &str) -> String {
    match ask(tool, arguments) {
        Err(Error::Invalid(text)) => text,
        other => panic!("expected a complaint, got {other:?}"),
    }
}

#[test]
fn sums_are_exact() {
    for (arguments, sum) in [
        (r#"{"numbers": [0.1, 0.2]}"#, "0.3"),
        (r#"{"a": 0.1, "b": "0.20"}"#, "0.3"),
        (r#"{"numbers": [1, 2, 3, -6]}"#, "0"),
        (r#"{"numbers": [1.50, 1.50]}"#, "3"),
        (r#"{"a": 12345678901234567890123456789, "b": 1}"#, "12345678901234567890123456790"),
        (r#"{"a": 9007199254740993, "b": 0.0000000001}"#, "9007199254740993.0000000001"),
        (r#"{"a": 1e3, "b": "-1E-3"}"#, "999.999"),
        (r#"{"numbers": ["+7"]}"#, "7"),
        (r#"{"numbers": [], "a": 1, "b": 2}"#, "3"),
        (r#"{"a": -0.0, "b": 0}"#, "0"),
    ] {
        assert_eq!(ask("add", arguments), Ok(sum.to_owned()), "{arguments}");
    }
}

#[test]
fn numbers_beyond_a_floats_range_come_as_text() {
    let digits = "9".repeat(400);
    assert_eq!(ask("add", &format!(r#"{{"a": "{digits}", "b": 1}}"#)), Ok(format!("1{}", "0".repeat(400))));
    let most = "7".repeat(1_000);
    assert_eq!(ask("add", &format!(r#"{{"numbers": ["{most}"]}}"#)), Ok(most));
    assert_eq!(ask("mul", r#"{"numbers": ["1e400", "1e-399"]}"#), Ok("10".to_owned()));
    for tool in Calc::describe().tools {
        let schema: serde_json::Value = serde_json::from_str(&tool.parameters).expect("the schema is JSON");
        let places = ["/properties/a", "/properties/b", "/properties/numbers/items"];
        let numbers: Vec<_> = places.iter().filter_map(|place| schema.pointer(place)).collect();
        assert_eq!(numbers.len(), if tool.name == "compare" { 2 } else { 3 }, "{schema}");
        for number in numbers {
            let types = number["type"].as_array().expect("several types");
            assert!(types.contains(&"number".into()) && types.contains(&"string".into()), "{number}");
            assert!(number["description"].as_str().is_some_and(|said| said.contains("as text")), "{number}");
        }
    }
}

#[test]
fn products_are_exact_and_written_out() {
    for (arguments, product) in [
        (r#"{"numbers": [1.1, 1.1]}"#, "1.21"),
        (r#"{"a": 1000000000000, "b": 1000000000000}"#, "1000000000000000000000000"),
        (r#"{"a": 0.00000001, "b": 0.00000001}"#, "0.0000000000000001"),
        (r#"{"a": 123456789, "b": 987654321}"#, "121932631112635269"),
        (r#"{"a": 0, "b": 1e1000}"#, "0"),
    ] {
        assert_eq!(ask("mul", arguments), Ok(product.to_owned()), "{arguments}");
    }
}

#[test]
fn comparing_says_both_numbers() {
    for (arguments, answer) in [
        (r#"{"a": 9.9, "b": 9.11}"#, "9.9 > 9.11"),
        (r#"{"a": "1.0", "b": 1}"#, "1 = 1"),
        (r#"{"a": -2, "b": 0.1}"#, "-2 < 0.1"),
    ] {
        assert_eq!(ask("compare", arguments), Ok(answer.to_owned()), "{arguments}");
    }
}

#[test]
fn a_complaint_names_the_argument_and_what_was_given() {
    for (tool, arguments, said) in [
        ("add", r#"{"numbers": [1, "two"]}"#, r#"argument `numbers[1]`: "two" is not a number"#),
        ("add", r#"{"a": 1}"#, "argument `b` is missing: `a` was given alone"),
        ("add", "{}", "no number was given: give `numbers`, a list, or `a` and `b`"),
        (
            "mul",
            r#"{"a": "1,000", "b": 2}"#,
            r#"argument `a`: "1,000" is not a number; leave out commas between digits"#,
        ),
        ("mul", r#"{"a": [1], "b": 2}"#, "argument `a`: [1] is not a number"),
        ("add", r#"{"numbers": [1], "a": 2}"#, "give either `numbers` or `a` and `b`, not both"),
        ("add", r#"{"numbers": 5}"#, "argument `numbers`: invalid type: integer `5`, expected a sequence"),
        ("compare", r#"{"a": 1}"#, "missing field `b`"),
        ("compare", r#"{"a": true, "b": 1}"#, "argument `a`: true is not a number"),
        ("compare", r#"{"a": "", "b": 1}"#, r#"argument `a`: "" is not a number"#),
    ] {
        assert_eq!(complaint(tool, arguments), said, "{arguments}");
    }
    assert!(matches!(ask("div", "{}"), Err(Error::NotFound(_))));
}

#[test]
fn what_would_produce_megabytes_is_refused() {
    assert!(complaint("add", r#"{"a": 1e999999999, "b": 1}"#).contains("has an exponent beyond 1000"));
    assert!(complaint("add", r#"{"a": "1e-99999999999999999999", "b": 1}"#).contains("has an exponent beyond 1000"));
    let long = format!(r#"{{"a": {}, "b": 1}}"#, "9".repeat(1_001));
    assert!(complaint("mul", &long).contains("has more than 1000 digits"));
    let many = format!(r#"{{"numbers": [{}]}}"#, ["1e1000"; 11].join(","));
    assert!(complaint("mul", &many).contains("10000 are the most"));
    let small = format!(r#"{{"numbers": [{}]}}"#, ["1e-1000"; 11].join(","));
    assert!(complaint("mul", &small).contains("10000 are the most"));
    let crowd = format!(r#"{{"numbers": [{}]}}"#, ["1"; 1_001].join(","));
    assert!(complaint("add", &crowd).contains("1000 are the most"));
}

#[test]
fn everyone_may_calculate() {
    let tools = Calc::describe().tools;
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["add", "mul", "compare"]);
    assert!(
        tools.iter().all(|tool| tool.stateless && tool.min_role == Some(Role::Guest) && tool.effect == Effect::Read)
    );
    assert!(tools[0].parameters.contains(r#"["number","string"]"#), "{}", tools[0].parameters);
}

proptest! {
    #[test]
    fn whole_numbers_add_and_multiply_as_integers_do(a in any::<i64>(), b in any::<i64>()) {
        let arguments = format!(r#"{{"a": {a}, "b": "{b}"}}"#);
        prop_assert_eq!(ask("add", &arguments), Ok((i128::from(a) + i128::from(b)).to_string()));
        prop_assert_eq!(ask("mul", &arguments), Ok((i128::from(a) * i128::from(b)).to_string()));
    }

    #[test]
    fn hundredths_add_as_integers_do(cents in prop::collection::vec(-1_000_000_i64..1_000_000, 1..20)) {
        let written: Vec<_> = cents.iter().map(|cents| format!("{cents}e-2")).collect();
        let sum = ask("add", &format!(r#"{{"numbers": [{}]}}"#, written.join(","))).expect("numbers add");
        let read = ask("mul", &format!(r#"{{"a": {sum}, "b": 100}}"#));
        prop_assert_eq!(read, Ok(cents.iter().sum::<i64>().to_string()));
    }

    #[test]
    fn no_digit_is_lost(whole in "[1-9][0-9]{0,60}", fraction in "[0-9]{0,60}[1-9]") {
        let number = format!("{whole}.{fraction}");
        prop_assert_eq!(ask("add", &format!(r#"{{"numbers": [{number}]}}"#)), Ok(number.clone()));
        prop_assert_eq!(ask("mul", &format!(r#"{{"a": 1, "b": "{number}"}}"#)), Ok(number));
    }

    #[test]
    fn whatever_is_given_the_answer_is_short(a in "\\PC{0,30}", b in "-?[0-9]{1,20}(\\.[0-9]{1,20})?([eE][-+]?[0-9]{1,6})?") {
        let arguments = serde_json::json!({ "a": a, "b": b }).to_string();
        for tool in ["add", "mul", "compare"] {
            let answer = ask(tool, &arguments).unwrap_or_else(|error| error.message());
            prop_assert!(answer.len() < 11_000);
        }
    }

    #[test]
    fn comparing_agrees_with_subtracting(a in any::<i32>(), b in any::<i32>()) {
        let answer = ask("compare", &format!(r#"{{"a": {a}e-3, "b": {b}e-3}}"#)).expect("numbers compare");
        let sign = if a < b { "<" } else if a == b { "=" } else { ">" };
        prop_assert!(answer.contains(&format!(" {sign} ")), "{}", answer);
    }
}
