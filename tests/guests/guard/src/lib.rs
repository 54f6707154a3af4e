//! Watches the arguments of all tool calls: refuses, traps or hangs by the words it finds there.

use homeagent_sdk::{
    Descriptor, Error, HandlerMode, Patch, Plugin, Stage, StageContext, StageData, StageRegistration, Stages,
};

struct Guard;

impl Plugin for Guard {
    fn describe() -> Descriptor {
        Descriptor::new("guard", env!("CARGO_PKG_VERSION"))
            .summary("Watches the arguments of all tool calls.")
            .stage(StageRegistration::new(Stage::BeforeToolcall, HandlerMode::Rewrite).global())
    }
}

impl Stages for Guard {
    async fn run(context: StageContext) -> Result<Vec<Patch>, Error> {
        let StageData::Call(call) = context.data else { return Ok(Vec::new()) };
        if call.arguments.contains("trap") {
            panic!("the arguments say so");
        }
        if call.arguments.contains("hang") {
            loop {
                std::hint::black_box(());
            }
        }
        if call.arguments.contains("forbidden") {
            return Ok(vec![Patch::Refuse("the arguments have a forbidden word".to_owned())]);
        }
        Ok(Vec::new())
    }
}

homeagent_sdk::export!(Guard: Stages);
