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

    /// A connection to the daemon. Dropping it while it waits leaves that to a thread.
    pub(crate) async fn connect(&self) -> Result<UnixStream, Failure> {
        let socket = self.socket.clone();
        // Where the daemon takes nobody in, the system waits with it.
        let connecting = tokio::task::spawn_blocking(move || homeagent_home::connect(&socket));
        let connected = connecting.await.unwrap_or_else(|lost| Err(std::io::Error::other(lost)));
        let stream = connected.and_then(|stream| {
            stream.set_nonblocking(true)?;
            UnixStream::from_std(stream)
        });
        stream.map_err(|error| self.unreachable(&error))
    }

    fn unreachable(&self, why: &dyn std::fmt::Display) -> Failure {
        Failure::Unreachable { socket: self.socket.clone(), why: why.to_string() }
    }

    /// The answer as the daemon wrote it; the body is JSON, or empty.
    pub(crate) async fn raw(&self, method: Method, path: &str, body: impl Into<Bytes>) -> Result<String, Failure> {
        text(self.exchange(method, &format!("/api/v1/{path}"), "application/json", body.into()).await?)
    }

    /// Hands over a body of another type.
    pub(crate) async fn post_as(
        &self,
        media_type: &'static str,
        path: &str,
        body: impl Into<Bytes>,
    ) -> Result<String, Failure> {
        text(self.exchange(Method::POST, &format!("/api/v1/{path}"), media_type, body.into()).await?)
    }

    /// The bytes of a medium.
    pub(crate) async fn file(&self, address: &str) -> Result<Bytes, Failure> {
        self.exchange(Method::GET, &format!("/media/{}", part(address)), "application/json", Bytes::new()).await
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        media_type: &'static str,
        body: Bytes,
    ) -> Result<Bytes, Failure> {
        let stream = TokioIo::new(self.connect().await?);
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(stream).await.map_err(|error| self.unreachable(&error))?;
        let driver = tokio::spawn(connection);
        let request = Request::builder()
            .method(method)
            .uri(path)
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
        Ok(body)
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

fn text(body: Bytes) -> Result<String, Failure> {
    String::from_utf8(body.into()).map_err(|_| Failure::Failed("the daemon's answer is not UTF-8".to_owned()))
}

/// A name as a part of a path or query.
pub(crate) fn part(name: &str) -> String {
    // These would change which operation is asked for: two mean a folder, one has an address of its own.
    match name {
        "offers" => "%6Fffers".to_owned(),
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
        assert_eq!(part("offers"), "%6Fffers");
        assert_eq!(part("天气"), "%E5%A4%A9%E6%B0%94");
    }

    #[tokio::test]
    async fn a_daemon_that_takes_nobody_in_holds_up_whoever_waits_for_it_alone() {
        let home = tempfile::tempdir().expect("a folder");
        let listener = tokio::net::UnixListener::bind(home.path().join("homed.sock")).expect("it is free");
        let client = Client::new(home.path());
        let mut waiting = Vec::new();
        // A tokio stream does not wait where a connection would.
        while let Ok(stream) = UnixStream::connect(home.path().join("homed.sock")).await {
            waiting.push(stream);
        }
        let mut connecting = std::pin::pin!(client.connect());
        let moment = std::time::Duration::from_millis(10);
        tokio::time::timeout(moment, &mut connecting).await.expect_err("nobody takes it in");
        let taking = async {
            loop {
                listener.accept().await.expect("one waits");
            }
        };
        tokio::select! {
            connected = connecting => drop(connected.expect("it is taken in")),
            () = taking => {}
        }
    }
}
