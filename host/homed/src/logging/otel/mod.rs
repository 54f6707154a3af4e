//! Spans for an OpenTelemetry collector, while `core.otel.endpoint` names one.
//!
//! A span that ends is put into a bounded queue, which never waits; a task of its own takes spans from there, leaves out
//! what must not leave the house, and hands them to the collector. While the setting is empty none of that exists: the
//! layer's filter wants no span, so that none is made for it.

mod attributes;
mod collector;
mod exporter;
mod filter;
mod queue;
mod report;

use homeagent_settings::{Secrets, Settings};
use opentelemetry::InstrumentationScope;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider, SpanLimits};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing_subscriber::layer::Layer as _;
use tracing_subscriber::{Registry, reload};

use self::exporter::Exporter;
use self::filter::Wanted;
use self::queue::Queue;
use super::Sink;

/// The setting that names the collector.
const ENDPOINT: &str = "core.otel.endpoint";

/// Begins and ends the flow of spans.
pub(super) struct Switch {
    queue: Queue,
    filter: reload::Handle<Wanted, Registry>,
}

/// What makes spans of the log's, switched off.
pub(super) fn layer() -> (Sink, Switch) {
    let queue = Queue::default();
    // Everything is said here, so that no variable of the environment changes it.
    let provider = SdkTracerProvider::builder()
        .with_sampler(Sampler::AlwaysOn)
        .with_span_limits(SpanLimits::default())
        .with_resource(Resource::builder_empty().build())
        .with_span_processor(queue.clone())
        .build();
    let scope = InstrumentationScope::builder("homeagent").with_version(env!("CARGO_PKG_VERSION")).build();
    let spans = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer_with_scope(scope))
        .with_location(false)
        .with_threads(false)
        .with_level(false)
        .with_target(false)
        .with_tracked_inactivity(false)
        .with_context_activation(false);
    let (filter, handle) = reload::Layer::new(Wanted::Nothing);
    (spans.with_filter(filter).boxed(), Switch { queue, filter: handle })
}

/// Follows the setting until it is finished.
pub(super) struct Export {
    stop: CancellationToken,
    following: AbortOnDropHandle<()>,
}

impl Export {
    /// Exports as the setting says, from now on and whenever it changes.
    pub(super) fn start(switch: Switch, settings: &Settings, secrets: &Secrets) -> Self {
        let changes = settings.subscribe();
        let mut flow = Flow { switch, settings: settings.clone(), secrets: secrets.clone(), current: None };
        flow.open();
        let stop = CancellationToken::new();
        let following = AbortOnDropHandle::new(tokio::spawn(follow(flow, changes, stop.clone())));
        Self { stop, following }
    }

    /// Hands over the spans that have ended, within a few seconds whatever the collector does.
    pub(super) async fn finish(&mut self) {
        self.stop.cancel();
        if let Err(error) = (&mut self.following).await {
            tracing::error!(%error, "the export of spans failed");
        }
    }
}

/// What is exported to now.
struct Flow {
    switch: Switch,
    settings: Settings,
    secrets: Secrets,
    /// With the endpoint it was made for.
    current: Option<(String, Exporter)>,
}

impl Flow {
    fn endpoint(&self) -> String {
        // A value that can't be read means a damaged row, for which the default stands.
        self.settings.text(ENDPOINT).unwrap_or_default()
    }

    /// Begins to export if the setting says so.
    fn open(&mut self) {
        let endpoint = self.endpoint();
        if endpoint.is_empty() {
            return;
        }
        let (settings, secrets) = (self.settings.clone(), self.secrets.clone());
        match Exporter::start(&endpoint, self.switch.queue.clone(), settings, secrets) {
            Ok(exporter) => {
                tracing::info!(endpoint, "spans go to a collector");
                self.current = Some((endpoint, exporter));
                self.filter(Wanted::Spans);
            }
            Err(error) => {
                let reason = std::error::Error::source(&error).map(ToString::to_string);
                tracing::warn!(%error, reason, "spans are not exported");
            }
        }
    }

    /// Ends the export and hands over what has ended until now.
    async fn close(&mut self) {
        if let Some((endpoint, exporter)) = self.current.take() {
            self.filter(Wanted::Nothing);
            self.switch.queue.close();
            exporter.finish().await;
            tracing::info!(endpoint, "spans are no longer exported");
        }
    }

    fn filter(&self, wanted: Wanted) {
        if let Err(error) = self.switch.filter.reload(wanted) {
            tracing::warn!(%error, "{ENDPOINT} can't be applied before the next start");
        }
    }
}

async fn follow(mut flow: Flow, mut changes: broadcast::Receiver<std::sync::Arc<str>>, stop: CancellationToken) {
    loop {
        let change = tokio::select! {
            change = changes.recv() => change,
            () = stop.cancelled() => break,
        };
        match change {
            Ok(key) if *key != *ENDPOINT => continue,
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => break,
        }
        let current = flow.current.as_ref().map_or("", |(endpoint, _)| endpoint);
        if flow.endpoint() != current {
            flow.close().await;
            flow.open();
        }
    }
    flow.close().await;
}

#[cfg(test)]
mod tests {
    use tracing::{Level, debug_span, enabled, error_span};
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[test]
    fn no_span_is_made_while_it_is_off_and_only_the_documented_ones_while_it_is_on() {
        let (sink, switch) = layer();
        crate::logging::alone_with(tracing_subscriber::registry().with(sink), || {
            let made = || {
                [
                    !debug_span!(target: "homeagent_runtime", "call").is_disabled(),
                    !error_span!(target: "homeagent_agent", "turn").is_disabled(),
                    !error_span!(target: "homeagent_agent", "other").is_disabled(),
                    !error_span!(target: "elsewhere", "call").is_disabled(),
                    enabled!(target: "homeagent_agent", Level::ERROR),
                ]
            };
            assert_eq!(made(), [false; 5]);
            switch.filter.reload(Wanted::Spans).expect("the layer is there");
            assert_eq!(made(), [true, true, false, false, false]);
            switch.filter.reload(Wanted::Nothing).expect("the layer is there");
            assert_eq!(made(), [false; 5]);
        });
    }

    #[test]
    fn spans_that_are_too_many_are_dropped_and_counted_and_name_their_run() {
        let (sink, switch) = layer();
        let mut spans = switch.queue.open();
        switch.filter.reload(Wanted::Spans).expect("the layer is there");
        crate::logging::alone_with(tracing_subscriber::registry().with(sink), || {
            let turn = error_span!(target: "homeagent_agent", "turn", run = "r1");
            turn.in_scope(|| (0..3000).for_each(|_| drop(debug_span!(target: "homeagent_runtime", "call"))));
        });
        let mut waiting = Vec::new();
        while let Ok(span) = spans.try_recv() {
            waiting.push(span);
        }
        assert_eq!(waiting.len(), 2048);
        // The turn's own span is one of those that found no place.
        assert_eq!((switch.queue.take_dropped(), switch.queue.take_dropped()), (3001 - 2048, 0));
        let run =
            |span: &opentelemetry_sdk::trace::SpanData| span.attributes.iter().any(|it| it.value.as_str() == "r1");
        assert!(waiting.iter().all(run));
    }
}
