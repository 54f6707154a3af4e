//! Files.

use homeagent_sdk::{Error, files};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
pub(crate) struct Act {
    #[serde(rename = "do")]
    what: What,
    #[serde(default)]
    folder: String,
    #[serde(default)]
    path: String,
    #[serde(default)]
    to: String,
    #[serde(default)]
    text: String,
    /// Content of so many bytes, in the place of `text`.
    bytes: Option<usize>,
    #[serde(default)]
    offset: u64,
    length: Option<u64>,
    after: Option<String>,
    /// How often, for `fill` and `race`.
    #[serde(default)]
    times: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum What {
    Folders,
    Read,
    Write,
    Append,
    List,
    Stat,
    MakeFolder,
    Remove,
    Rename,
    /// Appends again and again until it is refused; says why.
    Fill,
    /// Reads again and again; says each thing that was read, once.
    Race,
}

pub(crate) async fn run(act: Act) -> Result<Value, Error> {
    let Act { folder, path, to, .. } = &act;
    let length = act.length.unwrap_or(u64::MAX);
    let content = || act.bytes.map_or_else(|| act.text.clone().into_bytes(), |bytes| vec![b'x'; bytes]);
    let done = |()| json!("done");
    match act.what {
        What::Folders => {
            let folders = files::folders()?;
            Ok(folders.iter().map(|folder| json!([folder.name, folder.writable])).collect())
        }
        What::Read => {
            let content = files::read(folder, path, act.offset, length).await?;
            Ok(json!(if content.len() > 1000 { content.len().to_string() } else { lossy(&content) }))
        }
        What::Write => files::write(folder, path, content()).await.map(done),
        What::Append => files::append(folder, path, content()).await.map(done),
        What::List => {
            let entries = files::list(folder, path, act.after.as_deref()).await?;
            Ok(entries.iter().map(|entry| json!(format!("{} {:?}", entry.name, entry.kind))).collect())
        }
        What::Stat => {
            let about = files::stat(folder, path).await?;
            Ok(json!(format!("{:?} {}", about.kind, about.size)))
        }
        What::MakeFolder => files::make_folder(folder, path).await.map(done),
        What::Remove => files::remove(folder, path).await.map(done),
        What::Rename => files::rename(folder, path, to).await.map(done),
        What::Fill => loop {
            files::append(folder, path, content()).await?;
        },
        What::Race => {
            let mut seen = std::collections::BTreeSet::new();
            for _ in 0..act.times {
                seen.insert(match files::read(folder, path, 0, length).await {
                    Ok(content) => lossy(&content),
                    Err(error) => crate::said(&error),
                });
            }
            Ok(json!(seen))
        }
    }
}

fn lossy(content: &[u8]) -> String {
    String::from_utf8_lossy(content).into_owned()
}
