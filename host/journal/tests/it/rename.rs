use std::sync::Arc;

use homeagent_journal::{EventKind, JournalError, RenamedIn, RunStatus};
use serde_json::{Value, json};

use crate::home::{Home, event};

fn in_payload() -> RenamedIn {
    Arc::new(|payload: &mut Value| {
        *payload = payload.to_string().replace("qq:10001", "qq:gone").parse().expect("still JSON");
    })
}

#[tokio::test]
async fn who_is_renamed_is_in_no_byte_and_the_conversation_is_over() -> Result<(), JournalError> {
    let (home, journal) = Home::new_journal();
    let key = Some(("qq", "message of qq:10001"));
    journal.accept_input("qq:10001", "input", key, json!({ "text": "hello" }), "person:qq:10001").await?;
    let run = journal.start_run("qq:10001", "qq:10001", &["input".to_owned()]).await?;
    let error = Some("qq:10001 was not heard");
    journal.finish_run(&run.run, Vec::new(), RunStatus::Failed, None, error, json!({})).await?;
    let session = journal.current_session("qq:10001").await?;
    let others = journal.current_session(crate::home::CONVERSATION).await?;
    let said = |text: &str| event(&others, None, EventKind::UserMessageAdded, json!({ "text": text }));
    let touched = journal.append(said("what does qq:10001 say?")).await?;
    journal.append(said("nothing")).await?;
    let renamed = Arc::new(|text: &str| text.contains("qq:10001").then(|| text.replace("qq:10001", "qq:gone")));
    let changed = journal.rename(&["qq:10001".to_owned()], Arc::clone(&renamed) as _, renamed, in_payload()).await?;
    journal.shred().await?;
    assert!(changed.contains(&touched) && !changed.contains(&(touched + 1)), "{changed:?}");
    for file in std::fs::read_dir(home.folder.path()).expect("a folder").map(|file| file.expect("a file").path()) {
        let bytes = std::fs::read(&file).expect("read");
        assert!(!bytes.windows(8).any(|window| window == b"qq:10001"), "{}", file.display());
    }
    let sessions = journal.sessions().await?;
    let over = sessions.iter().find(|known| known.id == session).expect("it is there");
    assert_eq!((over.conversation.as_str(), over.ended_at.is_some()), ("qq:gone", true));
    assert_ne!(journal.current_session("qq:10001").await?, session, "who comes back begins anew");
    Ok(())
}
