//! Which spans are made for the collector.

use tracing::subscriber::Interest;
use tracing::{Metadata, level_filters::LevelFilter};
use tracing_subscriber::layer::{Context, Filter};

/// The turn's span, in which the others of a run stand.
pub(super) const TURN: &str = "turn";

/// The spans that the documentation promises.
const SPANS: [&str; 5] = [TURN, "stage", "tool", "model_call", "call"];

/// What the layer is given. Lines of the log are never among it: they hold what people and vendors wrote.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted {
    /// Nothing is exported.
    Nothing,
    /// The documented spans, at whatever level they stand.
    Spans,
}

impl Wanted {
    fn takes(self, metadata: &Metadata<'_>) -> bool {
        matches!(self, Self::Spans)
            && metadata.is_span()
            && SPANS.contains(&metadata.name())
            && metadata.target().starts_with("homeagent_")
    }
}

impl<S> Filter<S> for Wanted {
    fn enabled(&self, metadata: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        self.takes(metadata)
    }

    // The answer for a place in the source holds until the filter is replaced, so a span that is not wanted costs one
    // look at that place's flag.
    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.takes(metadata) { Interest::always() } else { Interest::never() }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(match self {
            Self::Nothing => LevelFilter::OFF,
            Self::Spans => LevelFilter::DEBUG,
        })
    }
}
