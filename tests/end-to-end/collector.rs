//! A collector of OpenTelemetry spans: real HTTP, OTLP's real protobuf, answers as it is told.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use prost::Message as _;
use tokio::sync::watch;

/// How it meets spans.
#[derive(Clone, Copy)]
pub(crate) enum Manner {
    /// As a collector does.
    Takes,
    /// As one that says it refused so many of them.
    Refuses(i64),
    /// With this status, and a body of this kind.
    Answers(u16, &'static str, &'static str),
    /// Reads them and says nothing.
    Hangs,
}

/// A span that was taken.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) trace: Vec<u8>,
    pub(crate) id: Vec<u8>,
    /// Empty where there is none.
    pub(crate) parent: Vec<u8>,
    pub(crate) name: String,
    pub(crate) kind: i32,
    /// The code of its status; 2 is an error.
    pub(crate) status: i32,
    pub(crate) attributes: BTreeMap<String, String>,
    /// Of the resource it came with.
    pub(crate) service: BTreeMap<String, String>,
}

impl Seen {
    pub(crate) fn has(&self, attribute: &str, value: &str) -> bool {
        self.attributes.get(attribute).is_some_and(|it| it == value)
    }
}

/// What was posted to it.
#[derive(Clone, Default)]
pub(crate) struct Received {
    /// Whether they were taken or not.
    pub(crate) requests: usize,
    pub(crate) spans: Vec<Seen>,
    /// All bodies.
    pub(crate) raw: Vec<u8>,
}

impl Received {
    /// The spans of a run.
    pub(crate) fn of_run(&self, run: &str) -> Vec<Seen> {
        self.spans.iter().filter(|span| span.has("homeagent.run", run)).cloned().collect()
    }

    pub(crate) fn holds(&self, text: &str) -> bool {
        self.raw.windows(text.len()).any(|window| window == text.as_bytes())
    }
}

/// The server. Ends with the test.
pub(crate) struct Collector {
    pub(crate) endpoint: String,
    shared: Arc<Shared>,
}

struct Shared {
    manner: Mutex<Manner>,
    received: watch::Sender<Received>,
}

impl Collector {
    pub(crate) async fn start(manner: Manner) -> Self {
        let shared = Arc::new(Shared { manner: Mutex::new(manner), received: watch::Sender::new(Received::default()) });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let endpoint = format!("http://{}", listener.local_addr().expect("it has an address"));
        let router = Router::new().route("/v1/traces", post(take)).with_state(Arc::clone(&shared));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { endpoint, shared }
    }

    pub(crate) fn behave(&self, manner: Manner) {
        *self.shared.manner.lock().expect("no panic") = manner;
    }

    pub(crate) fn so_far(&self) -> Received {
        self.shared.received.borrow().clone()
    }

    /// Waits until this holds of what was posted, and returns that.
    pub(crate) async fn until(&self, enough: impl Fn(&Received) -> bool) -> Received {
        let mut received = self.shared.received.subscribe();
        received.wait_for(enough).await.expect("the collector lives").clone()
    }
}

async fn take(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    assert_eq!(headers.get(header::CONTENT_TYPE).map(|kind| kind.as_bytes()), Some(&b"application/x-protobuf"[..]));
    let request = ExportTraceServiceRequest::decode(body.clone()).expect("a request is OTLP");
    let manner = *shared.manner.lock().expect("no panic");
    shared.received.send_modify(|received| {
        received.requests += 1;
        received.raw.extend_from_slice(&body);
        if matches!(manner, Manner::Takes) {
            received.spans.extend(spans(request));
        }
    });
    match manner {
        Manner::Takes => protobuf(&ExportTraceServiceResponse::default()),
        Manner::Refuses(rejected_spans) => {
            let partial = ExportTracePartialSuccess { rejected_spans, error_message: "too old".to_owned() };
            protobuf(&ExportTraceServiceResponse { partial_success: Some(partial) })
        }
        Manner::Answers(status, kind, body) => {
            (StatusCode::from_u16(status).expect("a valid status"), [(header::CONTENT_TYPE, kind)], body)
                .into_response()
        }
        Manner::Hangs => std::future::pending().await,
    }
}

fn protobuf(answer: &ExportTraceServiceResponse) -> Response {
    ([(header::CONTENT_TYPE, "application/x-protobuf")], answer.encode_to_vec()).into_response()
}

fn spans(request: ExportTraceServiceRequest) -> Vec<Seen> {
    let mut all = Vec::new();
    for resource in request.resource_spans {
        let service = texts(resource.resource.map(|resource| resource.attributes).unwrap_or_default());
        for span in resource.scope_spans.into_iter().flat_map(|scope| scope.spans) {
            assert!(span.start_time_unix_nano <= span.end_time_unix_nano, "{} ends before it begins", span.name);
            assert!(span.events.is_empty(), "lines of the log are not exported");
            all.push(Seen {
                trace: span.trace_id,
                id: span.span_id,
                parent: span.parent_span_id,
                name: span.name,
                kind: span.kind,
                status: span.status.map(|status| status.code).unwrap_or_default(),
                attributes: texts(span.attributes),
                service: service.clone(),
            });
        }
    }
    all
}

fn texts(attributes: Vec<KeyValue>) -> BTreeMap<String, String> {
    let text = |attribute: KeyValue| {
        let text = match attribute.value.and_then(|value| value.value) {
            Some(Value::StringValue(text)) => text,
            Some(Value::IntValue(number)) => number.to_string(),
            other => panic!("the attribute {} is {other:?}", attribute.key),
        };
        (attribute.key, text)
    };
    attributes.into_iter().map(text).collect()
}
