use std::sync::Arc;

use homeagent_journal::{EventKind, RunStatus};
use homeagent_types::memory::{Advice, Advised};
use homeagent_types::model::Message;
use homeagent_types::ports::Adviser as _;
use homeagent_types::{Audience, CallError};
use tokio::task::JoinHandle;

use crate::fake::answer;
use crate::home::{Home, soon};

fn advise(home: &Home) -> JoinHandle<Result<Advised, CallError>> {
    let agent = Arc::clone(&home.agent);
    let advice =
        Advice { rules: "Same or different?".to_owned(), text: "团子 and 糰子".to_owned(), most_tokens: 99 };
    tokio::spawn(async move { agent.advise(advice).await })
}

#[tokio::test]
async fn the_memory_asks_a_model_without_tools_and_only_when_nobody_else_wants_anything() {
    let home = Home::new().await;
    home.say("me", "hello").await;
    let turn = soon(home.models.next()).await;
    let asked = advise(&home);
    tokio::task::yield_now().await;
    assert!(home.models.try_next().await.is_none(), "somebody is being answered");
    turn.end(answer("hi"));
    soon(home.plugins.next_output()).await;
    let question = soon(home.models.next()).await;
    let expected = [Message::System("Same or different?".to_owned()), Message::user("团子 and 糰子")];
    assert_eq!((question.prompt.messages.as_slice(), question.prompt.max_tokens), (&expected[..], Some(99)));
    assert!(question.prompt.tools.is_empty());
    question.end(answer("same"));
    assert_eq!(soon(asked).await.unwrap(), Ok(Advised { text: "same".to_owned(), tokens: 12 }));
    let run = home.journal.runs(1, None).await.unwrap().remove(0);
    assert_eq!((run.conversation.as_str(), run.status), ("_consolidation_", RunStatus::Completed));
    assert!(matches!(Audience::parse(&run.audience), Audience::Agent | Audience::Other(_)), "nobody is shown it");
    let events = home.events(&run.id).await;
    assert!(events.iter().any(|event| event.kind == EventKind::ModelCalled));
    assert!(!format!("{events:?}").contains("团子"), "what the memory keeps is not written down again");
}

#[tokio::test]
async fn whoever_says_something_cuts_it_off_and_it_is_asked_again() {
    let home = Home::new().await;
    let asked = advise(&home);
    let question = soon(home.models.next()).await;
    home.say("ann", "hello").await;
    soon(question.cancelled()).await;
    soon(home.models.next()).await.end(answer("hi"));
    soon(home.plugins.next_output()).await;
    soon(home.models.next()).await.end(answer("different"));
    assert_eq!(soon(asked).await.unwrap().unwrap().text, "different");
}

#[tokio::test]
async fn an_agent_that_stops_does_not_wait_for_it() {
    let home = Home::new().await;
    let asked = advise(&home);
    let question = soon(home.models.next()).await;
    soon(home.agent.shutdown()).await;
    soon(question.cancelled()).await;
    assert_eq!(soon(asked).await.unwrap(), Err(CallError::NotLive));
    assert_eq!(advise(&home).await.unwrap(), Err(CallError::NotLive));
}
