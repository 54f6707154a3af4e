//! What an instance is told to do by its supervisor, and saving, the one order that takes its time beside the calls.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use wasmtime::AsContextMut;
use wasmtime::component::{Accessor, AccessorTask};

use super::core::{JobGuard, SlotCore};
use super::exports::Exports;
use crate::instance::{self, InstanceState};

/// What an instance is told, in order. Each is answered when it has been done; when the instance is lost under it, the
/// other end of the answer is dropped.
pub(super) enum Order {
    /// Before it serves: take over what another instance saved.
    Load(Vec<u8>, oneshot::Sender<Result<(), String>>),
    /// Serve.
    Serve(oneshot::Sender<()>),
    /// Take no more jobs, and leave the queue to another.
    Pause(oneshot::Sender<()>),
    /// Say what the next instance has to know.
    Save(oneshot::Sender<Vec<u8>>),
    /// After a pause: serve on.
    Resume(oneshot::Sender<()>),
}

/// Tells an instance what to do. Cheap to clone; every answer is `None` when the instance was lost.
#[derive(Clone)]
pub(crate) struct Orders(mpsc::UnboundedSender<Order>);

impl Orders {
    /// The two ends of the way.
    pub(super) fn channel() -> (Self, mpsc::UnboundedReceiver<Order>) {
        let (orders, told) = mpsc::unbounded_channel();
        (Self(orders), told)
    }

    async fn tell<T>(&self, order: impl FnOnce(oneshot::Sender<T>) -> Order) -> Option<T> {
        let (reply, done) = oneshot::channel();
        self.0.send(order(reply)).ok()?;
        done.await.ok()
    }

    /// Hands over what another instance saved; in words, why it was not taken.
    pub(crate) async fn load(&self, state: Vec<u8>) -> Option<Result<(), String>> {
        self.tell(|reply| Order::Load(state, reply)).await
    }

    /// Lets it serve; answered when it is active and has been told of the open connections.
    pub(crate) async fn serve(&self) -> Option<()> {
        self.tell(Order::Serve).await
    }

    /// Lets it take no more jobs; answered when the queue is free for another.
    pub(crate) async fn pause(&self) -> Option<()> {
        self.tell(Order::Pause).await
    }

    /// Asks for its state.
    pub(crate) async fn save(&self) -> Option<Vec<u8>> {
        self.tell(Order::Save).await
    }

    /// Lets it serve on after a pause; answered when it has the queue again.
    pub(crate) async fn resume(&self) -> Option<()> {
        self.tell(Order::Resume).await
    }

    /// The same as soon as it gives way, which nobody waits for.
    pub(crate) fn resume_in_time(&self) {
        // When the instance is gone, its exit says so.
        drop(self.0.send(Order::Resume(oneshot::channel().0)));
    }
}

/// Saves an instance's state.
pub(super) struct SaveTask {
    pub(super) core: Arc<SlotCore>,
    pub(super) job: u64,
    pub(super) exports: Arc<Exports>,
    pub(super) reply: oneshot::Sender<Vec<u8>>,
    /// Counts it as under way.
    pub(super) guard: JobGuard,
}

impl AccessorTask<InstanceState> for SaveTask {
    async fn run(mut self, accessor: &Accessor<InstanceState>) -> wasmtime::Result<()> {
        let _under_way = self.guard;
        let Some(snapshot) = &self.exports.snapshot else { return Ok(()) };
        let func = snapshot.func_save();
        let started = accessor.with(|mut access| {
            let call = func.start_call_concurrent(access.as_context_mut(), ())?;
            self.core.note_task(self.job, call.task());
            Ok::<_, wasmtime::Error>(call)
        })?;
        let state = tokio::select! {
            state = func.finish_call_concurrent(accessor, started) => state?.0,
            // It took too long. The guest's task goes on, and what it says then is nobody's.
            () = self.reply.closed() => return Ok(()),
        };
        accessor.with(|mut access| access.as_context_mut().set_hostcall_fuel(instance::HANDED_OVER));
        drop(self.reply.send(state));
        Ok(())
    }
}
