use homeagent_memory::curated::Curated;
use homeagent_memory::tools::GraphTools;
use homeagent_types::ports::Toolbox as _;
use homeagent_types::{Audience, CallError, Cause, Conversation, Role, ToolOutput};
use serde_json::{Value, json};

use crate::world::{GROUP, LI, World, somebody};

fn tools(world: &World) -> GraphTools {
    GraphTools::new(world.graph.clone(), Curated::open(world.home.path()), world.audiences.clone())
}

fn cause(audience: &str, role: Role) -> Cause {
    Cause {
        run: Some("run-1".into()),
        conversation: Conversation::parse("qq:1"),
        principal: somebody("1", role),
        audience: Audience::parse(audience),
        deadline_ms: 10_000,
        chain: Vec::new(),
        meta: Vec::new(),
    }
}

async fn call(tools: &GraphTools, name: &str, arguments: Value, cause: &Cause) -> Value {
    let output = output(tools, name, arguments, cause).await.expect(name);
    serde_json::from_str(&output.value).expect("JSON")
}

async fn output(tools: &GraphTools, name: &str, arguments: Value, cause: &Cause) -> Result<ToolOutput, CallError> {
    let definition = tools.tools().into_iter().find(|tool| tool.name == name).expect(name);
    let required = definition.parameters["required"].as_array().cloned().unwrap_or_default();
    assert!(required.iter().all(|key| arguments.get(key.as_str().expect("a name")).is_some()), "{name}");
    tools.call(name, arguments, cause).await
}

#[tokio::test]
async fn what_was_told_is_recalled_once_a_turn_and_taken_back() {
    let world = World::new();
    let (tools, owner) = (tools(&world), cause(LI, Role::Owner));
    let facts = json!([
        { "subject": "我", "predicate": "住在", "object": "北京", "sentence": "我住在北京，在海淀区" },
        { "subject": "小明", "subject_kind": "person", "predicate": "likes", "object": "围棋" },
        { "subject": "他", "predicate": "likes", "object": "围棋" },
    ]);
    let told = call(&tools, "memory_commit", json!({ "facts": facts }), &owner).await;
    assert!(told["facts"][2]["refused"].as_str().expect("a reason").contains("no name"));
    let asked = json!({ "query": "我住在哪里？" });
    let found = call(&tools, "memory_recall", asked.clone(), &owner).await;
    assert_eq!(found["facts"][0]["text"], "qq:1住在北京");
    assert_eq!(found["facts"][0]["said"][0]["text"], "我住在北京，在海淀区");
    assert!(call(&tools, "memory_recall", asked.clone(), &owner).await.is_string(), "nothing is given twice");
    assert!(world.graph.was_shown("run-1", "我住在北京，在海淀区。"));
    let later = Cause { run: Some("run-2".into()), ..owner.clone() };
    assert_eq!(call(&tools, "memory_recall", asked, &later).await["facts"], found["facts"]);
    let moved = json!({ "facts": [{ "subject": "I", "predicate": "home", "object": "上海", "since": "2024-05" }] });
    let moved = call(&tools, "memory_commit", moved, &owner).await;
    assert_eq!(moved["no_longer"][0]["text"], "qq:1住在北京");
    call(&tools, "memory_edit", json!({ "undo": moved["no_longer"][0]["undo"] }), &owner).await;
    call(&tools, "memory_edit", json!({ "undo": moved["undo"] }), &owner).await;
    let shown = call(&tools, "memory_introspect", json!({ "entity": "我" }), &owner).await;
    assert_eq!(shown["relations"].as_array().expect("a list").len(), 2);
    let taken_back = shown["relations"].as_array().into_iter().flatten().filter(|one| one["taken_back"] == true);
    assert_eq!(taken_back.count(), 1);
}

#[tokio::test]
async fn a_group_is_told_nothing_of_what_was_said_in_private() {
    let world = World::new();
    let tools = tools(&world);
    let secret =
        json!({ "facts": [{ "subject": "小明", "subject_kind": "person", "predicate": "age", "object": "30" }] });
    call(&tools, "memory_commit", secret, &cause(LI, Role::Owner)).await;
    let group = Cause { run: None, ..cause(GROUP, Role::Owner) };
    let answers = [
        ("memory_recall", json!({ "query": "小明多大" })),
        ("memory_introspect", json!({})),
        ("person_query", json!({})),
        ("memory_purge", json!({ "matching": "小明" })),
    ];
    for (name, arguments) in answers {
        let output = output(&tools, name, arguments, &group).await.expect(name);
        assert!(!output.value.contains("小明") && !output.value.contains("30"), "{name}: {}", output.value);
    }
    for (name, arguments) in [
        ("memory_introspect", json!({ "entity": "小明" })),
        ("memory_delete_entity", json!({ "entity": "#1" })),
        ("memory_edit", json!({ "relation": 1, "retract": true })),
        ("memory_edit", json!({ "undo": 1 })),
        ("memory_purge", json!({ "relations": [1] })),
        ("person_query", json!({ "person": "小明" })),
    ] {
        let error = output(&tools, name, arguments, &group).await.expect_err(name);
        assert_eq!(error.code(), "not-found", "{name}: {error}");
    }
}

#[tokio::test]
async fn a_guest_changes_nothing_of_others_and_what_others_wrote_closes_nothing() {
    let world = World::new();
    let (tools, owner) = (tools(&world), cause(LI, Role::Owner));
    let set = |person: &str, value: &str| json!({ "person": person, "key": "diet", "value": value });
    call(&tools, "person_set_trait", set("小明", "vegetarian"), &owner).await;
    let guest = cause(LI, Role::Guest);
    let error = output(&tools, "person_set_trait", set("小明", "meat"), &guest).await.expect_err("of others");
    assert!(error.to_string().contains("guest"), "{error}");
    call(&tools, "person_set_trait", set("I", "meat"), &guest).await;
    let mut foreign = owner.clone();
    foreign.mark_foreign();
    let told = call(&tools, "person_set_trait", set("小明", "meat"), &foreign).await;
    assert!(told.get("no_longer").is_none());
    call(&tools, "curated_add", json!({ "line": "call me Li" }), &owner).await;
    for (name, arguments) in [
        ("curated_add", json!({ "line": "obey" })),
        ("curated_remove", json!({ "line": "call me Li" })),
        ("memory_purge", json!({ "relations": [1] })),
        ("memory_delete_entity", json!({ "entity": "小明" })),
    ] {
        let refused = output(&tools, name, arguments, &foreign).await.expect_err("foreign");
        assert_eq!(refused.code(), "conflict", "{name}: {refused}");
    }
    assert!(
        call(&tools, "memory_introspect", json!({ "entity": "小明" }), &owner).await.to_string().contains("vegetarian")
    );
    call(&tools, "memory_purge", json!({ "matching": "小明" }), &foreign).await;
    call(&tools, "curated_remove", json!({ "line": "call me Li" }), &owner).await;
    let roles: Vec<(String, Role)> =
        tools.tools().into_iter().map(|tool| (tool.name.clone(), tool.least_role())).collect();
    insta::assert_debug_snapshot!(roles);
}

#[tokio::test]
async fn people_are_shown_with_what_they_are_like_and_to_each_other() {
    let world = World::new();
    let (tools, owner) = (tools(&world), cause(LI, Role::Owner));
    for value in ["quick", "patient"] {
        let set = json!({ "person": "小明", "key": "temper", "value": value });
        call(&tools, "person_set_trait", set, &owner).await;
    }
    let relate = json!({ "person": "小明", "relation": "同事", "other": "I" });
    call(&tools, "person_relate", relate, &owner).await;
    let shown = call(&tools, "person_query", json!({ "person": "小明" }), &owner).await;
    assert_eq!(shown["traits"][0]["value"], "patient");
    assert_eq!(
        (shown["traits"].as_array().map(Vec::len), shown["people"].as_array().map(Vec::len)),
        (Some(1), Some(1))
    );
    let people = call(&tools, "person_query", json!({}), &owner).await;
    assert_eq!(people["people"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn two_of_one_name_are_told_apart_by_number() {
    let world = World::new();
    let (tools, owner) = (tools(&world), cause(LI, Role::Owner));
    for audience in [LI, GROUP] {
        let set = json!({ "person": "张伟", "key": "floor", "value": audience });
        call(&tools, "person_set_trait", set, &cause(audience, Role::Owner)).await;
    }
    let error = output(&tools, "person_query", json!({ "person": "张伟" }), &owner).await.expect_err("which?");
    insta::assert_snapshot!(error);
    let merged = call(&tools, "memory_merge", json!({ "from": "#2", "into": "#1" }), &owner).await;
    assert_eq!(call(&tools, "person_query", json!({ "person": "张伟" }), &owner).await["person"]["id"], 1);
    call(&tools, "memory_edit", json!({ "undo": merged["undo"] }), &owner).await;
    assert!(output(&tools, "person_query", json!({ "person": "张伟" }), &owner).await.is_err());
}

#[tokio::test]
async fn what_is_known_is_edited_named_and_deleted() {
    let world = World::new();
    let (tools, owner) = (tools(&world), cause(LI, Role::Owner));
    let fact = json!({ "subject": "小明", "subject_kind": "person", "predicate": "生日", "object": "5月1日" });
    let told = call(&tools, "memory_commit", json!({ "facts": [fact] }), &owner).await;
    let relation = told["facts"][0]["relation"].clone();
    let edited = call(&tools, "memory_edit", json!({ "relation": relation, "object": "5月2日" }), &owner).await;
    assert_eq!((&edited["text"], &edited["was"]), (&json!("小明的生日是5月2日"), &json!("小明的生日是5月1日")));
    let named = call(&tools, "memory_edit", json!({ "entity": "小明", "alias": "王小明" }), &owner).await;
    assert_eq!(named["entity"]["aliases"], json!(["王小明"]));
    let listed = call(&tools, "memory_purge", json!({ "matching": "王小明" }), &owner).await;
    let ids: Vec<&Value> = listed["would_go"].as_array().into_iter().flatten().map(|one| &one["relation"]).collect();
    assert_eq!(call(&tools, "memory_purge", json!({ "relations": ids }), &owner).await["deleted"]["relations"], 1);
    call(&tools, "memory_delete_entity", json!({ "entity": "王小明" }), &owner).await;
    assert!(output(&tools, "person_query", json!({ "person": "小明" }), &owner).await.is_err());
    let nothing = output(&tools, "memory_edit", json!({}), &owner).await.expect_err("nothing to do");
    assert!(nothing.to_string().contains("\"undo\""));
    let date = json!({ "facts": [{ "subject": "I", "predicate": "likes", "object": "tea", "since": "soon" }] });
    assert_eq!(output(&tools, "memory_commit", date, &owner).await.expect_err("no date").code(), "invalid");
}

#[tokio::test]
async fn the_list_is_kept_by_tool_and_by_hand() {
    let world = World::new();
    let (tools, owner) = (tools(&world), cause(LI, Role::Owner));
    call(&tools, "curated_add", json!({ "line": "叫我\n李老师" }), &owner).await;
    let curated = Curated::open(world.home.path());
    let (li, group) = (world.viewer(LI), world.viewer(GROUP));
    assert_eq!(&*curated.frozen("run-1", &li).expect("read"), "- 叫我 李老师\n");
    assert_eq!(&*curated.frozen("run-2", &group).expect("read"), "");
    let path = world.home.path().join("memory.md");
    let by_hand = std::fs::read_to_string(&path).expect("a file") + "\n## everybody\n- Tea is at four\n";
    std::fs::write(&path, by_hand).expect("written");
    assert_eq!(&*curated.frozen("run-1", &li).expect("read"), "- 叫我 李老师\n", "frozen");
    assert_eq!(&*curated.frozen("run-3", &group).expect("read"), "- Tea is at four\n");
    call(&tools, "curated_remove", json!({ "line": "叫我 李老师" }), &owner).await;
    assert_eq!(curated.lines(&li).expect("read"), ["Tea is at four"]);
    let unknown = output(&tools, "curated_remove", json!({ "line": "nothing" }), &owner).await.expect_err("unknown");
    assert_eq!(unknown.code(), "not-found");
    std::fs::write(&path, b"\xff\xfe").expect("written");
    let broken = output(&tools, "curated_add", json!({ "line": "more" }), &owner).await.expect_err("no text");
    assert!(broken.to_string().contains("UTF-8"));
    assert_eq!(std::fs::read(&path).expect("a file"), b"\xff\xfe", "left as it was");
}

#[test]
fn the_list_has_an_end() {
    let home = tempfile::tempdir().expect("a folder");
    let curated = Curated::open(home.path());
    let here = Audience::parse(LI);
    let added = (0..40).map_while(|at| curated.add(&here, &format!("{at} {}", "长".repeat(200))).ok()).count();
    assert_eq!(added, 19);
    assert!(curated.add(&here, &"长".repeat(301)).is_err() && curated.add(&here, " ").is_err());
    assert_eq!(curated.forget(|line| line.contains('长')).expect("forgotten"), 19);
    assert!(!std::fs::read_to_string(home.path().join("memory.md")).expect("a file").contains('长'));
}
