//! The channel's code is replaced again and again while people talk.

use std::time::Instant;

use super::run::{Crowd, journaled, prepare, size};
use super::url;
use crate::daemon::{Daemon, with_vendor_and};

/// Another build of the component: the same code, and a section more that says so.
fn build(component: &[u8], number: usize) -> Vec<u8> {
    let mark = format!("build-{number:04}");
    let name = u8::try_from(mark.len()).expect("a short name");
    let section = [&[0, name + 1, name], mark.as_bytes()].concat();
    [component, &section].concat()
}

async fn swap(daemon: &Daemon, number: usize) {
    let (_, component) = homeagent_test_artifacts::guest("qq");
    // Every other time the code is another one.
    if number.is_multiple_of(2) {
        let file = daemon.home.path().join("plugins/qq/qq.wasm");
        std::fs::write(file, build(component, number)).expect("the folder takes files");
    }
    daemon.waiter(&["plugin", "reload", "qq", "--wait", "60"]).await.ok();
}

#[tokio::test]
async fn no_message_is_lost_doubled_or_out_of_order_while_the_code_is_replaced() {
    let (messages, swaps) = size((1_000, 10), (10_000, 50));
    let (daemon, vendor) = with_vendor_and(&["qq"]).await;
    let picture = prepare(&daemon, &vendor).await;
    let mut crowd = Crowd::connect(&url(&daemon), 120, picture).await;
    let begun = Instant::now();
    let mut longest = std::time::Duration::ZERO;
    for number in 0..swaps {
        let (swapped, ()) = tokio::join!(
            async {
                let begun = Instant::now();
                swap(&daemon, number).await;
                begun.elapsed()
            },
            crowd.talk(messages / swaps)
        );
        longest = longest.max(swapped);
    }
    crowd.all_answered().await;
    let took = begun.elapsed();
    println!("{messages} messages and {swaps} swaps took {took:?}; the longest swap {longest:?}");
    crowd.check_all_answered_in_order();
    for client in &crowd.clients {
        assert_eq!((client.made(), client.closed()), ((1, 0), Vec::new()), "no connection was dropped");
    }
    let journaled = journaled(daemon.home.path());
    assert_eq!(journaled.len(), crowd.said());
    assert!(journaled.values().all(|times| *times == 1), "{journaled:?}");
}
