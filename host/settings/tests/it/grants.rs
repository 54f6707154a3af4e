use homeagent_settings::Grants;
use serde_json::json;

use crate::home::Home;

#[test]
fn grants_are_given_replaced_and_taken() {
    let home = Home::new();
    let home = home;
    let grants = Grants::open(&home.database()).expect("opens");
    let mut changes = grants.subscribe();
    assert!(grants.list("web").is_empty());
    grants.grant("web", "http", json!({"hosts": ["a.example"]})).expect("grants");
    grants.grant("web", "http", json!({"hosts": ["a.example", "例子.example"]})).expect("grants more");
    grants.grant("web", "timers", json!({})).expect("grants");
    grants.grant("files", "files", json!({"folders": ["文档"]})).expect("grants");
    for grants in [&grants, &Grants::open(&home.database()).expect("opens")] {
        let capabilities: Vec<_> = grants.list("web").into_iter().map(|grant| grant.capability).collect();
        assert_eq!(capabilities, ["http", "timers"]);
        let hosts = grants.detail("web", "http").expect("is granted");
        assert_eq!(hosts["hosts"][1], "例子.example");
        assert_eq!(grants.detail("web", "files"), None);
    }
    assert!(grants.revoke("web", "http").expect("revokes"));
    assert!(!grants.revoke("web", "http").expect("nothing left"));
    assert_eq!(grants.revoke_all("web").expect("revokes"), 1);
    assert_eq!(Grants::open(&home.database()).expect("opens").all().len(), 1);
    let mut heard = Vec::new();
    while let Ok(plugin) = changes.try_recv() {
        heard.push(plugin.to_string());
    }
    assert_eq!(heard, ["web", "web", "web", "files", "web", "web"]);
}

#[test]
fn a_damaged_grant_gives_nothing_and_is_said() {
    let home = Home::new();
    let grants = Grants::open(&home.database()).expect("opens");
    for plugin in ["web", "torn", "good"] {
        grants.grant(plugin, "http", json!({})).expect("grants");
    }
    home.tamper(
        "UPDATE grants SET detail = '{\"hosts\": ' WHERE plugin = 'web';
         UPDATE grants SET detail = CAST(x'fffe' AS TEXT) WHERE plugin = 'torn'",
    );
    let database = home.database();
    let grants = Grants::open(&database).expect("opens");
    assert_eq!((grants.detail("web", "http"), grants.detail("torn", "http")), (None, None));
    assert_eq!(grants.detail("good", "http"), Some(json!({})));
    let remarks = database.take_remarks();
    assert!(remarks.iter().any(|remark| remark.contains("waiter plugin grant web http")), "{remarks:?}");
    assert_eq!(remarks.len(), 2, "{remarks:?}");
}
