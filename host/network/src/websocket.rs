//! WebSockets, as a client.

use hyper::header::{HeaderMap, HeaderValue};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Error as WsError;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use url::Url;

pub use tokio_tungstenite::tungstenite::Message;
pub use tokio_tungstenite::tungstenite::protocol::CloseFrame;
pub use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::http::{host_and_port, place};
use crate::{Error, Hold, Network, Reach, Stream};

/// A WebSocket to somebody else.
pub type WebSocket = WebSocketStream<Box<dyn Stream>>;

impl Network {
    /// Opens a WebSocket at a `ws://` or `wss://` URL. A redirect is an answer like any other, and no WebSocket.
    ///
    /// # Errors
    /// As for [`Network::dial`], and whatever is answered but a WebSocket.
    pub async fn websocket(
        &self,
        url: &Url,
        headers: &HeaderMap,
        reach: Reach,
        largest: usize,
        hold: &Hold,
    ) -> Result<WebSocket, Error> {
        let place = place(url);
        let (host, port) = host_and_port(url).ok_or_else(|| Error::Unsendable("the URL has no host".into()))?;
        let unsendable = |error: WsError| Error::Unsendable(format!("the URL can't be asked for a WebSocket: {error}"));
        let mut request = url.as_str().into_client_request().map_err(unsendable)?;
        for (name, value) in headers {
            request.headers_mut().append(name.clone(), value.clone());
        }
        let agent = HeaderValue::from_static(concat!("homeagent/", env!("CARGO_PKG_VERSION")));
        request.headers_mut().entry(hyper::header::USER_AGENT).or_insert(agent);
        let stream = self.dial(&host, port, url.scheme() == "wss", reach, hold).await?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(largest))
            .max_frame_size(Some(largest))
            .read_buffer_size(16 << 10);
        let opened = tokio_tungstenite::client_async_with_config(request, stream, Some(config)).await;
        match opened {
            Ok((socket, _)) => Ok(socket),
            // Its body may repeat what was sent.
            Err(WsError::Http(answer)) => {
                let reason = format!("answered with status {} in the place of a WebSocket", answer.status().as_u16());
                Err(Error::Protocol { place, reason })
            }
            Err(error) => Err(Error::Protocol { place, reason: format!("opened no WebSocket: {error}") }),
        }
    }
}
