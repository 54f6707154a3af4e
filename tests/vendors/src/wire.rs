//! HTTP by hand: what breaks off, falls silent or is cut must reach the socket just so.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The path without the query.
    pub path: String,
    /// The query, without its `?`.
    pub query: String,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    /// The header of this name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The value of a parameter of the query, as it stands there.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.query.split('&').filter_map(|pair| pair.split_once('=')).find(|(known, _)| *known == name).map(|it| it.1)
    }
}

/// An answer as it is to be sent.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Headers beside those of the connection.
    pub headers: Vec<(String, String)>,
    /// The body; each piece is written by itself.
    pub pieces: Vec<Vec<u8>>,
    /// What comes after the last piece.
    pub ending: Ending,
}

/// What comes after the last piece of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The end of the body.
    Proper,
    /// The connection is reset.
    Reset,
    /// Nothing, not even the end, until the client goes.
    Silence,
    /// The pieces again and again, until the client goes.
    Again,
    /// The last piece again and again, until the client goes.
    LastAgain,
}

/// Reads a request; nothing, where the client goes before it is whole.
pub async fn read_request(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let mut lines = text.lines();
    let mut first = lines.next()?.split(' ');
    let (method, target) = (first.next()?.to_owned(), first.next()?);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let mut request =
        Request { method, path: path.to_owned(), query: query.to_owned(), headers, body: bytes.split_off(head + 4) };
    let length: usize = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    while request.body.len() < length {
        if stream.read_buf(&mut request.body).await.ok()? == 0 {
            return None;
        }
    }
    Some(request)
}

/// Sends an answer. False: the client went before its end.
pub async fn send(stream: &mut TcpStream, answer: &Answer) -> bool {
    write(stream, answer).await.is_some()
}

async fn write(stream: &mut TcpStream, answer: &Answer) -> Option<()> {
    let headers: String = answer.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head =
        format!("HTTP/1.1 {} X\r\n{headers}transfer-encoding: chunked\r\nconnection: close\r\n\r\n", answer.status);
    stream.write_all(head.as_bytes()).await.ok()?;
    for piece in &answer.pieces {
        chunk(stream, piece).await?;
    }
    match answer.ending {
        Ending::Proper => stream.write_all(b"0\r\n\r\n").await.ok()?,
        Ending::Reset => stream.set_zero_linger().ok()?,
        Ending::Silence => {
            gone(stream).await;
            return None;
        }
        Ending::Again | Ending::LastAgain => {
            let from = if answer.ending == Ending::Again { 0 } else { answer.pieces.len().saturating_sub(1) };
            loop {
                for piece in &answer.pieces[from..] {
                    chunk(stream, piece).await?;
                }
                // The machine has others to serve, too.
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }
    Some(())
}

async fn chunk(stream: &mut TcpStream, piece: &[u8]) -> Option<()> {
    let mut bytes = format!("{:x}\r\n", piece.len()).into_bytes();
    bytes.extend_from_slice(piece);
    bytes.extend_from_slice(b"\r\n");
    stream.write_all(&bytes).await.ok()
}

/// Waits until the client has gone.
pub(crate) async fn gone(stream: &mut TcpStream) {
    let mut rest = [0; 64];
    while matches!(stream.read(&mut rest).await, Ok(1..)) {}
}
