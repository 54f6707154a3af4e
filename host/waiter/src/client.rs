//! Requests to the daemon: HTTP over its unix socket.

use std::path::{Path, PathBuf};

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;

use crate::failure::Failure;

/// What stays as it is in a part of a path or query.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Talks to the daemon of one data folder. Every request has a connection of its own.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    socket: PathBuf,
}

impl Client {
    pub(crate) fn new(home: &Path) -> Self {
        Self { socket: homeagent_home::socket_path(home) }
    }

    /// A connection to the daemon.
    pub(crate) async fn connect(&self) -> Result<UnixStream, Failure> {
        let connected = homeagent_home::connect(&self.socket).and_then(|stream| {
            stream.set_nonblocking(true)?;
            UnixStream::from_std(stream)
        });
        connected.map_err(|error| self.unreachable(&error))
    }

    fn unreachable(&self, why: &dyn std::fmt::Display) -> Failure {
        Failure::Unreachable { socket: self.socket.clone(), why: why.to_string() }
    }

    /// The answer as the daemon wrote it; the body is JSON, or empty.
    pub(crate) async fn raw(&self, method: Method, path: &str, body: impl Into<Bytes>) -> Result<String, Failure> {
        self.exchange(method, path, "application/json", body.into()).await
    }

    /// Hands over a body of another type.
    pub(crate) async fn post_as(
        &self,
        media_type: &'static str,
        path: &str,
        body: impl Into<Bytes>,
    ) -> Result<String, Failure> {
        self.exchange(Method::POST, path, media_type, body.into()).await
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        media_type: &'static str,
        body: Bytes,
    ) -> Result<String, Failure> {
        let stream = TokioIo::new(self.connect().await?);
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(stream).await.map_err(|error| self.unreachable(&error))?;
        let driver = tokio::spawn(connection);
        let request = Request::builder()
            .method(method)
            .uri(format!("/api/v1/{path}"))
            .header(HOST, "localhost")
            .header(CONTENT_TYPE, media_type)
            .body(Full::new(body))
            .map_err(|error| Failure::Failed(format!("the request can't be made: {error}")))?;
        let broke =
            |error: hyper::Error| Failure::Failed(format!("the daemon went away before it had answered: {error}"));
        let response = sender.send_request(request).await.map_err(broke)?;
        let status = response.status();
        let body = response.into_body().collect().await.map_err(broke)?.to_bytes();
        driver.abort();
        if !status.is_success() {
            return Err(Failure::from_problem(status.as_u16(), &body));
        }
        String::from_utf8(body.into()).map_err(|_| Failure::Failed("the daemon's answer is not UTF-8".to_owned()))
    }

    /// How many bytes of a body the daemon takes.
    pub(crate) async fn largest_body(&self) -> Result<u64, Failure> {
        #[derive(Deserialize)]
        struct Setting {
            value: u64,
        }
        let setting: Setting = read(&self.get("settings/core.gateway.body_bytes").await?)?;
        Ok(setting.value)
    }

    /// Asks for something.
    pub(crate) async fn get(&self, path: &str) -> Result<String, Failure> {
        self.raw(Method::GET, path, Bytes::new()).await
    }

    /// Has something done.
    pub(crate) async fn post(&self, path: &str, body: impl Into<Bytes>) -> Result<String, Failure> {
        self.raw(Method::POST, path, body).await
    }
}

/// A name as a part of a path or query.
pub(crate) fn part(name: &str) -> String {
    // The two names that mean a folder would change which operation is asked for.
    match name {
        "." => "%2E".to_owned(),
        ".." => "%2E%2E".to_owned(),
        name => utf8_percent_encode(name, KEPT).to_string(),
    }
}

/// Reads an answer.
pub(crate) fn read<T: DeserializeOwned>(answer: &str) -> Result<T, Failure> {
    serde_json::from_str(answer).map_err(|error| {
        Failure::Failed(format!(
            "the daemon's answer is not what this waiter understands ({error}); are both of the same version?"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_part_of_the_path() {
        assert_eq!(part("core.log.level"), "core.log.level");
        assert_eq!(part("../x?y#z"), "..%2Fx%3Fy%23z");
        assert_eq!(part(".."), "%2E%2E");
        assert_eq!(part("天气"), "%E5%A4%A9%E6%B0%94");
    }
}
