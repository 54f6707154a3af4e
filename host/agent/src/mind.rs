//! The agent as carriers of inputs see it.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use homeagent_types::ports::Mind;
use homeagent_types::{
    Accepted, CallError, Cause, Conversation, Denial, Errand, Peer, Principal, Role, Submission, ToolCall, ToolOutput,
};

use crate::Agent;
use crate::config::Limits;
use crate::errands;
use crate::intake::{self, Manner};
use crate::interrupt::{Stop, may_stop};
use crate::outputs::Route;
use crate::record::Record;
use crate::rights::standing;
use crate::sending::Reply;
use crate::stages::Stages;
use crate::toolloop::Workshop;

/// The channel of calls that come from no conversation. No plugin can have it: its name is no plugin's.
const PLUGINS: &str = "_plugins_";

impl Agent {
    async fn take(
        &self,
        source: &str,
        attested: Option<Principal>,
        mut submission: Submission,
        manner: Manner,
    ) -> Result<Accepted, CallError> {
        let platform_id = submission.platform_id.take();
        let attested = attested.map(|who| Principal { attested: true, ..who });
        let input = intake::input(&self.core, source, attested, submission);
        intake::admit(&self.core, input, platform_id, None, manner).await
    }
}

#[async_trait]
impl Mind for Agent {
    async fn submit(
        &self,
        source: &str,
        attested: Option<Principal>,
        submission: Submission,
    ) -> Result<Accepted, CallError> {
        self.take(source, attested, submission, Manner::Waits).await
    }

    async fn interrupt(
        &self,
        source: &str,
        attested: Option<Principal>,
        submission: Submission,
    ) -> Result<Accepted, CallError> {
        self.take(source, attested, submission, Manner::Interrupts).await
    }

    async fn errand(&self, source: &str, errand: Errand) -> Result<Accepted, CallError> {
        let manner = if errand.interrupts { Manner::Interrupts } else { Manner::Waits };
        let (input, claim) = errands::input(source, errand)?;
        intake::admit(&self.core, input, Some(claim), None, manner).await
    }

    fn standing(&self, who: &Principal) -> Role {
        standing(&self.core.bindings, who)
    }

    async fn stop(&self, source: &str, attested: Option<Principal>, submission: Submission) -> Result<bool, CallError> {
        let asker = attested.unwrap_or_else(|| intake::principal(&self.core, source, &submission));
        let conversation = Conversation { channel: source.to_owned(), peer: submission.peer };
        let Some(turn) = self.core.turn_in(&conversation.to_string()) else { return Ok(false) };
        if !may_stop(&asker, &turn.principal()) {
            return Err(CallError::Denied(Denial {
                capability: "role member".to_owned(),
                attempt: format!("{asker} asked to stop a turn of somebody else"),
                remedy: "the owner can change roles".to_owned(),
            }));
        }
        Ok(turn.stop(Stop::Asked { by: asker.display_name.clone().unwrap_or_else(|| asker.to_string()) }))
    }

    async fn call_tool(&self, caller: &str, name: &str, args: String, cause: Cause) -> Result<ToolOutput, CallError> {
        self.call(caller, name, args, cause, false).await
    }
}

impl Agent {
    /// A call of a tool that the owner makes by hand: nobody is asked about it.
    ///
    /// # Errors
    ///
    /// As for [`Mind::call_tool`].
    pub async fn call_by_hand(
        &self,
        caller: &str,
        name: &str,
        args: String,
        cause: Cause,
    ) -> Result<ToolOutput, CallError> {
        self.call(caller, name, args, cause, true).await
    }

    async fn call(
        &self,
        caller: &str,
        name: &str,
        args: String,
        mut cause: Cause,
        by_hand: bool,
    ) -> Result<ToolOutput, CallError> {
        let core = &self.core;
        let broken = |error: &dyn std::fmt::Display| CallError::Other(format!("the tool was not called: {error}"));
        if cause.chain.last().is_none_or(|last| last != caller) {
            cause.chain.push(caller.to_owned());
        }
        let conversation = cause
            .conversation
            .clone()
            .unwrap_or_else(|| Conversation { channel: PLUGINS.to_owned(), peer: Peer::Other(caller.to_owned()) });
        // A run that has ended is named by the cause only: its events are closed.
        let text = conversation.to_string();
        let turn = core.turn_in(&text).filter(|turn| cause.run.as_deref() == Some(turn.run()));
        // What a plugin sends in the name of a turn counts as said in that turn.
        let reply = turn.as_ref().and_then(|turn| turn.reply()).unwrap_or_else(|| {
            Arc::new(Mutex::new(Reply::new(Route { conversation: conversation.clone(), reply_route: None })))
        });
        let run = turn.as_ref().map(|turn| turn.run().to_owned());
        let record = Record::beside(&core.journal, &text, &cause.audience, run).await.map_err(|e| broken(&e))?;
        let limits = Limits::read(&core.settings).map_err(|e| broken(&e))?;
        let longest = (cause.deadline_ms > 0).then(|| std::time::Duration::from_millis(cause.deadline_ms));
        let offers = core.plugins.offers();
        let stages = Stages { plugins: Arc::clone(&core.plugins), offers, timeout: limits.stage_timeout };
        let workshop = Workshop {
            core,
            limits: &limits,
            tools: &core.tools(&stages.offers, cause.conversation.as_ref()),
            stages: &stages,
            cause,
            record: &record,
            reply: &reply,
            shower: None,
            turn: turn.as_deref(),
            by_hand,
            longest,
        };
        let id = format!("{caller}-{}", uuid::Uuid::now_v7().simple());
        let call = ToolCall { id, name: name.to_owned(), arguments: args };
        let outcome = workshop.run(&call, &[]).await.map_err(|error| broken(&error))?;
        if let Some(turn) = turn.as_ref().filter(|_| outcome.foreign) {
            turn.was_told_foreign();
        }
        match outcome.responded {
            Some(text) => Ok(ToolOutput::text(&text)),
            None => outcome.result.map_err(CallError::from),
        }
    }
}
