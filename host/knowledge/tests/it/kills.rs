//! `kill -9` while bases are made, changed and imported, again and again in one home.

use std::collections::BTreeSet;

use homeagent_knowledge::{Circle, Edit, Error, Import};

use crate::home::{Home, knowledge_in};
use crate::stage::{acknowledge, alone, killed_after, life};

/// After how many acknowledgements each life ends.
const LIVES: [usize; 5] = [1, 17, 40, 3, 64];

#[tokio::test]
#[ignore = "it is started by the test that kills it"]
async fn writing_until_it_is_killed() {
    let Some((folder, life)) = life() else { return };
    let (knowledge, _settings, _model) = knowledge_in(&folder);
    for number in 0.. {
        let name = format!("base-{life}-{number}");
        knowledge
            .create(&name, &format!("# One\n\nThe boiler{life}x{number} stands here.\n"), Circle::Owner)
            .await
            .unwrap();
        acknowledge("made", &format!("{name} boiler{life}x{number}"));
        let line = format!("- item{life}x{number}");
        let edit = Edit::Append { heading: None, text: line.clone() };
        // A person writes the same list.
        match knowledge.update("list", edit, None, Circle::Owner).await {
            Ok(_) => acknowledge("made", &format!("list {line}")),
            Err(error) => assert!(matches!(error, Error::Unknown { .. } | Error::Changed { .. }), "{error}"),
        }
        let text = format!("The roses{life}x{number} are cut in March.\n");
        knowledge.import("garden.md", text.into_bytes(), None, Import::Replace).await.unwrap();
        acknowledge("imported", &number.to_string());
        if number > 0 {
            let old = format!("base-{life}-{}", number - 1);
            acknowledge("leaving", &old);
            knowledge.remove(&old).await.unwrap();
        }
    }
}

#[tokio::test]
async fn no_text_that_was_acknowledged_is_lost_by_a_kill_at_any_moment() {
    let mut home = Home::with(&[("list", "# List\n")]).await;
    let mut told: BTreeSet<(String, String)> = BTreeSet::new();
    for (life, count) in (0..).zip(LIVES) {
        let Home { folder, .. } = home;
        for (kind, what) in killed_after(alone("kills::writing_until_it_is_killed", folder.path(), life), count) {
            match kind.as_str() {
                "made" => {
                    let (name, word) = what.split_once(' ').unwrap();
                    told.insert((name.to_owned(), word.to_owned()));
                }
                "leaving" => told.retain(|(name, _)| *name != what),
                _ => {}
            }
        }
        home = Home::at(folder);
        check(&home, &told).await;
        home.knowledge.close().await;
    }
    assert!(told.iter().any(|(name, _)| name == "list"), "everything was acknowledged at some time");
}

async fn check(home: &Home, told: &BTreeSet<(String, String)>) {
    for (name, word) in told {
        assert!(home.text(name).contains(word), "{word} is lost from {name}");
        home.until(async |home| home.found(word).await.iter().any(|found| found.contains(word))).await;
    }
    // What was being written is no base, and what was imported is whole.
    for base in home.knowledge.list(Circle::Owner).await.unwrap().bases {
        // One that was being removed may be listed for a moment.
        let text = std::fs::read_to_string(home.path(&base.name)).unwrap_or_else(|_| "\n".to_owned());
        assert!(text.ends_with('\n'), "{}: {text:?}", base.name);
        assert_eq!(base.problem, None, "{}", base.name);
    }
}
