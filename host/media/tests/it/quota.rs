//! Whatever comes in whatever order: what is held is not lost, and the limits hold.

use std::collections::HashMap;

use homeagent_media::{Address, Error, Hold};
use proptest::prelude::*;

use crate::home::{DAY, Home};

const MIB: usize = 1 << 20;

/// All that there may be, in MiB.
const ROOM: i64 = 4;

#[derive(Clone, Debug)]
enum Step {
    /// Something of this name and size is put, and held or not.
    Put {
        name: u8,
        kib: usize,
        hold: bool,
    },
    Get(u8),
    LetGo(u8),
    Remove(u8),
    Pass(u64),
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (0..12_u8, 1..1500_usize, any::<bool>()).prop_map(|(name, kib, hold)| Step::Put { name, kib, hold }),
        3 => (0..12_u8).prop_map(Step::Get),
        3 => (0..12_u8).prop_map(Step::LetGo),
        1 => (0..12_u8).prop_map(Step::Remove),
        2 => (0..20 * DAY).prop_map(Step::Pass),
        1 => Just(Step::Restart),
    ]
}

fn bytes(name: u8, kib: usize) -> Vec<u8> {
    let mut bytes = vec![name; kib << 10];
    bytes[0] = 0;
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn what_is_held_is_never_lost_and_the_room_is_never_more(steps in prop::collection::vec(step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(run(steps));
    }
}

async fn run(steps: Vec<Step>) {
    let mut home = Home::new();
    home.settings.set("core.media.total_mib", ROOM).expect("it is allowed");
    let mut last: HashMap<u8, (Address, usize)> = HashMap::new();
    let mut held: HashMap<u8, (Hold, usize)> = HashMap::new();
    // Holds of what was removed: they hold nothing, also when the same comes again.
    let mut void: Vec<Hold> = Vec::new();
    for step in steps {
        match step {
            Step::Put { name, kib, hold } => {
                let size = kib << 10;
                match home.store.put(bytes(name, kib), "").await {
                    Ok(kept) => {
                        last.insert(name, (kept.address, kib));
                        if hold {
                            held.insert(name, (kept.hold, kib));
                        }
                    }
                    Err(Error::Full) => {
                        let in_use: HashMap<Address, usize> =
                            held.values().map(|(hold, kib)| (hold.address(), kib << 10)).collect();
                        let in_use: usize = in_use.values().sum();
                        assert!(in_use + size > ROOM as usize * MIB, "there was room: {in_use} are in use");
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            Step::Get(name) => {
                if let Some((address, kib)) = last.get(&name)
                    && let Ok(medium) = home.store.get(*address).await
                {
                    assert_eq!(medium.bytes, bytes(name, *kib));
                }
            }
            Step::LetGo(name) => {
                held.remove(&name);
                void.clear();
            }
            Step::Remove(name) => {
                if let Some((address, _)) = last.get(&name) {
                    home.store.remove(*address).await.expect("it is removed");
                    let gone = held.extract_if(|_, (hold, _)| hold.address() == *address);
                    void.extend(gone.map(|(_, (hold, _))| hold));
                }
            }
            Step::Pass(time) => home.pass(time),
            Step::Restart => {
                // Nothing holds anything over a restart.
                held.clear();
                void.clear();
                home.reopen();
            }
        }
        for (name, (hold, kib)) in &held {
            let medium = home.store.get(hold.address()).await.expect("what is held is there");
            assert_eq!(medium.bytes, bytes(*name, *kib));
        }
        check_room(&home).await;
    }
}

async fn check_room(home: &Home) {
    let (count, total) = home.store.size();
    assert!(total <= (ROOM as u64) * MIB as u64, "{total} bytes are kept");
    let listed = home.store.list().await.expect("a list");
    assert_eq!((listed.len(), listed.iter().map(|it| it.bytes).sum::<u64>()), (count, total));
    for it in listed {
        let address = it.address.parse().expect("an address");
        let size = std::fs::metadata(home.path(address)).expect("its file").len();
        assert_eq!(size, it.bytes);
    }
}
