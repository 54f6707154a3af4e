//! What a medium is, by its bytes.

use homeagent_types::MediaKind;

/// What bytes are of which nothing is known.
const UNKNOWN: &str = "application/octet-stream";

/// The voices of QQ and WeChat.
const SILK: [&[u8]; 2] = [b"#!SILK_V3", b"\x02#!SILK_V3"];

/// The media type of these bytes, by how they begin. What the sender says that they are, `said`, counts for texts alone,
/// which all begin alike.
#[must_use]
pub fn sniff(bytes: &[u8], said: &str) -> String {
    if SILK.iter().any(|start| bytes.starts_with(start)) {
        return "audio/silk".to_owned();
    }
    let said = said.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_text = || !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok();
    match infer::get(bytes).map(|found| found.mime_type()) {
        Some("audio/x-wav") => "audio/wav".to_owned(),
        Some("audio/m4a") => "audio/mp4".to_owned(),
        Some("audio/x-flac") => "audio/flac".to_owned(),
        // Ogg holds sounds and films alike, and only who wrote it says what is in it.
        Some("audio/ogg") if said == "video/ogg" => said,
        Some(found) if !found.starts_with("text/") => found.to_owned(),
        _ if is_text() => {
            if is_name_of_text(&said) {
                said
            } else {
                "text/plain".to_owned()
            }
        }
        _ => UNKNOWN.to_owned(),
    }
}

fn is_name_of_text(said: &str) -> bool {
    let known = ["application/json", "application/xml", "application/toml", "application/yaml", "image/svg+xml"];
    let is_plain = said.len() < 64 && said.bytes().all(|c| c.is_ascii_alphanumeric() || b"/+-._".contains(&c));
    is_plain && (said.starts_with("text/") || known.contains(&said))
}

/// What kind of medium this media type is.
#[must_use]
pub fn kind_of(mime: &str) -> MediaKind {
    MediaKind::of(mime)
}

/// The content type with which bytes of this media type are handed to a browser: nothing that it would run.
#[must_use]
pub fn served_as(mime: &str) -> &str {
    match mime.split('/').next() {
        Some("image") if mime != "image/svg+xml" => mime,
        Some("audio" | "video") => mime,
        Some("text") => "text/plain; charset=utf-8",
        _ if is_name_of_text(mime) => "text/plain; charset=utf-8",
        _ if mime == "application/pdf" => mime,
        _ => UNKNOWN,
    }
}

/// Whether a browser shows it rather than saving it.
#[must_use]
pub fn is_shown(mime: &str) -> bool {
    served_as(mime) != UNKNOWN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_medium_is_is_told_by_its_bytes() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
        for (bytes, said, is) in [
            (&png[..], "text/html", "image/png"),
            (b"\xff\xd8\xff\xe0..", "image/*", "image/jpeg"),
            (b"GIF89a....", "", "image/gif"),
            (b"RIFF\0\0\0\0WEBPVP8 ", "", "image/webp"),
            (b"RIFF\0\0\0\0WAVEfmt ", "", "audio/wav"),
            (b"ID3\x03\0\0\0", "", "audio/mpeg"),
            (b"#!AMR\n\x3c........", "", "audio/amr"),
            (b"\x02#!SILK_V3..", "audio/amr", "audio/silk"),
            (b"%PDF-1.7", "image/png", "application/pdf"),
            (b"a,b\n1,2\n", "text/csv; charset=utf-8", "text/csv"),
            (b"<html><script>", "text/html", "text/html"),
            (b"<html><script>", "image/png", "text/plain"),
            (b"{}", "application/json", "application/json"),
            (b"hello", "application/x-sh\r\nset-cookie: a", "text/plain"),
            (b"\0\x01\x02\x03", "image/png", "application/octet-stream"),
        ] {
            assert_eq!(sniff(bytes, said), is, "{said}");
        }
    }

    #[test]
    fn nothing_is_served_that_a_browser_would_run() {
        for mime in ["text/html", "image/svg+xml", "application/xml", "text/javascript", "application/json"] {
            assert_eq!(served_as(mime), "text/plain; charset=utf-8", "{mime}");
        }
        assert_eq!(served_as("image/png"), "image/png");
        assert_eq!(served_as("application/zip"), UNKNOWN);
        assert!(is_shown("application/pdf") && !is_shown("application/x-executable"));
    }
}
