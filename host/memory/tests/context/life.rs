//! What stays before the model, what goes, and what is there again after a death.

use homeagent_memory::context::{Occasion, Verdict};
use homeagent_types::Viewer;

use crate::home::{Concepts, Home, ME, Talk, said};

/// Talk about nothing, `count` turns of it.
async fn chatter(home: &Home, talk: &mut Talk, count: usize) -> String {
    let mut run = String::new();
    for number in 0..count {
        run = home.turn(talk, &format!("闲聊 {number} 今天天气不错"), "是啊").await;
    }
    run
}

#[tokio::test]
async fn above_the_limit_the_last_stay_and_of_the_rest_what_bears_on_what_is_said() {
    let home = Home::new().await;
    let mut talk = Talk::of(ME);
    home.turn(&mut talk, "猫粮在厨房左边的柜子里", "记住了").await;
    home.turn(&mut talk, "the plumber comes on Tuesday", "noted").await;
    chatter(&home, &mut talk, 13).await;
    assert_eq!(talk.window.size(), (30, 30));
    let run = home.begin(&mut talk, "家里的猫粮放在哪里？").await;
    let left = talk.said();
    assert!(talk.window.size().0 <= 30, "{left:?}");
    assert_eq!(left.first().map(String::as_str), Some("猫粮在厨房左边的柜子里"), "{left:?}");
    assert_eq!(left.last().map(String::as_str), Some("家里的猫粮放在哪里？"));
    let last: Vec<String> = (9..13).map(|number| format!("闲聊 {number} 今天天气不错")).collect();
    assert!(left.ends_with(&[last, vec!["家里的猫粮放在哪里？".to_owned()]].concat()), "{left:?}");
    assert!(!left.iter().any(|text| text.contains("plumber")), "{left:?}");

    let explanation = home.context.explain(&run).await.expect("read").expect("it is known");
    let choice = &explanation.choices[0];
    assert_eq!((choice.occasion, choice.events, choice.model.clone()), (Occasion::Full, 31, None));
    let of = |at: usize| choice.exchanges[at].verdict;
    assert_eq!((of(0), of(1), of(15)), (Verdict::Relevant, Verdict::LessRelevant, Verdict::Current));
    assert!(choice.exchanges[0].words > choice.exchanges[1].words);
    assert_eq!(choice.exchanges.iter().filter(|chosen| chosen.verdict == Verdict::Recent).count(), 5);

    // What went is in a document, as it was said.
    home.answer(&mut talk, &run, "左边的柜子").await;
    home.end(&mut talk, &run).await;
    home.context.flush().await;
    let documents = home.context.documents();
    let found = documents.find("plumber", None, &Viewer::Everything, 3).expect("found");
    let document = documents.read(&found[0].listed.id).expect("read");
    let plumber =
        document.events.iter().find(|event| format!("{:?}", event.message).contains("plumber")).expect("kept");
    assert_eq!(plumber.at_ms, choice.exchanges[1].at_ms);
    assert_eq!(document.audience, "person:cli:me");

    // The next turns see the same beginning: pruning goes in batches.
    let before: Vec<String> = talk.said();
    let next = home.turn(&mut talk, "谢谢", "不客气").await;
    assert!(talk.said().starts_with(&before));
    let explanation = home.context.explain(&next).await.expect("read").expect("it is known");
    assert_eq!(explanation.choices[0].occasion, Occasion::Fits);
    assert_eq!(explanation.before.expect("something had left").run, run);
}

#[tokio::test]
async fn vectors_find_what_shares_no_word() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::open(folder.path(), Some(Concepts::embedder())).await;
    let mut talk = Talk::of(ME);
    home.turn(&mut talk, "the kitten sleeps under the bed", "sweet").await;
    home.turn(&mut talk, "the landlord called", "noted").await;
    chatter(&home, &mut talk, 13).await;
    let run = home.begin(&mut talk, "猫在哪里睡？").await;
    assert!(talk.said()[0].contains("kitten"), "{:?}", talk.said());
    assert!(!talk.said().iter().any(|text| text.contains("landlord")), "{:?}", talk.said());
    let explanation = home.context.explain(&run).await.expect("read").expect("it is known");
    assert!(explanation.choices[0].model.as_deref().is_some_and(|model| model.contains("concepts")));
    assert_eq!(explanation.choices[0].exchanges[0].vector, Some(1.0));
}

#[tokio::test]
async fn a_death_before_the_save_loses_nothing() {
    let home = Home::new().await;
    let mut talk = Talk::of(ME);
    home.turn(&mut talk, "猫粮在厨房左边的柜子里", "记住了").await;
    chatter(&home, &mut talk, 16).await;
    home.context.flush().await;
    home.turn(&mut talk, "还没有存的话", "好").await;
    let (_folder, after) = home.after_a_death().await;
    let session = after.journal.current_session(ME).await.expect("a session");
    let window = after.context.load(ME, &session).await.expect("loaded");
    assert_eq!(said(&window), talk.said());
    assert_eq!(window.entries(), talk.window.entries());
}

#[tokio::test]
async fn a_lost_or_damaged_file_is_rebuilt_from_the_journal_without_what_has_left() {
    let home = Home::new().await;
    let mut talk = Talk::of(ME);
    home.turn(&mut talk, "猫粮在厨房左边的柜子里", "记住了").await;
    chatter(&home, &mut talk, 18).await;
    home.context.flush().await;
    let file = home.file();
    let whole = std::fs::read(&file).expect("read");
    for damaged in [None, Some(&whole[..whole.len() / 2]), Some(&b"\xff\x00"[..])] {
        std::fs::remove_file(&file).expect("removed");
        if let Some(damaged) = damaged {
            std::fs::write(&file, damaged).expect("written");
        }
        let (_folder, after) = home.after_a_death().await;
        let window = after.context.load(ME, &talk.session).await.expect("loaded");
        assert_eq!(said(&window), talk.said());
        std::fs::write(&file, &whole).expect("written");
    }
}

#[tokio::test]
async fn a_new_session_begins_empty_and_the_old_one_goes_to_the_documents() {
    let home = Home::new().await;
    let mut talk = Talk::of(ME);
    home.turn(&mut talk, "猫粮在厨房左边的柜子里", "记住了").await;
    home.context.flush().await;
    home.journal.new_session(ME).await.expect("begun");
    home.turn(&mut talk, "你好", "你好").await;
    assert_eq!(talk.said(), ["你好"]);
    home.context.flush().await;
    let found = home.context.documents().find("猫粮", None, &Viewer::Everything, 3).expect("found");
    assert_eq!(found.len(), 1);
}

#[tokio::test]
async fn ten_megabytes_and_strange_characters_come_through() {
    let home = Home::new().await;
    let mut talk = Talk::of(ME);
    let strange = "a\u{200b}b \u{202e}שלום\u{202c} 👨‍👩‍👧‍👦 \u{0}\u{feff}é 𠮷 e\u{301} [群聊 🏠] 张三: 好";
    home.turn(&mut talk, strange, strange).await;
    let long = "长文本 long text 🦀 ".repeat(10 * 1024 * 1024 / 27);
    home.turn(&mut talk, &long, "好").await;
    chatter(&home, &mut talk, 16).await;
    home.context.flush().await;
    let (_folder, after) = home.after_a_death().await;
    let window = after.context.load(ME, &talk.session).await.expect("loaded");
    assert_eq!(said(&window), talk.said());
    let found = after.context.documents().find("שלום 张三", None, &Viewer::Everything, 5).expect("found");
    let texts: Vec<String> = found
        .iter()
        .map(|one| format!("{:?}", after.context.documents().read(&one.listed.id).expect("read")))
        .collect();
    assert!(said(&window).iter().any(|text| text == strange) || texts.iter().any(|text| text.contains("שלום")));
}

#[tokio::test]
async fn what_cannot_be_written_stays_and_is_written_later() {
    let home = Home::new().await;
    let mut talk = Talk::of(ME);
    // A file stands where the folder is to be.
    std::fs::write(home.folder.join("documents"), "").expect("written");
    home.turn(&mut talk, "the plumber comes on Tuesday", "noted").await;
    chatter(&home, &mut talk, 16).await;
    home.context.flush().await;
    assert_eq!(home.context.documents().count().expect("counted"), 0);
    std::fs::remove_file(home.folder.join("documents")).expect("removed");
    home.context.flush().await;
    assert_eq!(home.context.documents().find("plumber", None, &Viewer::Everything, 3).expect("found").len(), 1);
}
