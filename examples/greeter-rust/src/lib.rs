//! A complete plugin: a tool, a stage handler, an event, an output channel and a setting.

use homeagent_sdk::{
    Arguments, Cause, Channel, ChannelDefinition, Descriptor, Effect, Error, Event, Events, HandlerMode, NoArguments,
    Output, Patch, Plugin, Receipt, Stage, StageContext, StageData, StageRegistration, Stages, State, Tool, ToolOutput,
    Tools, bus, settings,
};
use serde::{Deserialize, Serialize};

/// Whom to greet.
#[derive(Deserialize, schemars::JsonSchema)]
struct Greet {
    /// Whom to greet.
    name: String,
}

/// The events that somebody was greeted, and that somebody rang.
#[derive(Serialize, Deserialize)]
struct Visitor {
    name: String,
}

/// What the plugin remembers as long as it runs.
#[derive(Default, Serialize)]
struct Report {
    rang: Vec<String>,
    guest_book: Vec<String>,
}

static REPORT: State<Report> = State::new(Report::default);

struct Greeter;

impl Plugin for Greeter {
    fn describe() -> Descriptor {
        let report = "Tells who rang the bell and what was written into the guest book.";
        let guest_book = "A guest book that keeps what is written into it.";
        Descriptor::new("greeter", "0.1.0")
            .summary("Greets people.")
            .tool(Tool::new::<Greet>("greet", "Greets someone by name.").effect(Effect::Read))
            .tool(Tool::new::<NoArguments>("greeter_report", report).effect(Effect::Read))
            .stage(StageRegistration::new(Stage::BeforeOutput, HandlerMode::Rewrite))
            .event("plugin.doorbell.*")
            .channel(ChannelDefinition::new("guest_book", guest_book))
    }
}

impl Tools for Greeter {
    async fn call(name: &str, arguments: Arguments, _cause: Cause) -> Result<ToolOutput, Error> {
        match name {
            "greet" => {
                let Greet { name } = arguments.parse()?;
                if name.is_empty() {
                    return Err(Error::invalid("the name is empty; ask whom to greet"));
                }
                let greeting: String = settings::get("greeting")?;
                let text = format!("{greeting}, {name}!");
                bus::publish("greeted", &Visitor { name })?;
                Ok(ToolOutput::text(text))
            }
            "greeter_report" => REPORT.with(|report| ToolOutput::json(report)),
            _ => Err(Error::no_tool(name)),
        }
    }
}

impl Stages for Greeter {
    /// Whatever the agent is about to say is signed.
    async fn run(context: StageContext) -> Result<Vec<Patch>, Error> {
        let StageData::Output(output) = context.data else { return Ok(Vec::new()) };
        Ok(vec![Patch::SetText(format!("{}\n(greetings from the greeter)", output.text))])
    }
}

impl Events for Greeter {
    async fn on_event(event: Event) {
        if let Ok(Visitor { name }) = serde_json::from_str(&event.payload) {
            REPORT.with(|report| report.rang.push(name));
        }
    }
}

impl Channel for Greeter {
    async fn deliver(output: Output, _cause: Cause) -> Result<Receipt, Error> {
        let entry = REPORT.with(|report| {
            report.guest_book.push(output.text);
            report.guest_book.len()
        });
        Ok(Receipt::with_id(format!("entry-{entry}")))
    }
}

homeagent_sdk::export!(Greeter: Tools, Stages, Events, Channel);
