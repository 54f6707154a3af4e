//! What the operating system does for a connection.

use std::io;
use std::net::{IpAddr, SocketAddr};

use async_trait::async_trait;
use tokio::net::TcpStream;

/// The operating system's part: names become addresses, addresses become connections.
#[async_trait]
pub trait Surroundings: Send + Sync {
    /// The addresses of a name.
    ///
    /// # Errors
    /// Where it has none, and where nobody can be asked.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;

    /// A connection to exactly this address.
    ///
    /// # Errors
    /// Where it can't be had.
    async fn connect(&self, to: SocketAddr) -> io::Result<TcpStream>;
}

/// The operating system itself. No proxy of the environment is used.
pub struct System;

#[async_trait]
impl Surroundings for System {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }

    async fn connect(&self, to: SocketAddr) -> io::Result<TcpStream> {
        TcpStream::connect(to).await
    }
}
