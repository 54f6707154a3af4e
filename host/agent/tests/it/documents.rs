//! What has left the window goes to the documents, and comes back when the model asks for it.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use homeagent_memory::Audiences;
use homeagent_memory::context::Verdict;
use homeagent_memory::documents::DocumentTools;
use homeagent_settings::Database;
use homeagent_types::ports::Toolbox;
use homeagent_types::{CallError, Cause, ToolDefinition, ToolOutput, Viewer};
use serde_json::Value;
use tempfile::TempDir;

use crate::fake::{FakePlugins, answer, call, channel};
use crate::home::{Home, finished, soon};

/// The tools for the documents of a home that is made after it was handed them.
#[derive(Default)]
struct Tools(OnceLock<DocumentTools>);

#[async_trait]
impl Toolbox for Tools {
    fn tools(&self) -> Vec<ToolDefinition> {
        self.0.get().map(Toolbox::tools).unwrap_or_default()
    }

    async fn call(&self, name: &str, arguments: Value, cause: &Cause) -> Result<ToolOutput, CallError> {
        self.0.get().expect("the home is there").call(name, arguments, cause).await
    }
}

async fn home() -> Home {
    let plugins = FakePlugins::new();
    plugins.offer_channel(channel("cli"));
    let tools = Arc::new(Tools::default());
    let toolboxes = vec![Arc::clone(&tools) as Arc<dyn Toolbox>];
    let home = Home::furnish(TempDir::new().unwrap(), plugins, |_| None, toolboxes, |_| {}).await;
    let memory = Database::open(home.folder.path().join("memory.db")).unwrap();
    let audiences = Audiences::open(&memory, home.bindings.clone()).unwrap();
    let embedder = tokio::sync::watch::channel(None).1;
    assert!(tools.0.set(DocumentTools::new(home.context.clone(), audiences, embedder)).is_ok());
    home
}

#[tokio::test]
async fn what_left_the_window_is_before_the_model_again_once_it_asked() {
    let home = home().await;
    home.turn("the plumber comes on Tuesday", vec![answer("noted")]).await;
    for number in 0..15 {
        home.turn(&format!("chat {number} about the weather"), vec![answer("yes")]).await;
    }
    home.context.flush().await;
    let mut asked = home.ask("when does the plumber come?").await;
    let model = soon(home.models.next()).await;
    assert!(!model.said().iter().any(|said| said.contains("Tuesday")), "{:?}", model.said());
    model.end(call("doc_query", r#"{"query":"plumber"}"#));
    let model = soon(home.models.next()).await;
    assert_eq!(model.said()[0], "the plumber comes on Tuesday");
    assert_eq!(model.said().last().map(String::as_str), Some("when does the plumber come?"));
    assert!(model.results().last().unwrap().contains("back in this conversation"), "{:?}", model.results());
    model.end(answer("on Tuesday"));
    let run = finished(&mut asked).await.run;
    // It is in the conversation now, and in no document any more.
    home.context.flush().await;
    let documents = home.context.documents();
    assert!(documents.find("plumber Tuesday", None, &Viewer::Everything, 5).unwrap().is_empty());
    let explanation = home.context.explain(&run).await.unwrap().unwrap();
    let gone = |choice: &homeagent_memory::context::Choice| {
        choice.exchanges.iter().any(|chosen| chosen.verdict == Verdict::LessRelevant)
    };
    assert!(explanation.choices.iter().chain(&explanation.before).any(gone), "{explanation:?}");
    // A new life has the same before it.
    soon(home.agent.shutdown()).await;
    let Home { folder, plugins, .. } = home;
    let home = Home::open(folder, plugins, |_| {}).await;
    let mut asked = home.ask("and who comes?").await;
    let model = soon(home.models.next()).await;
    assert_eq!(model.said()[0], "the plumber comes on Tuesday");
    model.end(answer("the plumber"));
    finished(&mut asked).await;
}
