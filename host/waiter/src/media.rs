//! Media: what goes along with what is said, and what is kept.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use hyper::Method;
use hyper::body::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::args::Media;
use crate::client::{Client, part, read};
use crate::commands::Desk;
use crate::failure::Failure;
use crate::plain::plain_line;
use crate::{file, show};

/// What the daemon says of a medium that it took.
#[derive(Deserialize)]
struct Taken {
    address: String,
    mime: String,
    bytes: u64,
}

/// Hands files over; what goes along with a message then.
pub(crate) async fn attach(client: &Client, files: &[PathBuf]) -> Result<Vec<Value>, Failure> {
    let mut attached = Vec::new();
    for file in files {
        let Taken { address, .. } = read(&add(client, file).await?)?;
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
        attached.push(json!({ "address": address, "name": name }));
    }
    Ok(attached)
}

async fn add(client: &Client, file: &Path) -> Result<String, Failure> {
    #[derive(Deserialize)]
    struct Setting {
        value: u64,
    }
    let Setting { value: mib } = read(&client.get("settings/core.media.file_mib").await?)?;
    let bytes = file::bytes(file, mib << 20)?;
    client.post_as("application/octet-stream", "media", bytes).await
}

impl Desk {
    pub(crate) async fn media(&self, command: Media) -> Result<u8, Failure> {
        match command {
            Media::List => {
                let answer = self.client.get("media").await?;
                self.answer(&answer, show::media::list)
            }
            Media::Add { file } => {
                let answer = add(&self.client, &file).await?;
                self.answer(&answer, |answer| {
                    let Taken { address, mime, bytes } = read(answer)?;
                    Ok(format!("{} {} {}\n", plain_line(&address), plain_line(&mime), show::media::size(bytes)))
                })
            }
            Media::Get { address, output } => {
                let bytes = self.client.file(&address).await?;
                let path = output.unwrap_or_else(|| PathBuf::from(named(&address, &bytes)));
                write(&path, &bytes)?;
                let (path, bytes) = (path.display().to_string(), bytes.len() as u64);
                let answer = json!({ "file": path, "bytes": bytes }).to_string();
                self.answer(&answer, |_| Ok(format!("{} is in {}\n", show::media::size(bytes), plain_line(&path))))
            }
            Media::Remove { address } => {
                let path = format!("media/{}", part(&address));
                let answer = self.client.raw(Method::DELETE, &path, Bytes::new()).await?;
                self.answer(&answer, |answer| {
                    #[derive(Deserialize)]
                    struct Removed {
                        removed: String,
                    }
                    let Removed { removed } = read(answer)?;
                    Ok(format!("{} is removed\n", plain_line(&removed)))
                })
            }
        }
    }
}

/// The name of the file into which a medium is saved where none is given.
fn named(address: &str, bytes: &[u8]) -> String {
    let digits: String =
        address.trim_start_matches("media:").chars().filter(char::is_ascii_hexdigit).take(16).collect();
    let ending = match bytes {
        [0x89, b'P', b'N', b'G', ..] => "png",
        [0xff, 0xd8, 0xff, ..] => "jpg",
        [b'G', b'I', b'F', b'8', ..] => "gif",
        [b'%', b'P', b'D', b'F', ..] => "pdf",
        [b'I', b'D', b'3', ..] => "mp3",
        _ if std::str::from_utf8(bytes).is_ok() => "txt",
        _ => "bin",
    };
    format!("{digits}.{ending}")
}

/// Writes a file that is not there yet.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    file.and_then(|mut file| file.write_all(bytes))
        .map_err(|error| Failure::Failed(format!("{} can't be written: {error}", path.display())))
}
