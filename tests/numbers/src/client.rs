//! Requests over one connection that is kept, as a program beside the daemon would make them.

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::SendRequest;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use crate::Failure;

/// A connection to the API.
pub(crate) struct Client {
    sender: SendRequest<Full<Bytes>>,
    host: String,
    token: String,
}

impl Client {
    pub(crate) async fn connect(host: &str, token: &str) -> Result<Self, Failure> {
        let stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Self { sender, host: host.to_owned(), token: token.to_owned() })
    }

    pub(crate) async fn post(&mut self, path: &str, body: &Value) -> Result<Value, Failure> {
        self.send(Method::POST, path, body).await
    }

    pub(crate) async fn send(&mut self, method: Method, path: &str, body: &Value) -> Result<Value, Failure> {
        let request = Request::builder()
            .method(method)
            .uri(format!("/api/v1/{path}"))
            .header("host", &self.host)
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body.to_string())))?;
        // The connection may still be at the end of the last answer.
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        if status.is_success() {
            return Ok(serde_json::from_slice(&body)?);
        }
        Err(format!("{path}: {status}: {}", String::from_utf8_lossy(&body)).into())
    }
}
