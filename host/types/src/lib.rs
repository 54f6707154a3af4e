//! The neutral vocabulary of `homed`.
//!
//! These types mirror the contract in `wit/` and the design's words; they know no engine, no database and no network.
//! The parts of the host meet at the traits in [`ports`].

mod base64_bytes;
pub mod channel;
pub mod embedding;
mod error;
pub mod fit;
pub mod input;
pub mod json;
pub mod knowledge;
pub mod lenient;
pub mod lines;
pub mod memory;
pub mod model;
pub mod money;
pub mod plugin;
pub mod ports;
pub mod principal;
pub mod process;
pub mod recollection;
pub mod route;
pub mod stage;
pub mod tokens;
pub mod tool;
pub mod trial;

pub use channel::{ChannelDefinition, Output, OutputCapabilities, OutputDelta, OutputKind, Receipt, Shown};
pub use error::{CallError, Denial};
pub use input::{Accepted, Errand, Input, Media, MediaKind, MediaSource, Payload, Submission};
pub use json::{JsonError, check_json};
pub use plugin::{Descriptor, Offer, Offers};
pub use principal::{Audience, Cause, Conversation, Peer, Principal, Role, Viewer};
pub use process::ProcessFigures;
pub use route::{RouteContent, RouteRequest, RouteResponse};
pub use tool::{Effect, ToolCall, ToolDefinition, ToolOutput};
pub use trial::{RecordedAnswer, Recording};

/// Additions by name; readers ignore names they do not know.
pub type Meta = Vec<(String, String)>;

/// Milliseconds since 1970-01-01T00:00:00Z.
pub type Timestamp = u64;

/// The present moment.
pub fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
