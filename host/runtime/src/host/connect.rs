//! `connect`: connections to others that the host holds for the plugin.

use homeagent_network::Scheme;
use homeagent_network::http::{self as wire, HeaderMap};
use homeagent_types::CallError;
use wasmtime::component::Accessor;

use super::outbound::{Cleaner, Outbound};
use crate::bindings::{connect, types};
use crate::instance::{HostData, InstanceState};
use crate::slot::dialled::{self, Place, Target};
use crate::wants::{ConnectWant, Want as _, unix};

/// The longest name, in bytes.
const LONGEST_NAME: usize = 64;
/// The additions that come back with `on-open`, in bytes.
const LARGEST_META: usize = 8 << 10;

impl<T: Send + 'static> connect::HostWithStore<T> for HostData {
    async fn open(accessor: &Accessor<T, Self>, target: connect::Target) -> Result<(), types::Error> {
        let (slot, checked) = accessor.with(|mut access| {
            let state = access.get();
            (std::sync::Arc::clone(&state.slot), check(state, target))
        });
        let opened = match checked {
            Ok((outbound, target, most)) => dialled::open(outbound, target, most).await,
            Err(error) => {
                slot.tell_owner(&format!("a connection was not opened: {error}"));
                Err(error)
            }
        };
        Ok(opened?)
    }
}

impl connect::Host for &mut InstanceState {
    fn close(&mut self, name: String) -> Result<(), types::Error> {
        self.may(ConnectWant::CAPABILITY, "closing a connection")?;
        Ok(self.slot.dialled.close(&name)?)
    }
}

fn check(state: &InstanceState, asked: connect::Target) -> Result<(Outbound, Target, usize), CallError> {
    let services = &state.services;
    state.may(ConnectWant::CAPABILITY, "opening a connection")?;
    if asked.name.is_empty() || asked.name.len() > LONGEST_NAME || asked.name.contains(char::is_control) {
        return Err(CallError::Invalid(format!("a connection's name has 1 to {LONGEST_NAME} bytes")));
    }
    let weight: usize = asked.meta.iter().map(|(key, value)| key.len() + value.len()).sum();
    if weight > LARGEST_META {
        return Err(CallError::Invalid(format!("the meta has {weight} bytes; {LARGEST_META} are the most")));
    }
    let mut cleaner = Cleaner::new(services);
    let place = target(&cleaner.url(asked.url)?)?;
    let mut headers = HeaderMap::new();
    for (name, value) in asked.headers {
        let (name, value) = (cleaner.text(name), cleaner.bytes(value.into_bytes()));
        wire::header(&mut headers, &name, &value).map_err(CallError::Invalid)?;
    }
    if cleaner.took {
        let place = match &place {
            Place::Host { url, .. } => wire::place(url),
            Place::Socket(_) => "a unix socket".to_owned(),
        };
        state.slot.tell_owner(&format!("a connection to {place} had a secret in it, which was taken out"));
    }
    let is_websocket = matches!(place, Place::Host { scheme: Scheme::Wss | Scheme::Ws, .. });
    if !is_websocket && (!headers.is_empty() || !asked.secrets.is_empty()) {
        return Err(CallError::Invalid("headers and secrets are a WebSocket's alone".into()));
    }
    let outbound = Outbound {
        slot: std::sync::Arc::clone(&state.slot),
        services: std::sync::Arc::clone(services),
        secrets: asked.secrets.clone(),
    };
    outbound.check_place(&place)?;
    let most = usize::try_from(services.number("core.network.connections", 8)).unwrap_or(usize::MAX);
    let target = Target {
        name: asked.name,
        place,
        headers,
        secrets: asked.secrets,
        lines: matches!(asked.framing, connect::Framing::Lines),
        reconnect: asked.reconnect,
        meta: asked.meta,
    };
    Ok((outbound, target, most))
}

/// How the other side is spoken to, and where it is.
fn target(text: &str) -> Result<Place, CallError> {
    if let Some(path) = text.strip_prefix("unix:") {
        unix::check_path(path).map_err(CallError::Invalid)?;
        return Ok(Place::Socket(path.to_owned()));
    }
    let all = [Scheme::Wss, Scheme::Ws, Scheme::Tls, Scheme::Tcp];
    let named = text.split_once("://");
    let found = named.and_then(|(name, rest)| Some((*all.iter().find(|scheme| scheme.name() == name)?, rest)));
    let Some((scheme, rest)) = found else {
        return Err(CallError::Invalid(
            "the URL does not begin with wss://, ws://, tls:// or tcp:// and a host, or with unix:/ and a path".into(),
        ));
    };
    if matches!(scheme, Scheme::Wss | Scheme::Ws) {
        let url = wire::socket_target(text).map_err(CallError::Invalid)?;
        return Ok(Place::Host { scheme, url });
    }
    // Hosts are read as in every other URL, whatever spelling of an address the system would take.
    let url = wire::target(&format!("https://{rest}")).map_err(CallError::Invalid)?;
    let has_port = rest.trim_end_matches('/').rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if !has_port || url.path() != "/" || url.query().is_some() {
        return Err(CallError::Invalid(format!(
            "a URL with {}:// has a host and a port and nothing else",
            scheme.name()
        )));
    }
    Ok(Place::Host { scheme, url })
}
