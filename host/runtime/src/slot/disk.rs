//! A plugin's share of what waits for the disk.

use std::sync::Arc;

use homeagent_types::CallError;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// As much as a plugin may have on its way to the disk or from it, in units of [`UNIT`]: 32 MiB.
const ROOM: usize = 32 << 10;
/// In bytes.
const UNIT: usize = 1 << 10;
/// What a call takes besides its content, in units: so there are at most 4,096 calls.
const CALL: usize = 8;
/// Calls of one plugin that are at the disk at one time: one, so that what is counted before a write is so until it is done.
const PLACES: usize = 1;

/// How much of the disk's time and of the host's memory one plugin has for it: however much it asks for, the others find
/// the disk.
pub(crate) struct DiskShare {
    room: Arc<Semaphore>,
    places: Arc<Semaphore>,
}

/// A plugin's turn at the disk.
pub(crate) struct Turn {
    _room: OwnedSemaphorePermit,
    _place: OwnedSemaphorePermit,
}

impl Default for DiskShare {
    fn default() -> Self {
        Self { room: Arc::new(Semaphore::new(ROOM)), places: Arc::new(Semaphore::new(PLACES)) }
    }
}

impl DiskShare {
    /// Runs `work` where it may wait. `bytes` is what it was handed. Fails with `busy` where the
    /// plugin has too much under way. Work that has begun ends also when nobody waits for it any more.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        host: &Handle,
        bytes: usize,
        work: impl FnOnce() -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, CallError> {
        let turn = self.enter(bytes).await?;
        let done = host.spawn_blocking(move || {
            let _turn = turn;
            work()
        });
        done.await.unwrap_or_else(|lost| Err(CallError::Other(format!("the work broke off: {lost}"))))
    }

    /// Waits for the plugin's turn at the disk, which lasts as long as what is returned. Fails as [`DiskShare::run`].
    pub(crate) async fn enter(&self, bytes: usize) -> Result<Turn, CallError> {
        let units = u32::try_from(bytes / UNIT + CALL).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).try_acquire_many_owned(units).map_err(|_| CallError::Busy)?;
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| CallError::NotLive)?;
        Ok(Turn { _room: room, _place: place })
    }

    /// Lets nothing more begin, and waits for what has.
    pub(crate) async fn end(&self) {
        let all = self.places.acquire_many(u32::try_from(PLACES).unwrap_or(u32::MAX)).await;
        self.places.close();
        drop(all);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn whoever_asks_for_too_much_at_once_is_told_busy_and_has_its_room_back_afterwards() {
        let share = Arc::new(DiskShare::default());
        let (go, gate) = mpsc::channel::<()>();
        let (begun_tx, begun) = tokio::sync::oneshot::channel();
        let (large, host) = (Arc::clone(&share), Handle::current());
        let first = tokio::spawn(async move {
            let work = move || {
                let _ = begun_tx.send(());
                gate.recv().map_err(|_| CallError::NotLive)
            };
            large.run(&host, 24 << 20, work).await
        });
        begun.await.expect("it begins");
        let host = Handle::current();
        assert_eq!(share.run(&host, 16 << 20, || Ok(())).await, Err(CallError::Busy));
        go.send(()).expect("it waits");
        assert_eq!(first.await.expect("no panic"), Ok(()));
        assert_eq!(share.run(&host, 16 << 20, || Ok(())).await, Ok(()));
    }
}
