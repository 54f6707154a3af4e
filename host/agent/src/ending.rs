//! The end of a turn: its last text goes out, or a notice that says why there is none.

use std::sync::PoisonError;

use homeagent_journal::{EventKind, RunStatus};
use homeagent_types::stage::{Stage, StageData};
use homeagent_types::{OutputKind, Shown};
use serde_json::json;

use crate::arrears;
use crate::errands;
use crate::interrupt::Stop;
use crate::media;
use crate::meters;
use crate::outputs::{self, DeliveryError, Route};
use crate::result::{TurnError, TurnResult};
use crate::rounds::{Answer, assistant};
use crate::stages::Ending;
use crate::turn::{Closing, Ended, Turn};

/// What a turn or an input comes to that a stop cuts short.
pub(crate) const SHUTTING_DOWN: &str = "shutting-down";

/// How a turn without an answer ends.
struct Notice {
    /// What the channel is told.
    code: &'static str,
    finish: &'static str,
    status: RunStatus,
    error: TurnError,
}

impl Notice {
    fn new(code: &'static str, finish: &'static str, error: &str, text: String, status: RunStatus) -> Self {
        Self { code, finish, status, error: TurnError { code: error.to_owned(), text } }
    }
}

impl Turn {
    /// Ends the turn: sends, records, tells those who wait, gives the window back.
    pub(crate) async fn end(mut self, answer: Result<Answer, Ended>) -> TurnResult {
        if matches!(answer, Err(Ended::Stopped(Stop::ShuttingDown))) && self.comes_back() {
            return self.leave();
        }
        // From here on an interrupt starts a turn of its own; it was journaled when it came.
        let sent = match answer {
            Ok(answer) => self.emit(answer, true).await,
            Err(Ended::Responded(text)) => self.respond(text).await,
            Err(ended) => Err(ended),
        };
        let mut broken = matches!(sent, Err(Ended::Journal(_)));
        let status = match sent {
            Ok(()) => RunStatus::Completed,
            Err(ended) => self.give_notice(ended).await,
        };
        tracing::info!(finish = self.result.finish, rounds = self.result.tool_rounds, "turn ended");
        broken |= !self.finish(status).await;
        // A window that the journal may not agree with is rebuilt from it: so is one in which something may stand that was
        // forgotten meanwhile.
        if !broken && self.is_current() {
            self.take_returned();
            let mut context = std::mem::take(&mut self.context);
            context.window.close();
            context.window.hide_media(self.limits.media_turns.saturating_sub(1));
            self.core.context.save(&self.input.conversation.to_string(), &self.record.session, &context.window);
            self.core.contexts.give(&self.input.conversation.to_string(), context);
        }
        // Before those who wait are told, who may look at once.
        meters::turn_ended(&self.result.finish, self.begun.elapsed());
        self.shower.finish(&self.result);
        self.result
    }

    /// Whether the next start is to take the input again: a timer's time comes once, and nothing was done with it yet.
    fn comes_back(&self) -> bool {
        errands::is_errand(&self.input) && !self.record.has_acted()
    }

    /// Leaves the run open. The next start finds that it did nothing, and gives its input back.
    fn leave(mut self) -> TurnResult {
        tracing::info!(run = self.result.run, "a timer's turn is cut, and is left to the next start");
        let text = "I am shutting down; this is done after the next start.".to_owned();
        self.result.finish = SHUTTING_DOWN.to_owned();
        self.result.error = Some(TurnError { code: SHUTTING_DOWN.to_owned(), text });
        self.shower.show(Shown::Void);
        meters::turn_ended(&self.result.finish, self.begun.elapsed());
        self.shower.finish(&self.result);
        self.result
    }

    /// Records the end; returns whether the journal has all that was said.
    async fn finish(&mut self, status: RunStatus) -> bool {
        let said = self.record.unwritten();
        let recorded = match said {
            true => self.record.finish(status, &self.result).await,
            false => arrears::finish(&self.core, &self.record, status, &self.result).await,
        };
        let Err(error) = recorded else { return true };
        tracing::error!(%error, "the end of a turn could not be recorded");
        if said {
            // What was said went with it, and what is not in the journal was not said.
            self.result.reply.clear();
            let status = self.give_notice(Ended::Journal(error)).await;
            if let Err(error) = arrears::finish(&self.core, &self.record, status, &self.result).await {
                tracing::error!(%error, "nor could its failure");
            }
        }
        false
    }

    /// A handler has answered in the model's place.
    async fn respond(&mut self, text: String) -> Result<(), Ended> {
        self.add(assistant(text.clone()), json!({ "by": "plugin" }));
        self.emit(Answer { text, finish: "responded" }, false).await
    }

    /// Sends the last text, unless a tool has sent the answer already.
    async fn emit(&mut self, answer: Answer, staged: bool) -> Result<(), Ended> {
        let (route, answered) = {
            let reply = self.reply.lock().unwrap_or_else(PoisonError::into_inner);
            (reply.route.clone(), reply.answered())
        };
        let mut text = answer.text;
        let send = answered.is_none() || !staged;
        if send && staged {
            text = self.last_look(text, &route).await?;
        }
        self.result.finish = answer.finish.to_owned();
        if !send || route.conversation != self.home().conversation {
            // What was shown of the text is not followed by a reply there.
            self.shower.show(Shown::Void);
        }
        if send {
            self.result.reply = text;
            self.send_reply(&route).await?;
        } else {
            self.result.reply = answered.unwrap_or_default();
        }
        let data = StageData::Output { text: self.result.reply.clone(), conversation: route.conversation };
        match self.stage(Stage::AfterOutput, data).await {
            Err(Ended::Journal(error)) => Err(Ended::Journal(error)),
            // Observers only: neither their failures nor a late stop undo what was sent.
            _ => Ok(()),
        }
    }

    async fn last_look(&mut self, text: String, route: &Route) -> Result<String, Ended> {
        let data = StageData::Output { text, conversation: route.conversation.clone() };
        let verdict = self.stage(Stage::BeforeOutput, data).await?;
        match (verdict.ending, verdict.data) {
            (Some(Ending::Refused(reason)), _) => Err(Ended::Refused(reason)),
            (Some(Ending::Responded(text)), _) | (None, StageData::Output { text, .. }) => Ok(text),
            (None, _) => Ok(String::new()),
        }
    }

    async fn send_reply(&mut self, route: &Route) -> Result<(), Ended> {
        let (text, media) = media::attached(&self.core.media, &self.result.reply).await;
        self.result.reply = text;
        let channel = &route.conversation.channel;
        let offered = self.core.plugins.offers().channel(channel).is_some();
        if !offered && self.shower.watched() && *route == self.home() {
            media::add_links(&self.core.media, &mut self.result.reply, &media);
            return Ok(());
        }
        let text = self.result.reply.clone();
        let mut output = route.output(self.record.run.as_deref(), OutputKind::Reply, text);
        output.media = media;
        match outputs::deliver(&self.core, &self.record, output, &self.cause()).await {
            Ok(_) => Ok(()),
            Err(DeliveryError::Journal(error)) => Err(Ended::Journal(error)),
            Err(error) => {
                let text = format!("the reply was not delivered: {error}; it is in the history");
                self.result.error = Some(TurnError { code: "not-delivered".to_owned(), text });
                Ok(())
            }
        }
    }

    /// Says why there is no answer; returns the status of the run.
    async fn give_notice(&mut self, ended: Ended) -> RunStatus {
        let journal = matches!(ended, Ended::Journal(_));
        if matches!(ended, Ended::Refused(_)) {
            self.shower.show(Shown::Void);
        }
        let mut notice = self.notice(ended);
        if errands::is_errand(&self.input) && notice.status == RunStatus::Failed {
            // It comes once, and nobody else knows what it was for.
            notice.error.text = format!("{}\n\n{}", notice.error.text, self.input.payload.text());
        }
        self.result.finish = notice.finish.to_owned();
        if notice.status == RunStatus::Cancelled {
            let payload = json!({ "finish": notice.finish, "reason": notice.error.text });
            self.record.note(EventKind::Interrupted, payload);
        }
        let route = self.home();
        let kind = OutputKind::Notice(notice.code.to_owned());
        let output = route.output(self.record.run.as_deref(), kind, notice.error.text.clone());
        self.result.error = Some(notice.error);
        let offers = self.core.plugins.offers();
        let Some(offer) = offers.channel(&route.conversation.channel) else { return notice.status };
        if journal {
            // The journal is what failed: people are told all the same, once.
            let _ = self.core.plugins.deliver(&offer.plugin, output, self.cause()).await;
        } else {
            let _ = outputs::deliver(&self.core, &self.record, output, &self.cause()).await;
        }
        notice.status
    }

    fn notice(&self, ended: Ended) -> Notice {
        let failed = |error: &str, text: String| Notice::new("failed", "failed", error, text, RunStatus::Failed);
        match ended {
            Ended::Responded(text) => failed("internal", text),
            Ended::Refused(reason) => {
                Notice::new("refused", "refused", "refused", format!("Refused: {reason}"), RunStatus::Completed)
            }
            Ended::Stopped(Stop::Asked { by }) => {
                let text = format!("Stopped, as {by} asked.");
                Notice::new("stopped", "stopped", "stopped", text, RunStatus::Cancelled)
            }
            Ended::Stopped(Stop::ShuttingDown) => {
                let text = "I am shutting down and could not finish this. Please ask again later.".to_owned();
                Notice::new(SHUTTING_DOWN, SHUTTING_DOWN, SHUTTING_DOWN, text, RunStatus::Cancelled)
            }
            Ended::TimedOut => {
                let seconds = self.limits.turn.as_secs();
                let text = format!("This took longer than the {seconds} s an answer may take, so it was ended.");
                Notice::new("failed", "timeout", "timeout", text, RunStatus::Failed)
            }
            Ended::Model(failure) => failed("model-failed", failure.sentence),
            Ended::Overgrown(what) => {
                failed("overgrown", format!("The model's {what} grew beyond what is allowed, so it was cut off."))
            }
            Ended::Journal(error) => failed("journal", format!("I can't write my journal, so I can't work: {error}")),
        }
    }
}

/// Closes a turn that panicked: its run fails, and those who wait are told.
pub(crate) async fn close_panicked(core: &crate::core::Core, closing: Closing, mut result: TurnResult) {
    let text = "Something inside me broke while I worked on this. It is in the log; please ask again.".to_owned();
    result.finish = "failed".to_owned();
    result.error = Some(TurnError { code: "internal".to_owned(), text: text.clone() });
    if let Err(error) = arrears::finish(core, &closing.record, RunStatus::Failed, &result).await {
        tracing::error!(%error, "the end of a broken turn could not be recorded");
    }
    if core.plugins.offers().channel(&closing.route.conversation.channel).is_some() {
        let kind = OutputKind::Notice("failed".to_owned());
        let output = closing.route.output(closing.record.run.as_deref(), kind, text);
        let _ = outputs::deliver(core, &closing.record, output, &closing.cause).await;
    }
    meters::turn_ended(&result.finish, closing.begun.elapsed());
    closing.shower.finish(&result);
}
