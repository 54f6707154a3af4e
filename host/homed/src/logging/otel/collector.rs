//! One request to a collector: spans in OTLP's protobuf, posted over HTTP.

use std::time::Duration;

use homeagent_providers::transport::{Endpoint, Timeouts, Transport, TransportError};
use homeagent_types::model::{Failure, FailureClass, HttpRequest, KeyPlacement};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message as _;

/// Where a collector takes spans, below the endpoint.
const PATH: &str = "/v1/traces";

/// How long a request may take, from connecting to the last byte of the answer.
const WHOLE: Duration = Duration::from_secs(10);

const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(5),
    first_byte: Duration::from_secs(10),
    silence: Duration::from_secs(5),
    waiting: Duration::from_secs(10),
};

/// The longest answer that is read, in bytes.
const LONGEST: usize = 64 * 1024;

/// A collector at an address.
pub(super) struct Collector {
    transport: Transport,
    base_url: String,
}

/// Spans that a collector did not take.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub(super) struct Refusal {
    reason: String,
    /// Whether the same spans may be taken later.
    pub(super) passing: bool,
}

impl Collector {
    /// The collector at this endpoint, which may be written with the path for spans or without it.
    pub(super) fn new(endpoint: &str) -> Result<Self, TransportError> {
        let endpoint = endpoint.trim_end_matches('/');
        let base_url = endpoint.strip_suffix(PATH).unwrap_or(endpoint).to_owned();
        Ok(Self { transport: Transport::new(TIMEOUTS)?, base_url })
    }

    /// Hands spans over; returns how many of them the collector refused.
    pub(super) async fn take(&self, spans: Vec<u8>) -> Result<u64, Refusal> {
        let answer = tokio::time::timeout(WHOLE, self.post(spans)).await;
        answer.unwrap_or_else(|_| {
            let reason = format!("it did not answer within {} seconds", WHOLE.as_secs());
            Err(Refusal { reason, passing: true })
        })
    }

    async fn post(&self, body: Vec<u8>) -> Result<u64, Refusal> {
        let endpoint = Endpoint { base_url: &self.base_url, placement: &KeyPlacement::None, key: None };
        let headers = vec![("content-type".to_owned(), "application/x-protobuf".to_owned())];
        let request = HttpRequest { method: "POST".to_owned(), path: PATH.to_owned(), headers, body };
        let reply = self.transport.send(&endpoint, request, TIMEOUTS).await.map_err(Refusal::from)?;
        // Read to its end, so that the connection can be used again.
        let status = reply.status;
        let answer = reply.body.beginning(LONGEST).await;
        match status {
            // An answer in another form says nothing against the spans.
            200..=299 => Ok(ExportTraceServiceResponse::decode(answer.as_slice())
                .ok()
                .and_then(|answer| answer.partial_success)
                .map_or(0, |partial| u64::try_from(partial.rejected_spans).unwrap_or(0))),
            // Those that the protocol says to try again.
            429 | 502 | 503 | 504 => Err(Refusal { reason: format!("it answered {status}"), passing: true }),
            _ => Err(Refusal { reason: format!("it answered {status}"), passing: false }),
        }
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        match failure.class {
            FailureClass::Timeout | FailureClass::Network | FailureClass::StreamEndedEarly => {
                Self { reason: failure.message, passing: true }
            }
            // The sentences of the others are about a source of models.
            _ => Self {
                reason: "it answered with a web page or a redirect, as no collector does".to_owned(),
                passing: false,
            },
        }
    }
}
