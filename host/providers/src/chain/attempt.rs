//! One call to one source.

use homeagent_settings::{Secret, Secrets, SourceRecord};
use homeagent_types::CallError;
use homeagent_types::model::{
    AdapterDescriptor, AssistantAnswer, EmbeddingRequest, Embeddings, Failure, FailureClass, HttpResponse, ModelDelta,
    ModelRequest,
};
use homeagent_types::ports::{AdapterSession, Adapters};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

use super::guard::Guard;
use super::retry_after::retry_after_ms;
use super::show::Show;
use crate::assembler::{AnswerLimits, Assembler};
use crate::framing::{EVENT_LIMIT, Framer, is_end};
use crate::transport::{Body, Content, Endpoint, Reply, Timeouts, Transport};

/// The largest answer that is read as a whole.
const WHOLE_ANSWER: usize = 16 << 20;
/// The most bytes of a stream: the same answer in many small events is much larger than its text.
const WHOLE_STREAM: usize = 256 << 20;
/// As much as is read of an error's body.
const ERROR_BODY: usize = 64 << 10;
/// The longest sentence that is taken from a vendor.
const LONGEST_MESSAGE: usize = 600;
/// After the vendor has said why the model stopped, only the usage is missing; nobody waits long for that.
const AFTER_FINISH: Duration = Duration::from_secs(2);

/// A source with all that a call of it needs.
pub(super) struct Route {
    pub(super) record: SourceRecord,
    pub(super) descriptor: AdapterDescriptor,
    pub(super) key: Option<Secret>,
}

/// What all attempts share.
pub(super) struct Caller<'a> {
    pub(super) adapters: &'a dyn Adapters,
    pub(super) transport: &'a Transport,
    pub(super) secrets: &'a Secrets,
    pub(super) timeouts: Timeouts,
    pub(super) limits: AnswerLimits,
}

impl Caller<'_> {
    /// Asks the source. A failure stands in the answer, beside what came before it.
    pub(super) async fn ask(&self, route: &Route, request: &ModelRequest, show: &mut Show<'_>) -> AssistantAnswer {
        let guard = Guard::new(self.secrets);
        let mut taker = Taker { assembler: Assembler::new(self.limits), guard, show, route };
        let ran = self.run(route, request, &mut taker).await;
        taker.take_rest();
        match ran {
            Err(failure) if !taker.assembler.is_finished() => {
                taker.assembler.fail(failure);
            }
            // The connection did not break: it had nothing to say, and would not have a moment later.
            Ok(()) if taker.assembler.is_untouched() => {
                let message = "the stream ended before the answer began".to_owned();
                taker.assembler.fail(failure(FailureClass::Protocol, message));
            }
            Ok(()) | Err(_) => {}
        }
        let Taker { assembler, guard, .. } = taker;
        let mut answer = assembler.finish();
        guard.clean(&mut answer);
        if let Some(failure) = &mut answer.error {
            failure.message = self.speakable(&failure.message);
        }
        answer
    }

    async fn run(&self, route: &Route, request: &ModelRequest, taker: &mut Taker<'_, '_>) -> Result<(), Failure> {
        let adapter = &route.record.adapter;
        let mut session = self.adapters.open(adapter).await.map_err(|error| broken(adapter, &error))?;
        if route.descriptor.offline {
            taker.show.asks();
            for piece in session.rehearse(request).await.map_err(|error| broken(adapter, &error))? {
                tokio::time::sleep(Duration::from_millis(piece.pause_ms.into())).await;
                taker.take(piece.delta);
            }
            return Ok(());
        }
        let outgoing = session.build_request(request).await.map_err(|error| match error {
            CallError::Invalid(reason) => failure(FailureClass::BadRequest, reason),
            error => broken(adapter, &error),
        })?;
        let endpoint =
            Endpoint { base_url: &route.record.base_url, placement: &route.descriptor.key, key: route.key.as_ref() };
        taker.show.asks();
        let reply = self.transport.send(&endpoint, outgoing, self.timeouts).await?;
        if !(200..300).contains(&reply.status) {
            return Err(self.refusal(adapter, session.as_mut(), reply).await);
        }
        if request.stream && reply.content == Content::Stream {
            return self.stream(route, session.as_mut(), reply.body, taker).await;
        }
        let body = reply.body.whole(WHOLE_ANSWER).await?;
        let response = HttpResponse { status: reply.status, headers: reply.headers, body };
        let deltas = session.parse_response(response).await.map_err(|error| broken(adapter, &error))?;
        taker.take_all(deltas);
        Ok(())
    }

    /// Has the source make vectors of one batch of texts. `asks` is called when the request is sent.
    pub(super) async fn embed(
        &self,
        route: &Route,
        request: &EmbeddingRequest,
        asks: impl Fn() + Send,
    ) -> Result<Embeddings, Failure> {
        let made = self.vectors(route, request, asks).await;
        made.map_err(|failure| Failure { message: self.speakable(&failure.message), ..failure })
    }

    async fn vectors(
        &self,
        route: &Route,
        request: &EmbeddingRequest,
        asks: impl Fn() + Send,
    ) -> Result<Embeddings, Failure> {
        let adapter = &route.record.adapter;
        let mut session = self.adapters.open(adapter).await.map_err(|error| broken(adapter, &error))?;
        let outgoing = session.build_embedding_request(request).await.map_err(|error| match error {
            CallError::Invalid(reason) => failure(FailureClass::BadRequest, reason),
            error => broken(adapter, &error),
        })?;
        let endpoint =
            Endpoint { base_url: &route.record.base_url, placement: &route.descriptor.key, key: route.key.as_ref() };
        asks();
        let reply = self.transport.send(&endpoint, outgoing, self.timeouts).await?;
        if !(200..300).contains(&reply.status) {
            return Err(self.refusal(adapter, session.as_mut(), reply).await);
        }
        let body = reply.body.whole(WHOLE_ANSWER).await?;
        let response = HttpResponse { status: reply.status, headers: reply.headers, body };
        session.parse_embeddings(response).await.map_err(|error| broken(adapter, &error))?
    }

    async fn stream(
        &self,
        route: &Route,
        session: &mut dyn AdapterSession,
        mut body: Body,
        taker: &mut Taker<'_, '_>,
    ) -> Result<(), Failure> {
        let adapter = &route.record.adapter;
        let protocol = |error: crate::framing::EventTooLarge| failure(FailureClass::Protocol, error.to_string());
        let mut framer = Framer::new(route.descriptor.framing, EVENT_LIMIT);
        let mut events = Vec::new();
        let mut read = 0;
        // When the adapter last made something of what came. Keep-alives put off the silence, and not this.
        let mut heard = Instant::now();
        // Set once, when the answer becomes finished: pieces that keep coming do not put it off.
        let mut last_moment = None;
        loop {
            let piece = match last_moment {
                None => body.next().await?,
                Some(moment) if Instant::now() < moment => match timeout_at(moment, body.next()).await {
                    Ok(Ok(piece)) => piece,
                    Ok(Err(_)) | Err(_) => None,
                },
                Some(_) => None,
            };
            let Some(piece) = piece else { break };
            read += piece.as_ref().len();
            if read > WHOLE_STREAM {
                return Err(failure(FailureClass::Protocol, format!("the stream went over {WHOLE_STREAM} bytes")));
            }
            framer.push(piece.as_ref(), &mut events).map_err(protocol)?;
            if events.is_empty() {
                self.is_heard(heard)?;
                continue;
            }
            let batch = std::mem::take(&mut events);
            let ended = batch.iter().any(is_end);
            let deltas = session.step(batch).await.map_err(|error| broken(adapter, &error))?;
            match deltas.is_empty() {
                true if last_moment.is_none() => self.is_heard(heard)?,
                true => {}
                false => heard = Instant::now(),
            }
            if !taker.take_all(deltas) {
                return Ok(());
            }
            if taker.assembler.is_finished() {
                if ended {
                    break;
                }
                last_moment.get_or_insert_with(|| Instant::now() + AFTER_FINISH);
            }
        }
        framer.finish(&mut events).map_err(protocol)?;
        if !events.is_empty() {
            let deltas = session.step(events).await.map_err(|error| broken(adapter, &error))?;
            taker.take_all(deltas);
        }
        let deltas = session.end().await.map_err(|error| broken(adapter, &error))?;
        taker.take_all(deltas);
        Ok(())
    }

    /// Whether the source has said something of its answer of late.
    fn is_heard(&self, last: Instant) -> Result<(), Failure> {
        if last.elapsed() <= self.timeouts.waiting {
            return Ok(());
        }
        let seconds = self.timeouts.waiting.as_secs();
        let message = format!("for {seconds} seconds it said that it is alive, and nothing more");
        Err(failure(FailureClass::Timeout, message))
    }

    /// What an answer other than 2xx means.
    pub(super) async fn refusal(&self, adapter: &str, session: &mut dyn AdapterSession, reply: Reply) -> Failure {
        let body = reply.body.beginning(ERROR_BODY).await;
        let body = self.secrets.redact(&String::from_utf8_lossy(&body)).into_owned().into_bytes();
        let clean = |(name, value): (String, String)| (name, self.secrets.redact(&value).into_owned());
        let headers: Vec<_> = reply.headers.into_iter().map(clean).collect();
        let asked = retry_after_ms(&headers);
        match session.classify_error(HttpResponse { status: reply.status, headers, body }).await {
            Ok(mut failure) => {
                failure.retry_after_ms = failure.retry_after_ms.or(asked);
                failure
            }
            Err(error) => broken(adapter, &error),
        }
    }

    /// A vendor's words without secrets, control characters and endless tails.
    pub(super) fn speakable(&self, message: &str) -> String {
        let clean = self.secrets.redact(message);
        let mut short: String =
            clean.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST_MESSAGE).collect();
        if clean.chars().nth(LONGEST_MESSAGE).is_some() {
            short.push('…');
        }
        short
    }
}

/// Hands each piece to those who watch and to the assembler.
struct Taker<'a, 'p> {
    assembler: Assembler,
    guard: Guard<'a>,
    show: &'a mut Show<'p>,
    route: &'a Route,
}

impl Taker<'_, '_> {
    /// False: the answer has failed.
    fn take(&mut self, delta: ModelDelta) -> bool {
        let delta = match delta {
            ModelDelta::Opaque(mut blob) => {
                blob.adapter.clone_from(&self.route.record.adapter);
                blob.model.clone_from(&self.route.record.model);
                ModelDelta::Opaque(blob)
            }
            delta => delta,
        };
        if matches!(delta, ModelDelta::Finish(_) | ModelDelta::Error(_)) {
            self.take_rest();
        }
        match self.guard.pass(delta) {
            Some(delta) => self.hand_on(delta),
            None => true,
        }
    }

    /// Takes what was held back.
    fn take_rest(&mut self) {
        for delta in self.guard.rest() {
            self.hand_on(delta);
        }
    }

    fn hand_on(&mut self, delta: ModelDelta) -> bool {
        self.show.piece(&delta);
        self.assembler.push(delta)
    }

    fn take_all(&mut self, deltas: Vec<ModelDelta>) -> bool {
        let mut good = true;
        for delta in deltas {
            good = self.take(delta);
        }
        good
    }
}

/// The adapter itself failed.
pub(super) fn broken(adapter: &str, error: &CallError) -> Failure {
    failure(FailureClass::Protocol, format!("the adapter `{adapter}` failed: {error}"))
}

pub(super) fn failure(class: FailureClass, message: String) -> Failure {
    Failure { class, message, retry_after_ms: None }
}
