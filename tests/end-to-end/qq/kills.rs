//! The daemon is killed while people talk, and their clients come back.

use std::sync::Arc;
use std::time::Duration;

use super::run::{Crowd, journaled, prepare, size, unknown};
use super::url;
use crate::daemon::{Home, start, within};
use crate::vendor::Vendor;

#[tokio::test]
async fn killed_again_and_again_it_answers_every_message_once_or_says_that_it_does_not_know() {
    let (messages, kills) = size((500, 5), (10_000, 5));
    let home = Arc::new(Home::new());
    let vendor = Vendor::start().await;
    let path = home.path().to_owned();
    // The first one finds a port, and the others have it again.
    let mut daemon = home.start().await;
    daemon.use_vendor(&vendor).await;
    let picture = prepare(&daemon, &vendor).await;
    let address = daemon.base.strip_prefix("http://").expect("an address").to_owned();
    let mut crowd = Crowd::connect(&url(&daemon), 40, picture).await;
    for _ in 0..kills {
        crowd.talk(messages / (kills + 1)).await;
        daemon.signal(rustix::process::Signal::KILL);
        daemon.child.wait().await.expect("it ends");
        // QQ goes on without it.
        for _ in 0..20 {
            crowd.say();
        }
        daemon = start(home.homed_at(&address), Arc::clone(&home), |_| path.clone()).await;
        crowd.give_up(&unknown(&path));
        for client in &crowd.clients {
            within("the clients to come back", client.until(|client| client.open() == 1)).await;
        }
    }
    let left = messages.saturating_sub(crowd.said());
    crowd.talk(left).await;
    let said = crowd.said();
    let settled = || {
        let without = crowd.check_none_answered_twice();
        let unknown = unknown(&path);
        (without.difference(&unknown).copied().collect::<Vec<_>>(), unknown.len())
    };
    let all_settled = async {
        while !settled().0.is_empty() {
            // What is waited for is in the daemon's journal, which tells nobody.
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    if tokio::time::timeout(Duration::from_secs(60), all_settled).await.is_err() {
        let (left, journaled) = (settled().0, journaled(&path));
        let (known, lost): (Vec<u64>, Vec<u64>) = left.iter().partition(|number| journaled.contains_key(number));
        panic!("not answered: {known:?}; not even in the journal: {lost:?}\n{}", home.log());
    }
    println!("{said} messages and {kills} kills: of {} answers nobody knows whether they went out", settled().1);
    let journaled = journaled(&path);
    assert_eq!(journaled.len(), said, "every message is in the journal");
    assert!(journaled.values().all(|times| *times == 1), "and none is twice: {journaled:?}");
}
