//! The LLM adapter that needs no vendor: it answers from a small script, so that a newcomer can try everything around
//! the model. The same request always gives the same answer.

mod script;
mod words;

use homeagent_sdk::adapter::{Adapter, Descriptor, Features, ModelRequest, Rehearsed};

/// The adapter.
pub struct Rehearsal;

impl Adapter for Rehearsal {
    fn describe() -> Descriptor {
        Descriptor::new("rehearsal", env!("CARGO_PKG_VERSION"))
            .summary("Answers from a script, without a vendor, a key or a network: for trying things out")
            .model("rehearsal")
            .features(Features::TOOLS | Features::STREAMING | Features::REASONING)
            .offline()
    }

    fn rehearse(request: ModelRequest) -> Vec<Rehearsed> {
        script::rehearse(&request)
    }
}

homeagent_sdk::export_adapter!(Rehearsal);
