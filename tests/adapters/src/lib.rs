//! The adapters, linked natively instead of run as components, so that a test of what uses them needs no engine.

use async_trait::async_trait;
use homeagent_adapters::Reading;
use homeagent_sdk::adapter as sdk;
use homeagent_sdk::adapter::Adapter as _;
use homeagent_types::model::{
    AdapterDescriptor, ContentPart, EmbeddingPurpose, EmbeddingRequest, Embeddings, Failure, FailureClass,
    FinishReason, Framing, HttpRequest, HttpResponse, KeyPlacement, Message, ModelDelta, ModelInfo, ModelMedia,
    ModelRequest, Opaque, Rehearsed, StreamEvent, ToolCallDelta, ToolChoice, Usage,
};
use homeagent_types::ports::{AdapterSession, Adapters};
use homeagent_types::{CallError, Meta, ToolCall};

/// All adapters, and variants of them that tests need.
pub struct Native;

#[async_trait]
impl Adapters for Native {
    fn descriptor(&self, name: &str) -> Option<AdapterDescriptor> {
        match name {
            "rehearsal" | "mirror" => Some(descriptor(rehearsal::Rehearsal::describe())),
            "vectors" | "lost" => Some(descriptor(openai::OpenAi::describe())),
            "query-key" => {
                let key = KeyPlacement::Query("key".to_owned());
                Some(AdapterDescriptor { key, ..descriptor(openai::OpenAi::describe()) })
            }
            "header-key" => {
                let key = KeyPlacement::Header("x-api-key".to_owned());
                Some(AdapterDescriptor { key, ..descriptor(openai::OpenAi::describe()) })
            }
            name => Some(descriptor((vendor(name)?.describe)())),
        }
    }

    fn names(&self) -> Vec<String> {
        let vendors = VENDORS.iter().map(|(name, _)| *name);
        vendors.chain(["broken", "header-key", "query-key", "rehearsal"]).map(str::to_owned).collect()
    }

    async fn open(&self, name: &str) -> Result<Box<dyn AdapterSession>, CallError> {
        if name == "lost" {
            return Err(CallError::Other("it was lost".to_owned()));
        }
        // Every other name is that of a variant.
        let vendor = vendor(name).unwrap_or(&OPENAI);
        let reader = (vendor.reader)();
        Ok(Box::new(Session {
            vendor,
            reader,
            broken: name == "broken",
            mirror: name == "mirror",
            vectors: name == "vectors",
        }))
    }
}

/// What an adapter exports.
struct Vendor {
    describe: fn() -> sdk::Descriptor,
    build: fn(sdk::ModelRequest) -> Result<sdk::HttpRequest, String>,
    classify: fn(sdk::HttpResponse) -> sdk::Failure,
    models: fn(sdk::Meta) -> Result<sdk::HttpRequest, String>,
    parse_models: fn(sdk::HttpResponse) -> Result<Vec<sdk::ModelInfo>, sdk::Failure>,
    embed: fn(sdk::EmbeddingRequest) -> Result<sdk::HttpRequest, String>,
    parse_embeddings: fn(sdk::HttpResponse) -> Result<sdk::Embeddings, sdk::Failure>,
    reader: fn() -> Box<dyn Reading>,
}

impl Vendor {
    const fn of<A: sdk::Adapter>(reader: fn() -> Box<dyn Reading>) -> Self {
        Vendor {
            describe: A::describe,
            build: A::build_request,
            classify: A::classify_error,
            models: A::build_models_request,
            parse_models: A::parse_models,
            embed: A::build_embedding_request,
            parse_embeddings: A::parse_embeddings,
            reader,
        }
    }
}

static OPENAI: Vendor = Vendor::of::<openai::OpenAi>(|| Box::new(openai::Reader::new()));

/// The adapters that speak with vendors.
static VENDORS: &[(&str, &Vendor)] = &[
    ("anthropic", &Vendor::of::<anthropic::Anthropic>(|| Box::new(anthropic::Reader::new()))),
    ("deepseek", &Vendor::of::<deepseek::DeepSeek>(|| Box::new(deepseek::Reader::new()))),
    ("gemini", &Vendor::of::<gemini::Gemini>(|| Box::new(gemini::Reader::new()))),
    ("ollama", &Vendor::of::<ollama::Ollama>(|| Box::new(ollama::Reader::new()))),
    ("openai", &OPENAI),
    ("openai-responses", &Vendor::of::<openai_responses::Responses>(|| Box::new(openai_responses::Reader::new()))),
    ("qwen", &Vendor::of::<qwen::Qwen>(|| Box::new(qwen::Reader::new()))),
    ("zhipu", &Vendor::of::<zhipu::Zhipu>(|| Box::new(zhipu::Reader::new()))),
];

fn vendor(name: &str) -> Option<&'static Vendor> {
    match name {
        "broken" => Some(&OPENAI),
        name => VENDORS.iter().find(|(known, _)| *known == name).map(|(_, vendor)| *vendor),
    }
}

struct Session {
    vendor: &'static Vendor,
    reader: Box<dyn Reading>,
    /// Every step fails.
    broken: bool,
    /// Answers with the blobs it was given, and makes one.
    mirror: bool,
    /// Makes vectors.
    vectors: bool,
}

#[async_trait]
impl AdapterSession for Session {
    async fn build_request(&mut self, request: &ModelRequest) -> Result<HttpRequest, CallError> {
        (self.vendor.build)(request_of(request)).map(built).map_err(CallError::Invalid)
    }

    async fn parse_response(&mut self, response: HttpResponse) -> Result<Vec<ModelDelta>, CallError> {
        Ok(self.reader.whole(&response_of(response)).into_iter().map(delta).collect())
    }

    async fn classify_error(&mut self, response: HttpResponse) -> Result<Failure, CallError> {
        Ok(failure((self.vendor.classify)(response_of(response))))
    }

    async fn step(&mut self, events: Vec<StreamEvent>) -> Result<Vec<ModelDelta>, CallError> {
        if self.broken {
            return Err(CallError::Other("it trapped: unreachable".to_owned()));
        }
        let event = |event: StreamEvent| sdk::StreamEvent { event: event.event, data: event.data };
        let events: Vec<_> = events.into_iter().map(event).collect();
        Ok(self.reader.step(&events).into_iter().map(delta).collect())
    }

    async fn end(&mut self) -> Result<Vec<ModelDelta>, CallError> {
        Ok(self.reader.end().into_iter().map(delta).collect())
    }

    async fn build_models_request(&mut self, options: &Meta) -> Result<HttpRequest, CallError> {
        (self.vendor.models)(options.clone()).map(built).map_err(CallError::Invalid)
    }

    async fn parse_models(&mut self, response: HttpResponse) -> Result<Result<Vec<ModelInfo>, Failure>, CallError> {
        let info = |info: sdk::ModelInfo| {
            let sdk::ModelInfo { id, display_name, context_window, max_output, meta } = info;
            ModelInfo { id, display_name, context_window, max_output, meta }
        };
        let models = (self.vendor.parse_models)(response_of(response));
        Ok(models.map(|models| models.into_iter().map(info).collect()).map_err(failure))
    }

    async fn build_embedding_request(&mut self, request: &EmbeddingRequest) -> Result<HttpRequest, CallError> {
        let request = sdk::EmbeddingRequest {
            model: request.model.clone(),
            texts: request.texts.clone(),
            purpose: match request.purpose {
                EmbeddingPurpose::Document => sdk::EmbeddingPurpose::Document,
                EmbeddingPurpose::Query => sdk::EmbeddingPurpose::Query,
            },
            dimensions: request.dimensions,
            options: request.options.clone(),
        };
        if self.vectors {
            let body = serde_json::json!({"model": request.model, "input": request.texts}).to_string().into_bytes();
            let path = "/embeddings".to_owned();
            return Ok(HttpRequest { method: "POST".to_owned(), path, headers: Vec::new(), body });
        }
        (self.vendor.embed)(request).map(built).map_err(CallError::Invalid)
    }

    async fn parse_embeddings(&mut self, response: HttpResponse) -> Result<Result<Embeddings, Failure>, CallError> {
        if self.vectors {
            return Ok(serde_json::from_slice(&response.body).map_err(|error| Failure {
                class: FailureClass::Protocol,
                message: error.to_string(),
                retry_after_ms: None,
            }));
        }
        let vectors = (self.vendor.parse_embeddings)(response_of(response));
        let embeddings = |read: sdk::Embeddings| Embeddings { vectors: read.vectors, usage: read.usage.map(usage) };
        Ok(vectors.map(embeddings).map_err(failure))
    }

    async fn rehearse(&mut self, request: &ModelRequest) -> Result<Vec<Rehearsed>, CallError> {
        if self.mirror {
            return Ok(mirrored(request));
        }
        let pieces = rehearsal::Rehearsal::rehearse(request_of(request));
        Ok(pieces.into_iter().map(|piece| Rehearsed { pause_ms: piece.pause_ms, delta: delta(piece.delta) }).collect())
    }
}

fn mirrored(request: &ModelRequest) -> Vec<Rehearsed> {
    let blobs = request.prompt.messages.iter().flat_map(|message| match message {
        Message::Assistant { opaque, .. } => opaque.as_slice(),
        _ => &[],
    });
    let text = blobs.map(|blob| blob.value.as_str()).collect::<Vec<_>>().join(" ");
    let blob =
        Opaque { kind: "signature".to_owned(), value: "mine".to_owned(), adapter: String::new(), model: String::new() };
    let deltas = [ModelDelta::Text(text), ModelDelta::Opaque(blob), ModelDelta::Finish(FinishReason::Stop)];
    deltas.map(|delta| Rehearsed { pause_ms: 0, delta }).to_vec()
}

fn descriptor(descriptor: sdk::Descriptor) -> AdapterDescriptor {
    let names = ["tools", "images", "audio", "streaming", "reasoning", "embeddings", "model-listing"];
    let has = |place: usize| descriptor.features.bits() & (1 << place) != 0;
    let features = names.iter().enumerate().filter(|(place, _)| has(*place)).map(|(_, name)| (*name).to_owned());
    AdapterDescriptor {
        features: features.collect(),
        name: descriptor.name,
        version: descriptor.version,
        summary: descriptor.summary,
        default_base_url: descriptor.default_base_url,
        default_model: descriptor.default_model,
        key: match descriptor.key {
            sdk::KeyPlacement::None => KeyPlacement::None,
            sdk::KeyPlacement::Bearer => KeyPlacement::Bearer,
            sdk::KeyPlacement::Header(name) => KeyPlacement::Header(name),
            sdk::KeyPlacement::Query(name) => KeyPlacement::Query(name),
        },
        framing: match descriptor.framing {
            sdk::Framing::Sse => Framing::Sse,
            sdk::Framing::Ndjson => Framing::Ndjson,
        },
        offline: descriptor.offline,
        meta: descriptor.meta,
    }
}

fn request_of(request: &ModelRequest) -> sdk::ModelRequest {
    let tool = |tool: &homeagent_types::model::ToolSpec| sdk::ToolSpec {
        name: tool.name.clone(),
        description: tool.description.clone(),
        parameters: tool.parameters.to_string(),
    };
    sdk::ModelRequest {
        model: request.model.clone(),
        messages: request.prompt.messages.iter().map(message).collect(),
        tools: request.prompt.tools.iter().map(tool).collect(),
        tool_choice: match &request.prompt.tool_choice {
            ToolChoice::Auto => sdk::ToolChoice::Auto,
            ToolChoice::None => sdk::ToolChoice::None,
            ToolChoice::Required => sdk::ToolChoice::Required,
            ToolChoice::Named(name) => sdk::ToolChoice::Named(name.clone()),
        },
        temperature: request.temperature,
        max_tokens: request.max_tokens,
        thinking: request.thinking,
        stream: request.stream,
        options: request.options.clone(),
    }
}

fn message(message: &Message) -> sdk::Message {
    match message {
        Message::System(text) => sdk::Message::System(text.clone()),
        Message::User(parts) => sdk::Message::User(parts.iter().map(part).collect()),
        Message::Assistant { text, reasoning, tool_calls, opaque } => {
            let call = |call: &ToolCall| sdk::ToolCall {
                id: call.id.clone(),
                name: call.name.clone(),
                arguments: call.arguments.clone(),
            };
            let blob = |blob: &Opaque| sdk::Opaque { kind: blob.kind.clone(), value: blob.value.clone() };
            sdk::Message::Assistant(sdk::AssistantMessage {
                text: text.clone(),
                reasoning: reasoning.clone(),
                tool_calls: tool_calls.iter().map(call).collect(),
                opaque: opaque.iter().map(blob).collect(),
            })
        }
        Message::Tool { call, name, content, failed } => sdk::Message::Tool(sdk::ToolMessage {
            call: call.clone(),
            name: name.clone(),
            content: content.iter().map(part).collect(),
            failed: *failed,
        }),
    }
}

fn part(part: &ContentPart) -> sdk::ContentPart {
    let media = |media: &ModelMedia| sdk::Media {
        mime: media.mime.clone(),
        name: media.name.clone(),
        data: media.data.clone(),
        url: media.url.clone(),
    };
    match part {
        ContentPart::Text(text) => sdk::ContentPart::Text(text.clone()),
        ContentPart::Image(image) => sdk::ContentPart::Image(media(image)),
        ContentPart::Audio(audio) => sdk::ContentPart::Audio(media(audio)),
        ContentPart::Other(other) => sdk::ContentPart::Other(media(other)),
    }
}

fn built(built: sdk::HttpRequest) -> HttpRequest {
    HttpRequest { method: built.method, path: built.path, headers: built.headers, body: built.body }
}

fn usage(usage: sdk::Usage) -> Usage {
    let sdk::Usage { input, output, cached, cache_written } = usage;
    Usage { input, output, cached, cache_written }
}

fn response_of(response: HttpResponse) -> sdk::HttpResponse {
    sdk::HttpResponse { status: response.status, headers: response.headers, body: response.body }
}

fn delta(delta: sdk::Delta) -> ModelDelta {
    match delta {
        sdk::Delta::Text(text) => ModelDelta::Text(text),
        sdk::Delta::Reasoning(text) => ModelDelta::Reasoning(text),
        sdk::Delta::ToolCall(call) => ModelDelta::ToolCall(ToolCallDelta {
            index: call.index,
            id: call.id,
            name: call.name,
            arguments: call.arguments,
        }),
        sdk::Delta::Usage(usage) => ModelDelta::Usage(self::usage(usage)),
        sdk::Delta::Finish(reason) => ModelDelta::Finish(match reason {
            sdk::FinishReason::Stop => FinishReason::Stop,
            sdk::FinishReason::ToolCalls => FinishReason::ToolCalls,
            sdk::FinishReason::Length => FinishReason::Length,
            sdk::FinishReason::ContentFilter => FinishReason::ContentFilter,
            sdk::FinishReason::Refusal => FinishReason::Refusal,
            sdk::FinishReason::Pause => FinishReason::Pause,
            sdk::FinishReason::Other => FinishReason::Other,
        }),
        sdk::Delta::Opaque(blob) => ModelDelta::Opaque(Opaque {
            adapter: String::new(),
            model: String::new(),
            kind: blob.kind,
            value: blob.value,
        }),
        sdk::Delta::Error(error) => ModelDelta::Error(failure(error)),
    }
}

fn failure(failure: sdk::Failure) -> Failure {
    let class = match failure.class {
        sdk::FailureClass::Auth => FailureClass::Auth,
        sdk::FailureClass::Permission => FailureClass::Permission,
        sdk::FailureClass::Unfunded => FailureClass::Unfunded,
        sdk::FailureClass::RateLimited => FailureClass::RateLimited,
        sdk::FailureClass::Overloaded => FailureClass::Overloaded,
        sdk::FailureClass::BadRequest => FailureClass::BadRequest,
        sdk::FailureClass::ContextOverflow => FailureClass::ContextOverflow,
        sdk::FailureClass::ContentFilter => FailureClass::ContentFilter,
        sdk::FailureClass::Timeout => FailureClass::Timeout,
        sdk::FailureClass::Network => FailureClass::Network,
        sdk::FailureClass::StreamEndedEarly => FailureClass::StreamEndedEarly,
        sdk::FailureClass::Protocol => FailureClass::Protocol,
    };
    Failure { class, message: failure.message, retry_after_ms: failure.retry_after_ms }
}
