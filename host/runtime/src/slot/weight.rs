//! How large what goes into a guest, and comes out of it, is.

use homeagent_types::MediaSource;

use super::job::Work;
use crate::bindings::channel::exports::homeagent::plugin::channel;
use crate::bindings::route::exports::homeagent::plugin::route_handler;
use crate::bindings::stage::exports::homeagent::plugin::stage_handler;
use crate::bindings::types;

/// How many bytes something brings into the host, or into a guest.
pub(crate) trait Weigh {
    fn weight(&self) -> usize;
}

impl Weigh for types::ToolOutput {
    fn weight(&self) -> usize {
        let media = self.media.iter().map(|media| match &media.source {
            types::MediaSource::Inline(bytes) => bytes.len(),
            types::MediaSource::Url(text) | types::MediaSource::Stored(text) => text.len(),
        });
        self.value.len() + media.sum::<usize>() + meta_weight(&self.meta)
    }
}

impl Weigh for Vec<stage_handler::Patch> {
    fn weight(&self) -> usize {
        use stage_handler::Patch;
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

impl Weigh for channel::Receipt {
    fn weight(&self) -> usize {
        self.platform_id.as_ref().map_or(0, String::len) + meta_weight(&self.meta)
    }
}

impl Weigh for route_handler::Response {
    fn weight(&self) -> usize {
        let content = match &self.content {
            route_handler::Content::Bytes(bytes) => bytes.len(),
            route_handler::Content::Events(meta) => meta_weight(meta),
        };
        content + meta_weight(&self.headers)
    }
}

fn meta_weight(meta: &[(String, String)]) -> usize {
    meta.iter().map(|(key, value)| key.len() + value.len()).sum()
}

impl Weigh for Work {
    /// What its texts take. Where the host itself has cut something to size it is not counted: events, timers, frames,
    /// pieces, and what a stage is about.
    fn weight(&self) -> usize {
        match self {
            Work::Tool { name, args, .. } => name.len() + args.len(),
            Work::Stage { context, .. } => meta_weight(&context.turn_data),
            Work::Deliver { output, .. } => {
                let media = output.media.iter().map(|media| match &media.source {
                    MediaSource::Inline(bytes) => bytes.len(),
                    MediaSource::Url(text) | MediaSource::Stored(text) => text.len(),
                });
                let structured = output.structured.as_ref().map_or(0, String::len);
                output.text.len() + structured + media.sum::<usize>() + meta_weight(&output.meta)
            }
            Work::Route { request, .. } => {
                let texts = [&request.path, &request.method].into_iter().chain(&request.query);
                request.body.len() + meta_weight(&request.headers) + texts.map(String::len).sum::<usize>()
            }
            Work::Show { .. }
            | Work::Event { .. }
            | Work::Timer { .. }
            | Work::Open { .. }
            | Work::Frames { .. }
            | Work::Closed { .. } => 0,
        }
    }
}
