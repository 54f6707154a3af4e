//! What holds of all stores.

use std::sync::{Arc, Barrier};

use homeagent_settings::{Bindings, Decision, Given, Grants};

use crate::home::Home;

#[test]
fn reads_are_answered_while_the_disk_holds_a_write_up() {
    let home = Home::new();
    let bindings = Bindings::open(&home.database()).expect("opens");
    let grants = Grants::open(&home.database()).expect("opens");
    let secrets = home.secrets();
    secrets.set("main", "sk-marked-0123".into()).expect("stores");
    // Somebody else writes to the file, for as long as it takes to read a thousand times. A reader that waits for a
    // writer makes the writers wait in vain.
    let elsewhere = home.database().writer().expect("a connection");
    elsewhere.execute_batch("BEGIN IMMEDIATE").expect("nobody writes yet");
    let ready = Arc::new(Barrier::new(4));
    let write = |work: Box<dyn FnOnce() + Send>| {
        let ready = Arc::clone(&ready);
        std::thread::spawn(move || {
            ready.wait();
            work();
        })
    };
    let (b, g, s) = (bindings.clone(), grants.clone(), secrets.clone());
    let writers = [
        write(Box::new(move || b.bind("qq", "10001", "owner").expect("binds in the end"))),
        write(Box::new(move || g.grant("web", "http", Given::default()).expect("grants in the end"))),
        write(Box::new(move || s.set("other", "sk-marked-4567".into()).expect("stores in the end"))),
    ];
    ready.wait();
    for _ in 0..1000 {
        assert_eq!(bindings.role_of("qq", "10001"), None);
        assert_eq!(grants.decided("web", "http"), None);
        assert_eq!(secrets.redact("sk-marked-0123"), "[secret main]");
        std::thread::yield_now();
    }
    elsewhere.execute_batch("COMMIT").expect("it can be ended");
    for writer in writers {
        writer.join().expect("what was written is on the disk");
    }
    assert_eq!(bindings.role_of("qq", "10001").as_deref(), Some("owner"));
    assert_eq!(grants.decided("web", "http"), Some(Decision::Given(Arc::default())));
    assert!(secrets.contains("other"));
}
