//! Spans that have ended, on their way to the exporter.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use opentelemetry::trace::{Span as _, TraceId};
use opentelemetry::{Context, KeyValue, Value};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Span, SpanData, SpanProcessor};
use tokio::sync::mpsc;

use super::filter::TURN;

/// Spans that may wait for the collector; further ones are dropped rather than hold up whoever ends them.
const WAITING: usize = 2048;

/// The field that names a run.
const RUN: &str = "run";

/// The queue. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// The exporter holds the other end; none while there is no exporter.
    exporter: RwLock<Option<mpsc::Sender<SpanData>>>,
    dropped: AtomicU64,
    /// The runs of turns that have not ended, so that each span of a trace can name its run.
    runs: Mutex<HashMap<TraceId, Value>>,
}

impl Queue {
    /// Takes spans from now on. The receiver of an earlier call ends when it has been emptied.
    pub(super) fn open(&self) -> mpsc::Receiver<SpanData> {
        let (sender, receiver) = mpsc::channel(WAITING);
        self.replace(Some(sender));
        receiver
    }

    /// Takes no more spans.
    pub(super) fn close(&self) {
        self.replace(None);
    }

    /// How many spans were dropped since this was last asked, because too many waited.
    pub(super) fn take_dropped(&self) -> u64 {
        self.shared.dropped.swap(0, Ordering::Relaxed)
    }

    fn replace(&self, exporter: Option<mpsc::Sender<SpanData>>) {
        *self.shared.exporter.write().unwrap_or_else(PoisonError::into_inner) = exporter;
    }

    fn runs(&self) -> MutexGuard<'_, HashMap<TraceId, Value>> {
        self.shared.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SpanProcessor for Queue {
    fn on_start(&self, span: &mut Span, _: &Context) {
        let Some(data) = span.exported_data().filter(|data| data.name == TURN) else { return };
        if let Some(run) = data.attributes.into_iter().find(|attribute| attribute.key.as_str() == RUN) {
            self.runs().insert(span.span_context().trace_id(), run.value);
        }
    }

    fn on_end(&self, mut span: SpanData) {
        let trace = span.span_context.trace_id();
        if span.name == TURN {
            // A turn's span ends after all that stand in it.
            self.runs().remove(&trace);
        } else if let Some(run) = self.runs().get(&trace).cloned() {
            span.attributes.push(KeyValue::new(RUN, run));
        }
        let exporter = self.shared.exporter.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(exporter) = &*exporter
            && exporter.try_send(span).is_err()
        {
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What is queued leaves when the exporter finishes.
    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        self.close();
        Ok(())
    }
}
