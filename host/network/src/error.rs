//! Why nothing came of a connection or a request.

use std::net::IpAddr;

use homeagent_types::CallError;
use url::Host;

use crate::address;

/// Why nothing came of it. The sentences name hosts and ports, and never a path or a query: a key may stand there.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The rules refuse it.
    #[error(transparent)]
    Refused(CallError),
    /// An address that may not be reached.
    #[error("{}", forbidden(host, *address))]
    Forbidden {
        /// The host as it was asked for.
        host: Host,
        /// The address that it is, or one of those it has.
        address: IpAddr,
    },
    /// The name has no address.
    #[error("{host} has no address: {reason}")]
    Unresolved {
        /// The name.
        host: Host,
        /// What the system says.
        reason: String,
    },
    /// There is no connection to be had.
    #[error("{place} can't be reached: {reason}")]
    Unreachable {
        /// Host and port.
        place: String,
        /// What the system says, or TLS.
        reason: String,
    },
    /// What was asked for can't be sent.
    #[error("{0}")]
    Unsendable(String),
    /// The other side does not speak as it should, or breaks off.
    #[error("{place} {reason}")]
    Protocol {
        /// Host and port.
        place: String,
        /// What it did.
        reason: String,
    },
    /// The answer is too large.
    #[error("{place} sent an answer of more than {most} bytes, which are the most")]
    TooLarge {
        /// Host and port.
        place: String,
        /// The largest answer.
        most: usize,
    },
    /// The time is over.
    #[error("it took longer than it may")]
    Timeout,
}

fn forbidden(host: &Host, address: IpAddr) -> String {
    let class = address::classify(address);
    match host {
        Host::Domain(name) => format!("{name} has the address {address}, {class}"),
        Host::Ipv4(_) | Host::Ipv6(_) => format!("{address} is {class}"),
    }
}
