//! Pictures that are fetched at once: their addresses are good for hours, and not for everybody.

/// Pictures of one message that are fetched.
pub(crate) const MOST: usize = 4;

/// The largest picture that is taken along, in bytes.
pub(crate) const LARGEST: usize = 700 << 10;

/// How long a picture may take, in milliseconds.
pub(crate) const TIME: u64 = 6_000;

/// What became of a picture.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fetched {
    /// It is here.
    Here(Picture),
    /// It is too large to be taken along.
    TooLarge,
    /// It is there no more, or it is no picture.
    Gone,
    /// It could not be asked for. Others may still find it at its address.
    Unknown,
}

/// The bytes of a picture.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Picture {
    pub(crate) mime: &'static str,
    pub(crate) bytes: Vec<u8>,
}

impl Picture {
    /// Bytes that begin as pictures of a known kind do.
    fn read(bytes: Vec<u8>) -> Option<Self> {
        let mime = match bytes.as_slice() {
            [0xff, 0xd8, 0xff, ..] => "image/jpeg",
            [0x89, b'P', b'N', b'G', ..] => "image/png",
            [b'G', b'I', b'F', b'8', ..] => "image/gif",
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
            [b'B', b'M', ..] => "image/bmp",
            _ => return None,
        };
        Some(Self { mime, bytes })
    }
}

impl Fetched {
    /// What bytes come to that were said to be a picture.
    pub(crate) fn read(bytes: Vec<u8>) -> Self {
        if bytes.len() > LARGEST {
            return Self::TooLarge;
        }
        Picture::read(bytes).map_or(Self::Gone, Self::Here)
    }

    /// What the answer to a request comes to.
    pub(crate) fn answered(status: u16, body: Vec<u8>) -> Self {
        match status {
            200..=299 => Self::read(body),
            408 | 429 | 500.. => Self::Unknown,
            _ => Self::Gone,
        }
    }

    /// How many bytes are held.
    pub(crate) fn weight(&self) -> usize {
        if let Self::Here(picture) = self { picture.bytes.len() } else { 0 }
    }
}

/// Where a picture is asked for; nothing, where it lies on none of `hosts`. What comes with an address in the open is
/// asked for over TLS where the host is listed so.
pub(crate) fn address(url: &str, hosts: &[String]) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let authority = rest.split(['/', '?', '#']).next()?.to_ascii_lowercase();
    hosts.iter().find_map(|host| {
        let (listed, place) = host.trim().split_once("://")?;
        let holds = match place.strip_prefix("*.") {
            Some(below) => authority.strip_suffix(below).is_some_and(|start| start.len() > 1 && start.ends_with('.')),
            None => authority.eq_ignore_ascii_case(place),
        };
        let is_spoken = scheme == listed || (scheme == "http" && listed == "https");
        (holds && is_spoken).then(|| format!("{listed}://{rest}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_hosts_are_asked_and_over_tls_where_they_are_listed_so() {
        let hosts =
            ["https://*.qpic.cn", "https://multimedia.nt.qq.com.cn", "http://127.0.0.1:5000"].map(str::to_owned);
        for (url, asked) in [
            ("https://gchat.qpic.cn/a/0?term=2", Some("https://gchat.qpic.cn/a/0?term=2")),
            ("http://GCHAT.qpic.cn/a", Some("https://GCHAT.qpic.cn/a")),
            ("https://multimedia.nt.qq.com.cn?x", Some("https://multimedia.nt.qq.com.cn?x")),
            ("http://127.0.0.1:5000/a.png", Some("http://127.0.0.1:5000/a.png")),
            ("https://127.0.0.1:5000/a.png", None),
            ("https://qpic.cn/a", None),
            ("https://.qpic.cn/a", None),
            ("https://evilqpic.cn/a", None),
            ("https://gchat.qpic.cn.evil/a", None),
            ("https://evil/?.qpic.cn", None),
            ("https://evil#.qpic.cn", None),
            ("https://gchat.qpic.cn:8443/a", None),
            ("file:///etc/passwd", None),
        ] {
            assert_eq!(address(url, &hosts).as_deref(), asked, "{url}");
        }
    }

    #[test]
    fn pictures_are_told_from_other_answers() {
        let png = b"\x89PNG\r\n".to_vec();
        assert_eq!(
            Fetched::answered(200, png.clone()),
            Fetched::Here(Picture { mime: "image/png", bytes: png.clone() })
        );
        assert_eq!(Fetched::answered(404, png.clone()), Fetched::Gone);
        assert_eq!(Fetched::answered(503, png), Fetched::Unknown);
        assert_eq!(Fetched::answered(200, b"<html>expired".to_vec()), Fetched::Gone);
        assert_eq!(Fetched::answered(200, vec![0; LARGEST + 1]), Fetched::TooLarge);
    }
}
