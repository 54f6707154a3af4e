//! Building what [`Plugin::describe`](crate::Plugin::describe) answers.

use std::time::Duration;

use schemars::JsonSchema;

use crate::{
    ChannelDefinition, Descriptor, Effect, FailurePolicy, HandlerMode, ListenerDefinition, OutputCapabilities, Role,
    Scope, Stage, StageRegistration, Tool, schema,
};

impl Descriptor {
    /// A plugin that offers nothing yet. `version` is usually `env!("CARGO_PKG_VERSION")`.
    pub fn new(name: &str, version: &str) -> Self {
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            summary: String::new(),
            tools: Vec::new(),
            stages: Vec::new(),
            events: Vec::new(),
            channels: Vec::new(),
            listeners: Vec::new(),
            meta: Vec::new(),
        }
    }

    /// One line for people.
    pub fn summary(mut self, summary: &str) -> Self {
        summary.clone_into(&mut self.summary);
        self
    }

    /// Offers a tool.
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Takes part in a stage.
    pub fn stage(mut self, stage: StageRegistration) -> Self {
        self.stages.push(stage);
        self
    }

    /// Wants the events of a topic; a last `*` matches any rest.
    pub fn event(mut self, topic: &str) -> Self {
        self.events.push(topic.to_owned());
        self
    }

    /// Is an output channel.
    pub fn channel(mut self, channel: ChannelDefinition) -> Self {
        self.channels.push(channel);
        self
    }

    /// Wants the host to hold a listener.
    pub fn listener(mut self, name: &str) -> Self {
        self.listeners.push(ListenerDefinition { name: name.to_owned(), meta: Vec::new() });
        self
    }
}

impl Tool {
    /// A tool whose arguments are an `A`; its schema is taken from the type, its fields' comments are what the model
    /// reads about them. Until it is told otherwise it reaches the world ([`Effect::World`]), which only the owner may.
    pub fn new<A: JsonSchema>(name: &str, description: &str) -> Self {
        Self::with_schema(name, description, schema::of::<A>())
    }

    /// A tool whose arguments are described by a JSON Schema written by hand.
    pub fn with_schema(name: &str, description: &str, schema: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters: schema.into(),
            effect: Effect::World,
            min_role: None,
            stateless: false,
            no_memory: false,
            cleaner: None,
            timeout_ms: None,
            meta: Vec::new(),
        }
    }

    /// What the tool does to the world outside its call.
    pub fn effect(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }

    /// The least role that may call it, instead of the one its effect implies.
    pub fn min_role(mut self, role: Role) -> Self {
        self.min_role = Some(role);
        self
    }

    /// It keeps nothing between calls, so each may run on an instance of its own.
    pub fn stateless(mut self) -> Self {
        self.stateless = true;
        self
    }

    /// Its output is kept in the journal only.
    pub fn no_memory(mut self) -> Self {
        self.no_memory = true;
        self
    }

    /// A JSON pointer to the part of its result that the memory works on.
    pub fn cleaner(mut self, pointer: &str) -> Self {
        self.cleaner = Some(pointer.to_owned());
        self
    }

    /// How long a call may take, instead of the host's default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout_ms = Some(milliseconds(timeout));
        self
    }
}

impl StageRegistration {
    /// A handler of `stage`, for the calls of the plugin's own tools where the stage is about calls, else for every
    /// turn.
    pub fn new(stage: Stage, mode: HandlerMode) -> Self {
        let scope = match stage {
            Stage::BeforeToolcall | Stage::AfterToolcall => Scope::OwnTools,
            _ => Scope::Global,
        };
        Self { stage, mode, scope, priority: 0, on_failure: None, timeout_ms: None, meta: Vec::new() }
    }

    /// Works on the calls of everyone's tools, and may ask for all that its stage takes; needs the grant `stages`.
    pub fn global(mut self) -> Self {
        self.scope = Scope::Global;
        self
    }

    /// Lower runs earlier; 0 where nothing is said.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// What happens to the turn when the handler fails.
    pub fn on_failure(mut self, policy: FailurePolicy) -> Self {
        self.on_failure = Some(policy);
        self
    }

    /// How long it may take, instead of the host's default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout_ms = Some(milliseconds(timeout));
        self
    }
}

impl ChannelDefinition {
    /// A channel that carries text.
    pub fn new(name: &str, description: &str) -> Self {
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            capabilities: OutputCapabilities::TEXT,
            help: String::new(),
            streaming: false,
            meta: Vec::new(),
        }
    }

    /// All that it carries.
    pub fn capabilities(mut self, capabilities: OutputCapabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// What a sender should know: formats, lengths, how long text is split.
    pub fn help(mut self, help: &str) -> Self {
        help.clone_into(&mut self.help);
        self
    }

    /// Wants pieces of an answer while it is being written.
    pub fn streaming(mut self) -> Self {
        self.streaming = true;
        self
    }
}

fn milliseconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoArguments;

    #[test]
    fn a_descriptor_holds_what_was_added() {
        let descriptor = Descriptor::new("demo", "1.2.3")
            .summary("Shows.")
            .tool(Tool::new::<NoArguments>("look", "Looks.").effect(Effect::Read).stateless().min_role(Role::Guest))
            .stage(StageRegistration::new(Stage::BeforeToolcall, HandlerMode::Rewrite).priority(-1))
            .event("plugin.*")
            .channel(ChannelDefinition::new("demo", "A channel.").streaming())
            .listener("chat");

        let [tool] = descriptor.tools.as_slice() else { panic!("one tool") };
        assert_eq!((tool.effect, tool.min_role, tool.stateless), (Effect::Read, Some(Role::Guest), true));
        assert_eq!(descriptor.stages[0].scope, Scope::OwnTools);
        assert_eq!(descriptor.events, ["plugin.*"]);
        assert_eq!(descriptor.channels[0].capabilities, OutputCapabilities::TEXT);
        assert_eq!(descriptor.listeners[0].name, "chat");
    }

    #[test]
    fn stages_that_are_not_about_calls_are_global() {
        assert_eq!(StageRegistration::new(Stage::OnInput, HandlerMode::Add).scope, Scope::Global);
    }
}
