use homeagent_memory::distill::ColdDocument;
use homeagent_types::{Audience, Conversation, Viewer};

use crate::world::World;

#[tokio::test]
async fn what_people_say_of_themselves_is_known_afterwards() {
    let world = World::new();
    for text in [
        "我叫李明，住在上海，喜欢打篮球。",
        "我妈妈叫王芳，她住在北京",
        "I'm allergic to peanuts.",
        "我不喜欢吃香菜",
        "我喜欢什么？",
        "如果我住在巴黎，我会学法语",
        "今天天气不错",
    ] {
        world.say(text).await;
    }
    let done = world.distiller.archive_once().await.expect("distilled");
    assert_eq!((done.read, done.more), (7, false));
    insta::assert_snapshot!(world.known(&world.li()).join("\n"), @r"
    李明不喜欢吃香菜
    李明住在上海
    李明喜欢打篮球
    李明的名字是李明
    李明的母亲是王芳
    李明过敏于peanuts
    王芳住在北京
    王芳的名字是王芳
    ");
    assert_eq!(world.distiller.status().expect("a status").read, 7);
}

#[tokio::test]
async fn a_newer_home_takes_the_place_of_the_older_and_what_is_over_no_longer_holds() {
    let world = World::new();
    for text in ["我住在北京", "我喜欢喝可乐", "我搬到上海了", "我已经不喜欢喝可乐了"] {
        world.say(text).await;
    }
    world.distiller.archive_once().await.expect("distilled");
    let known = world.known(&world.li()).join("\n");
    assert!(known.contains("上海") && !known.contains("北京") && !known.contains("可乐"), "{known}");
}

#[tokio::test]
async fn reading_twice_after_a_kill_changes_nothing_and_nothing_is_lost() {
    let world = World::new();
    world.say("我养了一只猫，叫咪咪").await;
    world.distiller.archive_once().await.expect("distilled");
    let known = world.known(&Viewer::Everything);
    let mentions = |world: &World| {
        let rows = world.graph.name_rows(0, 1000).expect("names");
        rows.iter()
            .filter_map(|row| world.graph.entity(row.entity, &Viewer::Everything).ok())
            .map(|entity| entity.mentions)
            .collect::<Vec<_>>()
    };
    let before = mentions(&world);
    // As if it had been killed after the graph had it and before the place was noted.
    let connection = rusqlite::Connection::open(world.home.path().join("memory.db")).expect("opened");
    connection.execute("DELETE FROM distill_cursors", []).expect("written");
    drop(connection);
    let home = {
        world.journal.close().await;
        world.home
    };
    let world = World::at(home);
    world.say("我今年30岁").await;
    world.distiller.archive_once().await.expect("distilled");
    let mut expected = known;
    expected.extend(world.known(&Viewer::Everything).into_iter().filter(|fact| fact.contains("30")));
    expected.sort();
    assert_eq!(world.known(&Viewer::Everything), expected);
    assert!(mentions(&world).iter().sum::<i64>() <= before.iter().sum::<i64>() + 2);
}

#[tokio::test]
async fn others_words_and_what_the_memory_had_shown_of_others_teach_nothing() {
    let world = World::new();
    let private = Conversation::person("qq", "1");
    let run = world.journal.start_run(&private.to_string(), "qq:1", &[]).await.expect("a run").run;
    world.graph.note_shown(&run, ["我喜欢下棋。", "我妈妈喜欢钢琴。"]);
    world.say_in("我住在火星", &private, Some(&run), true).await;
    world.say_in("我妈妈喜欢钢琴", &private, Some(&run), false).await;
    world.distiller.archive_once().await.expect("distilled");
    assert!(world.known(&Viewer::Everything).is_empty());
    // What somebody says of themselves they say in earnest, whatever was shown.
    world.say_in("我喜欢下棋", &private, Some(&run), false).await;
    world.distiller.archive_once().await.expect("distilled");
    let known = world.known(&Viewer::Everything).join("\n");
    assert!(known.contains("下棋"), "{known}");
}

#[tokio::test]
async fn what_was_said_in_private_is_unknown_in_a_group() {
    let world = World::new();
    let group = Conversation::parse("qq:group/7").expect("a conversation");
    world.say("我对青霉素过敏").await;
    world.say_in("我喜欢足球", &group, None, false).await;
    world.distiller.archive_once().await.expect("distilled");
    let seen = world.known(&Viewer::Only([group.audience()].into())).join("\n");
    assert!(seen.contains("足球") && !seen.contains("青霉素"), "{seen}");
}

#[tokio::test]
async fn no_more_is_read_at_a_time_than_the_setting_says() {
    let world = World::new();
    world.settings.set("core.memory.archive_messages", serde_json::json!(1)).expect("set");
    for number in 0..300 {
        world.say(&format!("我喜欢第{number}号唱片")).await;
    }
    let first = world.distiller.archive_once().await.expect("distilled");
    assert!(first.more && first.read < 300, "{first:?}");
    let mut all = first.read;
    while let Ok(done) = world.distiller.archive_once().await {
        all += done.read;
        if !done.more {
            break;
        }
    }
    assert_eq!(all, 300);
}

#[tokio::test]
async fn cold_documents_give_triples_with_the_sentence_they_stand_in() {
    let world = World::new();
    let audience = Audience::Person("qq:1".to_owned());
    let text = "Anna lives in Berlin. I live in Rome. Does Tom live in Oslo?";
    world.shelf.0.lock().expect("not poisoned").push(ColdDocument {
        id: "d1".into(),
        text: text.into(),
        audience,
        at_ms: 1_000,
    });
    let done = world.distiller.archive_once().await.expect("distilled");
    assert_eq!((done.read, done.learnt), (1, 1));
    assert_eq!(world.known(&world.li()), ["Anna lives in Berlin"]);
    let anna = world.graph.named("Anna", &world.li()).expect("found");
    let relation = world.graph.relations_of(anna[0].id, 1, &world.li()).expect("found");
    let sentences = world.graph.sentences_of(relation[0].id, 5, &world.li()).expect("found");
    assert_eq!((sentences[0].text.as_str(), sentences[0].origin.as_str()), ("Anna lives in Berlin.", "document:d1"));
    assert!(world.shelf.0.lock().expect("not poisoned").is_empty(), "it is not read again");
}
