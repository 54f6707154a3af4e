use std::sync::Arc;

use homeagent_settings::{Decision, Given, Grants};
use serde_json::json;

use crate::home::Home;

fn some() -> Given {
    let details = json!({ "hosts": ["api.example.com"] });
    Given { details: details.as_object().expect("an object").clone(), to: Some("unsigned".into()) }
}

fn given() -> Decision {
    Decision::Given(Arc::new(some()))
}

#[test]
fn what_is_given_and_taken_away_is_known_after_a_restart() {
    let home = Home::new();
    let grants = Grants::open(&home.database()).expect("opens");
    grants.grant("web", "http", some()).expect("grants");
    grants.grant("web", "timers", some()).expect("grants");
    grants.revoke("web", "timers").expect("revokes");
    grants.revoke("cli", "output").expect("revokes what was never given");
    for grants in [&grants, &Grants::open(&home.database()).expect("opens")] {
        assert_eq!(grants.decided("web", "http"), Some(given()));
        assert_eq!(grants.decided("web", "timers"), Some(Decision::Taken));
        assert_eq!(grants.decided("cli", "output"), Some(Decision::Taken));
        assert_eq!(grants.decided("web", "files"), None);
    }
    grants.grant("cli", "output", some()).expect("grants again");
    assert_eq!(Grants::open(&home.database()).expect("opens").decided("cli", "output"), Some(given()));
}

#[test]
fn a_damaged_row_gives_nothing_whichever_it_was_and_is_said() {
    for detail in
        ["'{\"hosts\": '", "CAST(x'fffe' AS TEXT)", "''", "'5'", "'[]'", "'null'", "'{\"details\":[]}'", "'{\"to\":5}'"]
    {
        let home = Home::new();
        let grants = Grants::open(&home.database()).expect("opens");
        grants.grant("web", "http", some()).expect("grants");
        grants.grant("good", "http", some()).expect("grants");
        grants.revoke("cli", "output").expect("revokes");
        home.tamper(&format!("UPDATE grants SET detail = {detail} WHERE plugin <> 'good'"));
        let database = home.database();
        let grants = Grants::open(&database).expect("opens");
        assert_eq!(grants.decided("web", "http"), Some(Decision::Taken), "{detail}");
        assert_eq!(grants.decided("cli", "output"), Some(Decision::Taken), "{detail}");
        assert_eq!(grants.decided("good", "http"), Some(given()), "{detail}");
        let remarks = database.take_remarks();
        assert_eq!(remarks.len(), 2, "{remarks:?}");
        for command in ["waiter plugin grant web http", "waiter plugin grant cli output"] {
            assert!(remarks.iter().any(|remark| remark.contains(command)), "{detail}: {remarks:?}");
        }
    }
}

#[test]
fn a_row_that_does_not_tell_whose_it_is_is_said() {
    let home = Home::new();
    Grants::open(&home.database()).expect("opens").grant("web", "http", some()).expect("grants");
    home.tamper("UPDATE grants SET plugin = CAST(x'fffe' AS TEXT)");
    let database = home.database();
    Grants::open(&database).expect("opens");
    let remarks = database.take_remarks();
    assert!(remarks.iter().any(|remark| remark.contains("waiter plugin list")), "{remarks:?}");
}

#[test]
fn what_a_removed_plugin_was_given_is_forgotten_and_what_was_taken_from_its_name_is_not() {
    let home = Home::new();
    let grants = Grants::open(&home.database()).expect("opens");
    grants.grant("calc", "http", some()).expect("grants");
    grants.revoke("calc", "tools").expect("revokes");
    grants.grant("web", "http", some()).expect("grants");
    grants.forget("calc").expect("forgets");
    for grants in [&grants, &Grants::open(&home.database()).expect("opens")] {
        assert_eq!(grants.decided("calc", "http"), None);
        assert_eq!(grants.decided("calc", "tools"), Some(Decision::Taken));
        assert_eq!(grants.decided("web", "http"), Some(given()));
    }
}

#[test]
fn what_was_given_before_details_were_kept_is_given_without_any_and_to_nobody_in_particular() {
    let home = Home::new();
    Grants::open(&home.database()).expect("opens").grant("web", "http", some()).expect("grants");
    home.tamper("UPDATE grants SET detail = '{}'");
    let grants = Grants::open(&home.database()).expect("opens");
    assert_eq!(grants.decided("web", "http"), Some(Decision::Given(Arc::default())));
}
