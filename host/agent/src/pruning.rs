//! What leaves a turn's window.

use homeagent_memory::context::{Budget, PROTECTED, choose};

use crate::turn::Turn;

impl Turn {
    /// Above the limit, leaves three quarters of it. Called with no call open.
    pub(crate) fn prune(&mut self) {
        let most = self.limits.window_events;
        if self.context.window.size().1 > most {
            self.shrink(Budget { events: usize::MAX, protected: PROTECTED, ..Budget::below(most, most) });
        }
    }

    /// Leaves half of the window, for a model to which it was too long. False: there is nothing to leave out.
    pub(crate) fn halve(&mut self) -> bool {
        let before = self.context.window.size();
        self.shrink(Budget::half_of(before.1));
        self.context.window.size() != before
    }

    fn shrink(&mut self, budget: Budget) {
        let verdicts = choose(&self.context.window.candidates(|_| 0.0), budget);
        self.context.window.retain(|at| verdicts.get(at).is_some_and(|verdict| verdict.stays()));
    }
}
