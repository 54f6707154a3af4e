//! Puts the letters a-z of replies into capitals.

use homeagent_sdk::{
    Descriptor, Error, HandlerMode, Patch, Plugin, Stage, StageContext, StageData, StageRegistration, Stages,
};

struct Upper;

impl Plugin for Upper {
    fn describe() -> Descriptor {
        Descriptor::new("upper", env!("CARGO_PKG_VERSION"))
            .summary("Puts the letters a-z of replies into capitals.")
            .stage(StageRegistration::new(Stage::BeforeOutput, HandlerMode::Rewrite))
    }
}

impl Stages for Upper {
    async fn run(context: StageContext) -> Result<Vec<Patch>, Error> {
        let StageData::Output(text) = context.data else { return Ok(Vec::new()) };
        Ok(vec![Patch::SetText(text.text.to_ascii_uppercase())])
    }
}

homeagent_sdk::export!(Upper: Stages);
