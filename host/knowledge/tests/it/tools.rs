use homeagent_types::ports::Toolbox as _;
use homeagent_types::{Audience, CallError, Cause, Principal, Role};
use serde_json::{Value, json};

use crate::home::Home;

fn cause(role: Role, audience: Audience) -> Cause {
    let principal = Principal { namespace: "qq".into(), user: "1".into(), role, display_name: None, attested: false };
    Cause { run: None, conversation: None, principal, audience, deadline_ms: 0, chain: Vec::new(), meta: Vec::new() }
}

fn private(role: Role) -> Cause {
    cause(role, Audience::Person("qq:1".to_owned()))
}

async fn call(home: &Home, name: &str, arguments: Value, cause: &Cause) -> Result<Value, CallError> {
    let output = home.knowledge.call(name, arguments, cause).await?;
    Ok(serde_json::from_str(&output.value).unwrap())
}

#[tokio::test]
async fn the_agent_writes_finds_reads_and_changes_a_base() {
    let home = Home::open().await;
    let owner = private(Role::Owner);
    let names = |home: &Home| home.knowledge.tools().into_iter().map(|tool| tool.name).collect::<Vec<_>>();
    assert_eq!(names(&home), ["knowledge_create"]);
    let text = "# House\n\n## Heating\n\nThe boiler stands in the cellar.\n\n## Gate\n\nIts code is 1234.";
    let made = call(&home, "knowledge_create", json!({ "base": "house", "text": text }), &owner).await.unwrap();
    assert_eq!((&made["audience"], &made["passages"]), (&json!("members"), &json!(2)));
    assert_eq!(names(&home), ["knowledge_search", "knowledge_list", "knowledge_create", "knowledge_update"]);
    let found = call(&home, "knowledge_search", json!({ "query": "code of the gate" }), &owner).await.unwrap();
    let passage = &found["passages"][0];
    assert_eq!((&passage["section"], &passage["lines"]), (&json!("House > Gate"), &json!("7-9")));
    let listed = call(&home, "knowledge_list", json!({ "base": "house" }), &owner).await.unwrap();
    assert_eq!(listed["headings"], json!(["# House (line 1)", "## Heating (line 3)", "## Gate (line 7)"]));
    let section = json!({ "base": "house", "section": "gate" });
    assert_eq!(call(&home, "knowledge_list", section, &owner).await.unwrap()["text"], "## Gate\n\nIts code is 1234.");
    let update = json!({ "base": "house", "action": "replace", "section": "House > Gate", "text": "Its code is 9.",
        "version": listed["version"] });
    let changed = call(&home, "knowledge_update", update.clone(), &owner).await.unwrap();
    assert_ne!(changed["version"], listed["version"]);
    let refused = call(&home, "knowledge_update", update, &owner).await;
    assert!(matches!(refused, Err(CallError::Conflict(_))));
    let found = call(&home, "knowledge_search", json!({ "query": "gate code" }), &owner).await.unwrap();
    assert!(found["passages"][0]["text"].as_str().unwrap().contains("Its code is 9."));
}

#[tokio::test]
async fn a_reply_holds_only_what_all_who_read_it_may_know() {
    let texts = [
        ("safe", "---\naudience: owner\n---\nThe code of the safe is 4711.\n"),
        ("house", "The code of the gate is 1234.\n"),
        ("guests", "---\naudience: everyone\n---\nThe code of the guests' network is 0000.\n"),
    ];
    let home = Home::with(&texts).await;
    let group = || Audience::Group("qq:7".to_owned());
    let seen = async |cause: Cause| {
        let found = call(&home, "knowledge_search", json!({ "query": "code" }), &cause).await.unwrap();
        let mut bases: Vec<String> = found["passages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|passage| passage["base"].as_str().unwrap().into())
            .collect();
        bases.sort();
        bases.join(" ")
    };
    assert_eq!(seen(private(Role::Owner)).await, "guests house safe");
    assert_eq!(seen(private(Role::Member)).await, "guests house");
    assert_eq!(seen(private(Role::Guest)).await, "guests");
    assert_eq!(seen(cause(Role::Owner, group())).await, "guests");
    home.settings.set("core.knowledge.in_groups", "members").unwrap();
    assert_eq!(seen(cause(Role::Owner, group())).await, "guests house");
    assert_eq!(seen(cause(Role::Guest, group())).await, "guests");
    let update = json!({ "base": "safe", "action": "append", "text": "x" });
    let refused = call(&home, "knowledge_update", update, &cause(Role::Owner, group())).await;
    assert!(matches!(refused, Err(CallError::NotFound(_))), "nobody learns that it is there");
}

#[tokio::test]
async fn nothing_is_written_from_what_others_may_have_written() {
    let home = Home::with(&[("house", "The gate is green.\n")]).await;
    let owner = private(Role::Owner);
    let mut foreign = owner.clone();
    foreign.mark_foreign();
    let text = "The code of the gate is 666.";
    for (name, arguments) in [
        ("knowledge_create", json!({ "base": "rules", "text": text })),
        ("knowledge_update", json!({ "base": "house", "action": "append", "text": text })),
    ] {
        let refused = call(&home, name, arguments, &foreign).await;
        assert!(matches!(refused, Err(CallError::Conflict(_))), "{name}: {refused:?}");
    }
    let found = call(&home, "knowledge_search", json!({ "query": "gate" }), &foreign).await.unwrap();
    assert_eq!(found["passages"].as_array().map(Vec::len), Some(1));
    assert!(!found.to_string().contains("666"));
}

#[tokio::test]
async fn tools_say_what_they_do() {
    let home = Home::with(&[("house", "text")]).await;
    for tool in home.knowledge.tools() {
        let changes = matches!(tool.name.as_str(), "knowledge_create" | "knowledge_update");
        assert_eq!(tool.least_role(), if changes { Role::Owner } else { Role::Guest });
        assert!(tool.no_memory && !tool.is_foreign());
    }
    home.save("page", "---\nsource: x.html\n---\ntext of strangers");
    home.until(async |home| home.knowledge.tools().iter().any(|tool| tool.is_foreign())).await;
}
