use homeagent_knowledge::{Circle, Edit, Error};

use crate::home::{Home, Words};

#[tokio::test]
async fn what_a_person_writes_changes_and_removes_is_noticed() {
    let home = Home::open().await;
    home.save("garden", "# Garden\n\nThe roses are cut in March.\n");
    home.until(async |home| !home.found("roses").await.is_empty()).await;
    home.save("garden", "# Garden\n\nThe tulips bloom in May.\n");
    home.until(async |home| home.found("roses").await.is_empty()).await;
    assert!(home.found("tulips").await[0].starts_with("garden 1-3 Garden"));
    std::fs::rename(home.path("garden").parent().unwrap(), home.path("yard").parent().unwrap()).unwrap();
    home.until(async |home| home.found("tulips").await.iter().any(|found| found.starts_with("yard"))).await;
    std::fs::remove_dir_all(home.path("yard").parent().unwrap()).unwrap();
    home.until(async |home| home.knowledge.list(Circle::Owner).await.unwrap().bases.is_empty()).await;
    assert!(home.found("tulips").await.is_empty());
}

#[tokio::test]
async fn what_was_changed_while_nobody_looked_is_found_at_the_start() {
    let home = Home::with(&[("a", "The roses are red."), ("b", "The violets are blue.")]).await;
    home.knowledge.close().await;
    let Home { folder, .. } = home;
    std::fs::write(folder.path().join("knowledge/a/content.md"), "The roses are white.").unwrap();
    std::fs::remove_dir_all(folder.path().join("knowledge/b")).unwrap();
    let home = Home::at(folder);
    home.until(async |home| !home.found("white").await.is_empty() && home.found("violets").await.is_empty()).await;
}

#[tokio::test]
async fn only_what_changed_is_embedded_anew() {
    let section = |at: usize| format!("## Section {at}\n\nSomething of thing {at} stands here.\n\n");
    let text: String = (0..50).map(section).collect();
    let home = Home::with(&[("long", &text)]).await;
    home.model.send_replace(Some(Words::called("one", &[])));
    home.until_embedded().await;
    // A model that fails: what has its vector keeps it.
    home.model.send_replace(None);
    home.save("long", &format!("## New\n\nThis is new.\n\n{text}"));
    home.until(async |home| !home.found("new").await.is_empty()).await;
    home.model.send_replace(Some(Words::called("one", &[])));
    let status = home.knowledge.status().await.unwrap();
    assert_eq!(status.passages, 51);
    assert!(status.vectors >= 50, "{status:?}");
    let found = home.found("thing 7").await;
    assert!(found.iter().any(|found| found.starts_with("long 33-35 Section 7")), "{found:?}");
}

#[tokio::test]
async fn a_change_by_the_agent_is_found_at_once_and_the_text_before_is_kept() {
    let home = Home::with(&[("house", "# House\n\n## Gate\n\nThe code is 1234.\n")]).await;
    let edit = Edit::Replace { heading: "gate".to_owned(), text: "The code is 9876.".to_owned() };
    let changed = home.knowledge.update("House", edit, None, Circle::Owner).await.unwrap();
    assert_eq!((changed.base.name.as_str(), changed.base.passages), ("house", 1));
    assert!(home.found("gate code").await[0].contains("9876"));
    assert_eq!(home.text("house"), "# House\n\n## Gate\n\nThe code is 9876.\n");
    let previous = std::fs::read_to_string(home.path("house").with_file_name("content.md.previous")).unwrap();
    assert!(previous.contains("1234"));
}

#[tokio::test]
async fn a_change_made_for_another_text_is_refused() {
    let home = Home::with(&[("house", "# Gate\n\nThe code is 1234.\n")]).await;
    let read = home.knowledge.outline("house", Circle::Owner).await.unwrap().base.version;
    home.save("house", "# Gate\n\nThe code is 5555, says dad.\n");
    let edit = Edit::Append { heading: None, text: "It is new.".to_owned() };
    let refused = home.knowledge.update("house", edit.clone(), Some(&read), Circle::Owner).await;
    assert!(matches!(refused, Err(Error::Changed { .. })));
    assert_eq!(home.text("house"), "# Gate\n\nThe code is 5555, says dad.\n");
    home.knowledge.update("house", edit, None, Circle::Owner).await.unwrap();
    assert!(home.text("house").contains("says dad") && home.text("house").contains("It is new."));
}

#[tokio::test]
async fn what_is_removed_is_in_no_file_any_more() {
    let secret = "xylophone";
    let home = Home::with(&[("house", "Words that stay.")]).await;
    home.model.send_replace(Some(Words::called("one", &[])));
    home.knowledge.create("secret", &format!("The {secret} is under the bed."), Circle::Owner).await.unwrap();
    home.until_embedded().await;
    assert_eq!(home.found(secret).await.len(), 2, "a vector is near to everything");
    home.knowledge.remove("secret").await.unwrap();
    assert!(!home.path("secret").parent().unwrap().exists());
    home.knowledge.close().await;
    let stem = "xylophon";
    for entry in std::fs::read_dir(home.folder.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            assert!(!bytes.windows(stem.len()).any(|part| part == stem.as_bytes()), "{}", path.display());
        }
    }
}
