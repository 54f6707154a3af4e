//! A vendor on a port of this machine.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::{TcpListener, TcpStream};

use crate::asked::Asked;
use crate::fault::Fault;
use crate::formats::{Event, Format, Refused, Trouble};
use crate::said::{self, Call, End, Mind, Said};
use crate::wire::{self, Answer, Ending, Request};

/// The key that every vendor wants. A test that sees it anywhere but at a vendor has found a leak.
pub const KEY: &str = "sk-geheim/4711+x";
/// The part of the key by which it is found.
pub const MARK: &str = "geheim";

/// A vendor. It stops when it is dropped.
pub struct Vendor {
    /// Where its API begins: the base URL of a source.
    pub url: String,
    shared: Arc<Shared>,
    task: tokio::task::JoinHandle<()>,
}

struct Shared {
    format: Format,
    name: String,
    mind: Mutex<Mind>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What happens to the next requests, in their order.
    next: VecDeque<Option<Fault>>,
    /// What happens to all further ones.
    always: Option<Fault>,
    requests: Vec<Request>,
    /// Why requests were refused that no fault was ordered for.
    refused: Vec<String>,
}

impl Vendor {
    /// A vendor that answers all requests. Its name is in what it says.
    ///
    /// # Panics
    ///
    /// No port is free.
    pub async fn start(format: Format, name: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared =
            Arc::new(Shared { format, name: name.to_owned(), mind: Mutex::new(said::usual), state: Mutex::default() });
        let serving = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let shared = Arc::clone(&serving);
                tokio::spawn(async move { shared.serve(stream).await });
            }
        });
        Vendor { url: format!("http://{address}{}", format.base()), shared, task }
    }

    /// Every further request meets this.
    pub fn always(&self, fault: Fault) {
        self.shared.state().always = Some(fault);
    }

    /// Every further request is answered.
    pub fn recover(&self) {
        self.shared.state().always = None;
    }

    /// The next requests meet these, `None` being an answer.
    pub fn then(&self, faults: impl IntoIterator<Item = Option<Fault>>) {
        self.shared.state().next.extend(faults);
    }

    /// What the model says from now on.
    pub fn think(&self, mind: Mind) {
        *self.shared.mind.lock().unwrap_or_else(PoisonError::into_inner) = mind;
    }

    /// The requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.shared.state().requests.clone()
    }

    /// Why requests were refused for which no fault had been ordered: each is one that the real vendor would refuse, too.
    #[must_use]
    pub fn refused(&self) -> Vec<String> {
        self.shared.state().refused.clone()
    }
}

impl Drop for Vendor {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn serve(&self, mut stream: TcpStream) {
        let Some(request) = wire::read_request(&mut stream).await else { return };
        let fault = {
            let mut state = self.state();
            state.requests.push(request.clone());
            let always = state.always;
            state.next.pop_front().unwrap_or(always)
        };
        if fault == Some(Fault::NoFirstByte) {
            return wire::gone(&mut stream).await;
        }
        let answer = self.answer(&request, fault);
        wire::send(&mut stream, &answer).await;
    }

    fn answer(&self, request: &Request, fault: Option<Fault>) -> Answer {
        if let Some(trouble) = fault.and_then(trouble) {
            return self.error(&trouble);
        }
        let asked = match self.format.read(request, KEY) {
            Ok(asked) => asked,
            Err(refused) => {
                let Refused { trouble, why } = refused;
                self.state().refused.push(why);
                return self.error(&trouble);
            }
        };
        let mind = *self.mind.lock().unwrap_or_else(PoisonError::into_inner);
        let said = changed(mind(&self.name, &asked), &self.name, fault);
        self.written(&asked, &said, fault)
    }

    /// What was said, on the wire, with what is wrong with the wire.
    fn written(&self, asked: &Asked, said: &Said, fault: Option<Fault>) -> Answer {
        let mut events =
            if asked.stream { self.format.events(said) } else { vec![Event::plain(&self.format.whole(said))] };
        if fault == Some(Fault::ErrorInStream) {
            events.truncate(events.len() / 2);
            events.push(self.format.error_event());
        }
        if fault == Some(Fault::Duplicates) {
            let twice = events.iter().flat_map(|event| vec![event.clone(); if event.again { 2 } else { 1 }]);
            let whole = if self.format.says_the_end() { events.as_slice() } else { &[] };
            events = twice.chain(whole.iter().cloned()).collect();
        }
        let framed = |event: &Event| if asked.stream { self.format.framed(event) } else { event.data.clone() };
        let mut pieces: Vec<Vec<u8>> = events.iter().map(|event| framed(event).into_bytes()).collect();
        let mut kind = if asked.stream { self.format.stream_type() } else { "application/json" };
        let mut ending = Ending::Proper;
        match fault {
            Some(Fault::Trickle) => pieces = pieces.concat().into_iter().map(|byte| vec![byte]).collect(),
            Some(Fault::Stall) => {
                pieces.truncate(pieces.len() / 2);
                ending = Ending::Silence;
            }
            Some(Fault::Reset) => {
                pieces.truncate(pieces.len() / 2);
                ending = Ending::Reset;
            }
            Some(Fault::KeepAlives) => {
                pieces = vec![self.format.keep_alive().into()];
                ending = Ending::Again;
            }
            Some(Fault::Endless) => {
                let text = events.iter().position(|event| event.text).unwrap_or(0);
                pieces.truncate(text + 1);
                // Many at once, so that the limits are reached soon.
                let last = pieces.pop().unwrap_or_default();
                pieces.push(last.repeat(500));
                ending = Ending::LastAgain;
            }
            Some(Fault::Truncated) => {
                pieces.truncate((pieces.len() / 2).max(1));
                if let Some(last) = pieces.last_mut() {
                    last.truncate(last.len() / 2);
                }
            }
            Some(Fault::CutShort) => pieces.truncate(pieces.len() / 2),
            Some(Fault::NoBody) => pieces.clear(),
            Some(Fault::WebPage) => {
                kind = "text/html; charset=utf-8";
                pieces = vec![b"<!doctype html><title>Sign in to the network</title>".to_vec()];
            }
            Some(Fault::Mislabelled) => {
                kind = if asked.stream { "application/json" } else { "text/plain" };
            }
            _ => {}
        }
        let headers = vec![("content-type".to_owned(), kind.to_owned())];
        Answer { status: 200, headers, pieces, ending }
    }

    fn error(&self, trouble: &Trouble) -> Answer {
        let (status, body) = self.format.error(trouble);
        let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        if *trouble == Trouble::RateLimited(true) {
            headers.push(("retry-after".to_owned(), "120".to_owned()));
        }
        Answer { status, headers, pieces: vec![body.to_string().into_bytes()], ending: Ending::Proper }
    }
}

/// The error that a fault is, where it is one.
fn trouble(fault: Fault) -> Option<Trouble> {
    Some(match fault {
        // Some vendors say which key it was.
        Fault::Unauthorized => Trouble::Key(KEY.to_owned()),
        Fault::Unpaid => Trouble::Money,
        Fault::KeyForbidden => Trouble::KeyMayNot,
        Fault::RegionForbidden => Trouble::Region,
        Fault::RateLimited => Trouble::RateLimited(true),
        Fault::RateLimitedForNow => Trouble::RateLimited(false),
        Fault::ServerError => Trouble::Broken,
        Fault::Overloaded => Trouble::Overloaded,
        Fault::NoSuchModel => Trouble::NoModel,
        Fault::TooLong => Trouble::TooLong,
        Fault::PromptFiltered => Trouble::Filtered,
        _ => return None,
    })
}

/// What is said in the place of what would be.
fn changed(said: Said, name: &str, fault: Option<Fault>) -> Said {
    match fault {
        Some(Fault::Empty) => Said::default(),
        Some(Fault::Refusal) => Said {
            text: vec!["I can't ".to_owned(), "help with that.".to_owned()],
            end: End::Refusal,
            ..Said::default()
        },
        Some(Fault::AnswerFiltered) => Said { end: End::Filter, ..Said::default() },
        Some(Fault::BrokenCall) => {
            let call = Call { id: format!("call_{name}_x"), name: "look".to_owned(), arguments: "{\"n\": ".to_owned() };
            Said { calls: vec![call], ..said }
        }
        // A half of a call says nothing to people, so that these are about a text.
        Some(Fault::Endless) if said.text.is_empty() => Said { text: vec!["on and ".to_owned()], ..Said::default() },
        _ => said,
    }
}
