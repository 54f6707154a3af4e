//! Where a package wants to go, as it says in its `plugin.toml`.

use std::fmt;

use url::{Host, Url};

/// How it is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// HTTP over TLS.
    Https,
    /// HTTP in the open.
    Http,
    /// A WebSocket over TLS.
    Wss,
    /// A WebSocket in the open.
    Ws,
    /// A connection over TLS.
    Tls,
    /// A connection in the open.
    Tcp,
}

impl Scheme {
    /// What stands before `://`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Https => "https",
            Scheme::Http => "http",
            Scheme::Wss => "wss",
            Scheme::Ws => "ws",
            Scheme::Tls => "tls",
            Scheme::Tcp => "tcp",
        }
    }

    /// The port where none is said.
    #[must_use]
    pub fn usual_port(self) -> Option<u16> {
        match self {
            Scheme::Https | Scheme::Wss => Some(443),
            Scheme::Http | Scheme::Ws => Some(80),
            Scheme::Tls | Scheme::Tcp => None,
        }
    }
}

/// Hosts, a port and how they are spoken to: `api.example.com`, `*.example.org`, `https://x.example:8443`, `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    scheme: Scheme,
    hosts: Hosts,
    port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Hosts {
    One(Host),
    /// All names below this one, not itself.
    Below(String),
    /// All names.
    All,
}

/// What is written is no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} {reason}")]
pub struct PlaceError {
    text: String,
    reason: String,
}

impl Place {
    /// Reads a place. Where it says no scheme, the first of `schemes` is meant.
    ///
    /// # Errors
    /// With what is wrong: another scheme, no host, no port where it has to be said, more than a host and a port.
    ///
    /// # Panics
    /// When `schemes` is empty.
    pub fn parse(text: &str, schemes: &[Scheme]) -> Result<Self, PlaceError> {
        let wrong = |reason: String| PlaceError { text: text.escape_debug().to_string(), reason };
        let (scheme, rest) = match text.split_once("://") {
            None => (schemes[0], text),
            Some((name, rest)) => {
                let known = schemes.iter().find(|scheme| scheme.name() == name);
                let all = || schemes.iter().map(|scheme| scheme.name()).collect::<Vec<_>>().join(", ");
                (*known.ok_or_else(|| wrong(format!("has a scheme that is none of {}", all())))?, rest)
            }
        };
        if rest.contains(|c: char| c.is_whitespace() || c.is_control() || "/\\@?#%".contains(c)) {
            return Err(wrong("is more than a host, with a scheme before it and a port behind it at most".into()));
        }
        let (name, port) = match rest.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => {
                let port = port.parse().ok().filter(|port| *port > 0);
                (name, Some(port.ok_or_else(|| wrong("has a port that is no number from 1 to 65535".into()))?))
            }
            _ => (rest, None),
        };
        let port = port.or(scheme.usual_port()).ok_or_else(|| wrong("says no port".into()))?;
        let stray = || wrong("has a * that stands neither alone nor before a dot and a name".into());
        let hosts = match name.strip_prefix('*') {
            Some("") => Hosts::All,
            Some(below) => match below.strip_prefix('.').filter(|name| !name.contains('*')).map(host) {
                Some(Ok(Host::Domain(domain))) => Hosts::Below(domain),
                _ => return Err(stray()),
            },
            None if name.contains('*') => return Err(stray()),
            None => Hosts::One(host(name).map_err(|reason| wrong(format!("has no good host: {reason}")))?),
        };
        Ok(Self { scheme, hosts, port })
    }

    /// Whether that is there.
    #[must_use]
    pub fn holds(&self, scheme: &str, host: &Host, port: u16) -> bool {
        let hosts = match (&self.hosts, host) {
            (Hosts::One(one), host) => one == host,
            (Hosts::All, Host::Domain(_)) => true,
            (Hosts::Below(below), Host::Domain(name)) => {
                name.strip_suffix(below.as_str()).is_some_and(|before| before.len() > 1 && before.ends_with('.'))
            }
            _ => false,
        };
        hosts && self.scheme.name() == scheme && self.port == port
    }

    /// The only host that it means.
    #[must_use]
    pub fn host(&self) -> Option<&Host> {
        match &self.hosts {
            Hosts::One(host) => Some(host),
            Hosts::Below(_) | Hosts::All => None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.scheme.name())?;
        match &self.hosts {
            Hosts::One(host) => write!(f, "{host}")?,
            Hosts::Below(name) => write!(f, "*.{name}")?,
            Hosts::All => f.write_str("*")?,
        }
        if self.scheme.usual_port() == Some(self.port) { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}

/// A host as it is compared: in lower case, names in ASCII and without a dot at their end, numbers as the address they
/// are.
fn host(text: &str) -> Result<Host, url::ParseError> {
    // Not `Host::parse`, which takes what no URL can have.
    let url = Url::parse(&format!("https://{text}/"))?;
    bare(&url).ok_or(url::ParseError::EmptyHost)
}

/// A URL's host, as it is compared and looked up.
pub(crate) fn bare(url: &Url) -> Option<Host> {
    Some(match url.host()? {
        Host::Domain(name) => Host::Domain(name.strip_suffix('.').unwrap_or(name).to_owned()),
        Host::Ipv4(address) => Host::Ipv4(address),
        Host::Ipv6(address) => Host::Ipv6(address),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HTTP: [Scheme; 2] = [Scheme::Https, Scheme::Http];

    fn holds(place: &str, url: &str) -> bool {
        let place = Place::parse(place, &HTTP).expect("it is a place");
        let url = Url::parse(url).expect("it is a URL");
        let host = bare(&url).expect("it has a host");
        place.holds(url.scheme(), &host, url.port_or_known_default().expect("it has a port"))
    }

    #[test]
    fn a_place_holds_what_it_says_and_nothing_beside() {
        for (place, url, wanted) in [
            ("api.example.com", "https://api.example.com/x", true),
            ("API.example.com", "https://api.EXAMPLE.com./x", true),
            ("api.example.com", "http://api.example.com/", false),
            ("api.example.com", "https://api.example.com:8443/", false),
            ("api.example.com", "https://evil.api.example.com/", false),
            ("api.example.com", "https://api.example.com.evil.example/", false),
            ("api.example.com", "https://api.example.com@evil.example/", false),
            ("http://api.example.com", "http://api.example.com/", true),
            ("https://x.example:8443", "https://x.example:8443/", true),
            ("*.example.org", "https://a.b.example.org/", true),
            ("*.example.org", "https://example.org/", false),
            ("*.example.org", "https://evilexample.org/", false),
            ("*", "https://anything.example/", true),
            ("*", "https://1.1.1.1/", false),
            ("1.1.1.1", "https://0x1010101/", true),
            ("[2606:4700::1]:8443", "https://[2606:4700:0::1]:8443/", true),
            ("münchen.example", "https://xn--mnchen-3ya.example/", true),
        ] {
            assert_eq!(holds(place, url), wanted, "{place} and {url}");
        }
    }

    #[test]
    fn what_is_no_place_is_refused_in_words() {
        for (text, word) in [
            ("", "host"),
            ("ftp://x.example", "https, http"),
            ("x.example/path", "more than a host"),
            ("user@x.example", "more than a host"),
            ("x.example:0", "port"),
            ("x.example:99999", "port"),
            ("a*.example", "*"),
            ("*.*.example", "*"),
            ("*example.org", "*"),
            ("*.1.1.1.1", "*"),
            ("x example", "more than a host"),
        ] {
            let error = Place::parse(text, &HTTP).expect_err("it is none").to_string();
            assert!(error.contains(word), "{error} does not name {word}");
        }
        assert!(Place::parse("tcp://x.example", &[Scheme::Tcp]).expect_err("no port").to_string().contains("port"));
    }

    #[test]
    fn a_place_reads_as_it_was_written() {
        for text in ["https://api.example.com", "https://*.example.org", "http://x.example:8080", "https://[::1]:8443"]
        {
            assert_eq!(Place::parse(text, &HTTP).expect("it is a place").to_string(), text);
        }
    }
}
