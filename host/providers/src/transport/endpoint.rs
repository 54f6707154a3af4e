//! Where a request goes, and the key on its way.

use homeagent_settings::Secret;
use homeagent_types::model::{Failure, FailureClass, HttpRequest, KeyPlacement};
use reqwest::header::{AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, HeaderName, HeaderValue, TRANSFER_ENCODING};
use reqwest::{Method, Request, Url};

use super::failure;

/// A source's address and key.
#[derive(Debug)]
pub struct Endpoint<'a> {
    /// Where its API begins.
    pub base_url: &'a str,
    /// Where the key goes.
    pub placement: &'a KeyPlacement,
    /// The key, where there is one.
    pub key: Option<&'a Secret>,
}

impl Endpoint<'_> {
    /// The request as it goes out, and the host's name for people.
    pub(super) fn request(&self, request: HttpRequest) -> Result<(Request, String), Failure> {
        let mut url = self.url(&request.path)?;
        let host = place(&url);
        if let (KeyPlacement::Query(name), Some(key)) = (self.placement, self.key) {
            url.query_pairs_mut().append_pair(name, key.expose());
        }
        let method = Method::from_bytes(request.method.as_bytes())
            .map_err(|_| adapters_fault(format!("the adapter asks for the method {:?}", request.method)))?;
        let mut outgoing = Request::new(method, url);
        let headers = outgoing.headers_mut();
        for (name, value) in &request.headers {
            let name = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| adapters_fault(format!("the adapter sets a header named {name:?}")))?;
            // These belong to the connection, which is not the adapter's.
            if [HOST, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING].contains(&name) {
                continue;
            }
            let value = HeaderValue::from_str(value).map_err(|_| {
                adapters_fault(format!("the adapter sets the header {name} to what no header can hold"))
            })?;
            headers.append(name, value);
        }
        match (self.placement, self.key) {
            (KeyPlacement::Bearer, Some(key)) => {
                headers.insert(AUTHORIZATION, secret_value(&format!("Bearer {}", key.expose()))?);
            }
            (KeyPlacement::Header(name), Some(key)) => {
                let name = HeaderName::from_bytes(name.as_bytes())
                    .map_err(|_| adapters_fault(format!("the adapter wants the key in a header named {name:?}")))?;
                headers.insert(name, secret_value(key.expose())?);
            }
            (KeyPlacement::None | KeyPlacement::Query(_), _) | (_, None) => {}
        }
        *outgoing.body_mut() = Some(request.body.into());
        Ok((outgoing, host))
    }

    fn url(&self, path: &str) -> Result<Url, Failure> {
        // The text itself is not shown: some write a key into it.
        let bad = |reason: &str| failure(FailureClass::BadRequest, format!("the base URL of the source {reason}"));
        let base = Url::parse(self.base_url).map_err(|error| bad(&format!("is not one: {error}")))?;
        if !matches!(base.scheme(), "http" | "https") || !base.has_host() {
            return Err(bad("does not begin with http:// or https:// and a host"));
        }
        if base.query().is_some() || base.fragment().is_some() {
            return Err(bad("has a query or a fragment, which it can't have"));
        }
        if !path.starts_with('/') {
            return Err(adapters_fault("the adapter asks for a path that does not begin with a slash".to_owned()));
        }
        let joined = format!("{}{path}", base.as_str().trim_end_matches('/'));
        let url =
            Url::parse(&joined).map_err(|error| adapters_fault(format!("the adapter's path is none: {error}")))?;
        if url.origin() != base.origin() {
            return Err(adapters_fault("the adapter asks for another host than the source's".to_owned()));
        }
        Ok(url)
    }
}

/// The host, and the port where it is not the usual one.
fn place(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn secret_value(text: &str) -> Result<HeaderValue, Failure> {
    let mut value = HeaderValue::from_str(text.trim_end())
        .map_err(|_| failure(FailureClass::Auth, "the key has characters that no key has; set it again".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

fn adapters_fault(message: String) -> Failure {
    failure(FailureClass::Protocol, message)
}
