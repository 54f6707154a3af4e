//! What enters and leaves a turn's window beside what is said in it.
use crate::turn::Turn;

impl Turn {
    /// Prunes the window where it has grown above its limits. Called with no call open.
    pub(crate) async fn prune(&mut self) {
        let context = self.core.context.clone();
        context.prune(&mut self.context.window, &self.result.run, self.limits.window).await;
    }

    /// Between two rounds: takes into the window what came back from documents, and prunes what has grown far above the
    /// limits.
    pub(crate) async fn tend_window(&mut self) {
        self.take_returned();
        let context = self.core.context.clone();
        context.prune_overgrown(&mut self.context.window, &self.result.run, self.limits.window).await;
        self.look_whose();
    }

    /// Takes into the window what came back from documents. Also at the end of a turn, whose last round may have brought some:
    /// they are consumed, and nobody else finds them.
    pub(crate) fn take_returned(&mut self) {
        let returned = self.core.context.take_back(&self.result.run);
        if !returned.is_empty() {
            self.context.window.put_back(returned);
        }
    }

    /// Leaves half of the window, for a model to which it was too long. False: there is nothing to leave out.
    pub(crate) async fn halve(&mut self) -> bool {
        let context = self.core.context.clone();
        context.halve(&mut self.context.window, &self.result.run, self.limits.window).await
    }

    /// Whether nothing was forgotten since the window was loaded.
    pub(crate) fn is_current(&self) -> bool {
        self.context.window.edition() == self.core.context.edition()
    }
}
