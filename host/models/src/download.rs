//! Models from the Internet, for those who have it: a short list of names, fetched from Hugging Face over HTTPS in pieces,
//! so that a model of hundreds of megabytes is never in memory whole.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use homeagent_language::embed::GRAPH;
use homeagent_network::http::{self, HeaderMap, Method, Request, Response, Rules};
use homeagent_network::{Hold, Network, Reach, Url};
use homeagent_types::CallError;

use crate::install::not_stored;

/// How much is asked for at a time.
const PIECE: u64 = 8 << 20;
/// The largest file of a model.
const LARGEST: u64 = 1 << 30;
/// How long a piece may take.
const SLOWEST: Duration = Duration::from_secs(120);
/// How often a piece is asked for.
const ATTEMPTS: u32 = 3;

/// A model that can be had by its name.
pub(crate) struct Offer {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    repository: &'static str,
    /// Each file with its place in the repository.
    files: [(&'static str, &'static str); 5],
}

/// The models that are known to serve.
pub(crate) const OFFERED: [Offer; 2] = [
    Offer {
        name: "multilingual-e5-small",
        about: "Chinese, English and a hundred other languages; 384 dimensions, 8 bits, 118 MB",
        repository: "Xenova/multilingual-e5-small",
        files: files("onnx/model_quantized.onnx"),
    },
    Offer {
        name: "bge-small-zh-v1.5",
        about: "Chinese; 512 dimensions, 95 MB",
        repository: "Xenova/bge-small-zh-v1.5",
        files: files("onnx/model.onnx"),
    },
];

const fn files(graph: &'static str) -> [(&'static str, &'static str); 5] {
    [
        (GRAPH, graph),
        ("tokenizer.json", "tokenizer.json"),
        ("config.json", "config.json"),
        ("special_tokens_map.json", "special_tokens_map.json"),
        ("tokenizer_config.json", "tokenizer_config.json"),
    ]
}

impl Offer {
    /// Where a person reads about it.
    pub(crate) fn page(&self) -> String {
        format!("https://huggingface.co/{}", self.repository)
    }
}

/// Fetches a model's files into a folder.
pub(crate) async fn fetch(network: &Network, offer: &Offer, into: &Path) -> Result<(), CallError> {
    for (name, place) in offer.files {
        let url = format!("{}/resolve/main/{place}", offer.page());
        tracing::info!(model = offer.name, file = name, "fetching");
        fetch_file(network, &url, &into.join(name)).await?;
    }
    Ok(())
}

/// Whoever is asked for a piece.
#[async_trait]
pub(crate) trait Pieces: Sync {
    async fn piece(&self, url: &Url, first: u64, last: u64) -> Result<Response, String>;
}

#[async_trait]
impl Pieces for Network {
    async fn piece(&self, url: &Url, first: u64, last: u64) -> Result<Response, String> {
        let mut headers = HeaderMap::new();
        http::header(&mut headers, "range", format!("bytes={first}-{last}").as_bytes())?;
        // A piece of something packed is of no use.
        http::header(&mut headers, "accept-encoding", b"identity")?;
        let request = Request { method: Method::GET, url: url.clone(), headers, body: bytes::Bytes::new() };
        let most = usize::try_from(PIECE).unwrap_or(usize::MAX);
        let hold: Hold = Arc::new(());
        let limits = http::Limits { response_bytes: most, timeout: SLOWEST };
        self.send(request, &EncryptedOnly, limits, &hold).await.map_err(|error| error.to_string())
    }
}

/// Public addresses over HTTPS, also where a redirect leads.
struct EncryptedOnly;

impl Rules for EncryptedOnly {
    fn reach(&self, _: &Method, url: &Url) -> Result<Reach, CallError> {
        if url.scheme() == "https" {
            return Ok(Reach::Public);
        }
        Err(CallError::Invalid(format!("{} is not reached over HTTPS", http::place(url))))
    }

    fn equip(&self, _: &mut Url, _: &mut HeaderMap) -> Result<(), CallError> {
        Ok(())
    }

    fn follow(&self, _: &mut Url) -> Result<(), CallError> {
        Ok(())
    }
}

async fn fetch_file(from: &dyn Pieces, url: &str, to: &Path) -> Result<(), CallError> {
    let target = http::target(url).map_err(CallError::Other)?;
    let mut file = File::create(to).map_err(|error| not_stored(to, &error))?;
    let mut have = 0;
    loop {
        let (bytes, size) = piece(from, &target, have).await.map_err(|reason| {
            let what =
                format!("{url} can't be fetched: {reason}; without the Internet, fetch the model's files elsewhere");
            CallError::Unreachable(format!("{what} and install their folder"))
        })?;
        file.write_all(&bytes).map_err(|error| not_stored(to, &error))?;
        have += bytes.len() as u64;
        if have >= size {
            return file.sync_all().map_err(|error| not_stored(to, &error));
        }
    }
}

/// The bytes from a place on, and how many there are in all.
async fn piece(from: &dyn Pieces, url: &Url, first: u64) -> Result<(Vec<u8>, u64), String> {
    let mut reason = String::new();
    for _ in 0..ATTEMPTS {
        match from.piece(url, first, first + PIECE - 1).await {
            Ok(answer) => match answer.status {
                // A server of small files may not know pieces.
                200 if first == 0 => return Ok((answer.body.clone(), answer.body.len() as u64)),
                206 => return whole(&answer, first),
                status @ 500..600 | status @ 429 => reason = format!("the answer was {status}"),
                status => return Err(format!("the answer was {status}")),
            },
            Err(error) => reason = error,
        }
    }
    Err(reason)
}

fn whole(answer: &Response, first: u64) -> Result<(Vec<u8>, u64), String> {
    let range = answer.headers.iter().find(|(name, _)| name == "content-range");
    let range = range.and_then(|(_, value)| std::str::from_utf8(value).ok()).unwrap_or_default();
    let read = range.strip_prefix("bytes ").and_then(|range| range.split_once('/')).and_then(|(piece, size)| {
        let began: u64 = piece.split_once('-')?.0.parse().ok()?;
        Some((began, size.parse::<u64>().ok()?))
    });
    match read {
        Some((_, size)) if size > LARGEST => Err(format!("it has {size} bytes, and {LARGEST} at most are taken")),
        Some((began, size)) if began == first && !answer.body.is_empty() => Ok((answer.body.clone(), size)),
        _ => Err(format!("the answer has another piece than the one asked for ({range})")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that can't go on is to fail there")]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// A server of one file, which gives so many bytes at a time and fails first.
    struct Server {
        file: Vec<u8>,
        at_a_time: usize,
        failures: Mutex<u32>,
        size: u64,
    }

    #[async_trait]
    impl Pieces for Server {
        async fn piece(&self, url: &Url, first: u64, last: u64) -> Result<Response, String> {
            let mut failures = self.failures.lock().unwrap();
            if *failures > 0 {
                *failures -= 1;
                return Err("the line broke".to_owned());
            }
            let first = usize::try_from(first).unwrap();
            let end = self.file.len().min(usize::try_from(last).unwrap() + 1).min(first + self.at_a_time);
            let range = format!("bytes {first}-{}/{}", end - 1, self.size);
            let headers = vec![("content-range".to_owned(), range.into_bytes())];
            Ok(Response { status: 206, headers, body: self.file[first..end].to_vec(), url: url.clone() })
        }
    }

    fn server(at_a_time: usize, failures: u32) -> Server {
        let file: Vec<u8> = (0..1_000_u32).flat_map(u32::to_le_bytes).collect();
        Server { size: file.len() as u64, file, at_a_time, failures: Mutex::new(failures) }
    }

    #[tokio::test]
    async fn a_file_comes_in_pieces_over_a_bad_line() {
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("model.onnx");
        let server = server(1_337, 2);
        fetch_file(&server, "https://example.org/model.onnx", &to).await.unwrap();
        assert_eq!(std::fs::read(&to).unwrap(), server.file);
    }

    #[tokio::test]
    async fn what_is_too_large_or_does_not_come_is_refused_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("model.onnx");
        let large = Server { size: LARGEST + 1, ..server(100, 0) };
        for server in [large, server(100, ATTEMPTS)] {
            let error = fetch_file(&server, "https://example.org/model.onnx", &to).await.unwrap_err().to_string();
            assert!(
                error.contains("https://example.org/model.onnx") && error.contains("install their folder"),
                "{error}"
            );
        }
    }

    #[test]
    fn nothing_is_fetched_without_encryption() {
        let rules = EncryptedOnly;
        assert!(rules.reach(&Method::GET, &Url::parse("http://huggingface.co/").unwrap()).is_err());
        assert!(rules.reach(&Method::GET, &Url::parse("https://huggingface.co/").unwrap()).is_ok());
    }
}
