//! The knowledge base, as the command line shows it.

use std::fs;

use crate::house::House;
use crate::program::run;

#[tokio::test(flavor = "multi_thread")]
async fn files_are_imported_found_shown_and_removed() {
    let house = House::open().await;
    insta::assert_snapshot!(run(&house, &["knowledge"]).await.shown(&house), @r#"
    no knowledge bases; `waiter knowledge import FILE` makes one
    --- exit code 0
    "#);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("house.md"), "# House\n\n## Heating\n\nThe boiler stands in the \u{1b}[2Jcellar.\n").unwrap();
    fs::write(path("safe.txt"), "---\naudience: owner\ntitle: The safe\n---\nIts code is 4711.\n").unwrap();
    insta::assert_snapshot!(run(&house, &["knowledge", "import", &path("house.md")]).await.shown(&house), @r#"
    house is imported, for members: 1 passage
    --- exit code 0
    "#);
    assert_eq!(run(&house, &["knowledge", "import", &path("safe.txt")]).await.code, 0);
    insta::assert_snapshot!(run(&house, &["knowledge", "list"]).await.shown(&house), @r#"
    NAME   FOR      SIZE  PASSAGES  TITLE
    house  members  84 B  1         -
    safe   owner    76 B  1         The safe
    2 passages, found by their words: there is no model for vectors
    --- exit code 0
    "#);
    insta::assert_snapshot!(run(&house, &["knowledge", "search", "where", "is", "the", "boiler"]).await.shown(&house), @r#"
    house > House > Heating, lines 5-9 (1.00: words 1.00, meaning 0.00)
      # House

      ## Heating

      The boiler stands in the ␛[2Jcellar.

    there is no model for vectors yet; passages were found by their words alone
    --- exit code 0
    "#);
    let members = run(&house, &["knowledge", "search", "code", "--audience", "members"]).await;
    assert!(members.stdout.starts_with("nothing was found\n"), "{}", members.stdout);
    insta::assert_snapshot!(run(&house, &["knowledge", "show", "house"]).await.shown(&house), @r#"
    house, for members: 84 B, 1 passage, 0 with vectors, version 79ceb13f278d9ee2
    made of: house.md
    file: HOME/knowledge/house/content.md
      House (line 5)
        Heating (line 7)
    --- exit code 0
    "#);
    insta::assert_snapshot!(run(&house, &["knowledge", "show", "house", "--section", "heating"]).await.shown(&house), @r#"
    lines 7-9

    ## Heating

    The boiler stands in the ␛[2Jcellar.
    --- exit code 0
    "#);
    insta::assert_snapshot!(run(&house, &["knowledge", "show", "house", "--section", "roof"]).await.shown(&house), @r#"
    --- stderr
    the knowledge base "house" has no heading "roof"; it has "House", "Heating"
    --- exit code 1
    "#);
    insta::assert_snapshot!(run(&house, &["knowledge", "reindex"]).await.shown(&house), @r#"
    2 passages, found by their words: there is no model for vectors
    --- exit code 0
    "#);
    insta::assert_snapshot!(run(&house, &["knowledge", "remove", "safe"]).await.shown(&house), @r#"
    safe is removed, with its text
    --- exit code 0
    "#);
    assert_eq!(run(&house, &["knowledge", "remove", "safe"]).await.code, 1);
    let listed = run(&house, &["knowledge", "list", "--json"]).await.json();
    assert_eq!(listed["bases"][0]["name"], "house");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_becomes_bases_or_sections_of_one() {
    let house = House::open().await;
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put("a/boiler.html", "<html><head><title>Boiler</title><script>no()</script></head><h1>Boiler</h1>It needs water.");
    put("说明.txt", "洗衣机的滤网每月清洗一次。");
    put("photo.jpg", "no text");
    put(".hidden.md", "hidden");
    put("empty.md", "\n");
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link.txt")).unwrap();
    let path = folder.path().display().to_string();
    insta::assert_snapshot!(run(&house, &["knowledge", "import", &path]).await.shown(&house), @r#"
    a-boiler is imported, for members: 1 passage
    说明 is imported, for members: 1 passage
    empty.md is not imported: there is no text in it
    left out, as links or of kinds that are not read: 2
    --- exit code 1
    "#);
    let named = run(&house, &["knowledge", "import", &path, "--name", "handbook", "--json"]).await;
    assert_eq!((named.code, named.json()["imported"].as_array().unwrap().len()), (1, 2));
    let text = fs::read_to_string(house.home.path().join("knowledge/handbook/content.md")).unwrap();
    assert_eq!(
        text,
        "---\nsource: a/boiler.html\n---\n\n# a/boiler.html\n\n## Boiler\n\nIt needs water.\n\n# 说明.txt\n\n洗衣机的滤网每月清洗一次。\n"
    );
    let found = run(&house, &["knowledge", "search", "滤网多久洗一次", "--base", "handbook"]).await.stdout;
    assert!(found.contains("handbook > 说明.txt, lines 11-13"), "{found}");
    let missing = run(&house, &["knowledge", "import", "/nowhere"]).await;
    assert!(missing.code == 1 && missing.stderr.contains("/nowhere can't be read"), "{}", missing.stderr);
}
