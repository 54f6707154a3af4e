//! Answers HTTP requests: with what it was told, with a stream of events, and in ways that no answer may be.

use homeagent_sdk::routes::{Request, Response};
use homeagent_sdk::sockets::{self, ConnectionId, Frame};
use homeagent_sdk::{Cause, Connection, Descriptor, Error, Plugin, Routes, Sockets, State};
use serde_json::json;

/// The streams that are open, by what their requests called them.
static STREAMS: State<Vec<(String, ConnectionId)>> = State::new(Vec::new);

static CLOSED: State<Vec<String>> = State::new(Vec::new);

struct Webhook;

impl Plugin for Webhook {
    fn describe() -> Descriptor {
        Descriptor::new("webhook", env!("CARGO_PKG_VERSION")).summary("Answers HTTP requests.")
    }
}

impl Routes for Webhook {
    async fn handle(request: Request, cause: Cause) -> Result<Response, Error> {
        let asked = request.query.clone().unwrap_or_default();
        match asked.split_once('=').unwrap_or((&asked, "")) {
            ("follow", name) => Ok(Response::events(vec![("name".to_owned(), name.to_owned())])),
            ("say", name) => {
                let text = String::from_utf8_lossy(&request.body).into_owned();
                sockets::send(stream(name)?, Frame::Text(text)).await?;
                Ok(Response::empty())
            }
            ("end", name) => {
                sockets::close(stream(name)?, "enough")?;
                Ok(Response::empty())
            }
            ("open", _) => Response::json(&STREAMS.with(|streams| streams.len())),
            ("closed", _) => Response::json(&CLOSED.with(|closed| closed.clone())),
            ("status", status) => Ok(Response::text("").status(status.parse().unwrap_or(0))),
            ("header", name) => Ok(Response::text("x").header(name, String::from_utf8_lossy(&request.body))),
            ("many", _) => Ok((0..200).fold(Response::text("x"), |all, at| all.header(format!("x-{at}"), "y"))),
            ("large", _) => Ok(Response::text("x".repeat(2 << 20))),
            ("fail", _) => Err(Error::invalid("that is no weather")),
            ("trap", _) => panic!("as it was asked to"),
            _ => Response::json(&json!({
                "route": request.route, "method": request.method, "path": request.path, "query": request.query,
                "headers": request.headers, "body": String::from_utf8_lossy(&request.body), "length": request.body.len(),
                "role": format!("{:?}", cause.principal.role), "meta": request.meta,
            })),
        }
    }
}

fn stream(name: &str) -> Result<ConnectionId, Error> {
    let found = STREAMS.with(|streams| streams.iter().find(|(known, _)| known == name).map(|(_, id)| *id));
    found.ok_or_else(|| Error::not_found(format!("nobody follows {name}")))
}

impl Sockets for Webhook {
    async fn on_open(connection: Connection) {
        let name = connection.meta("name").unwrap_or_default().to_owned();
        let hello = format!("{} {name} resumed {}", connection.listener, connection.resumed);
        STREAMS.with(|streams| streams.push((name, connection.id)));
        // Whoever has gone does not miss it.
        let _ = sockets::send(connection.id, Frame::Text(hello)).await;
    }

    async fn on_frames(_: ConnectionId, _: Vec<Frame>) {}

    async fn on_close(connection: ConnectionId, _: String) {
        STREAMS.with(|streams| streams.retain(|(_, id)| *id != connection));
        CLOSED.with(|closed| closed.push(connection.to_string()));
    }
}

homeagent_sdk::export!(Webhook: Routes, Sockets);
