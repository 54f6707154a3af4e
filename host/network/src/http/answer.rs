//! The answer, with its body decoded.

use std::io::{self, Read};

use flate2::read::{MultiGzDecoder, ZlibDecoder};
use hyper::header;
use hyper::http::response::Parts;

use super::{Request, Response, place};
use crate::Error;

/// How the host says what it reads.
pub(super) const READABLE: &str = "gzip, deflate";

/// Smaller bodies are decoded where they are.
const SMALL: usize = 64 << 10;

#[derive(Clone, Copy)]
enum Encoding {
    Gzip,
    Deflate,
}

/// The answer as it is handed on. It is read whole and decoded here, so that what it says can be looked through.
pub(super) async fn decoded(head: Parts, body: Vec<u8>, request: &Request, most: usize) -> Result<Response, Error> {
    let failed = |reason: String| Error::Protocol { place: place(&request.url), reason };
    let mut headers = head.headers;
    let encoding = match encoding(&headers) {
        _ if body.is_empty() => None,
        Ok(encoding) => encoding,
        Err(other) => return Err(failed(format!("sent an answer encoded as {other}, which was not asked for"))),
    };
    let body = match encoding {
        None => body,
        Some(encoding) => {
            headers.remove(header::CONTENT_ENCODING);
            headers.remove(header::CONTENT_LENGTH);
            let decoded = match body.len() {
                ..SMALL => decode(encoding, &body, most),
                _ => match tokio::task::spawn_blocking(move || decode(encoding, &body, most)).await {
                    Ok(decoded) => decoded,
                    Err(lost) => Err(io::Error::other(lost)),
                },
            };
            let decoded = decoded.map_err(|error| failed(format!("sent an answer that can't be decoded: {error}")))?;
            decoded.ok_or_else(|| Error::TooLarge { place: place(&request.url), most })?
        }
    };
    let headers = headers.iter().map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec())).collect();
    Ok(Response { status: head.status.as_u16(), headers, body, url: request.url.clone() })
}

fn encoding(headers: &header::HeaderMap) -> Result<Option<Encoding>, String> {
    let mut all = headers.get_all(header::CONTENT_ENCODING).iter();
    let (Some(one), None) = (all.next(), all.next()) else {
        return if headers.contains_key(header::CONTENT_ENCODING) { Err("several things".into()) } else { Ok(None) };
    };
    let name = String::from_utf8_lossy(one.as_bytes()).trim().to_ascii_lowercase();
    match name.as_str() {
        "" | "identity" => Ok(None),
        "gzip" | "x-gzip" => Ok(Some(Encoding::Gzip)),
        "deflate" => Ok(Some(Encoding::Deflate)),
        _ => Err(name.chars().take(64).collect::<String>().escape_debug().to_string()),
    }
}

/// What was encoded; nothing where it is more than `most` bytes.
fn decode(encoding: Encoding, body: &[u8], most: usize) -> io::Result<Option<Vec<u8>>> {
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    let mut whole = Vec::new();
    match encoding {
        Encoding::Gzip => MultiGzDecoder::new(body).take(limit).read_to_end(&mut whole)?,
        Encoding::Deflate => ZlibDecoder::new(body).take(limit).read_to_end(&mut whole)?,
    };
    Ok((whole.len() <= most).then_some(whole))
}
