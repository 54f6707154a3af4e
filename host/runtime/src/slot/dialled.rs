//! Connections that the host holds to others for a slot, and makes again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use homeagent_network::http::HeaderMap;
use homeagent_network::{Scheme, Url};
use homeagent_types::CallError;
use homeagent_types::ports::Connection as _;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::core::{SlotCore, lock};
use super::relay::{self, Ending};
use super::{Line, WeakLine, connection};
use crate::host::Outbound;

/// The pause before a connection is made again; it doubles with each that fails.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Where a connection leads, and how it is spoken over.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) headers: HeaderMap,
    pub(crate) secrets: Vec<String>,
    pub(crate) lines: bool,
    pub(crate) reconnect: bool,
    pub(crate) meta: Vec<(String, String)>,
}

/// Who is at the other end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Place {
    Host {
        scheme: Scheme,
        /// Of a WebSocket as it is; of other connections with the scheme `https`, for host and port alone.
        url: Url,
    },
    /// The whole path of a unix socket.
    Socket(String),
}

/// A slot's connections to others, by name.
#[derive(Default)]
pub(crate) struct Dialled {
    open: Mutex<BTreeMap<String, Entry>>,
    /// The way to the slot; what is asked for in the first `activated` comes before it.
    line: watch::Sender<Option<WeakLine>>,
    last: AtomicU64,
    /// Nothing more is to be made.
    ended: AtomicBool,
}

struct Entry {
    /// Of all that the slot ever had.
    number: u64,
    target: Target,
    /// Ends it, and its being made again.
    end: CancellationToken,
}

/// One that was taken in.
struct Held {
    number: u64,
    end: CancellationToken,
}

impl Dialled {
    /// From now on the instance can be told of connections.
    pub(crate) fn lead_to(&self, line: &Line) {
        self.line.send_replace(Some(line.downgrade()));
    }

    /// Takes a target in, in the place of another of its name; nothing where it is there already.
    fn take(&self, target: &Target, most: usize) -> Result<Option<Held>, CallError> {
        let mut open = lock(&self.open);
        // Under the lock, so that what is taken in before is found by whoever ends all.
        if self.ended.load(Ordering::Acquire) {
            return Err(CallError::NotLive);
        }
        match open.get(&target.name) {
            Some(entry) if entry.target == *target => return Ok(None),
            Some(entry) => entry.end.cancel(),
            None if open.len() >= most => return Err(CallError::Busy),
            None => {}
        }
        let (number, end) = (self.last.fetch_add(1, Ordering::Relaxed), CancellationToken::new());
        open.insert(target.name.clone(), Entry { number, target: target.clone(), end: end.clone() });
        Ok(Some(Held { number, end }))
    }

    /// Lets go of a connection that has come to its end, if its name is not another's by now.
    fn forget(&self, name: &str, number: u64) {
        let mut open = lock(&self.open);
        if open.get(name).is_some_and(|entry| entry.number == number) {
            open.remove(name);
        }
    }

    /// Ends the connection of that name.
    pub(crate) fn close(&self, name: &str) -> Result<(), CallError> {
        let entry = lock(&self.open).remove(name);
        let shown = || name.chars().take(64).collect::<String>();
        let entry = entry.ok_or_else(|| CallError::NotFound(format!("there is no connection {:?}", shown())))?;
        entry.end.cancel();
        Ok(())
    }

    /// Ends all, for good: the slot ends.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Release);
        self.close_all();
    }

    pub(crate) fn close_all(&self) {
        for entry in std::mem::take(&mut *lock(&self.open)).into_values() {
            entry.end.cancel();
        }
    }

    /// Ends those that may not lead where they lead any more, and their being made again.
    pub(crate) fn look_again(&self, may: impl Fn(&Target) -> bool) {
        lock(&self.open).retain(|_, entry| {
            let stays = may(&entry.target);
            if !stays {
                entry.end.cancel();
            }
            stays
        });
    }

    async fn line(&self, core: &Arc<SlotCore>) -> Option<Line> {
        let mut line = self.line.subscribe();
        let line = line.wait_for(Option::is_some).await.ok()?.clone()?;
        line.upgrade(core)
    }
}

/// Connects, and keeps the connection for the slot. Returns when it stands, or at once where it is to be made again.
pub(crate) async fn open(outbound: Outbound, target: Target, most: usize) -> Result<(), CallError> {
    let Some(Held { number, end }) = outbound.slot.dialled.take(&target, most)? else { return Ok(()) };
    let (first, stands) = oneshot::channel();
    let waits = !target.reconnect;
    let main = outbound.services.local.host.clone();
    main.spawn(async move {
        let slot = Arc::clone(&outbound.slot);
        tokio::select! {
            () = end.cancelled() => {}
            () = keep(&outbound, &target, number, first) => {}
        }
        slot.dialled.forget(&target.name, number);
    });
    if !waits {
        return Ok(());
    }
    stands.await.unwrap_or_else(|_| Err(CallError::Other("the connection was ended before it stood".into())))
}

async fn keep(outbound: &Outbound, target: &Target, number: u64, first: oneshot::Sender<Result<(), CallError>>) {
    let (slot, name) = (&outbound.slot, &target.name);
    let mut first = Some(first);
    let mut pause = FIRST_PAUSE;
    let mut is_told = false;
    loop {
        match relay::dial(outbound, target).await {
            Ok(peer) => {
                is_told = false;
                let since = Instant::now();
                if let Some(first) = first.take() {
                    // Whoever asked may have left.
                    let _ = first.send(Ok(()));
                }
                let Some(line) = slot.dialled.line(slot).await else { return };
                tracing::debug!(plugin = %slot.name, connection = %name, "connected");
                let held = connection::dialled(line, name, target.meta.clone());
                let ending = relay::relay(peer, &held, &outbound.services, target.lines).await;
                let is_over = !target.reconnect || matches!(ending, Ending::OfSlot);
                if is_over {
                    // Before the plugin hears of it: it may ask for the same again at once.
                    slot.dialled.forget(name, number);
                }
                if let Ending::OfPeer(reason) = &ending {
                    slot.log(tracing::Level::INFO, &format!("connection {name}: {reason}"));
                }
                Box::new(held).closed(ending.reason()).await;
                if is_over {
                    return;
                }
                // Who takes every connection and keeps none is not asked each second.
                if since.elapsed() >= LONGEST_PAUSE {
                    pause = FIRST_PAUSE;
                }
            }
            Err((error, is_final)) => {
                let is_final = is_final || !target.reconnect;
                // Once for each time that it does not succeed, however often it is tried.
                if !std::mem::replace(&mut is_told, true) || is_final {
                    slot.tell_owner(&format!("connection {name}: {error}"));
                }
                if is_final {
                    slot.dialled.forget(name, number);
                    // Whoever asked has it in time, or was never told of an attempt.
                    return drop(first.take().map(|first| first.send(Err(error))));
                }
            }
        }
        tokio::time::sleep(about(pause)).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Half of it to all of it, so that many do not come back at one moment.
fn about(pause: Duration) -> Duration {
    let chance = getrandom::u32().unwrap_or(u32::MAX);
    pause / 2 + (pause / 2).mul_f64(f64::from(chance) / f64::from(u32::MAX))
}
