//! A chat whose stdin is no terminal: each line is said in turn, and its reply is waited for.

use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::frames::{FromServer, ToServer};
use super::line::{Event, Line};
use super::turn::TurnWatch;
use crate::client::Client;
use crate::failure::Failure;
use crate::plain::{plain, plain_json};
use crate::{complain, print};

/// How long the line may be silent before it is asked whether the turn has ended.
const SILENCE: Duration = Duration::from_secs(2);

#[derive(Serialize)]
struct Exchange {
    said: String,
    reply: Option<String>,
    messages: Vec<String>,
    notices: Vec<String>,
}

/// Says every line of stdin; returns the exit code.
pub(super) async fn run(client: &Client, mut line: Line, json: bool) -> Result<u8, Failure> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut exchanges = Vec::new();
    let mut code = 0;
    loop {
        let read = lines.next_line().await;
        let read = read.map_err(|error| Failure::Failed(format!("stdin can't be read: {error}")))?;
        let Some(text) = read else { break };
        if text.trim().is_empty() {
            continue;
        }
        let exchange = say(client, &mut line, &text).await?;
        if exchange.reply.is_none() && exchange.messages.is_empty() {
            code = 1;
        }
        if !json {
            show(&exchange);
        }
        exchanges.push(exchange);
    }
    line.close().await;
    if json {
        // Texts are always JSON.
        let document = serde_json::to_string(&exchanges).unwrap_or_default();
        print(&plain_json(&document));
    }
    Ok(code)
}

fn show(exchange: &Exchange) {
    for text in exchange.messages.iter().chain(&exchange.reply) {
        print(&plain(text.trim_end()));
    }
    for notice in &exchange.notices {
        complain(&plain(notice));
    }
}

async fn say(client: &Client, line: &mut Line, text: &str) -> Result<Exchange, Failure> {
    let mut exchange = Exchange { said: text.to_owned(), reply: None, messages: Vec::new(), notices: Vec::new() };
    let id = uuid::Uuid::now_v7().to_string();
    let lost = |reason: &str| Failure::Failed(format!("the connection was lost before the answer came: {reason}"));
    if !line.send(&ToServer::Say { text, id: &id }).await {
        return Err(lost("it could not be said"));
    }
    let mut turn = TurnWatch::default();
    loop {
        let event = match tokio::time::timeout(SILENCE, line.next()).await {
            Ok(event) => event,
            Err(_) if turn.is_over(client).await => return Ok(exchange),
            Err(_) => continue,
        };
        let frame = match event {
            Event::Frame(frame) => frame,
            Event::Lost(reason) => return Err(lost(&reason)),
            Event::Back => continue,
        };
        turn.saw(&frame);
        let over = frame.ends_waiting();
        match frame {
            FromServer::Reply { text, .. } => exchange.reply = Some(text),
            FromServer::Message { text, .. } => exchange.messages.push(text),
            FromServer::Notice { code, text, .. } => {
                exchange.notices.push(format!("[{code}] {text}"));
            }
            FromServer::Error { text } => exchange.notices.push(text),
            _ => {}
        }
        if over {
            return Ok(exchange);
        }
    }
}
