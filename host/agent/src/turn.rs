//! A turn: from the inputs it takes to what the model is asked.
//!
//! Its rounds with the model are in `rounds`, its end in `ending`.

use std::collections::HashSet;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use homeagent_journal::{EventKind, INPUT_ID, JournalError};
use homeagent_media::Hold;
use homeagent_memory::context::FOREIGN;
use homeagent_memory::said::REPEATS;
use homeagent_settings::SettingsError;
use homeagent_types::model::Message;
use homeagent_types::ports::ModelsFailure;
use homeagent_types::stage::{Stage, StageData};
use homeagent_types::{Cause, Input, OutputKind};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::choosing::Choice;
use crate::config::Limits;
use crate::core::{self, Core};
use crate::errands;
use crate::interrupt::{Control, MARK, Stop};
use crate::loops::Loops;
use crate::media;
use crate::outputs::{self, Route};
use crate::prompt;
use crate::queue::{Batch, merged};
use crate::record::Record;
use crate::result::TurnResult;
use crate::rights::{is_foreign, is_private};
use crate::sending::Reply;
use crate::stages::{Ending, Stages, Verdict};
use crate::tools::ToolSet;
use crate::watch::{Shower, Watcher};
use crate::window::Context;

/// Why a turn does not go on to its answer.
#[derive(Debug)]
pub(crate) enum Ended {
    /// A handler answered in the model's place.
    Responded(String),
    /// A handler refused.
    Refused(String),
    /// Somebody ended it.
    Stopped(Stop),
    /// Its wall time is over.
    TimedOut,
    /// No model answered.
    Model(ModelsFailure),
    /// The model's answer grew beyond a limit.
    Overgrown(&'static str),
    /// What can't be journaled does not happen.
    Journal(JournalError),
}

impl From<JournalError> for Ended {
    fn from(error: JournalError) -> Self {
        Ended::Journal(error)
    }
}

/// Why a turn could not begin.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BeginError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
}

impl BeginError {
    /// Whether it may pass: a full disk, a busy database. An input that does not wait any more never will again.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            BeginError::Journal(error) => matches!(error, JournalError::Database(_) | JournalError::Closed),
            BeginError::Settings(_) => true,
        }
    }
}

/// A turn under way. It alone writes its conversation's window.
pub(crate) struct Turn {
    pub(crate) core: Arc<Core>,
    pub(crate) limits: Limits,
    pub(crate) control: Arc<Control>,
    pub(crate) record: Record,
    pub(crate) shower: Arc<Shower>,
    /// All inputs of the turn as one.
    pub(crate) input: Input,
    pub(crate) context: Context,
    pub(crate) reply: Arc<Mutex<Reply>>,
    pub(crate) stages: Stages,
    pub(crate) tools: ToolSet,
    /// System messages that handlers added.
    pub(crate) systems: Vec<String>,
    /// Which tools its model is shown, where there are too many.
    pub(crate) choice: Option<Choice>,
    /// What the memory has for it.
    pub(crate) recalled: Option<String>,
    pub(crate) turn_data: Vec<(String, String)>,
    pub(crate) begun: Instant,
    pub(crate) deadline: Instant,
    /// When the model was told the time last.
    pub(crate) told_time: Instant,
    /// Ids of tool calls, so that each is unique in the run.
    pub(crate) call_ids: HashSet<String>,
    pub(crate) loops: Loops,
    /// Tokens that the turn's model calls took so far, estimated where the vendor does not tell.
    pub(crate) spent: u64,
    /// The model gave no words once, and was asked for them.
    pub(crate) asked_for_words: bool,
    /// The window was halved once because a model found it too long.
    pub(crate) halved: bool,
    /// What the last tool came to, for people.
    pub(crate) last_result: Option<String>,
    /// The media that this turn works with.
    pub(crate) held: Vec<Hold>,
    /// What is known of the result so far.
    pub(crate) result: TurnResult,
}

/// What the scheduler keeps of a turn, to close it should it panic.
#[derive(Clone)]
pub(crate) struct Closing {
    pub(crate) record: Record,
    pub(crate) shower: Arc<Shower>,
    pub(crate) route: Route,
    pub(crate) cause: Cause,
    pub(crate) begun: Instant,
}

/// Waits for `work`, unless the turn is ended from outside or its time is over.
pub(crate) async fn guard<T>(control: &Control, deadline: Instant, work: impl Future<Output = T>) -> Result<T, Ended> {
    tokio::select! {
        biased;
        why = control.stopped() => Err(Ended::Stopped(why)),
        () = control.expired(deadline) => Err(Ended::TimedOut),
        done = work => Ok(done),
    }
}

impl Turn {
    /// Begins a run for a batch. It is handed back where that fails.
    pub(crate) async fn begin(
        core: &Arc<Core>,
        control: &Arc<Control>,
        batch: Batch,
    ) -> Result<Self, (BeginError, Batch)> {
        let Batch { conversation, items } = batch;
        let input = merged(&items).unwrap_or_else(|| unreachable!("a batch is never empty"));
        let ids: Vec<String> = items.iter().map(|item| item.input.id.clone()).collect();
        let opened = async {
            let limits = Limits::read(&core.settings)?;
            let principal = input.principal.to_string();
            let record = Record::begin(&core.journal, &conversation, &input.audience, &principal, &ids).await?;
            Ok::<_, BeginError>((limits, record))
        };
        let (limits, record) = match opened.await {
            Ok(opened) => opened,
            Err(error) => return Err((error, Batch { conversation, items })),
        };
        // Their places in the queue are free from here on.
        let watchers: Vec<Watcher> = items.into_iter().filter_map(|item| item.watcher).collect();
        let run = record.run.clone().unwrap_or_default();
        control.begun(run.clone());
        tracing::info!(run, conversation, inputs = ids.len(), "turn began");
        let plugins = Arc::clone(&core.plugins);
        let home = outputs::home(core, &input);
        let shower = Shower::new(plugins, run.clone(), home.conversation.clone(), home.reply_route.clone(), watchers);
        let reply = Arc::new(Mutex::new(Reply::new(home)));
        control.speaks(Arc::clone(&reply));
        let offers = core.plugins.offers();
        let stages = Stages { plugins: Arc::clone(&core.plugins), offers, timeout: limits.stage_timeout };
        let begun = Instant::now();
        Ok(Self {
            tools: core.tools(&stages.offers, Some(&input.conversation)),
            begun,
            deadline: begun + limits.turn,
            result: TurnResult { session: record.session.clone(), run, ..TurnResult::default() },
            core: Arc::clone(core),
            control: Arc::clone(control),
            shower: Arc::new(shower),
            context: Context::default(),
            reply,
            systems: Vec::new(),
            choice: None,
            recalled: None,
            turn_data: Vec::new(),
            told_time: begun,
            call_ids: HashSet::new(),
            loops: Loops::default(),
            spent: 0,
            asked_for_words: false,
            halved: false,
            last_result: None,
            held: Vec::new(),
            limits,
            record,
            input,
            stages,
        })
    }

    /// What stands around the turn's work, so that each line of the log in it names the run: at the level of errors, so
    /// that it does so however little is logged.
    pub(crate) fn span(&self) -> tracing::Span {
        tracing::error_span!(
            "turn",
            run = self.result.run,
            conversation = %self.input.conversation,
            role = self.input.principal.role.as_str(),
            channel = self.input.conversation.channel,
        )
    }

    /// What is needed to close the turn from outside.
    pub(crate) fn closing(&self) -> Closing {
        Closing {
            record: self.record.clone(),
            shower: Arc::clone(&self.shower),
            route: self.home(),
            cause: self.cause(),
            begun: self.begun,
        }
    }

    /// Runs to the end; whatever happens, there is a result.
    pub(crate) async fn run(mut self) -> TurnResult {
        let answer = self.answer().await;
        self.end(answer).await
    }

    async fn answer(&mut self) -> Result<crate::rounds::Answer, Ended> {
        self.open_window().await?;
        let fetched = media::fetch(&self.core.media, &mut self.input.media);
        let fetched = guard(&self.control, self.deadline, fetched).await?;
        self.held.extend(fetched);
        let data = StageData::Input(self.input.clone());
        let verdict = self.stage(Stage::OnInput, data).await?;
        if let StageData::Input(input) = verdict.data {
            self.input = input;
        }
        if let Some(Ending::Refused(reason)) = verdict.ending {
            return Err(Ended::Refused(reason));
        }
        let (message, lead) = prompt::user_message(&self.input, "");
        let foreign = is_foreign(&self.input, &self.stages.offers);
        self.add(message, prompt::about(&self.input, lead, foreign));
        proceed(verdict.ending)?;
        self.prune().await;
        self.look_whose();
        self.recall().await?;
        let verdict = self.stage(Stage::PreAction, StageData::Ready(self.input.clone())).await?;
        proceed(verdict.ending)?;
        if let Some(order) = errands::order(&self.input)
            && let Some(answer) = self.carry_out(order).await?
        {
            return Ok(answer);
        }
        loop {
            self.take_mail().await?;
            self.tend_window().await;
            if let Some(answer) = self.round().await? {
                return Ok(answer);
            }
        }
    }

    /// Takes the conversation's window, or rebuilds it.
    async fn open_window(&mut self) -> Result<(), Ended> {
        let conversation = self.input.conversation.to_string();
        let edition = self.core.context.edition();
        let is_this = |kept: &Context| kept.session == self.record.session && kept.window.edition() == edition;
        let kept = self.core.contexts.take(&conversation).filter(is_this);
        self.context = match kept {
            Some(context) => context,
            None => {
                let mut window = self.core.context.load(&conversation, &self.record.session).await?;
                window.hide_media(self.limits.media_turns.saturating_sub(1));
                Context { session: self.record.session.clone(), window, ..Context::default() }
            }
        };
        self.held.extend(media::holds(&self.core.media, self.context.window.messages()));
        self.look_whose();
        Ok(())
    }

    /// Runs a stage that is not about a tool, and takes over what its handlers added.
    pub(crate) async fn stage(&mut self, stage: Stage, data: StageData) -> Result<Verdict, Ended> {
        if self.stages.heard(stage, None) {
            self.record.settle().await?;
        }
        let cause = self.cause();
        let turn_data = self.turn_data.clone();
        let work = self.stages.run(stage, data, turn_data, &cause, None);
        let mut verdict = guard(&self.control, self.deadline, work).await?;
        if verdict.foreign {
            self.control.was_told_foreign();
        }
        self.systems.append(&mut verdict.systems);
        self.turn_data.clone_from(&verdict.turn_data);
        Ok(verdict)
    }

    /// Puts a message into the window, and notes it for the journal.
    pub(crate) fn add(&mut self, message: Message, mut about: Value) {
        // What a handler wrote into the model's words is others' as long as they are in the window, not for this turn alone.
        let foreign = about[FOREIGN] == true || self.control.told_foreign();
        if foreign {
            about[FOREIGN] = json!(true);
        }
        // Recalled later, what it repeats is still others'. As a mark of its own: else no window would ever lose the other.
        if matches!(message, Message::Assistant { .. }) && self.control.is_foreign() {
            about[REPEATS] = json!(true);
        }
        let entry = self.record.message(message, about);
        if entry.time.is_some() {
            self.told_time = Instant::now();
        }
        self.context.window.push(entry);
        self.look_whose();
    }

    /// Puts the time behind what stands last in the window.
    pub(crate) fn tell_time(&mut self, time: String) {
        self.context.window.note_time(time);
        self.told_time = Instant::now();
    }

    /// Keeps in mind whether others may have written something that stands in the window.
    pub(crate) fn look_whose(&self) {
        let private = is_private(&self.input.conversation);
        self.control.reads_foreign(!private || self.context.window.is_foreign());
    }

    /// Puts the interrupts that have arrived before the next model call.
    pub(crate) async fn take_mail(&mut self) -> Result<(), Ended> {
        while let Some(input) = self.control.mail() {
            self.admit_mail(input).await?;
        }
        Ok(())
    }

    /// An interrupt passes `on_input` like any input; what is refused there does not reach the model.
    async fn admit_mail(&mut self, mut input: Input) -> Result<(), Ended> {
        let fetched = media::fetch(&self.core.media, &mut input.media);
        let fetched = guard(&self.control, self.deadline, fetched).await?;
        self.held.extend(fetched);
        let verdict = self.stage(Stage::OnInput, StageData::Input(input.clone())).await?;
        let by = input.principal.to_string();
        self.record.note(EventKind::Interrupted, json!({ INPUT_ID: input.id, "by": by }));
        if let (None, StageData::Input(said)) = (&verdict.ending, &verdict.data) {
            let foreign = is_foreign(said, &self.stages.offers) || verdict.foreign;
            let (message, lead) = prompt::user_message(said, MARK);
            let mut about = prompt::about(said, lead, foreign);
            about[INPUT_ID] = json!(input.id);
            about["interrupt"] = json!(true);
            self.add(message, about);
        }
        // Only now it is taken, with its words: a turn that was ended meanwhile leaves it to the next.
        self.record.join(&input.id).await?;
        self.control.settle();
        let (kind, text) = match verdict.ending {
            None => return Ok(()),
            Some(Ending::Refused(reason)) => (OutputKind::Notice("refused".to_owned()), reason),
            Some(Ending::Responded(text)) => (OutputKind::Message, text),
        };
        let route = Route { conversation: input.conversation.clone(), reply_route: input.reply_route.clone() };
        let output = route.output(self.record.run.as_deref(), kind, text);
        // A failure is in the journal and the log; the turn goes on.
        let _ = outputs::deliver(&self.core, &self.record, output, &self.cause()).await;
        Ok(())
    }

    /// Where the input came from, or where its answer goes in the place of that.
    pub(crate) fn home(&self) -> Route {
        self.reply.lock().unwrap_or_else(PoisonError::into_inner).home.clone()
    }

    /// What the turn's calls come from, with the rights it has now.
    pub(crate) fn cause(&self) -> Cause {
        let mut cause = core::cause(
            self.record.run.clone(),
            &self.input.conversation,
            &self.input.audience,
            self.control.principal(),
            self.limits.tool_timeout,
        );
        if self.control.is_foreign() {
            cause.mark_foreign();
        }
        cause
    }
}

/// Goes on, unless a handler ended the turn.
pub(crate) fn proceed(ending: Option<Ending>) -> Result<(), Ended> {
    match ending {
        None => Ok(()),
        Some(Ending::Refused(reason)) => Err(Ended::Refused(reason)),
        Some(Ending::Responded(text)) => Err(Ended::Responded(text)),
    }
}
