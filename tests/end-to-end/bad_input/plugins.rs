//! What plugins hand back that nobody can read.

use super::{assert_answers, assert_reads};
use crate::daemon::with_vendor_and;
use crate::vendor::Reply;

#[tokio::test]
async fn a_result_nested_100_000_deep_is_refused_to_people_and_models_and_the_plugin_goes_on() {
    let (daemon, vendor) = with_vendor_and(&["traps"]).await;
    let words = ["the tool's result is nested more than 100 deep"];
    let called = daemon.waiter(&["tools", "call", "deep", "{}"]).await;
    assert_eq!(called.status.code(), Some(1), "{}", called.stdout);
    assert_reads("waiter", &called.stderr, &words);

    vendor.script([Reply::calls(&[("deep", "{}")]), Reply::text("I was told that it is too deep.")]);
    assert_eq!(daemon.reply("go deep").await, "I was told that it is too deep.");
    let results = vendor.asked(2).await[1].tool_results();
    assert_reads("the model", &results[0], &words);

    daemon.waiter(&["tools", "call", "ok", "{}"]).await.ok();
    let plugins = daemon.plugins().await;
    let traps = plugins.iter().find(|plugin| plugin["name"] == "traps").expect("it is installed");
    assert_eq!((&traps["state"], &traps["restarts"]), (&"live".into(), &0.into()), "it cost no instance: {traps}");
    assert_answers("a deep result", &daemon, &vendor).await;
}
