use std::path::Path;
use std::sync::Arc;

use homeagent_journal::{Blank, EventKind, FORGOTTEN};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::home::{CONVERSATION, Home, event};

/// Whether these bytes stand in any file of the folder.
fn holds(folder: &Path, text: &str) -> Vec<String> {
    let holding = |path: &Path| {
        let bytes = std::fs::read(path).expect("a file that can be read");
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    };
    let files = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    files.filter(|path| path.is_file() && holding(path)).map(|path| path.display().to_string()).collect()
}

fn blank() -> Blank {
    Arc::new(|_, payload: &mut Value| payload["text"] = FORGOTTEN.into())
}

#[tokio::test]
async fn what_is_forgotten_is_in_no_byte_of_any_file_and_the_rest_stays_readable() {
    let (home, journal) = Home::new_journal();
    let session = journal.current_session(CONVERSATION).await.expect("a session");
    let said =
        |text: String| event(&session, None, EventKind::UserMessageAdded, json!({ "text": text, "place": "here" }));
    let mut seqs = Vec::new();
    for number in 0..400 {
        // Long enough that words stand on pages of their own, which become free.
        let words = format!("{} 我的银行卡密码是\"八六二四\"\n号码 {number}", "long ".repeat(500));
        let words = if number % 3 == 0 { words } else { format!("nothing of note {number}") };
        seqs.push(journal.append(said(words)).await.expect("appends"));
    }
    let snapshot = json!({ "prompt": { "我的银行卡密码是\"八六二四\"": ["八六二四"] } });
    let hidden = event(&session, None, EventKind::SystemPromptSnapshotted, snapshot);
    seqs.push(journal.append(hidden).await.expect("appends"));

    let secret = ["银行卡密码是\"八六二四\"\n".to_owned(), "八六二四".to_owned()];
    let found = journal.events_holding(&secret).await.expect("looks");
    assert_eq!(found.len(), 135, "each third, and the snapshot of the prompt");
    let whole = vec![seqs[1]];
    assert_eq!(journal.forget(found, &secret, whole, &blank()).await.expect("forgets"), 136);
    journal.shred().await.expect("it is tidied");

    for text in ["八六二四", "nothing of note 1\""] {
        assert_eq!(holds(home.folder.path(), text), Vec::<String>::new(), "{text}");
    }
    assert!(journal.events_holding(&secret).await.expect("looks").is_empty());
    let events = journal.session_events(&session, false, 0, 1_000).await.expect("reads");
    assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), seqs, "nothing is gone but the words");
    assert!(events[0].payload["text"].as_str().expect("a text").ends_with(&format!("我的{FORGOTTEN}号码 0")));
    assert_eq!(events[1].payload, json!({ "text": FORGOTTEN, "place": "here" }));
    assert_eq!(events[2].payload["text"], "nothing of note 2");
    journal.append(said("and it goes on".to_owned())).await.expect("appends");
}

#[tokio::test]
async fn forgetting_nothing_changes_nothing() {
    let (_home, journal) = Home::new_journal();
    let session = journal.current_session(CONVERSATION).await.expect("a session");
    let seq = journal.append(event(&session, None, EventKind::UserMessageAdded, json!("你好"))).await.expect("appends");
    let nothing = [String::new()];
    assert!(journal.events_holding(&nothing).await.expect("looks").is_empty());
    assert_eq!(journal.forget(vec![seq, 999], &nothing, vec![999], &blank()).await.expect("forgets"), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_text_is_found_and_taken_out_whatever_is_in_it(
        text in "\\PC{1,12}",
        before in any::<String>(),
        behind in any::<String>(),
    ) {
        prop_assume!(!FORGOTTEN.contains(&text));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let (_home, journal) = Home::new_journal();
            let session = journal.current_session(CONVERSATION).await.expect("a session");
            let payload = json!({ "a": [{ "b": format!("{before}{text}{behind}") }] });
            let seq = journal.append(event(&session, None, EventKind::UserMessageAdded, payload)).await.expect("appends");
            let texts = [text.clone()];
            assert!(journal.events_holding(&texts).await.expect("looks").contains(&seq));
            journal.forget(vec![seq], &texts, vec![], &blank()).await.expect("forgets");
            let events = journal.session_events(&session, true, 0, 10).await.expect("reads");
            let left = events[0].payload["a"][0]["b"].as_str().expect("a text").replace(FORGOTTEN, "\0");
            assert!(!left.contains(&text) || text == "\0", "{left:?}");
        });
    }
}
