//! Adapters that come with the daemon, as components.

use homeagent_runtime::Bundled;
use homeagent_types::model::{ModelDelta, StreamEvent};
use homeagent_types::ports::AdapterSession;

use crate::house;

/// Memory that is enough for a short answer and leaves nothing to gather a long one in.
const MEMORY: &str = "\n[limits]\nmemory_mib = 2\n";

/// As many events as come in one read.
const READ: usize = 100;

fn events(count: usize) -> Vec<StreamEvent> {
    let data = r#"{"id":"c","choices":[{"index":0,"delta":{"content":" water"},"finish_reason":null}]}"#;
    vec![StreamEvent { event: String::new(), data: data.to_owned() }; count]
}

async fn read(session: &mut dyn AdapterSession, batch: &[StreamEvent], times: usize) {
    for _ in 0..times {
        let deltas = session.step(batch.to_vec()).await.expect("it reads");
        assert_eq!(deltas.len(), batch.len());
        assert_eq!(deltas[0], ModelDelta::Text(" water".to_owned()));
    }
}

#[tokio::test]
async fn a_stream_of_a_million_pieces_takes_no_more_memory_than_one_of_a_thousand() {
    let package = homeagent_bundle::packages().find(|package| package.name == "openai").expect("it is bundled");
    let manifest: &'static str = format!("{}{MEMORY}", package.manifest).leak();
    let house = house::with_bundled(vec![Bundled { manifest, component: package.component, digest: package.digest }]);
    house.runtime.load_all().await;
    let mut session = house.runtime.adapters().open("openai").await.expect("it opens");
    let batch = events(READ);
    read(session.as_mut(), &batch, 10).await;
    read(session.as_mut(), &batch, 10_000).await;
    // What it is given has to fit: a read that is larger than all of its memory does not.
    let whole = events(100_000);
    session.step(whole).await.expect_err("the memory is as small as it is said to be");
}
