//! The task that takes spans from the queue to the collector.

use std::time::Duration;

use homeagent_providers::transport::TransportError;
use homeagent_settings::{Secrets, Settings};
use opentelemetry::KeyValue;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanData;
use prost::Message as _;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::attributes;
use super::collector::Collector;
use super::queue::Queue;
use super::report::Report;

/// What the daemon is called where its spans are shown.
const SERVICE_NAME: &str = "core.otel.service_name";

/// The most spans of one request.
const TOGETHER: usize = 512;

/// How long a span waits for others to go with it.
const GATHER: Duration = Duration::from_secs(1);

/// Until the same spans are offered again: the first time, doubled each time, and at most.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How long the last spans may take.
const FLUSH: Duration = Duration::from_secs(2);

/// An export at work. Dropping it ends it at once.
pub(super) struct Exporter {
    stop: CancellationToken,
    task: AbortOnDropHandle<()>,
}

impl Exporter {
    /// Takes what ends from now on to the collector at this endpoint.
    ///
    /// # Errors
    ///
    /// When the HTTP client can't be set up.
    pub(super) fn start(
        endpoint: &str,
        queue: Queue,
        settings: Settings,
        secrets: Secrets,
    ) -> Result<Self, TransportError> {
        let collector = Collector::new(endpoint)?;
        let stop = CancellationToken::new();
        let spans = queue.open();
        let work = Work { collector, spans, queue, settings, secrets, report: Report::default(), stop: stop.clone() };
        Ok(Self { stop, task: AbortOnDropHandle::new(tokio::spawn(work.run())) })
    }

    /// Hands over what waits. The queue has to be closed before.
    pub(super) async fn finish(mut self) {
        self.stop.cancel();
        if timeout(FLUSH, &mut self.task).await.is_err() {
            tracing::warn!("the collector was too slow to take the last spans, which are dropped");
        }
    }
}

struct Work {
    collector: Collector,
    /// The queue holds the other end; its end is that of the work.
    spans: mpsc::Receiver<SpanData>,
    queue: Queue,
    settings: Settings,
    secrets: Secrets,
    report: Report,
    /// Told when there is no time for pauses any more.
    stop: CancellationToken,
}

impl Work {
    async fn run(mut self) {
        while let Some(batch) = self.gather().await {
            self.deliver(batch).await;
        }
        self.report.lost(self.queue.take_dropped());
        self.report.end();
    }

    /// The next spans; `None` at the end of the queue.
    async fn gather(&mut self) -> Option<Vec<SpanData>> {
        let mut batch = Vec::new();
        if self.spans.recv_many(&mut batch, TOGETHER).await == 0 {
            return None;
        }
        let spans = &mut self.spans;
        let more = async {
            while let room @ 1.. = TOGETHER - batch.len() {
                if spans.recv_many(&mut batch, room).await == 0 {
                    break;
                }
            }
        };
        tokio::select! {
            () = more => {}
            () = sleep(GATHER) => {}
            () = self.stop.cancelled() => {}
        }
        Some(batch)
    }

    /// Offers spans until they are taken or refused for good.
    async fn deliver(&mut self, batch: Vec<SpanData>) {
        let count = u64::try_from(batch.len()).unwrap_or(u64::MAX);
        let body = self.encode(batch);
        let mut pause = PAUSE;
        loop {
            match self.collector.take(body.clone()).await {
                Ok(refused) => {
                    self.report.lost(refused + self.queue.take_dropped());
                    return self.report.delivered();
                }
                Err(refusal) => {
                    self.report.failed(&refusal);
                    if !refusal.passing || self.stop.is_cancelled() {
                        return self.report.lost(count);
                    }
                }
            }
            tokio::select! {
                () = sleep(pause) => {}
                () = self.stop.cancelled() => {}
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn encode(&self, batch: Vec<SpanData>) -> Vec<u8> {
        let name = self.settings.text(SERVICE_NAME).unwrap_or_else(|_| "homeagent".to_owned());
        let resource = Resource::builder_empty()
            .with_service_name(self.secrets.redact(&name).into_owned())
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        let spans = batch.into_iter().map(|span| attributes::outward(span, &self.secrets)).collect();
        let resource = ResourceAttributesWithSchema::from(&resource);
        let resource_spans = group_spans_by_resource_and_scope(spans, &resource);
        ExportTraceServiceRequest { resource_spans }.encode_to_vec()
    }
}
