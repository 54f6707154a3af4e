//! An Internet for tests: names and addresses as the test says, and behind all of them one real server on this machine.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::{SinkExt as _, StreamExt as _};
use homeagent_network::{Network, Surroundings};
use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

/// Names that the server has a certificate for.
const NAMES: [&str; 6] =
    ["api.example.com", "other.example.com", "*.example.org", "nas.lan", "192.168.1.20", "127.0.0.1"];

/// Ports at which plain HTTP is spoken; TLS at all others.
const PLAIN: [u16; 3] = [80, 8080, 8123];

/// Ports at which every line is said again, until somebody says `bye`.
const LINES: [u16; 1] = [1883];

/// The Internet, as a test sees it. Clones share it.
#[derive(Clone)]
pub(crate) struct Wire {
    inner: Arc<Inner>,
}

struct Inner {
    /// What each name resolves to: the first answer, the second ...; the last one stays.
    names: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    looked_up: Mutex<Vec<String>>,
    connected: Mutex<Vec<SocketAddr>>,
    /// Requests as they came, head and body.
    requests: Mutex<Vec<String>>,
    /// How many connections are open.
    open: watch::Sender<usize>,
    plain: SocketAddr,
    encrypted: SocketAddr,
    lines: SocketAddr,
}

impl Wire {
    /// The Internet and the network that leads there.
    pub(crate) async fn new() -> (Self, Network) {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(NAMES.map(str::to_owned)).expect("names");
        let certificate = params.self_signed(&key).expect("a certificate");
        let provider = Arc::new(ring::default_provider());
        let server = ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
        let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
        let server = server.expect("versions").with_no_client_auth();
        let server = server.with_single_cert(vec![certificate.der().clone()], key).expect("the key is its own");
        let mut roots = RootCertStore::empty();
        roots.add(certificate.der().clone()).expect("it is a certificate");
        let client = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let client = client.expect("versions").with_root_certificates(roots).with_no_client_auth();

        let plain = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let encrypted = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let lines = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let inner = Arc::new(Inner {
            names: Mutex::default(),
            looked_up: Mutex::default(),
            connected: Mutex::default(),
            requests: Mutex::default(),
            open: watch::Sender::new(0),
            plain: plain.local_addr().expect("an address"),
            encrypted: encrypted.local_addr().expect("an address"),
            lines: lines.local_addr().expect("an address"),
        });
        let wire = Self { inner };
        tokio::spawn(say_again(wire.clone(), lines));
        tokio::spawn(serve(wire.clone(), plain, None));
        tokio::spawn(serve(wire.clone(), encrypted, Some(TlsAcceptor::from(Arc::new(server)))));
        for name in ["api.example.com", "other.example.com", "a.example.org", "plain.example.com"] {
            wire.name(name, &[&["93.184.215.14"]]);
        }
        let network = Network::new(Arc::new(wire.clone()), Arc::new(client));
        (wire, network)
    }

    /// Says what a name resolves to, one time after the other.
    pub(crate) fn name(&self, name: &str, answers: &[&[&str]]) {
        let addresses = |answer: &&[&str]| answer.iter().map(|it| it.parse().expect("an address")).collect();
        let answers = answers.iter().map(addresses).collect();
        self.inner.names.lock().expect("no panic").insert(name.to_owned(), answers);
    }

    pub(crate) fn looked_up(&self) -> Vec<String> {
        self.inner.looked_up.lock().expect("no panic").clone()
    }

    pub(crate) fn connected(&self) -> Vec<String> {
        self.inner.connected.lock().expect("no panic").iter().map(ToString::to_string).collect()
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.inner.requests.lock().expect("no panic").clone()
    }

    /// Waits until so many connections are open.
    pub(crate) async fn open(&self, count: usize) {
        let mut open = self.inner.open.subscribe();
        crate::house::soon(open.wait_for(|open| *open == count)).await.expect("the wire stays");
    }
}

#[async_trait]
impl Surroundings for Wire {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        self.inner.looked_up.lock().expect("no panic").push(name.to_owned());
        let mut names = self.inner.names.lock().expect("no panic");
        let answers = names.get_mut(name).ok_or_else(|| io::Error::other("nobody has that name"))?;
        Ok(if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() })
    }

    async fn connect(&self, to: SocketAddr) -> io::Result<TcpStream> {
        self.inner.connected.lock().expect("no panic").push(to);
        let server = match to.port() {
            port if PLAIN.contains(&port) => self.inner.plain,
            port if LINES.contains(&port) => self.inner.lines,
            _ => self.inner.encrypted,
        };
        TcpStream::connect(server).await
    }
}

async fn serve(wire: Wire, listener: TcpListener, tls: Option<TlsAcceptor>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (wire, tls) = (wire.clone(), tls.clone());
        tokio::spawn(async move {
            wire.inner.open.send_modify(|open| *open += 1);
            // Whoever breaks off is not missed.
            let _ = match tls {
                None => answer(&wire, stream).await,
                Some(tls) => match tls.accept(stream).await {
                    Ok(stream) => answer(&wire, stream).await,
                    Err(error) => Err(error),
                },
            };
            wire.inner.open.send_modify(|open| *open -= 1);
        });
    }
}

async fn say_again(wire: Wire, listener: TcpListener) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let wire = wire.clone();
        tokio::spawn(async move {
            wire.inner.open.send_modify(|open| *open += 1);
            let mut piece = vec![0; 4096];
            while let Ok(length @ 1..) = stream.read(&mut piece).await {
                let is_over = piece[..length].starts_with(b"bye");
                if is_over || stream.write_all(&piece[..length]).await.is_err() {
                    break;
                }
            }
            wire.inner.open.send_modify(|open| *open -= 1);
        });
    }
}

/// A WebSocket that says how it was asked for, and then again whatever it hears.
async fn say_messages_again(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: String) -> io::Result<()> {
    let key = request.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).unwrap_or_default();
    let accepted = derive_accept_key(key.as_bytes());
    let head = format!(
        "HTTP/1.1 101 Switching\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: {accepted}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    let mut socket = WebSocketStream::from_raw_socket(stream, Role::Server, None).await;
    let mut message = Message::Text(request.into());
    loop {
        socket.send(message).await.map_err(io::Error::other)?;
        message = loop {
            match socket.next().await {
                Some(Ok(message @ (Message::Text(_) | Message::Binary(_)))) => break message,
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Ok(()),
                Some(Ok(_)) => {}
            }
        };
    }
}

/// Reads one request and does what its path says.
async fn answer(wire: &Wire, mut stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
    let request = read(&mut stream).await?;
    wire.inner.requests.lock().expect("no panic").push(request.clone());
    let target = request.split(' ').nth(1).unwrap_or_default().to_owned();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    if path == "/ws" {
        return say_messages_again(stream, request).await;
    }
    match path {
        "/endless" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await?;
            loop {
                stream.write_all(b"1000\r\n").await?;
                stream.write_all(&[b'x'; 0x1000]).await?;
                stream.write_all(b"\r\n").await?;
            }
        }
        "/endless-head" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\n").await?;
            loop {
                stream.write_all(b"x-more: and more and more\r\n").await?;
            }
        }
        "/continued" => {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
            whole(&mut stream, "", b"at last").await?;
        }
        "/endless-interim" => loop {
            stream.write_all(&b"HTTP/1.1 100 Continue\r\n\r\n".repeat(1000)).await?;
        },
        "/silent" => drop(stream.read_u8().await),
        "/declared" => stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\nx").await?,
        "/broken" => stream.write_all(b"SSH-2.0-OpenSSH_9.9\r\n").await?,
        "/cut" => stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly this").await?,
        "/bomb" => whole(&mut stream, "content-encoding: gzip\r\n", &zipped(64 << 20)).await?,
        "/zipped" => whole(&mut stream, "content-encoding: gzip\r\n", &zipped(1000)).await?,
        "/brotli" => whole(&mut stream, "content-encoding: br\r\n", b"whatever").await?,
        // The query is `STATUS,LOCATION`.
        "/redirect" => {
            let (status, location) = query.split_once(',').unwrap_or_default();
            let head = format!("HTTP/1.1 {status} Elsewhere\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(head.as_bytes()).await?;
        }
        "/round" => whole_status(&mut stream, "302 Found", "location: /round\r\n", b"").await?,
        // What was asked, back again, in the body and in a header.
        _ => {
            let line = request.replace("\r\n", " | ");
            whole(&mut stream, &format!("x-asked: {line}\r\n"), request.as_bytes()).await?;
        }
    }
    stream.shutdown().await
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<String> {
    let mut request = Vec::new();
    let head = loop {
        if let Some(end) = request.windows(4).position(|end| end == b"\r\n\r\n") {
            break end + 4;
        }
        request.push(stream.read_u8().await?);
    };
    let text = String::from_utf8_lossy(&request).to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
    request.resize(head + length.unwrap_or(0), 0);
    stream.read_exact(&mut request[head..]).await?;
    Ok(String::from_utf8_lossy(&request).into_owned())
}

async fn whole(stream: &mut (impl AsyncWrite + Unpin), headers: &str, body: &[u8]) -> io::Result<()> {
    whole_status(stream, "200 OK", headers, body).await
}

async fn whole_status(
    stream: &mut (impl AsyncWrite + Unpin),
    status: &str,
    headers: &str,
    body: &[u8],
) -> io::Result<()> {
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body).await
}

fn zipped(length: usize) -> Vec<u8> {
    use std::io::Write as _;
    let mut zip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    zip.write_all(&vec![b'x'; length]).expect("memory takes it");
    zip.finish().expect("memory takes it")
}
