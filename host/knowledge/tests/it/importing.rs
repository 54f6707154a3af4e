use homeagent_knowledge::{Circle, Error, Import};

use crate::home::Home;

#[tokio::test]
async fn a_file_becomes_a_base_once() {
    let home = Home::open().await;
    let page =
        "<html><head><title>Boiler</title></head><body><h1>Boiler</h1><p>It needs <b>water</b>.</p></body></html>";
    let import = |page: &str, how| home.knowledge.import("My boiler.html", page.as_bytes().to_vec(), None, how);
    let made = import(page, Import::Create).await.unwrap();
    assert_eq!((made.base.name.as_str(), made.base.title.as_deref()), ("My-boiler", Some("Boiler")));
    assert!(home.found("water").await[0].contains("It needs **water**."));
    assert!(import(page, Import::Create).await.unwrap().unchanged);
    let other = page.replace("water", "oil");
    assert!(matches!(import(&other, Import::Create).await, Err(Error::Exists { .. })));
    import(&other, Import::Replace).await.unwrap();
    assert!(home.found("water").await.is_empty() && !home.found("oil").await.is_empty());
}

#[tokio::test]
async fn a_new_file_does_not_show_others_what_the_one_before_kept_from_them() {
    let home = Home::with(&[("safe", "---\naudience: owner\n---\n4711\n")]).await;
    let bytes = b"4712".to_vec();
    let made = home.knowledge.import("safe.txt", bytes, None, Import::Replace).await.unwrap();
    assert_eq!(made.base.audience, "owner");
}

#[tokio::test]
async fn files_become_sections_of_one_base() {
    let home = Home::open().await;
    for (file, text) in [("a/one.md", "# One\n\nfirst"), ("two.txt", "second"), ("a/one.md", "# One\n\nthird")] {
        home.knowledge.import(file, text.into(), Some("手册"), Import::Join).await.unwrap();
    }
    assert_eq!(home.text("手册"), "# a/one.md\n\n## One\n\nthird\n\n# two.txt\n\nsecond\n");
    let section = home.knowledge.section("手册", "one", Circle::Owner).await.unwrap();
    assert_eq!((section.text.as_str(), section.first_line, section.cut), ("## One\n\nthird", 3, false));
}

#[tokio::test]
async fn a_file_that_joins_a_base_is_shown_to_nobody_whom_it_is_kept_from() {
    let home = Home::with(&[("house", "The gate is green.\n")]).await;
    let safe = || b"---\naudience: owner\n---\nThe safe opens with 4711.\n".to_vec();
    let refused = home.knowledge.import("safe.md", safe(), Some("house"), Import::Join).await.unwrap_err();
    assert!(refused.to_string().contains("owner alone"), "{refused}");
    assert!(!home.text("house").contains("4711"));
    let made = home.knowledge.import("safe.md", safe(), Some("secrets"), Import::Join).await.unwrap();
    assert_eq!(made.base.audience, "owner");
    home.knowledge.import("safe.md", safe(), Some("secrets"), Import::Join).await.unwrap();
    let open = b"---\naudience: everyone\n---\nThe garden is open.\n".to_vec();
    home.knowledge.import("garden.md", open, Some("secrets"), Import::Join).await.unwrap();
    let found = home.knowledge.outline("secrets", Circle::Members).await;
    assert!(matches!(found, Err(Error::Unknown { .. })));
}

#[tokio::test]
async fn a_page_of_the_web_keeps_its_mark_wherever_it_goes() {
    use homeagent_types::ports::Toolbox as _;
    let page = || b"<!DOCTYPE html><html><body><p>Strangers wrote this.</p></body></html>".to_vec();
    for (file, name, how) in
        [("page", "alone", Import::Create), ("page.html", "new", Import::Join), ("page.HTM", "house", Import::Join)]
    {
        let home = Home::with(&[("house", "---\ntitle: House\n---\nThe gate is green.\n")]).await;
        assert!(!home.knowledge.tools().iter().any(|tool| tool.is_foreign()));
        home.knowledge.import(file, page(), Some(name), how).await.unwrap();
        home.until(async |home| home.knowledge.tools().iter().any(|tool| tool.is_foreign())).await;
    }
}

#[tokio::test]
async fn what_can_not_be_kept_is_refused_with_a_reason() {
    let home = Home::open().await;
    let import = |file: &'static str, bytes: &[u8], name: Option<&'static str>| {
        home.knowledge.import(file, bytes.to_vec(), name, Import::Create)
    };
    assert!(matches!(import("a.pdf", b"%PDF", None).await, Err(Error::Unreadable(_))));
    assert!(matches!(import("a.md", b"text", Some("../up")).await, Err(Error::BadName { .. })));
    assert!(matches!(import("a.md", b" ", None).await, Err(Error::Empty)));
    home.settings.set("core.knowledge.file_mib", 1).unwrap();
    assert!(matches!(import("a.md", &vec![b'a'; (1 << 20) + 1], None).await, Err(Error::TooLarge { .. })));
    import("Note.md", b"text", None).await.unwrap();
    assert!(matches!(import("note.md", b"other", None).await, Err(Error::Exists { name }) if name == "Note"));
}

#[tokio::test]
async fn ten_megabytes_are_taken_and_found() {
    let home = Home::open().await;
    let sentence = |at: usize| format!("这里写的是第{at}件家里的事情，钥匙放在柜子里。");
    let section = |at: usize| format!("## 第{at}节\n\n{}\n\n", sentence(at).repeat(20));
    let text: String = (0..7_500).map(section).collect();
    assert!(text.len() > 10_000_000);
    let made = home.knowledge.import("all.md", text.into_bytes(), None, Import::Create).await.unwrap();
    home.until(async |home| home.knowledge.status().await.unwrap().passages >= 7_500).await;
    assert!(made.base.bytes > 10_000_000);
    let found = home.found("第7123节的钥匙").await;
    assert!(found[0].contains("第7123节"), "{found:?}");
}
