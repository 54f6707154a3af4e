//! A call into a component, as it waits in the slot and as an instance runs it.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use homeagent_types::ports::Frame;
use homeagent_types::stage::{Patch, StageContext};
use homeagent_types::{
    CallError, Cause, Effect, Media, MediaSource, Output, OutputDelta, Receipt, RouteRequest, ToolOutput,
};
use tokio::sync::{Notify, oneshot};
use wasmtime::AsContextMut;
use wasmtime::component::{Accessor, AccessorTask, ComponentNamedList, Lift, Lower, TypedFunc};

use super::core::{JobGuard, Running, SlotCore};
use super::exports::Exports;
use super::weight::Weigh;
use crate::bindings::channel::exports::homeagent::plugin::channel;
use crate::bindings::event::exports::homeagent::plugin::event_handler;
use crate::bindings::route::exports::homeagent::plugin::route_handler;
use crate::bindings::socket::exports::homeagent::plugin::socket_handler;
use crate::bindings::stage::exports::homeagent::plugin::stage_handler;
use crate::bindings::timer::exports::homeagent::plugin::timer_handler;
use crate::bindings::{sockets, types};
use crate::bus::Event;
use crate::convert;
use crate::instance::InstanceState;
use crate::processor::Processor;

/// A guest's longer words about an error are cut, in bytes.
const LONGEST_ERROR: usize = 4096;

/// Where the answer goes. Dropped unanswered when the instance is lost: the caller gets `retryable`.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, CallError>>;

/// A call that waits in the slot's queue.
pub(crate) struct Job {
    pub(crate) id: u64,
    /// The caller has its time-out at this moment, whatever the instance does.
    pub(crate) deadline: Instant,
    pub(crate) work: Work,
    /// Filled when the instance is lost; the caller holds the other end.
    pub(crate) verdict: Verdict,
}

/// What became of a call that was never answered.
#[derive(Default)]
pub(crate) struct Fate {
    /// An instance began it, so part of it may have happened.
    pub(crate) begun: AtomicBool,
    /// Why the call cost its instance.
    pub(crate) reason: OnceLock<String>,
    /// The caller need not wait any longer: its instance is being replaced.
    pub(crate) given_up: Notify,
}

pub(crate) type Verdict = Arc<Fate>;

/// The export that is told of timers, as it is named in errors.
pub(crate) const ON_TIMER: &str = "timer-handler.on-timer";

/// What a plugin says to a firing.
pub(crate) type Handled = Result<Option<timer_handler::Again>, types::Error>;

/// What is to be done.
pub(crate) enum Work {
    Tool { name: String, effect: Effect, args: String, cause: Cause, reply: Reply<ToolOutput> },
    Stage { context: Box<StageContext>, reply: Reply<Vec<Patch>> },
    Deliver { output: Box<Output>, cause: Cause, reply: Reply<Receipt> },
    Show { deltas: Vec<OutputDelta>, reply: Reply<()> },
    Event { event: Box<Event>, reply: Reply<()> },
    Route { request: Box<RouteRequest>, cause: Cause, reply: Reply<route_handler::Response> },
    Timer { firing: Box<timer_handler::Firing>, cause: Cause, reply: Reply<Handled> },
    Open { connection: u64, reply: Reply<()> },
    Frames { connection: u64, frames: Vec<Frame>, reply: Reply<()> },
    Closed { connection: u64, reason: String, reply: Reply<()> },
}

impl Work {
    /// The export it calls, as it is named in errors.
    pub(crate) fn export(&self) -> &'static str {
        match self {
            Work::Tool { .. } => "tool-provider.call",
            Work::Stage { .. } => "stage-handler.run",
            Work::Deliver { .. } => "channel.deliver",
            Work::Show { .. } => "channel.show",
            Work::Event { .. } => "event-handler.on-event",
            Work::Route { .. } => "route-handler.handle",
            Work::Timer { .. } => ON_TIMER,
            Work::Open { .. } => "socket-handler.on-open",
            Work::Frames { .. } => "socket-handler.on-frames",
            Work::Closed { .. } => "socket-handler.on-close",
        }
    }

    /// Whether the same call may be made again when it is not known how far it came. A message may not, nor may a tool
    /// that changes something: it might be done twice.
    pub(crate) fn may_be_repeated(&self) -> bool {
        match self {
            Work::Deliver { .. } => false,
            Work::Tool { effect, .. } => *effect == Effect::Read,
            Work::Route { request, .. } => ["GET", "HEAD", "OPTIONS"].contains(&request.method.as_str()),
            _ => true,
        }
    }

    fn cause_mut(&mut self) -> Option<&mut Cause> {
        match self {
            Work::Tool { cause, .. }
            | Work::Deliver { cause, .. }
            | Work::Timer { cause, .. }
            | Work::Route { cause, .. } => Some(cause),
            Work::Stage { context, .. } => Some(&mut context.cause),
            Work::Event { event, .. } => Some(&mut event.cause),
            _ => None,
        }
    }

    /// Nobody waits for the answer any more.
    fn abandoned(&self) -> bool {
        match self {
            Work::Tool { reply, .. } => reply.is_closed(),
            Work::Stage { reply, .. } => reply.is_closed(),
            Work::Deliver { reply, .. } => reply.is_closed(),
            Work::Route { reply, .. } => reply.is_closed(),
            Work::Timer { reply, .. } => reply.is_closed(),
            Work::Show { reply, .. }
            | Work::Event { reply, .. }
            | Work::Open { reply, .. }
            | Work::Frames { reply, .. }
            | Work::Closed { reply, .. } => reply.is_closed(),
        }
    }

    pub(crate) fn refuse(self, error: CallError) {
        // The caller may have left; then nobody misses the answer.
        match self {
            Work::Tool { reply, .. } => drop(reply.send(Err(error))),
            Work::Stage { reply, .. } => drop(reply.send(Err(error))),
            Work::Deliver { reply, .. } => drop(reply.send(Err(error))),
            Work::Route { reply, .. } => drop(reply.send(Err(error))),
            Work::Timer { reply, .. } => drop(reply.send(Err(error))),
            Work::Show { reply, .. }
            | Work::Event { reply, .. }
            | Work::Open { reply, .. }
            | Work::Frames { reply, .. }
            | Work::Closed { reply, .. } => drop(reply.send(Err(error))),
        }
    }
}

/// Where jobs run: an instance, and the terms on which it runs them.
pub(crate) struct Workplace {
    pub(crate) slot: Arc<SlotCore>,
    pub(crate) exports: Arc<Exports>,
    pub(crate) generation: u64,
    pub(crate) processor: Processor,
    pub(crate) grace: Duration,
    pub(crate) largest_output: usize,
}

impl Workplace {
    /// Takes a job in: it counts as under way from here on, before the engine has begun it. Nothing when nobody waits for
    /// it any more, or it has come round too often; then its caller has been told.
    pub(crate) fn admit(self, mut job: Job) -> Option<JobTask> {
        if job.work.abandoned() || job.deadline <= Instant::now() {
            return None;
        }
        let is_own = job.work.cause_mut().is_some_and(|cause| cause.chain.contains(&self.slot.name));
        if let Some(cause) = job.work.cause_mut()
            && let Err(error) = self.slot.enter(cause, job.id)
        {
            job.work.refuse(error);
            return None;
        }
        let running = Running {
            generation: self.generation,
            export: job.work.export(),
            deadline: job.deadline,
            kill_at: job.deadline + self.grace,
            // An event tells of a turn; it lends nobody the turn's rights.
            cause: job.work.cause_mut().cloned().filter(|_| !matches!(job.work, Work::Event { .. })),
            task: None,
            verdict: Arc::clone(&job.verdict),
        };
        let guard = self.slot.begin(job.id, running);
        if !is_own {
            self.processor.top_up();
        }
        Some(JobTask { job, place: self, is_own, _guard: guard })
    }
}

/// Runs one job on an instance.
pub(crate) struct JobTask {
    job: Job,
    place: Workplace,
    /// The plugin asked for it itself, if through others; so it is no reason to let it compute for longer.
    is_own: bool,
    _guard: JobGuard,
}

impl AccessorTask<InstanceState> for JobTask {
    /// A trap does not come back here: it ends the whole `run_concurrent`, and [`SlotCore::blame`] finds the call.
    async fn run(self, accessor: &Accessor<InstanceState>) -> wasmtime::Result<()> {
        let (processor, is_own) = (self.place.processor.clone(), self.is_own);
        self.call(accessor).await?;
        if !is_own {
            processor.top_up();
        }
        Ok(())
    }
}

impl JobTask {
    async fn call(self, accessor: &Accessor<InstanceState>) -> wasmtime::Result<()> {
        let JobTask { job, place, _guard, .. } = self;
        let Workplace { slot, exports, generation, largest_output, .. } = place;
        job.verdict.begun.store(true, Ordering::Release);
        let call = Call { accessor, slot: &slot, job: job.id, export: job.work.export(), largest_output };
        match job.work {
            Work::Tool { name, args, cause, reply, .. } => match &exports.tools {
                Some(it) => {
                    let run = call.run(it.func_call(), (name, args, cause.into()));
                    call.answer(reply, run, |output: types::ToolOutput| {
                        let mut output = checked_output(output.into())?;
                        if slot.is_foreign(job.id) {
                            output.mark_foreign();
                        }
                        Ok(output)
                    })
                    .await
                }
                None => call.missing(reply),
            },
            Work::Stage { context, reply } => match &exports.stages {
                Some(it) => {
                    let run = call.run(it.func_run(), (convert::stage_context(*context),));
                    call.answer(reply, run, |patches: Vec<stage_handler::Patch>| {
                        Ok(patches.into_iter().map(Patch::from).collect())
                    })
                    .await
                }
                None => call.missing(reply),
            },
            Work::Deliver { output, cause, reply } => match &exports.channel {
                Some(it) => {
                    let run = call.run(it.func_deliver(), ((*output).into(), cause.into()));
                    call.answer(reply, run, |it: channel::Receipt| {
                        Ok(Receipt { platform_id: it.platform_id, meta: it.meta })
                    })
                    .await
                }
                None => call.missing(reply),
            },
            Work::Show { deltas, reply } => match &exports.channel {
                Some(it) => {
                    let deltas: Vec<channel::Delta> = deltas.into_iter().map(Into::into).collect();
                    call.acknowledge(reply, call.run(it.func_show(), (deltas,))).await
                }
                None => call.missing(reply),
            },
            Work::Event { event, reply } => match &exports.events {
                Some(it) => call.acknowledge(reply, call.run(it.func_on_event(), (guest_event(*event),))).await,
                None => call.missing(reply),
            },
            Work::Route { request, cause, reply } => match &exports.routes {
                Some(it) => {
                    let run = call.run(it.func_handle(), (guest_request(*request), cause.into()));
                    call.answer(reply, run, Ok).await
                }
                None => call.missing(reply),
            },
            Work::Timer { firing, cause, reply } => match &exports.timers {
                Some(it) => {
                    let (handled,) = call.run(it.func_on_timer(), (*firing, cause.into())).await?;
                    answer(reply, Ok(handled))
                }
                None => call.missing(reply),
            },
            Work::Open { connection, reply } => match (&exports.sockets, slot.sockets.tell(connection, generation)) {
                (Some(it), Some(about)) => {
                    let connection = guest_connection(about);
                    call.acknowledge(reply, call.run(it.func_on_open(), (connection,))).await
                }
                // The connection is gone, or this instance was told of it when it took over.
                (Some(_), None) => answer(reply, Ok(())),
                (None, _) => call.missing(reply),
            },
            Work::Frames { connection, frames, reply } => match &exports.sockets {
                Some(it) => {
                    let frames: Vec<_> = frames.into_iter().map(guest_frame).collect();
                    call.acknowledge(reply, call.run(it.func_on_frames(), (connection, frames))).await
                }
                None => call.missing(reply),
            },
            Work::Closed { connection, reason, reply } => match &exports.sockets {
                Some(it) => call.acknowledge(reply, call.run(it.func_on_close(), (connection, reason))).await,
                None => call.missing(reply),
            },
        }
    }
}

fn answer<T>(reply: Reply<T>, outcome: Result<T, CallError>) -> wasmtime::Result<()> {
    // The caller may have left; then nobody misses the answer.
    drop(reply.send(outcome));
    Ok(())
}

/// One call of an export.
struct Call<'a> {
    accessor: &'a Accessor<InstanceState>,
    slot: &'a SlotCore,
    job: u64,
    export: &'static str,
    largest_output: usize,
}

impl Call<'_> {
    /// Calls the export, and notes which of the guest's tasks it is, so that a trap finds its call.
    async fn run<P, R>(&self, func: TypedFunc<P, R>, params: P) -> wasmtime::Result<R>
    where
        P: ComponentNamedList + Lower + Send + Sync + 'static,
        R: ComponentNamedList + Lift + Send + Sync + 'static,
    {
        let started = self.accessor.with(|mut access| {
            let call = func.start_call_concurrent(access.as_context_mut(), params)?;
            self.slot.note_task(self.job, call.task());
            Ok::<_, wasmtime::Error>(call)
        })?;
        let returned = func.finish_call_concurrent(self.accessor, started).await?;
        // A guest that went without what it was refused does not trap for want of it later.
        self.accessor.with(|mut access| drop(access.as_context_mut().data_mut().take_refusal()));
        Ok(returned)
    }

    fn missing<T>(&self, reply: Reply<T>) -> wasmtime::Result<()> {
        let Self { slot, export, .. } = self;
        answer(reply, Err(CallError::NotFound(format!("the plugin {} does not export {export}", slot.name))))
    }

    /// For exports that return a result.
    async fn answer<G: Weigh, T>(
        &self,
        reply: Reply<T>,
        run: impl Future<Output = wasmtime::Result<(Result<G, types::Error>,)>>,
        convert: impl FnOnce(G) -> Result<T, CallError>,
    ) -> wasmtime::Result<()> {
        let (returned,) = run.await?;
        let outcome = match returned {
            Ok(value) if value.weight() > self.largest_output => {
                let (weight, most) = (value.weight(), self.largest_output);
                let reason =
                    format!("{} of {} returned {weight} bytes; {most} are the most", self.export, self.slot.name);
                Err(CallError::Other(reason))
            }
            Ok(value) => convert(value),
            Err(error) => Err(bounded(error.into())),
        };
        answer(reply, outcome)
    }

    /// For exports that return nothing.
    async fn acknowledge(
        &self,
        reply: Reply<()>,
        run: impl Future<Output = wasmtime::Result<()>>,
    ) -> wasmtime::Result<()> {
        run.await?;
        answer(reply, Ok(()))
    }
}

/// A guest's error as it is passed on: of a bounded length, and without advice that would look like the host's.
fn bounded(error: CallError) -> CallError {
    let cut = |mut text: String| {
        text.truncate(text.floor_char_boundary(LONGEST_ERROR));
        text
    };
    match error {
        CallError::Denied(denial) => CallError::Other(cut(denial.attempt)),
        CallError::Invalid(text) => CallError::Invalid(cut(text)),
        CallError::NotFound(text) => CallError::NotFound(cut(text)),
        CallError::NotStored(text)
        | CallError::Conflict(text)
        | CallError::Unreachable(text)
        | CallError::Other(text) => CallError::Other(cut(text)),
        error @ (CallError::NotLive | CallError::Busy | CallError::Timeout | CallError::Retryable) => error,
    }
}

/// One sentence about a trap: the plugin, the export, and the guest's own last words where it has said some.
pub(crate) fn describe_trap(slot: &SlotCore, export: &str, trap: &wasmtime::Error, refusal: Option<String>) -> String {
    let words = slot.take_last_words();
    let cause = refusal.unwrap_or_else(|| trap.root_cause().to_string());
    let words = if words.is_empty() { String::new() } else { format!(" ({words})") };
    format!("the plugin {} failed in {export}: {cause}{words}", slot.name)
}

/// A result must be JSON that others can read; what is not becomes an error of the tool's.
fn checked_output(output: ToolOutput) -> Result<ToolOutput, CallError> {
    if let Err(error) = homeagent_types::check_json(&output.value) {
        return Err(CallError::Other(format!("the tool's result is {error}")));
    }
    if output.media.iter().any(|Media { source, .. }| matches!(source, MediaSource::Stored(_))) {
        return Err(CallError::Other("the tool's result names a stored medium, which there is no store for".into()));
    }
    Ok(output)
}

fn guest_event(event: Event) -> event_handler::Event {
    event_handler::Event {
        topic: event.topic,
        payload: event.payload,
        source: event.source,
        at: event.at,
        cause: event.cause.into(),
        meta: Vec::new(),
    }
}

fn guest_request(request: RouteRequest) -> route_handler::Request {
    let RouteRequest { route, method, path, query, headers, body, meta } = request;
    route_handler::Request { route, method, path, query, headers, body, meta }
}

/// A connection as a guest is told of it.
pub(crate) fn guest_connection(about: super::sockets::ConnectionInfo) -> socket_handler::Connection {
    socket_handler::Connection { id: about.id, listener: about.listener, resumed: about.resumed, meta: about.meta }
}

fn guest_frame(frame: Frame) -> sockets::Frame {
    match frame {
        Frame::Text(text) => sockets::Frame::Text(text),
        Frame::Binary(bytes) => sockets::Frame::Binary(bytes),
    }
}
