//! Tools that need no state: each call on an instance of its own.

use homeagent_types::CallError;
use homeagent_types::ports::PluginAdmin;

use crate::hostile::street::{reason, says, unnoticed, usual, with_budget};
use crate::house::{self, House};

impl House {
    /// The tool that does harm and needs no state.
    async fn harm_afresh(&self, fault: &str) -> Result<String, CallError> {
        self.call("hostile", "harm_afresh", &serde_json::json!({ "fault": fault }).to_string()).await
    }
}

#[tokio::test]
async fn a_long_computation_holds_up_no_other_call_of_its_plugin() {
    let house = with_budget(3_000).await;
    let other_calls = async {
        for _ in 0..20 {
            house.call("hostile", "behave", "{}").await.expect("it behaves");
        }
    };
    let mut long = std::pin::pin!(house.harm_afresh("loop"));
    tokio::select! {
        biased;
        outcome = &mut long => panic!("it computes for ever: {outcome:?}"),
        () = other_calls => {}
    }
    says(&reason(unnoticed(&house, 1, long).await), &["tool-provider.call", "more than 3000 ms of processor time"]);
    assert_eq!(house.status("hostile").restarts, 0);
}

#[tokio::test]
async fn a_trap_costs_its_call_and_nothing_else() {
    let house = usual().await;
    let errand = house.call("hostile", "errand", r#"{"tool":"gate","arguments":{}}"#);
    let traps = async {
        house.at_gate(1).await;
        for (fault, words) in [("trap", "a trap on request"), ("memory", "64 MiB"), ("stack", "memory access")] {
            says(&reason(house.harm_afresh(fault).await), &["hostile", "tool-provider.call", words]);
        }
        house.mind.gate.add_permits(1);
    };
    let (answer, ()) = tokio::join!(errand, traps);
    assert_eq!(answer, Ok("done".into()), "the instance with the state was not touched");
    let status = house.status("hostile");
    assert_eq!((status.state.as_str(), status.restarts), ("live", 0));
    assert!(status.last_error.is_some_and(|error| error.contains("memory access")), "the owner sees it");
}

#[tokio::test]
async fn there_are_only_so_many_instances_at_one_time_and_one_that_nobody_waits_for_makes_room() {
    let house = house::with_shared_cache(Vec::new());
    house.settings.set("core.plugin.stateless_calls", 1).expect("a valid number");
    house.install("hostile", "hostile");
    house.runtime.load_all().await;
    house.grant_all().await;
    assert_eq!(house.harm_afresh("none").await, Ok("done".into()));
    {
        let mut waits = std::pin::pin!(house.harm_afresh("wait"));
        let full = async {
            house::until(|| house.status("hostile").calls == 2).await;
            house.call_within("hostile", "harm_afresh", r#"{"fault":"none"}"#, 100).await
        };
        tokio::select! {
            biased;
            outcome = &mut waits => panic!("it waits for ever: {outcome:?}"),
            full = full => assert_eq!(full, Err(CallError::Busy)),
        }
    }
    assert_eq!(house.harm_afresh("none").await, Ok("done".into()));
}

#[tokio::test]
async fn such_a_call_ends_with_its_plugin() {
    let house = usual().await;
    let before = house.status("hostile").calls;
    let unload = async {
        house::until(|| house.status("hostile").calls > before).await;
        house.runtime.unload("hostile").await.expect("it is loaded");
    };
    let (answer, ()) = tokio::join!(house.harm_afresh("wait"), unload);
    says(&reason(answer), &["hostile", "not loaded"]);
}
