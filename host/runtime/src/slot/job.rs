//! A call into a component, as it waits in the slot and as an instance runs it.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use homeagent_types::ports::Frame;
use homeagent_types::stage::{Patch, StageContext};
use homeagent_types::{CallError, Cause, Media, MediaSource, Output, OutputDelta, Receipt, ToolOutput};
use tokio::sync::oneshot;
use wasmtime::component::{Accessor, AccessorTask};

use super::core::SlotCore;
use super::exports::Exports;
use crate::bindings::event::exports::homeagent::plugin::event_handler;
use crate::bindings::socket::exports::homeagent::plugin::socket_handler;
use crate::bindings::sockets;
use crate::bus::Event;
use crate::convert;
use crate::instance::InstanceState;

/// Where the answer goes. Dropped unanswered when the instance is lost: the caller gets `retryable`.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, CallError>>;

/// A call that waits in the slot's queue.
pub(crate) struct Job {
    pub(crate) id: u64,
    /// The caller has its time-out at this moment, whatever the instance does.
    pub(crate) deadline: Instant,
    pub(crate) work: Work,
}

/// What is to be done.
pub(crate) enum Work {
    Tool { name: String, args: String, cause: Cause, reply: Reply<ToolOutput> },
    Stage { context: Box<StageContext>, reply: Reply<Vec<Patch>> },
    Deliver { output: Box<Output>, cause: Cause, reply: Reply<Receipt> },
    Show { deltas: Vec<OutputDelta>, reply: Reply<()> },
    Event { event: Box<Event>, reply: Reply<()> },
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
            Work::Open { .. } => "socket-handler.on-open",
            Work::Frames { .. } => "socket-handler.on-frames",
            Work::Closed { .. } => "socket-handler.on-close",
        }
    }

    fn cause(&self) -> Option<&Cause> {
        match self {
            Work::Tool { cause, .. } | Work::Deliver { cause, .. } => Some(cause),
            Work::Stage { context, .. } => Some(&context.cause),
            Work::Event { event, .. } => Some(&event.cause),
            _ => None,
        }
    }

    /// Nobody waits for the answer any more.
    fn abandoned(&self) -> bool {
        match self {
            Work::Tool { reply, .. } => reply.is_closed(),
            Work::Stage { reply, .. } => reply.is_closed(),
            Work::Deliver { reply, .. } => reply.is_closed(),
            Work::Show { reply, .. }
            | Work::Event { reply, .. }
            | Work::Open { reply, .. }
            | Work::Frames { reply, .. }
            | Work::Closed { reply, .. } => reply.is_closed(),
        }
    }
}

/// Runs one job on an instance.
pub(crate) struct JobTask {
    pub(crate) job: Job,
    pub(crate) slot: Arc<SlotCore>,
    pub(crate) exports: Arc<Exports>,
    pub(crate) generation: u64,
    pub(crate) grace: Duration,
    pub(crate) largest_output: usize,
}

impl AccessorTask<InstanceState> for JobTask {
    /// An error ends the instance: the guest trapped, and nothing of its store can be trusted any more.
    async fn run(self, accessor: &Accessor<InstanceState>) -> wasmtime::Result<()> {
        let JobTask { job, slot, exports, generation, grace, largest_output } = self;
        if job.work.abandoned() || job.deadline <= Instant::now() {
            return Ok(());
        }
        let export = job.work.export();
        let cause = job.work.cause().cloned();
        let _running = slot.begin(job.id, generation, export, job.deadline + grace, cause);
        let call = Call { accessor, slot: &slot, export, largest_output };
        let missing = || CallError::NotFound(format!("the plugin {} does not export {export}", slot.name));
        match job.work {
            Work::Tool { name, args, cause, reply } => {
                let Some(tools) = &exports.tools else { return answer(reply, Err(missing())) };
                let Ok(cause) = slot.enter(cause, job.id) else { return answer(reply, Err(CallError::Busy)) };
                let run = tools.call_call(accessor, name, args, cause.into());
                call.answer(reply, run, |output| checked_output(output.into())).await
            }
            Work::Stage { mut context, reply } => {
                let Some(stages) = &exports.stages else { return answer(reply, Err(missing())) };
                let Ok(cause) = slot.enter(context.cause, job.id) else {
                    return answer(reply, Err(CallError::Busy));
                };
                context.cause = cause;
                let run = stages.call_run(accessor, convert::stage_context(*context));
                call.answer(reply, run, |patches| Ok(patches.into_iter().map(Into::into).collect::<Vec<Patch>>())).await
            }
            Work::Deliver { output, cause, reply } => {
                let Some(channel) = &exports.channel else { return answer(reply, Err(missing())) };
                let Ok(cause) = slot.enter(cause, job.id) else { return answer(reply, Err(CallError::Busy)) };
                let run = channel.call_deliver(accessor, (*output).into(), cause.into());
                call.answer(reply, run, |it| Ok(Receipt { platform_id: it.platform_id, meta: it.meta })).await
            }
            Work::Show { deltas, reply } => {
                let Some(channel) = &exports.channel else { return answer(reply, Err(missing())) };
                let run = channel.call_show(accessor, deltas.into_iter().map(Into::into).collect());
                call.acknowledge(reply, run).await
            }
            Work::Event { event, reply } => {
                let Some(events) = &exports.events else { return answer(reply, Err(missing())) };
                let Ok(cause) = slot.enter(event.cause.clone(), job.id) else {
                    return answer(reply, Err(CallError::Busy));
                };
                call.acknowledge(reply, events.call_on_event(accessor, guest_event(*event, cause))).await
            }
            Work::Open { connection, reply } => {
                let Some(handler) = &exports.sockets else { return answer(reply, Err(missing())) };
                // None: the connection is gone, or this instance was told of it when it took over.
                let Some(about) = slot.sockets.tell(connection, generation) else { return answer(reply, Ok(())) };
                call.acknowledge(reply, handler.call_on_open(accessor, guest_connection(about, false))).await
            }
            Work::Frames { connection, frames, reply } => {
                let Some(handler) = &exports.sockets else { return answer(reply, Err(missing())) };
                let frames = frames.into_iter().map(guest_frame).collect();
                call.acknowledge(reply, handler.call_on_frames(accessor, connection, frames)).await
            }
            Work::Closed { connection, reason, reply } => {
                let Some(handler) = &exports.sockets else { return answer(reply, Err(missing())) };
                call.acknowledge(reply, handler.call_on_close(accessor, connection, reason)).await
            }
        }
    }
}

fn answer<T>(reply: Reply<T>, outcome: Result<T, CallError>) -> wasmtime::Result<()> {
    // The caller may have left; then nobody misses the answer.
    drop(reply.send(outcome));
    Ok(())
}

/// What the answering of a call needs.
struct Call<'a> {
    accessor: &'a Accessor<InstanceState>,
    slot: &'a SlotCore,
    export: &'static str,
    largest_output: usize,
}

impl Call<'_> {
    /// For exports that return a result.
    async fn answer<G: Weigh, E: Into<CallError>, T>(
        &self,
        reply: Reply<T>,
        run: impl Future<Output = wasmtime::Result<Result<G, E>>>,
        convert: impl FnOnce(G) -> Result<T, CallError>,
    ) -> wasmtime::Result<()> {
        match run.await {
            Ok(Ok(value)) if value.weight() > self.largest_output => {
                let weight = value.weight();
                let most = self.largest_output;
                let reason = format!("{} of {} returned {weight} bytes; {most} are the most", self.export, self.slot.name);
                answer(reply, Err(CallError::Other(reason)))
            }
            Ok(Ok(value)) => answer(reply, convert(value)),
            Ok(Err(error)) => answer(reply, Err(error.into())),
            Err(trap) => self.trapped(reply, trap),
        }
    }

    /// For exports that return nothing.
    async fn acknowledge(
        &self,
        reply: Reply<()>,
        run: impl Future<Output = wasmtime::Result<()>>,
    ) -> wasmtime::Result<()> {
        match run.await {
            Ok(()) => answer(reply, Ok(())),
            Err(trap) => self.trapped(reply, trap),
        }
    }

    fn trapped<T>(&self, reply: Reply<T>, trap: wasmtime::Error) -> wasmtime::Result<()> {
        let refusal = self.accessor.with(|mut access| access.data_mut().take_refusal());
        let reason = describe_trap(self.slot, self.export, &trap, refusal);
        drop(reply.send(Err(CallError::Other(reason.clone()))));
        Err(trap.context(reason))
    }
}

/// One sentence about a trap: the plugin, the export, and the guest's own last words where it has said some.
pub(crate) fn describe_trap(
    slot: &SlotCore,
    export: &str,
    trap: &wasmtime::Error,
    refusal: Option<String>,
) -> String {
    let words = slot.take_last_words();
    let cause = refusal.unwrap_or_else(|| trap.root_cause().to_string());
    let words = if words.is_empty() { String::new() } else { format!(" ({words})") };
    format!("the plugin {} failed in {export}: {cause}{words}", slot.name)
}

/// How many bytes an answer brings into the host.
trait Weigh {
    fn weight(&self) -> usize;
}

impl Weigh for crate::bindings::types::ToolOutput {
    fn weight(&self) -> usize {
        let media = self.media.iter().map(|media| match &media.source {
            crate::bindings::types::MediaSource::Inline(bytes) => bytes.len(),
            crate::bindings::types::MediaSource::Url(text) | crate::bindings::types::MediaSource::Stored(text) => {
                text.len()
            }
        });
        self.value.len() + media.sum::<usize>() + meta_weight(&self.meta)
    }
}

impl Weigh for Vec<crate::bindings::stage::exports::homeagent::plugin::stage_handler::Patch> {
    fn weight(&self) -> usize {
        use crate::bindings::stage::exports::homeagent::plugin::stage_handler::Patch;
        let patch = |patch: &Patch| match patch {
            Patch::SetText(text)
            | Patch::AddSystem(text)
            | Patch::DropCall(text)
            | Patch::Refuse(text)
            | Patch::Respond(text)
            | Patch::Other(text) => text.len(),
            Patch::SetArgs(set) => set.arguments.len(),
            Patch::Redirect(to) => to.tool.len() + to.arguments.len(),
            Patch::SetResult(output) => output.weight(),
            Patch::PutData(datum) => datum.key.len() + datum.value.len(),
        };
        self.iter().map(|it| patch(it) + size_of::<Patch>()).sum()
    }
}

impl Weigh for crate::bindings::channel::exports::homeagent::plugin::channel::Receipt {
    fn weight(&self) -> usize {
        self.platform_id.as_ref().map_or(0, String::len) + meta_weight(&self.meta)
    }
}

fn meta_weight(meta: &[(String, String)]) -> usize {
    meta.iter().map(|(key, value)| key.len() + value.len()).sum()
}

/// A result must be JSON; what is not becomes an error of the tool's.
fn checked_output(output: ToolOutput) -> Result<ToolOutput, CallError> {
    if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(&output.value) {
        return Err(CallError::Other(format!("the tool's result is not JSON: {error}")));
    }
    if output.media.iter().any(|Media { source, .. }| matches!(source, MediaSource::Stored(_))) {
        return Err(CallError::Other("the tool's result names a stored medium, which there is no store for".into()));
    }
    Ok(output)
}

fn guest_event(event: Event, cause: Cause) -> event_handler::Event {
    event_handler::Event {
        topic: event.topic,
        payload: event.payload,
        source: event.source,
        at: event.at,
        cause: cause.into(),
        meta: Vec::new(),
    }
}

/// A connection as a guest is told of it.
pub(crate) fn guest_connection(about: super::sockets::ConnectionInfo, resumed: bool) -> socket_handler::Connection {
    socket_handler::Connection { id: about.id, listener: about.listener, resumed, meta: about.meta }
}

fn guest_frame(frame: Frame) -> sockets::Frame {
    match frame {
        Frame::Text(text) => sockets::Frame::Text(text),
        Frame::Binary(bytes) => sockets::Frame::Binary(bytes),
    }
}
