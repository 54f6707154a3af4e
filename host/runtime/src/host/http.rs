//! `http`: requests to where the package said it would go.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use homeagent_network::address::{self, Class};
use homeagent_network::http::{self as wire, HeaderMap, Limits, Method, Request, Response};
use homeagent_network::{Error, Hold, Host};
use homeagent_types::{CallError, Denial};
use tokio_util::task::AbortOnDropHandle;
use tracing::Level;
use wasmtime::AsContextMut as _;
use wasmtime::component::Accessor;

use super::outbound::{Cleaner, Outbound};
use crate::bindings::{http, types};
use crate::instance::{HostData, InstanceState};
use crate::slot::core::{RequestPlace, SlotCore};
use crate::wants::{HttpWant, PrivateNetworkWant, Want as _};

/// What a plugin has left of its call's time when a request of the call's ends it.
const TO_ANSWER: Duration = Duration::from_secs(1);
/// Larger answers are looked through where blocking is allowed.
const SMALL: usize = 64 << 10;

/// A request that has passed the checks on what can be sent at all.
struct Errand {
    outbound: Outbound,
    request: Request,
    limits: Limits,
    hold: RequestPlace,
}

impl<T: Send + 'static> http::HostWithStore<T> for HostData {
    async fn send(accessor: &Accessor<T, Self>, request: http::Request) -> Result<http::Response, types::Error> {
        let (slot, errand) = accessor.with(|mut access| {
            let stack = access.as_context_mut().async_call_stack().map(Iterator::collect::<Vec<_>>);
            let state = access.get();
            let left = stack.ok().and_then(|stack| state.slot.time_left(&stack));
            (Arc::clone(&state.slot), Errand::new(state, request, left))
        });
        let outcome = match errand {
            Ok(errand) => errand.run().await,
            Err(error) => Err(Failure { error, level: Level::WARN }),
        };
        match outcome {
            Ok(response) => Ok(response),
            Err(Failure { error, level }) => {
                tell(&slot, &error, level);
                Err(error.into())
            }
        }
    }
}

impl http::Host for &mut InstanceState {}

/// Why there is no answer, and how loudly the owner is told.
/// What of a request's meta bounds its answer.
const RESPONSE_BYTES: &str = "response-bytes";

struct Failure {
    error: CallError,
    level: Level,
}

fn tell(slot: &SlotCore, error: &CallError, level: Level) {
    match error {
        // What the plugin's caller hears anyway, and what is nobody's fault.
        CallError::NotLive | CallError::Busy => {}
        error if level == Level::WARN => slot.tell_owner(&format!("a request was not sent or not answered: {error}")),
        error => slot.log(level, &format!("a request was not answered: {error}")),
    }
}

impl Errand {
    fn new(state: &InstanceState, request: http::Request, left: Option<Duration>) -> Result<Self, CallError> {
        let services = &state.services;
        state.may(HttpWant::CAPABILITY, "sending a request")?;
        let most = usize::try_from(services.number("core.network.requests", 8)).unwrap_or(usize::MAX);
        let hold = state.slot.request(most)?;
        let outbound =
            Outbound { slot: Arc::clone(&state.slot), services: Arc::clone(services), secrets: request.secrets };
        let mut cleaner = Cleaner::new(services);
        let url = wire::target(&cleaner.url(request.url)?).map_err(CallError::Invalid)?;
        let unknown = || CallError::Invalid("the method is none; methods are written in capitals, as GET".into());
        let method = Method::from_bytes(request.method.as_bytes()).map_err(|_| unknown())?;
        let mut headers = HeaderMap::new();
        for (name, value) in request.headers {
            let (name, value) = (cleaner.text(name), cleaner.bytes(value.into_bytes()));
            wire::header(&mut headers, &name, &value).map_err(CallError::Invalid)?;
        }
        let body = request.body.unwrap_or_default();
        let largest = usize::try_from(services.number("core.network.request_bytes", 1 << 20)).unwrap_or(usize::MAX);
        if body.len() > largest {
            return Err(CallError::Invalid(format!("the body has {} bytes; {largest} are the most", body.len())));
        }
        let body = cleaner.bytes(body);
        if cleaner.took {
            state
                .slot
                .tell_owner(&format!("a request to {} had a secret in it, which was taken out", wire::place(&url)));
        }
        outbound.check_secrets(&url)?;
        let response_bytes = services.number("core.network.response_bytes", 8 << 20);
        let wanted =
            request.meta.iter().find(|(key, _)| key == RESPONSE_BYTES).map(|(_, value)| value.parse::<usize>());
        let wanted =
            wanted.transpose().map_err(|_| CallError::Invalid(format!("{RESPONSE_BYTES} is a number of bytes")))?;
        let response_bytes = usize::try_from(response_bytes).unwrap_or(usize::MAX);
        let limits = Limits {
            response_bytes: wanted.unwrap_or(usize::MAX).min(response_bytes),
            timeout: timeout(state, request.timeout_ms, left),
        };
        Ok(Self { outbound, request: Request { method, url, headers, body: body.into() }, limits, hold })
    }

    /// On the daemon's own executor: the guests' may be busy. Ends when nobody waits any more.
    async fn run(self) -> Result<http::Response, Failure> {
        let Self { outbound, request, limits, hold } = self;
        let main = outbound.services.local.host.clone();
        let sent = main.spawn(async move {
            let hold: Hold = Arc::new(hold);
            let network = &outbound.services.network;
            let answer = network.send(request, &outbound, limits, &hold).await;
            match answer {
                Ok(answer) if answer.body.len() < SMALL => Ok(clean(&outbound, answer)),
                Ok(answer) => {
                    let cleaned = tokio::task::spawn_blocking(move || clean(&outbound, answer)).await;
                    cleaned.map_err(|lost| Failure { error: CallError::Other(lost.to_string()), level: Level::WARN })
                }
                Err(error) => Err(failure(&outbound.slot.name, error)),
            }
        });
        match AbortOnDropHandle::new(sent).await {
            Ok(outcome) => outcome,
            Err(lost) => Err(Failure { error: CallError::Other(lost.to_string()), level: Level::WARN }),
        }
    }
}

/// The shortest of what the plugin, its caller and the owner allow.
fn timeout(state: &InstanceState, asked: Option<u32>, left: Option<Duration>) -> Duration {
    let most = state.services.milliseconds("core.network.timeout_ms", 30_000);
    let asked = asked.map_or(most, |asked| Duration::from_millis(asked.into()));
    let left = left.map_or(most, |left| left.saturating_sub(TO_ANSWER.min(left / 4)));
    most.min(asked).min(left)
}

fn clean(outbound: &Outbound, answer: Response) -> http::Response {
    let mut cleaner = Cleaner::new(&outbound.services);
    let answer = cleaner.answer(answer);
    let url = cleaner.text(answer.url.into());
    if cleaner.took {
        outbound.slot.log(Level::WARN, "an answer had a secret in it, which was taken out");
    }
    let header = |(name, value): (String, Vec<u8>)| (name, String::from_utf8_lossy(&value).into_owned());
    http::Response {
        status: answer.status,
        headers: answer.headers.into_iter().map(header).collect(),
        body: answer.body,
        url,
        meta: Vec::new(),
    }
}

/// The failure as the plugin is told it.
fn failure(plugin: &str, error: Error) -> Failure {
    let level = match error {
        Error::Unreachable { .. } | Error::Unresolved { .. } | Error::Timeout => Level::INFO,
        _ => Level::WARN,
    };
    Failure { error: told(plugin, HttpWant::CAPABILITY, error), level }
}

/// A failure of the network in the contract's words, to a plugin that used this capability.
pub(crate) fn told(plugin: &str, capability: &str, error: Error) -> CallError {
    match error {
        Error::Refused(error) => error,
        Error::Timeout => CallError::Timeout,
        Error::Unsendable(reason) => CallError::Invalid(reason),
        Error::Forbidden { ref host, address } => forbidden(plugin, capability, host, address, &error.to_string()),
        error => CallError::Other(error.to_string()),
    }
}

fn forbidden(plugin: &str, used: &str, host: &Host, ip: IpAddr, sentence: &str) -> CallError {
    let home = PrivateNetworkWant::CAPABILITY;
    let (capability, remedy) = match (address::classify(ip), host) {
        (Class::Loopback, Host::Domain(_)) => {
            (home, format!("[wants.{home}] opens this machine by its address alone, not by a name"))
        }
        (Class::Private | Class::Loopback, _) => {
            let remedy = format!(
                "[wants.{home}] of its plugin.toml has to list {host} with its port, and the owner can allow it then: \
                 waiter plugin grant {plugin} {home}"
            );
            (home, remedy)
        }
        _ => (used, "nothing allows that".to_owned()),
    };
    let attempt = format!("reaching {host}: {sentence}");
    CallError::Denied(Denial { capability: capability.to_owned(), attempt, remedy })
}
