//! Addresses of their own at which plugins have their paths served, beside the daemon's: a setting of the plugin holds
//! one. There is nothing at such an address but the plugin's paths.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use homeagent_types::ports::{Listeners, OwnAddress};
use tokio::net::TcpListener;
use tokio::sync::broadcast;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::core::Shared;
use crate::guard::OwnDoor;
use crate::routes;
use crate::serve::House;

/// How long after a failure an address is tried again.
const AGAIN: Duration = Duration::from_secs(2);

/// A plugin, and the key of the setting that holds its address.
type Key = (String, String);

/// What became of an address.
struct Door {
    address: String,
    outcome: Result<(String, DropGuard), String>,
}

/// Serves at the addresses that plugins have, as they change, until the gateway stops.
pub(crate) async fn keep(core: Shared, house: House) {
    let mut settings = core.parts.settings.subscribe();
    let mut life = core.parts.keeper.changes();
    let mut doors = BTreeMap::new();
    loop {
        // Not kept while nothing happens: what is held of an agent is not given back.
        let offered = match core.parts.keeper.live() {
            Some(live) => {
                let offered = live.listeners.changed();
                let wanted = wanted(&core, &*live.listeners);
                open(&core, &house, &mut doors, wanted).await;
                tell(&doors, &*live.listeners);
                offered
            }
            None => {
                doors.clear();
                Box::pin(std::future::pending())
            }
        };
        let failed = doors.values().any(|door: &Door| door.outcome.is_err());
        tokio::select! {
            () = core.stopping.cancelled() => return,
            () = changed(&mut settings) => {}
            () = changed(&mut life) => {}
            () = offered => {}
            () = tokio::time::sleep(AGAIN), if failed => {}
        }
    }
}

/// The addresses that are set. A default opens none: each update of a package brings its own.
fn wanted(core: &Shared, listeners: &dyn Listeners) -> BTreeMap<Key, String> {
    let set = |(plugin, setting): Key| {
        let entry = core.parts.settings.entry(&setting).ok().filter(|entry| !entry.is_default)?;
        let address = entry.value.as_str()?.trim().to_owned();
        (!address.is_empty()).then_some(((plugin, setting), address))
    };
    listeners.own_addresses().into_iter().filter_map(set).collect()
}

/// Opens what is wanted and not open, and closes what is wanted no more.
async fn open(core: &Shared, house: &House, doors: &mut BTreeMap<Key, Door>, wanted: BTreeMap<Key, String>) {
    doors.retain(|key, door| wanted.get(key) == Some(&door.address));
    for (key, address) in wanted {
        let before = doors.get(&key);
        if before.is_some_and(|door| door.outcome.is_ok()) {
            continue;
        }
        let outcome = bind(&address).await.map_err(|error| why(&error));
        let outcome = outcome.map(|(listener, bound)| {
            let (plugin, setting) = key.clone();
            tracing::info!(plugin, setting, bound, "a plugin is served at an address of its own");
            let door = Arc::new(OwnDoor { plugin, setting, listen: address.clone() });
            let router = routes::paths_of_plugins(core).layer(Extension(door));
            (bound, CancellationToken::drop_guard(house.serve_network_until(listener, &router)))
        });
        if let Err(error) = &outcome
            && before.and_then(|door| door.outcome.as_ref().err()) != Some(error)
        {
            let (plugin, setting) = &key;
            tracing::warn!(
                plugin,
                setting,
                address,
                error,
                "the plugin is not served at its own address; it is tried again and again"
            );
        }
        doors.insert(key, Door { address, outcome });
    }
}

async fn bind(address: &str) -> io::Result<(TcpListener, String)> {
    let listener = TcpListener::bind(address).await?;
    let bound = listener.local_addr()?.to_string();
    Ok((listener, bound))
}

fn why(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => "another program, or another part of this one, listens there".to_owned(),
        io::ErrorKind::AddrNotAvailable => "it is no address of this machine".to_owned(),
        io::ErrorKind::InvalidInput => format!("it is no address, such as 0.0.0.0:6199: {error}"),
        _ => error.to_string(),
    }
}

/// Has the plugins' status say what became of their addresses.
fn tell(doors: &BTreeMap<Key, Door>, listeners: &dyn Listeners) {
    let mut told: BTreeMap<String, Vec<OwnAddress>> = BTreeMap::new();
    for ((plugin, setting), door) in doors {
        let (bound, problem) = match &door.outcome {
            Ok((bound, _)) => (Some(bound.clone()), None),
            Err(problem) => (None, Some(format!("{} can't be listened on: {problem}", door.address))),
        };
        told.entry(plugin.clone()).or_default().push(OwnAddress { setting: setting.clone(), bound, problem });
    }
    listeners.note_addresses(told);
}

/// Waits for news of any kind; also when some were missed. Never where none come any more.
async fn changed<T: Clone>(news: &mut broadcast::Receiver<T>) {
    if let Err(broadcast::error::RecvError::Closed) = news.recv().await {
        std::future::pending::<()>().await;
    }
}
