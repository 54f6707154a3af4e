//! To and from LLM adapters.

use homeagent_types::ToolCall;
use homeagent_types::model as host;

use crate::bindings::adapter::exports::homeagent::adapter::adapter as guest;

impl From<guest::Descriptor> for host::AdapterDescriptor {
    fn from(given: guest::Descriptor) -> Self {
        let features = [
            (guest::Features::TOOLS, "tools"),
            (guest::Features::IMAGES, "images"),
            (guest::Features::AUDIO, "audio"),
            (guest::Features::STREAMING, "streaming"),
            (guest::Features::REASONING, "reasoning"),
            (guest::Features::EMBEDDINGS, "embeddings"),
            (guest::Features::MODEL_LISTING, "model-listing"),
        ];
        Self {
            name: given.name,
            version: given.version,
            summary: given.summary,
            default_base_url: given.default_base_url,
            default_model: given.default_model,
            key: match given.key {
                guest::KeyPlacement::None => host::KeyPlacement::None,
                guest::KeyPlacement::Bearer => host::KeyPlacement::Bearer,
                guest::KeyPlacement::Header(name) => host::KeyPlacement::Header(name),
                guest::KeyPlacement::Query(name) => host::KeyPlacement::Query(name),
            },
            framing: match given.framing {
                guest::Framing::Sse => host::Framing::Sse,
                guest::Framing::Ndjson => host::Framing::Ndjson,
            },
            features: features
                .into_iter()
                .filter(|(flag, _)| given.features.contains(*flag))
                .map(|(_, name)| name.to_owned())
                .collect(),
            offline: given.offline,
            meta: given.meta,
        }
    }
}

fn media(media: &host::ModelMedia) -> guest::Media {
    guest::Media {
        mime: media.mime.clone(),
        name: media.name.clone(),
        data: media.data.clone(),
        url: media.url.clone(),
    }
}

fn parts(parts: &[host::ContentPart]) -> Vec<guest::ContentPart> {
    let convert = |part: &host::ContentPart| match part {
        host::ContentPart::Text(text) => guest::ContentPart::Text(text.clone()),
        host::ContentPart::Image(image) => guest::ContentPart::Image(media(image)),
        host::ContentPart::Audio(audio) => guest::ContentPart::Audio(media(audio)),
        host::ContentPart::Other(other) => guest::ContentPart::Other(media(other)),
    };
    parts.iter().map(convert).collect()
}

fn tool_call(call: &ToolCall) -> guest::ToolCall {
    guest::ToolCall { id: call.id.clone(), name: call.name.clone(), arguments: call.arguments.clone() }
}

fn message(message: &host::Message) -> guest::Message {
    match message {
        host::Message::System(text) => guest::Message::System(text.clone()),
        host::Message::User(content) => guest::Message::User(parts(content)),
        host::Message::Assistant { text, reasoning, tool_calls, opaque } => {
            let blob = |blob: &host::Opaque| guest::Opaque { kind: blob.kind.clone(), value: blob.value.clone() };
            guest::Message::Assistant(guest::AssistantMessage {
                text: text.clone(),
                reasoning: reasoning.clone(),
                tool_calls: tool_calls.iter().map(tool_call).collect(),
                opaque: opaque.iter().map(blob).collect(),
            })
        }
        host::Message::Tool { call, name, content, failed } => guest::Message::Tool(guest::ToolMessage {
            call: call.clone(),
            name: name.clone(),
            content: parts(content),
            failed: *failed,
        }),
    }
}

/// The request as an adapter takes it.
pub(crate) fn request(request: &host::ModelRequest) -> guest::ModelRequest {
    let spec = |tool: &host::ToolSpec| guest::ToolSpec {
        name: tool.name.clone(),
        description: tool.description.clone(),
        parameters: tool.parameters.to_string(),
    };
    guest::ModelRequest {
        model: request.model.clone(),
        messages: request.prompt.messages.iter().map(message).collect(),
        tools: request.prompt.tools.iter().map(spec).collect(),
        tool_choice: match &request.prompt.tool_choice {
            host::ToolChoice::Auto => guest::ToolChoice::Auto,
            host::ToolChoice::None => guest::ToolChoice::None,
            host::ToolChoice::Required => guest::ToolChoice::Required,
            host::ToolChoice::Named(name) => guest::ToolChoice::Named(name.clone()),
        },
        temperature: request.temperature,
        max_tokens: request.max_tokens,
        thinking: request.thinking,
        stream: request.stream,
        options: request.options.clone(),
    }
}

impl From<guest::HttpRequest> for host::HttpRequest {
    fn from(given: guest::HttpRequest) -> Self {
        Self { method: given.method, path: given.path, headers: given.headers, body: given.body }
    }
}

impl From<host::HttpResponse> for guest::HttpResponse {
    fn from(given: host::HttpResponse) -> Self {
        Self { status: given.status, headers: given.headers, body: given.body }
    }
}

impl From<host::StreamEvent> for guest::StreamEvent {
    fn from(given: host::StreamEvent) -> Self {
        Self { event: given.event, data: given.data }
    }
}

impl From<guest::Failure> for host::Failure {
    fn from(given: guest::Failure) -> Self {
        use host::FailureClass as Class;
        Self {
            class: match given.class {
                guest::FailureClass::Auth => Class::Auth,
                guest::FailureClass::Permission => Class::Permission,
                guest::FailureClass::Unfunded => Class::Unfunded,
                guest::FailureClass::RateLimited => Class::RateLimited,
                guest::FailureClass::Overloaded => Class::Overloaded,
                guest::FailureClass::BadRequest => Class::BadRequest,
                guest::FailureClass::ContextOverflow => Class::ContextOverflow,
                guest::FailureClass::ContentFilter => Class::ContentFilter,
                guest::FailureClass::Timeout => Class::Timeout,
                guest::FailureClass::Network => Class::Network,
                guest::FailureClass::StreamEndedEarly => Class::StreamEndedEarly,
                guest::FailureClass::Protocol => Class::Protocol,
            },
            message: given.message,
            retry_after_ms: given.retry_after_ms,
        }
    }
}

impl From<guest::Usage> for host::Usage {
    fn from(given: guest::Usage) -> Self {
        let guest::Usage { input, output, cached, cache_written } = given;
        Self { input, output, cached, cache_written }
    }
}

impl From<guest::ModelInfo> for host::ModelInfo {
    fn from(given: guest::ModelInfo) -> Self {
        let guest::ModelInfo { id, display_name, context_window, max_output, meta } = given;
        Self { id, display_name, context_window, max_output, meta }
    }
}

impl From<guest::Embeddings> for host::Embeddings {
    fn from(given: guest::Embeddings) -> Self {
        Self { vectors: given.vectors, usage: given.usage.map(Into::into) }
    }
}

/// A request for vectors.
pub(crate) fn embedding_request(request: &host::EmbeddingRequest) -> guest::EmbeddingRequest {
    guest::EmbeddingRequest {
        model: request.model.clone(),
        texts: request.texts.clone(),
        purpose: match request.purpose {
            host::EmbeddingPurpose::Document => guest::EmbeddingPurpose::Document,
            host::EmbeddingPurpose::Query => guest::EmbeddingPurpose::Query,
        },
        dimensions: request.dimensions,
        options: request.options.clone(),
    }
}

impl From<guest::Delta> for host::ModelDelta {
    fn from(given: guest::Delta) -> Self {
        match given {
            guest::Delta::Text(text) => Self::Text(text),
            guest::Delta::Reasoning(text) => Self::Reasoning(text),
            guest::Delta::ToolCall(call) => Self::ToolCall(host::ToolCallDelta {
                index: call.index,
                id: call.id,
                name: call.name,
                arguments: call.arguments,
            }),
            guest::Delta::Usage(usage) => Self::Usage(usage.into()),
            guest::Delta::Finish(reason) => Self::Finish(match reason {
                guest::FinishReason::Stop => host::FinishReason::Stop,
                guest::FinishReason::ToolCalls => host::FinishReason::ToolCalls,
                guest::FinishReason::Length => host::FinishReason::Length,
                guest::FinishReason::ContentFilter => host::FinishReason::ContentFilter,
                guest::FinishReason::Refusal => host::FinishReason::Refusal,
                guest::FinishReason::Pause => host::FinishReason::Pause,
                guest::FinishReason::Other => host::FinishReason::Other,
            }),
            guest::Delta::Opaque(blob) => Self::Opaque(host::Opaque {
                adapter: String::new(),
                model: String::new(),
                kind: blob.kind,
                value: blob.value,
            }),
            guest::Delta::Error(failure) => Self::Error(failure.into()),
        }
    }
}
