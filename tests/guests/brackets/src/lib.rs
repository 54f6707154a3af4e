//! Puts replies into 【】.

use homeagent_sdk::{
    Descriptor, Error, HandlerMode, Patch, Plugin, Stage, StageContext, StageData, StageRegistration, Stages,
};

struct Brackets;

impl Plugin for Brackets {
    fn describe() -> Descriptor {
        Descriptor::new("brackets", env!("CARGO_PKG_VERSION"))
            .summary("Puts replies into 【】.")
            .stage(StageRegistration::new(Stage::BeforeOutput, HandlerMode::Rewrite))
    }
}

impl Stages for Brackets {
    async fn run(context: StageContext) -> Result<Vec<Patch>, Error> {
        let StageData::Output(text) = context.data else { return Ok(Vec::new()) };
        Ok(vec![Patch::SetText(format!("【{}】", text.text))])
    }
}

homeagent_sdk::export!(Brackets: Stages);
