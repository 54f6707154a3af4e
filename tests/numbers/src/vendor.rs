//! A vendor of chat completions that answers at once, and counts the time it took for that.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::Failure;

/// What is said to have a tool called.
pub(crate) const USE_A_TOOL: &str = "use a tool";

/// The vendor.
pub(crate) struct Vendor {
    pub(crate) base_url: String,
    nanoseconds: Arc<AtomicU64>,
}

impl Vendor {
    pub(crate) async fn start() -> Result<Self, Failure> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let base_url = format!("http://{}/v1", listener.local_addr()?);
        let nanoseconds = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&nanoseconds);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                let counter = Arc::clone(&counter);
                let service = service_fn(move |request| answer(request, Arc::clone(&counter)));
                tokio::spawn(
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service),
                );
            }
        });
        Ok(Self { base_url, nanoseconds })
    }

    /// How long it has been at work altogether.
    pub(crate) fn spent(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed))
    }
}

async fn answer(request: Request<Incoming>, counter: Arc<AtomicU64>) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let began = Instant::now();
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    let last = asked["messages"].as_array().and_then(|messages| messages.last()).cloned().unwrap_or_default();
    let wants_tool = last["role"] == "user" && last["content"].as_str().is_some_and(|text| text.contains(USE_A_TOOL));
    let (delta, finish) = if wants_tool {
        let function = json!({ "name": "mul", "arguments": "{\"a\":17,\"b\":23}" });
        (json!({ "tool_calls": [{ "index": 0, "id": "c1", "type": "function", "function": function }] }), "tool_calls")
    } else {
        (json!({ "role": "assistant", "content": "Hello! What can I do for you?" }), "stop")
    };
    let piece = json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] });
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 8, "total_tokens": 18 });
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": finish }], "usage": usage });
    let stream = format!("data: {piece}\n\ndata: {end}\n\ndata: [DONE]\n\n");
    let mut response = Response::new(Full::new(Bytes::from(stream)));
    response.headers_mut().insert("content-type", hyper::header::HeaderValue::from_static("text/event-stream"));
    counter.fetch_add(u64::try_from(began.elapsed().as_nanos()).unwrap_or_default(), Ordering::Relaxed);
    Ok(response)
}
