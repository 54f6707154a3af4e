//! The connection of a chat. It comes back by itself when the daemon restarts.

use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use tokio::net::UnixStream;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::frames::{FromServer, ToServer};
use crate::client::{Client, part};
use crate::failure::Failure;

type Socket = WebSocketStream<UnixStream>;

const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What happens on the line.
#[derive(Debug)]
pub(crate) enum Event {
    /// A frame came.
    Frame(FromServer),
    /// The connection is gone; why.
    Lost(String),
    /// It is back.
    Back,
}

pub(crate) struct Line {
    client: Client,
    conversation: Option<String>,
    state: State,
}

enum State {
    Up(Box<Socket>),
    Down { pause: Duration, until: Instant, dial: Option<JoinHandle<Result<Socket, Failure>>> },
}

impl Line {
    /// Connects.
    pub(crate) async fn open(client: Client, conversation: Option<String>) -> Result<Self, Failure> {
        let socket = connect(&client, conversation.as_deref()).await?;
        Ok(Self { client, conversation, state: State::Up(Box::new(socket)) })
    }

    /// What happens next. Waits while the connection is down, and tries again and again. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Event {
        loop {
            match &mut self.state {
                State::Up(socket) => match read(socket).await {
                    Ok(frame) => return Event::Frame(frame),
                    Err(reason) => {
                        let until = Instant::now() + FIRST_PAUSE;
                        self.state = State::Down { pause: FIRST_PAUSE, until, dial: None };
                        return Event::Lost(reason);
                    }
                },
                State::Down { pause, until, dial } => {
                    // A task of its own: whoever stops waiting here does not begin it again and again.
                    let dialing = match dial {
                        Some(dialing) => dialing,
                        None => {
                            tokio::time::sleep_until(*until).await;
                            let (client, conversation) = (self.client.clone(), self.conversation.clone());
                            let connect = async move { connect(&client, conversation.as_deref()).await };
                            dial.insert(tokio::spawn(connect))
                        }
                    };
                    if let Ok(Ok(socket)) = dialing.await {
                        self.state = State::Up(Box::new(socket));
                        return Event::Back;
                    }
                    *dial = None;
                    let longer = (*pause * 2).min(LONGEST_PAUSE);
                    (*pause, *until) = (longer, Instant::now() + longer);
                }
            }
        }
    }

    /// Sends a frame. False: the connection is down.
    pub(crate) async fn send(&mut self, frame: &ToServer<'_>) -> bool {
        match &mut self.state {
            State::Up(socket) => socket.send(Message::text(frame.to_json())).await.is_ok(),
            State::Down { .. } => false,
        }
    }

    /// Says good-bye.
    pub(crate) async fn close(self) {
        if let State::Up(mut socket) = self.state {
            // Whether the other side hears it makes no difference.
            let _ = tokio::time::timeout(Duration::from_millis(200), socket.close()).await;
        }
    }
}

async fn connect(client: &Client, conversation: Option<&str>) -> Result<Socket, Failure> {
    let stream = client.connect().await?;
    let query = conversation.map(|name| format!("?conversation={}", part(name)));
    let url = format!("ws://localhost/channels/chat{}", query.unwrap_or_default());
    match tokio_tungstenite::client_async(url, stream).await {
        Ok((socket, _)) => Ok(socket),
        Err(Error::Http(response)) => {
            let body = response.body().as_deref().unwrap_or_default();
            Err(Failure::from_problem(response.status().as_u16(), body))
        }
        Err(error) => Err(Failure::Failed(format!("the chat could not be opened: {error}"))),
    }
}

async fn read(socket: &mut Socket) -> Result<FromServer, String> {
    loop {
        match socket.next().await {
            Some(Ok(Message::Text(text))) => return Ok(FromServer::read(text.as_str())),
            Some(Ok(Message::Close(frame))) => {
                let reason = frame.map(|frame| frame.reason.as_str().to_owned());
                let reason = reason.filter(|reason| !reason.is_empty());
                return Err(reason.unwrap_or_else(|| "it was closed".to_owned()));
            }
            Some(Ok(_)) => {}
            None | Some(Err(Error::Protocol(ProtocolError::ResetWithoutClosingHandshake))) => {
                return Err("it broke off".to_owned());
            }
            Some(Err(error)) => return Err(error.to_string()),
        }
    }
}
