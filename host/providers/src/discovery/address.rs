//! Addresses that people and other programs wrote.

use homeagent_settings::is_base_url;

/// The address without a slash at its end, where a source can have it as its base URL.
pub(super) fn usable(text: &str) -> Option<String> {
    is_base_url(text).then(|| text.trim_end_matches('/').to_owned())
}

/// Where vendors with several protocols have them, below one address.
const PROTOCOLS: [&str; 5] = ["/compatible-mode/v1", "/v1beta/openai", "/api/v1", "/v1beta", "/v1"];

/// An address without what says the protocol.
pub(super) fn place(url: &str) -> &str {
    let url = url.trim_end_matches('/');
    PROTOCOLS.iter().find_map(|end| url.strip_suffix(end)).unwrap_or(url)
}

/// The address at which a server answers that was told by `OLLAMA_HOST`, or the like, where to listen: `HOST`,
/// `HOST:PORT`, `:PORT` or a URL. One that listens everywhere is asked on this machine.
pub(super) fn of_listener(text: &str, usual_port: u16) -> Option<String> {
    let text = text.trim().trim_matches(['"', '\'']);
    let (scheme, rest, port) = match text.split_once("://") {
        Some(("http", rest)) => ("http", rest, 80),
        Some(("https", rest)) => ("https", rest, 443),
        Some(_) => return None,
        None => ("http", text, usual_port),
    };
    let rest = rest.trim_end_matches('/');
    let bare_v6 = rest.parse::<std::net::Ipv6Addr>().is_ok();
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, given)) if !bare_v6 && !given.contains(']') => (host, given.parse().ok()?),
        _ => (rest, port),
    };
    let host = match host {
        "" | "0.0.0.0" | "[::]" | "::" => "127.0.0.1".to_owned(),
        _ if bare_v6 => format!("[{host}]"),
        _ => host.to_owned(),
    };
    usable(&format!("{scheme}://{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listeners_are_asked_where_they_answer() {
        let cases = [
            ("box.home", "http://box.home:11434"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            (":8000", "http://127.0.0.1:8000"),
            ("\"127.0.0.1:9\"", "http://127.0.0.1:9"),
            ("http://box", "http://box:80"),
            ("https://box/", "https://box:443"),
            ("::1", "http://[::1]:11434"),
            ("[::]:7", "http://127.0.0.1:7"),
        ];
        for (text, address) in cases {
            assert_eq!(of_listener(text, 11434).as_deref(), Some(address), "{text}");
        }
        for text in ["ftp://box", "box:port", "a b", "http://me:pw@box"] {
            assert_eq!(of_listener(text, 11434), None, "{text}");
        }
    }

    #[test]
    fn protocols_of_one_vendor_are_at_one_place() {
        for (one, other) in [
            ("http://127.0.0.1:11434/v1/", "http://127.0.0.1:11434"),
            ("https://dashscope.aliyuncs.com/compatible-mode/v1", "https://dashscope.aliyuncs.com/api/v1"),
            ("https://google.example/v1beta/openai", "https://google.example/v1beta"),
        ] {
            assert_eq!(place(one), place(other));
        }
        assert_ne!(place("https://proxy.home/deepseek"), place("https://proxy.home/openai"));
    }

    #[test]
    fn addresses_with_a_password_or_a_query_are_none() {
        assert_eq!(usable("https://host/v1/").as_deref(), Some("https://host/v1"));
        for text in ["", "host", "file:///x", "http://u:p@h", "http://h?key=k", "http://h#x", "http:// h"] {
            assert_eq!(usable(text), None, "{text}");
        }
    }
}
