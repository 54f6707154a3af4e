//! A connection to somebody else, between its wire and the slot.

use std::time::Duration;

use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt as _, StreamExt as _};
use homeagent_network::http::{Rules as _, host_and_port};
use homeagent_network::websocket::{CloseCode, CloseFrame, Message, WebSocket};
use homeagent_network::{Error, Hold, Scheme, Stream};
use homeagent_settings::Secrets;
use homeagent_types::CallError;
use homeagent_types::ports::{Connection, Frame, ToPeer};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, ReadHalf, WriteHalf};
use tokio::time::{Instant, timeout};

use super::connection::HeldConnection;
use super::dialled::{Place, Target};
use super::unix;
use crate::host::{LARGEST_FRAME, Outbound, told};
use crate::services::Services;
use crate::wants::{ConnectWant, Want as _};

/// How often a WebSocket is asked whether it is still there, and how long it may be silent.
const HEARTBEAT: Duration = Duration::from_secs(30);
const SILENCE: Duration = Duration::from_secs(80);
/// How long the other side may take to read a frame.
const SLOWEST: Duration = Duration::from_secs(30);
/// A piece of a connection without frames, in bytes.
const PIECE: usize = 64 << 10;
/// What a close frame holds of a reason, in bytes.
const LONGEST_REASON: usize = 120;

/// The other side.
pub(super) enum Peer {
    WebSocket(Box<WebSocket>),
    Plain(Box<dyn Stream>),
}

/// Who ended a connection.
pub(super) enum Ending {
    OfSlot,
    OfPeer(String),
}

impl Ending {
    /// Why, in words.
    pub(super) fn reason(self) -> String {
        match self {
            Ending::OfSlot => "it was closed here".to_owned(),
            Ending::OfPeer(reason) => reason,
        }
    }
}

/// Connects. An error is final when trying again would change nothing.
pub(super) async fn dial(outbound: &Outbound, target: &Target) -> Result<Peer, (CallError, bool)> {
    let longest = outbound.services.milliseconds("core.network.timeout_ms", 30_000);
    timeout(longest, connect(outbound, target)).await.unwrap_or(Err((CallError::Timeout, false)))
}

async fn connect(outbound: &Outbound, target: &Target) -> Result<Peer, (CallError, bool)> {
    let refused = |error: CallError| (error, true);
    let failed = |error: Error| {
        let is_final = matches!(error, Error::Forbidden { .. } | Error::Refused(_) | Error::Unsendable(_));
        (told(&outbound.slot.name, ConnectWant::CAPABILITY, error), is_final)
    };
    // A name that is being looked up counts among the plugin's requests: nobody can break that off.
    let most = usize::try_from(outbound.services.number("core.network.requests", 8)).unwrap_or(usize::MAX);
    let hold: Hold = std::sync::Arc::new(outbound.slot.request(most).map_err(|error| (error, false))?);
    let (scheme, url) = match &target.place {
        Place::Host { scheme, url } => (*scheme, url),
        Place::Socket(path) => return Ok(Peer::Plain(Box::new(unix::dial(outbound, path).await?))),
    };
    let reach = outbound.connect_reach(scheme, url).map_err(refused)?;
    if matches!(scheme, Scheme::Wss | Scheme::Ws) {
        let (mut url, mut headers) = (url.clone(), target.headers.clone());
        outbound.equip(&mut url, &mut headers).map_err(refused)?;
        let network = &outbound.services.network;
        let socket = network.websocket(&url, &headers, reach, LARGEST_FRAME, &hold).await.map_err(failed)?;
        return Ok(Peer::WebSocket(Box::new(socket)));
    }
    let (host, port) = host_and_port(url).ok_or_else(|| refused(CallError::Invalid("the URL has no host".into())))?;
    let stream = outbound.services.network.dial(&host, port, scheme == Scheme::Tls, reach, &hold).await;
    Ok(Peer::Plain(stream.map_err(failed)?))
}

/// Carries frames both ways until one side has enough.
pub(super) async fn relay(peer: Peer, held: &HeldConnection, services: &Services, lines: bool) -> Ending {
    match peer {
        Peer::WebSocket(socket) => {
            let (mut to_peer, mut from_peer) = socket.split();
            let ending = tokio::select! {
                ending = send_messages(&mut to_peer, held) => ending,
                ending = take_messages(&mut from_peer, held, &services.secrets) => ending,
            };
            if let Ending::OfSlot = ending {
                let frame = CloseFrame { code: CloseCode::Normal, reason: "".into() };
                // A peer that does not listen any more misses it.
                let _ = timeout(Duration::from_secs(1), to_peer.send(Message::Close(Some(frame)))).await;
            }
            ending
        }
        Peer::Plain(stream) => {
            let (from_peer, mut to_peer) = tokio::io::split(stream);
            let ending = tokio::select! {
                ending = send_bytes(&mut to_peer, held, lines) => ending,
                ending = take_bytes(from_peer, held, &services.secrets, lines) => ending,
            };
            let _ = timeout(Duration::from_secs(1), to_peer.shutdown()).await;
            ending
        }
    }
}

async fn send_messages(to_peer: &mut SplitSink<Box<WebSocket>, Message>, held: &dyn Connection) -> Ending {
    let mut heartbeat = tokio::time::interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
    loop {
        let message = tokio::select! {
            next = held.next() => match next {
                Some(ToPeer::Frame(Frame::Text(text))) => Message::Text(text.into()),
                Some(ToPeer::Frame(Frame::Binary(bytes))) => Message::Binary(bytes.into()),
                Some(ToPeer::GivenUp(reason)) => return Ending::OfPeer(reason),
                Some(ToPeer::Close(_)) | None => return Ending::OfSlot,
            },
            _ = heartbeat.tick() => Message::Ping(Vec::new().into()),
        };
        match timeout(SLOWEST, to_peer.send(message)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Ending::OfPeer(format!("it is lost: {error}")),
            Err(_) => return Ending::OfPeer("its other side does not read".into()),
        }
    }
}

async fn take_messages(
    from_peer: &mut SplitStream<Box<WebSocket>>,
    held: &dyn Connection,
    secrets: &Secrets,
) -> Ending {
    loop {
        let frame = match timeout(SILENCE, from_peer.next()).await {
            Err(_) => return Ending::OfPeer(format!("its other side was silent for {} s", SILENCE.as_secs())),
            Ok(None) => return Ending::OfPeer("its other side closed it".into()),
            Ok(Some(Err(error))) => return Ending::OfPeer(format!("it is lost: {error}")),
            Ok(Some(Ok(Message::Text(text)))) => Frame::Text(secrets.redact(&text).into_owned()),
            Ok(Some(Ok(Message::Binary(bytes)))) => Frame::Binary(secrets.redact_bytes(&bytes).into_owned()),
            Ok(Some(Ok(Message::Close(frame)))) => {
                let reason = frame.map(|frame| frame.reason.to_string()).filter(|reason| !reason.is_empty());
                let reason = reason.map_or_else(String::new, |reason| {
                    format!(": {}", &reason[..reason.floor_char_boundary(LONGEST_REASON)])
                });
                return Ending::OfPeer(format!("its other side closed it{reason}"));
            }
            Ok(Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)))) => continue,
        };
        if let Err(error) = held.receive(frame).await {
            return Ending::OfPeer(error.to_string());
        }
    }
}

async fn send_bytes(to_peer: &mut WriteHalf<Box<dyn Stream>>, held: &HeldConnection, lines: bool) -> Ending {
    loop {
        let mut bytes = match held.next().await {
            Some(ToPeer::Frame(Frame::Text(text))) => text.into_bytes(),
            Some(ToPeer::Frame(Frame::Binary(bytes))) => bytes,
            Some(ToPeer::GivenUp(reason)) => return Ending::OfPeer(reason),
            Some(ToPeer::Close(_)) | None => return Ending::OfSlot,
        };
        if lines {
            bytes.push(b'\n');
        }
        let sent = async {
            to_peer.write_all(&bytes).await?;
            to_peer.flush().await
        };
        match timeout(SLOWEST, sent).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Ending::OfPeer(format!("it is lost: {error}")),
            Err(_) => return Ending::OfPeer("its other side does not read".into()),
        }
    }
}

async fn take_bytes(
    from_peer: ReadHalf<Box<dyn Stream>>,
    held: &HeldConnection,
    secrets: &Secrets,
    lines: bool,
) -> Ending {
    let mut from_peer = BufReader::with_capacity(PIECE, from_peer);
    loop {
        let mut bytes = Vec::new();
        let read = match lines {
            true => (&mut from_peer).take(LARGEST_FRAME as u64 + 1).read_until(b'\n', &mut bytes).await,
            false => match from_peer.fill_buf().await {
                Ok(piece) => {
                    bytes.extend_from_slice(piece);
                    from_peer.consume(bytes.len());
                    Ok(bytes.len())
                }
                Err(error) => Err(error),
            },
        };
        match read {
            Err(error) => return Ending::OfPeer(format!("it is lost: {error}")),
            Ok(0) => return Ending::OfPeer("its other side closed it".into()),
            Ok(length) if length > LARGEST_FRAME => {
                return Ending::OfPeer(format!("its other side sent a line of more than {LARGEST_FRAME} bytes"));
            }
            Ok(_) => {}
        }
        let bytes = secrets.redact_bytes(&bytes).into_owned();
        let frame = if lines { Frame::Text(line(&bytes)) } else { Frame::Binary(bytes) };
        if let Err(error) = held.receive(frame).await {
            return Ending::OfPeer(error.to_string());
        }
    }
}

/// A line without its end; what is no UTF-8 is replaced.
fn line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_suffix('\n').unwrap_or(&text);
    text.strip_suffix('\r').unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use homeagent_settings::Database;
    use tokio_tungstenite::WebSocketStream;
    use tokio_tungstenite::tungstenite::protocol::Role;

    use super::*;

    /// A slot that has nothing to say.
    struct Silent;

    #[async_trait]
    impl Connection for Silent {
        async fn receive(&self, _: Frame) -> Result<(), CallError> {
            Ok(())
        }

        async fn next(&self) -> Option<ToPeer> {
            std::future::pending().await
        }

        async fn closed(self: Box<Self>, _: String) {}
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_answers_no_ping_is_given_up() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = Database::open(folder.path().join("db")).expect("a new database");
        let secrets = Secrets::open(&database, folder.path()).expect("new secrets");
        let (near, mut far) = tokio::io::duplex(1024);
        let near: Box<dyn Stream> = Box::new(near);
        let socket = Box::new(WebSocketStream::from_raw_socket(near, Role::Client, None).await);
        let (mut to_peer, mut from_peer) = socket.split();
        let ending = tokio::select! {
            ending = send_messages(&mut to_peer, &Silent) => ending,
            ending = take_messages(&mut from_peer, &Silent, &secrets) => ending,
        };
        assert_eq!(ending.reason(), "its other side was silent for 80 s");
        let mut asked = [0; 12];
        far.read_exact(&mut asked).await.expect("two pings came");
        assert_eq!((asked[0], asked[6]), (0x89, 0x89), "each is a ping");
    }
}
