//! The one-time code with which an account of a channel becomes the owner's.
//!
//! The code is asked for where the owner is known, at the terminal, and sent from the account that is to be theirs. It is
//! looked for in every input before that is journaled, so it gets into no journal, no log and no model.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use homeagent_settings::BindingError;
use homeagent_types::{CallError, Input, Payload, Peer, Principal, Role, Timestamp, now};
use serde::Serialize;
use sha2::{Digest, Sha256};
use tokio::sync::watch;
use tokio::time::Instant;
use utoipa::ToSchema;

use crate::commands::{self, Reply};
use crate::core::Core;
use crate::queue::Queued;

/// Digits and letters that nobody takes for another.
const ALPHABET: &[u8; 31] = b"23456789ABCDEFGHJKMNPQRSTUVWXYZ";

const LENGTH: usize = 8;

const VALID: Duration = Duration::from_secs(600);

/// Wrong codes of one account, and of all together.
const TRIES_OF_ONE: u32 = 5;
const TRIES_OF_ALL: u32 = 20;

/// What stands in the journal in the place of a code.
const REDACTED: &str = "[pairing code]";

/// A code that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct PairingCode {
    /// To know this pairing by.
    pub id: String,
    /// What the owner sends from the account that is to become theirs. Shown once.
    pub code: String,
    /// Until when it counts.
    #[schema(value_type = u64)]
    pub expires_at: Timestamp,
}

/// How a pairing stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PairingState {
    /// None was asked for since the start.
    None,
    /// The code waits to be sent.
    Open,
    /// It was sent: the account is the owner's.
    Paired,
    /// Nobody sent it in time.
    Expired,
    /// It counts no more; the reason says why.
    Void,
}

/// How the last pairing stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct PairingStatus {
    /// The pairing; empty where there is none.
    pub id: String,
    /// How it stands.
    pub state: PairingState,
    /// The channel of the account that is paired.
    pub channel: Option<String>,
    /// The account that is paired.
    pub user: Option<String>,
    /// What it calls itself.
    pub name: Option<String>,
    /// Why the code counts no more.
    pub reason: Option<String>,
}

impl PairingStatus {
    fn of(id: &str, state: PairingState) -> Self {
        Self { id: id.to_owned(), state, channel: None, user: None, name: None, reason: None }
    }
}

/// The code of the moment; there is one at a time.
pub(crate) struct Pairing {
    known: Mutex<Option<Known>>,
    status: watch::Sender<PairingStatus>,
}

/// A code, as far as it is kept: to know it by. It is kept when it has ended, too: then it is said that it counts no more.
struct Known {
    id: String,
    salt: [u8; 16],
    digest: [u8; 32],
    until: Instant,
    /// Wrong codes, by account.
    tries: HashMap<(String, String), u32>,
    total: u32,
    /// It was sent, and the account is being bound.
    claimed: bool,
}

/// What an input has to do with a pairing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// It is the code and nothing else.
    Code,
    /// The code stands in it.
    Within,
    /// It looks like a code and is none.
    Wrong,
}

/// What comes of an attempt.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The input is as any other.
    Pass,
    /// The host says this, and nothing else comes of it.
    Answer(String),
    /// The account becomes the owner's.
    Pair,
}

impl Default for Pairing {
    fn default() -> Self {
        Self { known: Mutex::default(), status: watch::Sender::new(PairingStatus::of("", PairingState::None)) }
    }
}

impl Pairing {
    /// Makes a code; an earlier one counts no more.
    pub(crate) fn begin(&self) -> Result<PairingCode, CallError> {
        let no_randomness = |error| CallError::Other(format!("the system gave no random bytes for a code: {error}"));
        let code = random_code().map_err(no_randomness)?;
        let mut salt = [0; 16];
        getrandom::fill(&mut salt).map_err(no_randomness)?;
        let id = uuid::Uuid::now_v7().to_string();
        let digest = digest(&salt, &code);
        let until = Instant::now() + VALID;
        *self.known() =
            Some(Known { id: id.clone(), salt, digest, until, tries: HashMap::new(), total: 0, claimed: false });
        self.status.send_replace(PairingStatus::of(&id, PairingState::Open));
        tracing::info!(id, "a pairing code was asked for");
        let valid = Timestamp::try_from(VALID.as_millis()).unwrap_or_default();
        Ok(PairingCode { id, code, expires_at: now() + valid })
    }

    /// How it stands, as soon as it is not open any more, or after `wait`.
    pub(crate) async fn status(&self, wait: Duration) -> PairingStatus {
        let mut status = self.status.subscribe();
        let until = Instant::now() + wait;
        loop {
            let open = self.open_until();
            let left = open.map_or(until, |open| open.min(until));
            let ended = status.wait_for(|status| status.state != PairingState::Open);
            if let Ok(Ok(ended)) = tokio::time::timeout_at(left, ended).await {
                return ended.clone();
            }
            if Instant::now() >= until {
                // Looking at the time may have ended it.
                self.open_until();
                return self.status.borrow().clone();
            }
        }
    }

    /// Looks for the code in an input that is not journaled yet, and puts [`REDACTED`] in its place.
    pub(crate) fn look(&self, input: &mut Input) -> Option<Attempt> {
        let known = self.known();
        let known = known.as_ref()?;
        let Payload::Text(text) = &mut input.payload else { return None };
        let whole = input.kind == "message" && input.media.is_empty();
        let is_code = |word: &str| looks_like_code(word) && digest(&known.salt, word) == known.digest;
        let found: Vec<String> =
            text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| is_code(word)).map(str::to_owned).collect();
        let trimmed = text.trim();
        let attempt = match found.first() {
            Some(code) if whole && trimmed == code => Attempt::Code,
            Some(_) => Attempt::Within,
            None if whole && looks_like_code(trimmed) => Attempt::Wrong,
            None => return None,
        };
        for code in &found {
            *text = text.replace(code.as_str(), REDACTED);
            input.meta.retain(|(_, value)| !value.contains(code.as_str()));
        }
        Some(attempt)
    }

    /// Judges what was found; a wrong code is counted.
    pub(crate) fn judge(&self, attempt: Attempt, input: &Input) -> Verdict {
        let open = self.open_until().is_some();
        let attested = input.principal.attested;
        let mut known = self.known();
        let Some(known) = known.as_mut() else { return Verdict::Pass };
        let private = matches!(input.conversation.peer, Peer::Person(_));
        let answer = |text: &str| Verdict::Answer(text.to_owned());
        if attempt == Attempt::Wrong && (!open || !private || attested || input.principal.role == Role::Plugin) {
            return Verdict::Pass;
        }
        if !open {
            return answer("This code counts no more. `waiter owner pair` gives another.");
        }
        if attempt != Attempt::Wrong && !private {
            self.end(&known.id, PairingState::Void, "it was sent where others read it");
            return answer(
                "That was a pairing code, and others could read it here, so it counts no more. Ask for another with \
                 `waiter owner pair`, and send it to me in private.",
            );
        }
        if attested {
            return answer("You are the owner here already. Send the code from the account that is to become yours.");
        }
        if input.principal.role == Role::Plugin {
            return answer("A plugin can't be paired.");
        }
        if attempt == Attempt::Within {
            return answer("Send me the code alone, without other words.");
        }
        let account = (input.principal.namespace.clone(), input.principal.user.clone());
        let tries = known.tries.entry(account).or_default();
        if *tries >= TRIES_OF_ONE {
            return answer("Too many wrong codes came from this account: it can't be paired with this code any more.");
        }
        if attempt == Attempt::Code {
            return Verdict::Pair;
        }
        *tries += 1;
        known.total += 1;
        tracing::warn!(account = %input.principal, "a wrong pairing code was sent");
        if known.total >= TRIES_OF_ALL {
            self.end(&known.id, PairingState::Void, "too many wrong codes were sent");
        }
        answer("That is not the pairing code.")
    }

    /// Takes the code for one account, and returns its id; nothing where it was used or has ended meanwhile.
    fn claim(&self) -> Option<String> {
        let open = self.status.borrow().state == PairingState::Open;
        let mut known = self.known();
        let known = known.as_mut().filter(|known| open && !known.claimed)?;
        known.claimed = true;
        Some(known.id.clone())
    }

    /// Tells who waits that the account is the owner's now.
    fn paired(&self, id: &str, account: Principal) {
        self.status.send_replace(PairingStatus {
            channel: Some(account.namespace),
            user: Some(account.user),
            name: account.display_name,
            ..PairingStatus::of(id, PairingState::Paired)
        });
    }

    fn end(&self, id: &str, state: PairingState, reason: &str) {
        tracing::warn!(id, reason, "the pairing code counts no more");
        self.status.send_replace(PairingStatus { reason: Some(reason.to_owned()), ..PairingStatus::of(id, state) });
    }

    /// Until when the code counts; nothing where there is none that does.
    fn open_until(&self) -> Option<Instant> {
        let known = self.known();
        let known = known.as_ref().filter(|_| self.status.borrow().state == PairingState::Open)?;
        if Instant::now() < known.until {
            return Some(known.until);
        }
        self.end(&known.id, PairingState::Expired, "nobody sent it in time");
        None
    }

    fn known(&self) -> MutexGuard<'_, Option<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an input that was kept over a start was a code: what it was to bring about is over.
pub(crate) fn was_code(input: &Input) -> bool {
    input.payload.text().trim() == REDACTED
}

/// Answers an input with which something about a pairing was said. The input is taken by a run of its own.
pub(crate) async fn run(core: &Arc<Core>, item: Queued, verdict: Verdict) {
    let Queued { input, watcher, permit, .. } = item;
    drop(permit);
    let text = match verdict {
        Verdict::Pass => return,
        Verdict::Answer(text) => text,
        Verdict::Pair => pair(core, &input).await,
    };
    if let Err(error) = commands::answer(core, &input, watcher, Reply { text, ..Reply::default() }).await {
        tracing::error!(%error, "an answer about a pairing could not be recorded");
    }
}

async fn pair(core: &Arc<Core>, input: &Input) -> String {
    let Some(id) = core.pairing.claim() else {
        return "This code counts no more. `waiter owner pair` gives another.".to_owned();
    };
    let (bindings, account) = (core.bindings.clone(), input.principal.clone());
    let bound = move || bindings.bind(&account.namespace, &account.user, Role::Owner.as_str());
    let bound: Result<Result<(), BindingError>, _> = tokio::task::spawn_blocking(bound).await;
    let failed = match bound {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error.to_string()),
        Err(error) => Some(error.to_string()),
    };
    match failed {
        None => {
            core.pairing.paired(&id, input.principal.clone());
            "This account is the owner's now: I do here what you tell me.".to_owned()
        }
        Some(error) => {
            tracing::error!(error, "a paired account could not be bound");
            core.pairing.end(&id, PairingState::Void, "the account could not be bound");
            format!("I can't keep that this account is yours, so it is not: {error}. Ask for another code.")
        }
    }
}

fn looks_like_code(word: &str) -> bool {
    let upper = |byte: u8| byte.to_ascii_uppercase();
    word.len() == LENGTH
        && word.bytes().all(|byte| ALPHABET.contains(&upper(byte)))
        && word.bytes().any(|byte| byte.is_ascii_digit())
        && word.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// With a digit and a letter at least: fewer words of people look like one.
fn random_code() -> Result<String, getrandom::Error> {
    loop {
        let mut code = String::new();
        while code.len() < LENGTH {
            let mut byte = [0];
            getrandom::fill(&mut byte)?;
            // Beyond the last multiple the first characters would come more often.
            let fair = usize::from(byte[0]) < 256 - 256 % ALPHABET.len();
            code.extend(fair.then(|| char::from(ALPHABET[usize::from(byte[0]) % ALPHABET.len()])));
        }
        if looks_like_code(&code) {
            return Ok(code);
        }
    }
}

/// Telephones write the first letter of a message as they like.
fn digest(salt: &[u8], code: &str) -> [u8; 32] {
    Sha256::new().chain_update(salt).chain_update(code.to_ascii_uppercase()).finalize().into()
}
