//! A connection: the name is resolved once, every address is looked at, and one of exactly those is connected to.

use std::any::Any;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use url::Host;

use crate::address::{Class, classify};
use crate::surroundings::{Surroundings, System};
use crate::{Error, tls};

/// How long an address is tried alone before the next is tried beside it.
const HEAD_START: Duration = Duration::from_millis(300);
/// Addresses of a name that are tried.
const MOST_ADDRESSES: usize = 8;

/// Whatever is kept until the system's part of the work has ended, which nobody can break off: a plugin's place among
/// its requests.
pub type Hold = Arc<dyn Any + Send + Sync>;

/// Which addresses a host may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Public ones.
    Public,
    /// Those of the home: for a name, private ones, and for an address also this machine's.
    Home,
    /// All of these.
    Either,
}

impl Reach {
    fn allows(self, host: &Host, address: IpAddr) -> bool {
        match (self, classify(address)) {
            (Reach::Public, class) => class == Class::Public,
            (Reach::Either, Class::Public) => true,
            (Reach::Home | Reach::Either, Class::Private) => true,
            // Who names this machine by its address means it; a name that leads here may be anybody's.
            (Reach::Home | Reach::Either, Class::Loopback) => !matches!(host, Host::Domain(_)),
            (Reach::Home | Reach::Either, _) => false,
        }
    }
}

/// A connection, encrypted or not.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// The way to others. Clones share it.
#[derive(Clone)]
pub struct Network {
    surroundings: Arc<dyn Surroundings>,
    tls: Arc<ClientConfig>,
}

impl Network {
    /// The network that the system has, with the certificates that it trusts.
    ///
    /// # Errors
    /// When those can't be read.
    pub fn system() -> Result<Self, rustls::Error> {
        Ok(Self::new(Arc::new(System), Arc::new(tls::client()?)))
    }

    /// A network with other surroundings.
    pub fn new(surroundings: Arc<dyn Surroundings>, tls: Arc<ClientConfig>) -> Self {
        Self { surroundings, tls }
    }

    /// Connects. `hold` is kept for as long as the name is being looked up, even if nobody waits for it any more.
    ///
    /// # Errors
    /// An address that may not be reached - one is enough - and no connection.
    pub async fn dial(
        &self,
        host: &Host,
        port: u16,
        encrypted: bool,
        reach: Reach,
        hold: &Hold,
    ) -> Result<Box<dyn Stream>, Error> {
        let addresses = self.resolve(host, hold).await?;
        if let Some(address) = addresses.iter().find(|address| !reach.allows(host, **address)) {
            return Err(Error::Forbidden { host: host.clone(), address: *address });
        }
        let place = format!("{host}:{port}");
        let unreachable = |reason: String| Error::Unreachable { place: place.clone(), reason };
        let addresses = alternating(&addresses).into_iter().take(MOST_ADDRESSES);
        let stream = self.connect(addresses.map(|ip| SocketAddr::new(ip, port)).collect()).await;
        let stream = stream.map_err(|error| unreachable(error.to_string()))?;
        // A small request should not wait for a larger one.
        drop(stream.set_nodelay(true));
        if !encrypted {
            return Ok(Box::new(stream));
        }
        let name = match host {
            Host::Domain(name) => ServerName::try_from(name.clone()).map_err(|error| unreachable(error.to_string()))?,
            Host::Ipv4(address) => ServerName::from(IpAddr::V4(*address)),
            Host::Ipv6(address) => ServerName::from(IpAddr::V6(*address)),
        };
        let connected = TlsConnector::from(Arc::clone(&self.tls)).connect(name, stream).await;
        Ok(Box::new(connected.map_err(|error| unreachable(error.to_string()))?))
    }

    async fn resolve(&self, host: &Host, hold: &Hold) -> Result<Vec<IpAddr>, Error> {
        let name = match host {
            Host::Ipv4(address) => return Ok(vec![IpAddr::V4(*address)]),
            Host::Ipv6(address) => return Ok(vec![IpAddr::V6(*address)]),
            Host::Domain(name) => name.clone(),
        };
        let unresolved = |reason: String| Error::Unresolved { host: host.clone(), reason };
        let (surroundings, hold) = (Arc::clone(&self.surroundings), Arc::clone(hold));
        // The system's resolver takes a thread and can't be stopped. Whoever asks for much and waits for nothing shall not
        // have more of those threads than places.
        let looked_up = tokio::spawn(async move {
            let _hold = hold;
            surroundings.resolve(&name).await
        });
        match looked_up.await {
            Ok(Ok(addresses)) if addresses.is_empty() => Err(unresolved("the name is there and has none".into())),
            Ok(Ok(addresses)) => Ok(addresses),
            Ok(Err(error)) => Err(unresolved(error.to_string())),
            Err(lost) => Err(unresolved(lost.to_string())),
        }
    }

    /// The first connection that stands. Each address has a head start before the next.
    async fn connect(&self, addresses: Vec<SocketAddr>) -> std::io::Result<TcpStream> {
        let mut waiting = addresses.into_iter();
        let mut tried = FuturesUnordered::new();
        let mut failure = None;
        loop {
            if let Some(address) = waiting.next() {
                tried.push(self.surroundings.connect(address));
            } else if tried.is_empty() {
                let none = || std::io::Error::new(std::io::ErrorKind::NotFound, "it has no address");
                return Err(failure.unwrap_or_else(none));
            }
            let is_last = waiting.len() == 0;
            tokio::select! {
                Some(outcome) = tried.next() => match outcome {
                    Ok(stream) => return Ok(stream),
                    Err(error) => failure = Some(error),
                },
                () = tokio::time::sleep(HEAD_START), if !is_last => {}
            }
        }
    }
}

/// The two families in turn, beginning with the first that the system gave.
fn alternating(addresses: &[IpAddr]) -> Vec<IpAddr> {
    let Some(first) = addresses.first() else { return Vec::new() };
    let (mut one, mut other): (Vec<IpAddr>, Vec<IpAddr>) =
        addresses.iter().copied().partition(|it| it.is_ipv6() == first.is_ipv6());
    one.reverse();
    other.reverse();
    let mut all = Vec::with_capacity(addresses.len());
    while !(one.is_empty() && other.is_empty()) {
        all.extend(one.pop());
        all.extend(other.pop());
    }
    all
}
