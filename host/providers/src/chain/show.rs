//! Showing the pieces of several attempts, one after another.

use std::sync::Arc;

use homeagent_types::model::ModelDelta;
use homeagent_types::ports::Progress;

use crate::cost::Tally;
use crate::meters::FirstPiece;

/// Passes pieces on. What an earlier attempt has shown stays until a later one has something to show in its place.
pub(super) struct Show<'a> {
    progress: &'a dyn Progress,
    /// This attempt has shown something.
    shown: bool,
    /// Something of an earlier attempt is still shown.
    stale: bool,
    /// Measures how long this attempt's first piece takes, until it is there.
    first: Option<FirstPiece>,
    /// Counts what has come of this attempt's answer.
    tally: Option<Arc<Tally>>,
}

impl<'a> Show<'a> {
    pub(super) fn new(progress: &'a dyn Progress) -> Self {
        Show { progress, shown: false, stale: false, first: None, tally: None }
    }

    /// Another attempt begins.
    pub(super) fn begin(&mut self) {
        self.stale |= std::mem::take(&mut self.shown);
    }

    /// Measures how long the first piece takes from now on.
    pub(super) fn times(&mut self, first: FirstPiece) {
        self.first = Some(first);
    }

    /// Has the pieces counted from now on.
    pub(super) fn counts(&mut self, tally: Option<Arc<Tally>>) {
        self.tally = tally;
    }

    /// This attempt's request is sent.
    pub(super) fn asks(&self) {
        if let Some(tally) = &self.tally {
            tally.asks();
        }
    }

    pub(super) fn piece(&mut self, delta: &ModelDelta) {
        if let Some(tally) = &self.tally {
            tally.piece(delta);
        }
        match delta {
            ModelDelta::Text(text) | ModelDelta::Reasoning(text) if text.is_empty() => return,
            ModelDelta::Text(_) | ModelDelta::Reasoning(_) | ModelDelta::ToolCall(_) => {}
            // These are the assembler's.
            ModelDelta::Usage(_) | ModelDelta::Finish(_) | ModelDelta::Opaque(_) | ModelDelta::Error(_) => return,
        }
        if let Some(first) = self.first.take() {
            first.arrived();
        }
        self.clear();
        self.shown = true;
        self.progress.piece(delta);
    }

    /// Whether this attempt has shown something.
    pub(super) fn has_shown(&self) -> bool {
        self.shown
    }

    /// Takes back what an earlier attempt has shown.
    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.stale) {
            self.progress.restart();
        }
    }
}
