//! A chat whose stdin is no terminal: each line is said in turn, and its reply is waited for. Where the turn asks whether
//! a tool may run, the next line is the answer.

use serde::Serialize;
use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::frames::{FromServer, ToServer};
use super::line::{Event, Line};
use super::turn::{SILENCE, Taker};
use crate::client::Client;
use crate::failure::Failure;
use crate::plain::{plain, plain_json};
use crate::{complain, print};

type Lines = tokio::io::Lines<BufReader<tokio::io::Stdin>>;

#[derive(Serialize)]
struct Exchange {
    said: String,
    reply: Option<String>,
    messages: Vec<String>,
    notices: Vec<String>,
    /// Those of the notices that were shown when they came.
    #[serde(skip)]
    shown: Vec<String>,
}

/// Says every line of stdin; returns the exit code.
pub(super) async fn run(client: &Client, mut line: Line, json: bool) -> Result<u8, Failure> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut exchanges = Vec::new();
    let mut code = 0;
    loop {
        let Some(text) = next_line(&mut lines).await? else { break };
        if text.trim().is_empty() {
            continue;
        }
        let exchange = match say(client, &mut line, &text, &mut lines).await {
            // What was answered before is in the document.
            Err(failure) if json => {
                complain(&failure.sentence());
                code = failure.code();
                exchanges.push(Exchange { notices: vec![failure.to_string()], ..Exchange::of(&text) });
                break;
            }
            exchange => exchange?,
        };
        if exchange.reply.is_none() && exchange.messages.is_empty() {
            code = 1;
        }
        if !json {
            show(&exchange)?;
        }
        exchanges.push(exchange);
    }
    line.close().await;
    if json {
        // Texts are always JSON.
        let document = serde_json::to_string(&exchanges).unwrap_or_default();
        print(&plain_json(&document))?;
    }
    Ok(code)
}

fn show(exchange: &Exchange) -> Result<(), Failure> {
    for text in exchange.messages.iter().chain(&exchange.reply) {
        print(&plain(text.trim_end()))?;
    }
    for notice in exchange.notices.iter().filter(|notice| !exchange.shown.contains(notice)) {
        complain(&plain(notice));
    }
    Ok(())
}

async fn say(client: &Client, line: &mut Line, text: &str, lines: &mut Lines) -> Result<Exchange, Failure> {
    let mut exchange = Exchange::of(text);
    let id = uuid::Uuid::now_v7().to_string();
    let lost = |reason: &str| Failure::Failed(format!("the connection was lost before the answer came: {reason}"));
    if !line.send(&ToServer::Say { text, id: &id }).await {
        return Err(lost("it could not be said"));
    }
    // Known once it is accepted; what comes before that may be the answer all the same.
    let mut taker: Option<Taker> = None;
    let mut early = Vec::new();
    // A question waits here for the next line, unless somebody else answers it.
    let mut asked = false;
    loop {
        let event = tokio::select! {
            text = next_line(lines), if asked => {
                asked = false;
                if let Some(text) = text? {
                    let id = uuid::Uuid::now_v7().to_string();
                    line.send(&ToServer::Say { text: &text, id: &id }).await;
                }
                continue;
            }
            event = tokio::time::timeout(SILENCE, line.next()) => event,
        };
        let event = match event {
            Ok(event) => event,
            Err(_) => {
                let over = match &mut taker {
                    Some(taker) => taker.is_over(client).await,
                    None => false,
                };
                if over {
                    return Ok(exchange);
                }
                continue;
            }
        };
        let frame = match event {
            Event::Frame(frame) => frame,
            Event::Lost(reason) => return Err(lost(&reason)),
            Event::Back => continue,
        };
        let frames = match (&mut taker, frame) {
            // The whole answer follows.
            (_, FromServer::Delta { .. }) => continue,
            (_, FromServer::Accepted { input, id: Some(of) }) if of == id => {
                taker = Some(Taker::of(input));
                std::mem::take(&mut early)
            }
            (_, FromServer::Error { text, id: of }) if of.as_ref().is_none_or(|of| *of == id) => {
                exchange.notices.push(text);
                return Ok(exchange);
            }
            (None, frame) => {
                early.push(frame);
                continue;
            }
            (Some(_), frame) => vec![frame],
        };
        let Some(taker) = &mut taker else { continue };
        for frame in frames {
            if let Some(run) = frame.run()
                && !taker.is(client, run).await
            {
                continue;
            }
            let asks = frame.asks();
            if exchange.take(frame) {
                return Ok(exchange);
            }
            if asks {
                // Whoever gives the lines has to see what the next one answers.
                if let Some(question) = exchange.notices.last() {
                    complain(&plain(question));
                    exchange.shown.push(question.clone());
                }
                asked = true;
            }
        }
    }
}

async fn next_line(lines: &mut Lines) -> Result<Option<String>, Failure> {
    lines.next_line().await.map_err(|error| Failure::Failed(format!("stdin can't be read: {error}")))
}

impl Exchange {
    fn of(text: &str) -> Self {
        Self { said: text.to_owned(), reply: None, messages: Vec::new(), notices: Vec::new(), shown: Vec::new() }
    }

    /// Takes what belongs to it; returns whether it is complete.
    fn take(&mut self, frame: FromServer) -> bool {
        let over = frame.ends_waiting();
        match frame {
            FromServer::Reply { text, .. } => self.reply = Some(text),
            FromServer::Message { text, .. } => self.messages.push(text),
            FromServer::Notice { code, text, .. } => self.notices.push(format!("[{code}] {text}")),
            _ => {}
        }
        over
    }
}
