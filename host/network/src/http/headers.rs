//! Headers: which a plugin may set, and which go along to another host.

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};

/// The most headers of a request or an answer.
pub(super) const MOST: usize = 100;
/// All of a request's headers together, in bytes.
const LARGEST: usize = 32 << 10;

/// Those that are the connection's, or say who is asked: a second opinion on them is how requests are smuggled.
const OWN: [HeaderName; 11] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::EXPECT,
    header::HOST,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::VIA,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("http2-settings"),
];

/// Adds a header that a plugin sets. `accept-encoding` is left out without a word: the host reads what it asks for.
///
/// # Errors
/// A name or a value that can't be, one of the connection's own, and too many.
pub fn header(headers: &mut HeaderMap, name: &str, value: &[u8]) -> Result<(), String> {
    let shown = || name.chars().take(64).collect::<String>().escape_debug().to_string();
    let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("{:?} is no name of a header", shown()))?;
    if is_own(&name) {
        return Err(format!("the header {name} is the host's own"));
    }
    let value = HeaderValue::from_bytes(value)
        .map_err(|_| format!("the header {name} has a value with characters that no header can hold"))?;
    if name == header::ACCEPT_ENCODING {
        return Ok(());
    }
    let total: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if headers.len() >= MOST || total + name.as_str().len() + value.len() > LARGEST {
        return Err(format!("there are more than {MOST} headers, or they have more than {LARGEST} bytes together"));
    }
    headers.append(name, value);
    Ok(())
}

/// Whether it is not a plugin's to set.
pub(crate) fn is_own(name: &HeaderName) -> bool {
    let text = name.as_str();
    // The one of a WebSocket's that is a plugin's says what it speaks.
    let is_socket = text.starts_with("sec-websocket-") && text != "sec-websocket-protocol";
    OWN.contains(name) || text.starts_with("proxy-") || is_socket
}

/// What a request keeps of its headers on its way to another scheme, host or port. A plugin's own keys may stand in any
/// header, so only those go along that hold none by their meaning.
pub(super) fn for_another_host(headers: &HeaderMap) -> HeaderMap {
    let known = [header::ACCEPT, header::ACCEPT_LANGUAGE, header::USER_AGENT];
    let keep = |(name, value): (&HeaderName, &HeaderValue)| Some((name.clone(), value.clone()));
    headers.iter().filter(|(name, _)| known.contains(name)).filter_map(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_connections_headers_and_those_that_would_be_two_are_refused() {
        for name in ["Host", "content-length", "Transfer-Encoding", "connection", "Proxy-Authorization", "proxy-foo"] {
            assert!(header(&mut HeaderMap::new(), name, b"x").expect_err("it is refused").contains("host's own"));
        }
        for (name, value) in [("x\r\ny", "z"), ("x y", "z"), ("", "z"), ("x:", "z"), ("x", "a\r\nHost: b"), ("x", "\0")]
        {
            header(&mut HeaderMap::new(), name, value.as_bytes()).expect_err("it is refused");
        }
    }

    #[test]
    fn headers_have_an_end() {
        let mut headers = HeaderMap::new();
        let outcome = (0..=MOST).try_for_each(|number| header(&mut headers, &format!("x-{number}"), b"1"));
        assert!(outcome.expect_err("they are too many").contains("100 headers"));
        assert!(header(&mut HeaderMap::new(), "x", &vec![b'x'; LARGEST]).is_err());
    }
}
