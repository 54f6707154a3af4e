//! A vendor on a port of this machine, which answers as its script says.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};

/// One answer.
pub(crate) enum Reply {
    /// A whole answer.
    Whole { status: u16, headers: Vec<(&'static str, String)>, body: String },
    /// A stream of events, in these pieces.
    Stream { pieces: Vec<String>, ending: Ending },
    /// Waits for the test before it answers so.
    Held(Arc<Notify>, Box<Reply>),
    /// Says nothing at all, and waits for the other side to go.
    Mute,
}

/// How a stream ends.
pub(crate) enum Ending {
    /// As it should.
    Proper,
    /// The connection breaks.
    Broken,
    /// The vendor falls silent and waits for the other side to go.
    Silent,
    /// The vendor, or a proxy before it, sends comments until the other side goes.
    Pinging,
}

/// The vendor. It stops with the test.
pub(crate) struct Vendor {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<String>>>,
    /// Comments that were sent to those who were kept waiting.
    pings: Arc<AtomicUsize>,
    /// Gets a message each time a client that was kept waiting has gone.
    pub(crate) gone: mpsc::UnboundedReceiver<()>,
    task: tokio::task::JoinHandle<()>,
}

impl Vendor {
    pub(crate) async fn start(script: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (tell, gone) = mpsc::unbounded_channel();
        let seen = Arc::clone(&requests);
        let pings = Arc::new(AtomicUsize::new(0));
        let sent = Arc::clone(&pings);
        let task = tokio::spawn(async move {
            let mut script = VecDeque::from(script);
            while let Ok((stream, _)) = listener.accept().await {
                let Some(reply) = script.pop_front() else { continue };
                tokio::spawn(serve(stream, reply, Arc::clone(&seen), Arc::clone(&sent), tell.clone()));
            }
        });
        Vendor { url, requests, pings, gone, task }
    }

    /// How many comments were sent so far.
    pub(crate) fn pings(&self) -> usize {
        self.pings.load(Ordering::Relaxed)
    }

    /// The requests so far, head and body.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("not poisoned").clone()
    }
}

impl Drop for Vendor {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut stream: TcpStream,
    reply: Reply,
    seen: Arc<Mutex<Vec<String>>>,
    pings: Arc<AtomicUsize>,
    gone: mpsc::UnboundedSender<()>,
) {
    let Some(request) = read_request(&mut stream).await else { return };
    seen.lock().expect("not poisoned").push(request);
    let reply = match reply {
        Reply::Held(go_on, reply) => {
            go_on.notified().await;
            *reply
        }
        reply => reply,
    };
    let waits = match reply {
        // One is held once.
        Reply::Mute | Reply::Held(..) => true,
        Reply::Whole { status, headers, body } => {
            let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            let length = body.len();
            let answer =
                format!("HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}");
            let _ = stream.write_all(answer.as_bytes()).await;
            false
        }
        Reply::Stream { pieces, ending } => {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\
                        transfer-encoding: chunked\r\nconnection: close\r\n\r\n";
            let _ = stream.write_all(head.as_bytes()).await;
            for piece in pieces {
                let _ = stream.write_all(format!("{:x}\r\n{piece}\r\n", piece.len()).as_bytes()).await;
            }
            if matches!(ending, Ending::Proper) {
                let _ = stream.write_all(b"0\r\n\r\n").await;
            }
            if matches!(ending, Ending::Pinging) {
                while stream.write_all(b"8\r\n: ping\n\n\r\n").await.is_ok() {
                    pings.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                }
            }
            matches!(ending, Ending::Silent)
        }
    };
    if waits {
        let mut rest = [0; 64];
        while matches!(stream.read(&mut rest).await, Ok(1..)) {}
        let _ = gone.send(());
    }
    let _ = stream.shutdown().await;
}

async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
            if body.len() >= length.unwrap_or(0) {
                return Some(text);
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

/// An event with this text.
pub(crate) fn text(text: &str) -> String {
    format!("data: {}\n\n", serde_json::json!({"choices": [{"index": 0, "delta": {"content": text}}]}))
}

/// The end of a stream.
pub(crate) fn end() -> String {
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n".to_owned()
}

/// A stream that says this and ends as it should.
pub(crate) fn says(words: &str) -> Reply {
    Reply::Stream { pieces: vec![": hello\n\n".to_owned(), text(words), end()], ending: Ending::Proper }
}

/// A stream that says this and breaks off.
pub(crate) fn breaks_after(words: &str) -> Reply {
    Reply::Stream { pieces: vec![text(words)], ending: Ending::Broken }
}

/// An error with a JSON body.
pub(crate) fn error(status: u16, body: &str) -> Reply {
    json(status, body, Vec::new())
}

/// An answer with a JSON body and more headers.
pub(crate) fn json(status: u16, body: &str, mut headers: Vec<(&'static str, String)>) -> Reply {
    headers.push(("content-type", "application/json".to_owned()));
    Reply::Whole { status, headers, body: body.to_owned() }
}
