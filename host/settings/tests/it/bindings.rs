use homeagent_settings::{BindingError, Bindings};

use crate::home::Home;

#[test]
fn people_are_bound_by_channel_and_user() {
    let home = Home::new();
    let bindings = Bindings::open(&home.database()).expect("opens");
    assert_eq!(bindings.role_of("qq", "10001"), None);
    bindings.bind("qq", "10001", "owner").expect("binds");
    bindings.bind("qq", "小明", "guest").expect("binds");
    bindings.bind("qq", "小明", "member").expect("binds again");
    for bindings in [&bindings, &Bindings::open(&home.database()).expect("opens")] {
        assert_eq!(bindings.role_of("qq", "10001").as_deref(), Some("owner"));
        assert_eq!(bindings.role_of("qq", "小明").as_deref(), Some("member"));
        assert_eq!(bindings.role_of("web", "10001"), None, "another channel's user of that id is a stranger");
    }
    assert!(bindings.unbind("qq", "10001").expect("unbinds"));
    assert!(!bindings.unbind("qq", "10001").expect("nobody left"));
    assert_eq!(Bindings::open(&home.database()).expect("opens").role_of("qq", "10001"), None);
}

#[test]
fn only_known_roles_and_somebody() {
    let home = Home::new();
    let bindings = Bindings::open(&home.database()).expect("opens");
    assert!(matches!(bindings.bind("qq", "1", "admin"), Err(BindingError::UnknownRole { .. })));
    assert!(matches!(bindings.bind("qq", "", "owner"), Err(BindingError::Nobody)));
}

#[test]
fn a_damaged_binding_gives_no_role_and_is_said() {
    let home = Home::new();
    let bindings = Bindings::open(&home.database()).expect("opens");
    for user in ["good", "ranked", "torn"] {
        bindings.bind("qq", user, "member").expect("binds");
    }
    home.tamper(
        "UPDATE bindings SET role = 'emperor' WHERE user = 'ranked';
         UPDATE bindings SET role = CAST(x'ff6d' AS TEXT) WHERE user = 'torn'",
    );
    let database = home.database();
    let bindings = Bindings::open(&database).expect("opens");
    assert_eq!(bindings.role_of("qq", "good").as_deref(), Some("member"));
    assert_eq!((bindings.role_of("qq", "ranked"), bindings.role_of("qq", "torn")), (None, None));
    let remarks = database.take_remarks();
    assert!(remarks.iter().any(|remark| remark.contains("emperor") && remark.contains("ranked")), "{remarks:?}");
    assert_eq!(remarks.len(), 2, "{remarks:?}");
    assert!(database.take_remarks().is_empty(), "each is said once");
}
