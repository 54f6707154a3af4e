//! A server that somebody else wrote, as a process.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};

/// Starting Python with its libraries may take long on a machine with much to do.
const PATIENCE: Duration = Duration::from_secs(120);

/// The folder with the servers; nothing, where there is none.
pub(crate) fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("HOMEAGENT_MODEL_SERVERS").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: HOMEAGENT_MODEL_SERVERS names no folder with the servers that .ci/models installs");
    }
    folder
}

/// A server that runs. It ends when it is dropped.
pub(crate) struct Server {
    /// `http://` and where it listens.
    pub(crate) url: String,
    _child: Child,
}

impl Server {
    /// Starts a server, which says on its standard output or error where it listens.
    pub(crate) async fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().expect("the server can be started");
        let mut output = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let mut errors = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let mut said = Vec::new();
        let listens = async {
            loop {
                let line = tokio::select! {
                    line = output.next_line() => line,
                    line = errors.next_line() => line,
                };
                let line = line.expect("it is text")?;
                // LLMock shows the port it was told to take, which is none, before the one it took.
                let address = line.split_whitespace().find(|word| {
                    word.strip_prefix("http://127.0.0.1:")
                        .is_some_and(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
                });
                if let Some(address) = address {
                    return Some(address.to_owned());
                }
                said.push(line);
            }
        };
        let address = tokio::time::timeout(PATIENCE, listens).await.expect("the server starts in time");
        let Some(url) = address else { panic!("the server does not listen: {said:#?}") };
        // What it says further is read and left, so that it never waits for a reader.
        tokio::spawn(async move { while let Ok(Some(_)) = output.next_line().await {} });
        tokio::spawn(async move { while let Ok(Some(_)) = errors.next_line().await {} });
        Self { url, _child: child }
    }

    /// What a request to its own administration answers.
    pub(crate) async fn administer(&self, method: &str, path: &str, body: &str) -> String {
        let place = self.url.trim_start_matches("http://");
        let mut stream = tokio::net::TcpStream::connect(place).await.expect("it listens");
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {place}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("it answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("an answer has a head");
        assert!(head.starts_with("HTTP/1.1 20"), "{answer}");
        body.to_owned()
    }
}
