//! Does in each stage what the setting `script` says, and counts the stages it has seen.

mod script;

use std::collections::BTreeMap;

use homeagent_sdk::{
    Arguments, Cause, Descriptor, Effect, Error, HandlerMode, NoArguments, Patch, Plugin, Stage, StageContext,
    StageRegistration, Stages, State, Tool, ToolOutput, Tools, log, settings,
};

use script::{Act, Script, call_ids};

const STAGES: [(Stage, &str); 7] = [
    (Stage::OnInput, "on_input"),
    (Stage::PreAction, "pre_action"),
    (Stage::PostAction, "post_action"),
    (Stage::BeforeToolcall, "before_toolcall"),
    (Stage::AfterToolcall, "after_toolcall"),
    (Stage::BeforeOutput, "before_output"),
    (Stage::AfterOutput, "after_output"),
];

static SEEN: State<BTreeMap<&'static str, u64>> = State::new(BTreeMap::new);

struct Probe;

impl Plugin for Probe {
    fn describe() -> Descriptor {
        let descriptor = Descriptor::new("probe", env!("CARGO_PKG_VERSION"))
            .summary("Does in each stage what its script says.")
            .tool(
                Tool::new::<NoArguments>("probe_seen", "Says which stages were seen, how often.").effect(Effect::Read),
            );
        STAGES.iter().fold(descriptor, |descriptor, (stage, _)| {
            descriptor.stage(StageRegistration::new(*stage, HandlerMode::Rewrite).global())
        })
    }
}

impl Stages for Probe {
    async fn run(context: StageContext) -> Result<Vec<Patch>, Error> {
        let name = STAGES.iter().find(|(stage, _)| *stage == context.stage).map_or("unknown", |(_, name)| name);
        log::info(format!("[{name} seen]"));
        SEEN.with(|seen| *seen.entry(name).or_default() += 1);

        let calls = call_ids(&context.data);
        let mut patches = Vec::new();
        for act in Script::read(&settings::get::<String>("script")?)?.acts(name) {
            match act {
                Act::Patch(patch) => patches.extend(patch.patches(&calls)?),
                Act::Trap => panic!("the script says so"),
                Act::Hang => loop {
                    std::hint::black_box(());
                },
                Act::Error(text) => return Err(Error::other(text)),
            }
        }
        Ok(patches)
    }
}

impl Tools for Probe {
    async fn call(name: &str, _arguments: Arguments, _cause: Cause) -> Result<ToolOutput, Error> {
        match name {
            "probe_seen" => SEEN.with(|seen| ToolOutput::json(seen)),
            _ => Err(Error::no_tool(name)),
        }
    }
}

homeagent_sdk::export!(Probe: Tools, Stages);
