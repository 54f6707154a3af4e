//! Media at addresses: through the same guard as everything else.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use homeagent_media::Error;
use homeagent_network::{Network, Surroundings};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::home::Home;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

/// A world in which `public.example` is a server of the test's, and `home.example` a machine at home.
struct World {
    server: SocketAddr,
}

#[async_trait]
impl Surroundings for World {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let address = if name == "public.example" { "93.184.215.14" } else { "192.168.1.1" };
        Ok(vec![address.parse().expect("an address")])
    }

    async fn connect(&self, to: SocketAddr) -> io::Result<TcpStream> {
        assert_eq!(to.ip().to_string(), "93.184.215.14", "nobody else is connected to");
        TcpStream::connect(self.server).await
    }
}

/// A home whose network leads to a server that answers each request with the next of `answers`.
async fn home(answers: Vec<Vec<u8>>) -> Home {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let server = listener.local_addr().expect("its address");
    tokio::spawn(async move {
        for answer in answers {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.expect("a head"));
            }
            stream.write_all(&answer).await.expect("it is taken");
        }
    });
    let tls = homeagent_network::tls::client().expect("certificates");
    Home::with(Some(Network::new(Arc::new(World { server }), Arc::new(tls))))
}

fn answer(head: &str, body: &[u8]) -> Vec<u8> {
    [format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
}

#[tokio::test]
async fn a_medium_at_a_public_address_is_kept_as_what_it_is() {
    let home = home(vec![answer("200 OK\r\ncontent-type: text/html", PNG)]).await;
    let kept = home.store.fetch("http://public.example/a.png?key=1", "image/*").await.expect("it is kept");
    assert_eq!(kept.mime, "image/png");
    assert_eq!(&home.store.get(kept.address).await.expect("it is there").bytes[..], PNG);
}

#[tokio::test]
async fn nobody_is_made_to_look_around_at_home() {
    let home = home(vec![answer("302 Found\r\nlocation: http://home.example/admin", b"")]).await;
    for url in [
        "http://home.example/a.png",
        "http://127.0.0.1:8686/api/v1/settings",
        "http://[::ffff:192.168.1.1]/",
        "http://169.254.169.254/latest/meta-data",
        "file:///etc/passwd",
        "media:2cf24dba5fb0a30e",
        // It leads there.
        "http://public.example/redirect",
    ] {
        match home.store.fetch(url, "").await {
            Err(Error::Fetch { is_public: false, .. }) => {}
            other => panic!("{url}: {other:?}"),
        }
    }
    assert_eq!(home.store.size(), (0, 0));
}

#[tokio::test]
async fn what_is_too_large_or_not_there_is_not_kept() {
    let large = vec![1; (1 << 20) + 1];
    let home = home(vec![answer("404 Not Found", b"gone"), answer("200 OK", &large)]).await;
    home.settings.set("core.media.file_mib", 1).expect("it is allowed");
    let gone = home.store.fetch("http://public.example/a", "").await.expect_err("it is gone");
    assert_eq!(gone.to_string(), "it could not be fetched: http://public.example answered with the status 404");
    let large = home.store.fetch("http://public.example/a", "").await.expect_err("it is too large");
    assert!(matches!(large, Error::Fetch { is_public: true, .. }), "{large}");
}
