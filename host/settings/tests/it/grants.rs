use homeagent_settings::Grants;

use crate::home::Home;

#[test]
fn what_is_given_and_taken_away_is_known_after_a_restart() {
    let home = Home::new();
    let grants = Grants::open(&home.database()).expect("opens");
    grants.grant("web", "http").expect("grants");
    grants.grant("web", "timers").expect("grants");
    grants.revoke("web", "timers").expect("revokes");
    grants.revoke("cli", "output").expect("revokes what was never given");
    for grants in [&grants, &Grants::open(&home.database()).expect("opens")] {
        assert_eq!(grants.decided("web", "http"), Some(true));
        assert_eq!(grants.decided("web", "timers"), Some(false));
        assert_eq!(grants.decided("cli", "output"), Some(false));
        assert_eq!(grants.decided("web", "files"), None);
    }
    grants.grant("cli", "output").expect("grants again");
    assert_eq!(Grants::open(&home.database()).expect("opens").decided("cli", "output"), Some(true));
}

#[test]
fn a_damaged_row_gives_nothing_whichever_it_was_and_is_said() {
    for detail in ["'{\"hosts\": '", "CAST(x'fffe' AS TEXT)", "''", "'5'", "'[]'", "'null'"] {
        let home = Home::new();
        let grants = Grants::open(&home.database()).expect("opens");
        grants.grant("web", "http").expect("grants");
        grants.grant("good", "http").expect("grants");
        grants.revoke("cli", "output").expect("revokes");
        home.tamper(&format!("UPDATE grants SET detail = {detail} WHERE plugin <> 'good'"));
        let database = home.database();
        let grants = Grants::open(&database).expect("opens");
        assert_eq!(grants.decided("web", "http"), Some(false), "{detail}");
        assert_eq!(grants.decided("cli", "output"), Some(false), "{detail}");
        assert_eq!(grants.decided("good", "http"), Some(true), "{detail}");
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
    Grants::open(&home.database()).expect("opens").grant("web", "http").expect("grants");
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
    grants.grant("calc", "http").expect("grants");
    grants.revoke("calc", "tools").expect("revokes");
    grants.grant("web", "http").expect("grants");
    grants.forget("calc").expect("forgets");
    for grants in [&grants, &Grants::open(&home.database()).expect("opens")] {
        assert_eq!(grants.decided("calc", "http"), None);
        assert_eq!(grants.decided("calc", "tools"), Some(false));
        assert_eq!(grants.decided("web", "http"), Some(true));
    }
}
