use std::os::unix::fs::PermissionsExt as _;

use homeagent_knowledge::{Circle, Edit, Error};

use crate::home::Home;

#[tokio::test]
async fn a_damaged_index_is_set_aside_and_made_anew() {
    let home = Home::with(&[("house", "The boiler stands in the cellar.")]).await;
    home.knowledge.close().await;
    let Home { folder, knowledge, .. } = home;
    drop(knowledge);
    std::fs::write(folder.path().join("knowledge.db"), b"this is no database, whatever it is called".repeat(200))
        .unwrap();
    let _ = std::fs::remove_file(folder.path().join("knowledge.db-wal"));
    let home = Home::at(folder);
    home.until(async |home| !home.found("boiler").await.is_empty()).await;
    assert!(home.folder.path().join("knowledge.db.damaged").exists());
}

#[tokio::test]
async fn a_page_of_the_index_that_is_damaged_costs_no_text() {
    let text: String = (0..2000).map(|at| format!("# Thing {at}\n\nThe thing {at} stands somewhere.\n\n")).collect();
    let home = Home::with(&[("things", &text)]).await;
    home.knowledge.close().await;
    let Home { folder, knowledge, .. } = home;
    drop(knowledge);
    let index = folder.path().join("knowledge.db");
    let mut bytes = std::fs::read(&index).unwrap();
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 8192].fill(0xa5);
    std::fs::write(&index, bytes).unwrap();
    let home = Home::at(folder);
    home.until(async |home| home.knowledge.status().await.is_ok_and(|status| status.passages == 2000)).await;
    let is_found = async |home: &Home| {
        let found = home.knowledge.search(crate::home::ask("thing 1999")).await;
        found.is_ok_and(|found| found.passages.first().is_some_and(|passage| passage.text.contains("1999")))
    };
    home.until(is_found).await;
}

#[tokio::test]
async fn a_text_in_no_encoding_is_found_as_far_as_it_can_be_read_and_is_not_changed() {
    let home = Home::open().await;
    std::fs::create_dir_all(home.path("odd").parent().unwrap()).unwrap();
    std::fs::write(home.path("odd"), b"The boiler \xff\xff stands here.").unwrap();
    home.until(async |home| !home.found("boiler").await.is_empty()).await;
    let listed = home.knowledge.list(Circle::Owner).await.unwrap().bases;
    assert!(listed[0].problem.as_ref().unwrap().contains("UTF-8"));
    let edit = Edit::Append { heading: None, text: "more".to_owned() };
    let refused = home.knowledge.update("odd", edit, None, Circle::Owner).await;
    assert!(matches!(refused, Err(Error::Unreadable(_))));
}

#[tokio::test]
async fn a_text_that_became_too_large_is_told_and_not_half_found() {
    let home = Home::with(&[("house", "The boiler stands here.")]).await;
    home.settings.set("core.knowledge.file_mib", 1).unwrap();
    home.save("house", &"The cellar is large. ".repeat(60_000));
    home.until(async |home| home.found("boiler").await.is_empty()).await;
    let listed = home.knowledge.list(Circle::Owner).await.unwrap().bases;
    assert!(listed[0].problem.as_ref().unwrap().contains("core.knowledge.file_mib"));
}

#[tokio::test]
async fn a_folder_that_can_not_be_written_is_told_and_still_read() {
    let home = Home::with(&[("house", "# House\n\nThe boiler stands here.\n")]).await;
    let folder = home.path("house").parent().unwrap().to_path_buf();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o500)).unwrap();
    let edit = Edit::Append { heading: None, text: "more".to_owned() };
    let refused = home.knowledge.update("house", edit, None, Circle::Owner).await;
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).unwrap();
    // Whoever is root may write anyway.
    if rustix::process::geteuid().is_root() {
        refused.unwrap();
    } else {
        assert!(matches!(refused, Err(Error::Disk { .. })));
        assert_eq!(home.text("house"), "# House\n\nThe boiler stands here.\n");
    }
    assert!(!home.found("boiler").await.is_empty());
}

#[tokio::test]
async fn many_writers_lose_nothing_that_was_acknowledged() {
    let home = Home::with(&[("list", "# List\n")]).await;
    let mut writing = tokio::task::JoinSet::new();
    for at in 0..12 {
        let knowledge = std::sync::Arc::clone(&home.knowledge);
        writing.spawn(async move {
            let text = format!("- item number {at}");
            let edit = Edit::Append { heading: Some("List".to_owned()), text: text.clone() };
            knowledge.update("list", edit, None, Circle::Owner).await.map(|_| text)
        });
    }
    let done = writing.join_all().await;
    let text = home.text("list");
    for outcome in done {
        match outcome {
            Ok(item) => assert!(text.lines().any(|line| line == item), "{item} is lost:\n{text}"),
            Err(error) => assert!(matches!(error, Error::Changed { .. }), "{error}"),
        }
    }
}
