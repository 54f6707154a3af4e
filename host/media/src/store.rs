//! The store: files below one folder, named by what is in them.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use homeagent_network::Network;
use homeagent_settings::Settings;
use homeagent_types::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::address::beginning;
use crate::index::{Hold, Index};
use crate::links::{Links, Reader};
use crate::{Address, Error, Limits, sniff};

/// The folder, in the data folder.
const FOLDER: &str = "media";

/// What the names of files begin with that are being written.
const UNFINISHED: &str = "unfinished-";

/// As much of a file as tells what it is.
const HEAD: u64 = 8 << 10;

/// How often what is too old is looked for.
const TIDY_EVERY: Duration = Duration::from_secs(3600);

/// What a store is made of.
pub struct Parts {
    /// The data folder.
    pub home: PathBuf,
    /// The settings; it reads `core.media.*`.
    pub settings: Settings,
    /// How media at addresses are fetched; without it none are.
    pub network: Option<Network>,
    /// What time it is.
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

/// The store. Clones share it. The disk is used on threads where that holds up nobody.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    folder: PathBuf,
    parts: Parts,
    index: Index,
    links: Links,
    /// Whoever changes files has it. It is never waited for where it could hold up others.
    changing: Mutex<()>,
}

/// A medium that was taken in.
#[derive(Debug)]
pub struct Kept {
    /// Its address.
    pub address: Address,
    /// What it is.
    pub mime: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Keeps it there.
    pub hold: Hold,
}

/// A medium as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Medium {
    /// Its address.
    pub address: Address,
    /// What it is, by its bytes.
    pub mime: String,
    /// The bytes.
    pub bytes: Bytes,
}

/// A medium in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = StoredMedium)]
pub struct Listed {
    /// Its address: the SHA-256 of its bytes, in hexadecimal digits.
    pub address: String,
    /// What it is, by its bytes.
    pub mime: String,
    /// Its size.
    pub bytes: u64,
    /// When it was used last.
    pub used_at: Timestamp,
    /// A turn works with it.
    pub in_use: bool,
}

impl Store {
    /// Opens the store of a data folder, making one where there is none. What was being written when the daemon ended is
    /// removed, and so is what is too old.
    ///
    /// # Errors
    ///
    /// A folder that can't be used.
    pub fn open(parts: Parts) -> io::Result<Self> {
        let folder = parts.home.join(FOLDER);
        make_folder(&folder)?;
        let index = Index::default();
        scan(&folder, &index)?;
        let links = Links::open(&folder)?;
        let inner = Inner { folder, parts, index, links, changing: Mutex::default() };
        let store = Self { inner: Arc::new(inner) };
        store.inner.tidy();
        Ok(store)
    }

    /// The limits as they are set now.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits::read(&self.inner.parts.settings)
    }

    pub(crate) fn network(&self) -> Option<&Network> {
        self.inner.parts.network.as_ref()
    }

    /// Keeps a medium. When this returns it is on the disk. `said`: what the sender says that it is.
    ///
    /// # Errors
    ///
    /// Too large, no room, and a disk that takes nothing.
    pub async fn put(&self, bytes: Vec<u8>, said: &str) -> Result<Kept, Error> {
        let (inner, said) = (Arc::clone(&self.inner), said.to_owned());
        on_disk(move || inner.put(&bytes, &said)).await
    }

    /// The medium of this address. Whoever looks at it uses it.
    ///
    /// # Errors
    ///
    /// None, or a file that is damaged; that is removed.
    pub async fn get(&self, address: Address) -> Result<Medium, Error> {
        let inner = Arc::clone(&self.inner);
        on_disk(move || inner.get(address)).await
    }

    /// The address that is meant by all or some of its digits, with or without `media:` before them.
    ///
    /// # Errors
    ///
    /// None that is kept, and too few digits.
    pub fn find(&self, text: &str) -> Result<Address, Error> {
        let digits = beginning(text).map_err(|_| Error::Missing)?;
        self.inner.index.beginning_with(&digits)
    }

    /// Keeps a medium from going for as long as the hold lives; nothing, where it is gone.
    #[must_use]
    pub fn hold(&self, address: Address) -> Option<Hold> {
        self.inner.index.hold(address, self.now())
    }

    /// Removes a medium, whoever holds it. False: there was none.
    ///
    /// # Errors
    ///
    /// The disk.
    pub async fn remove(&self, address: Address) -> Result<bool, Error> {
        let inner = Arc::clone(&self.inner);
        on_disk(move || inner.remove(&address)).await
    }

    /// All media, those used last first.
    ///
    /// # Errors
    ///
    /// None now; the disk is only looked at.
    pub async fn list(&self) -> Result<Vec<Listed>, Error> {
        let inner = Arc::clone(&self.inner);
        on_disk(move || Ok(inner.list())).await
    }

    /// How many media there are, and how many bytes they have together.
    #[must_use]
    pub fn size(&self) -> (usize, u64) {
        self.inner.index.size()
    }

    /// Removes what nobody has used for long, now and again and again, for as long as it is polled.
    pub async fn keep_tidy(&self) {
        loop {
            let inner = Arc::clone(&self.inner);
            let tidied = on_disk(move || {
                inner.tidy();
                Ok(())
            });
            if let Err(error) = tidied.await {
                tracing::warn!(%error, "media that are too old could not be removed");
            }
            tokio::time::sleep(TIDY_EVERY).await;
        }
    }

    /// Says where the daemon's file route is served.
    pub fn serve_at(&self, address: SocketAddr) {
        self.inner.links.serve_at(address);
    }

    /// A link to a medium that is good for [`Limits::link`]; nothing, where the daemon has no address that the reader can
    /// reach.
    #[must_use]
    pub fn link(&self, address: &Address, reader: Reader) -> Option<String> {
        let public = self.inner.parts.settings.text("core.media.public_url").unwrap_or_default();
        let public = Some(public.trim().trim_end_matches('/').to_owned()).filter(|url| !url.is_empty());
        let base = match reader {
            Reader::Program => self.inner.links.here().or(public),
            // The public one holds everywhere, and a program here may have its readers elsewhere.
            Reader::Here => public.or_else(|| self.inner.links.here()),
            Reader::Others => public,
        }?;
        let span = u64::try_from(self.limits().link.as_millis()).unwrap_or(u64::MAX);
        Some(format!("{base}{}", self.inner.links.path(address, self.now().saturating_add(span))))
    }

    /// Whether `until` and `mac` are those of a link to this address that is still good.
    #[must_use]
    pub fn is_good_link(&self, address: &Address, until: Timestamp, mac: &str) -> bool {
        self.inner.links.is_good(address, until, mac, self.now())
    }

    fn now(&self) -> Timestamp {
        self.inner.now()
    }
}

/// Runs work that waits for the disk where it holds up nobody.
async fn on_disk<T: Send + 'static>(work: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(lost) => Err(Error::Disk(io::Error::other(lost))),
    }
}

impl Inner {
    fn now(&self) -> Timestamp {
        (self.parts.clock)()
    }

    fn path(&self, address: &Address) -> PathBuf {
        let name = address.to_string();
        self.folder.join(&name[..2]).join(&name[2..])
    }

    fn put(&self, bytes: &[u8], said: &str) -> Result<Kept, Error> {
        let limits = Limits::read(&self.parts.settings);
        let size = bytes.len() as u64;
        if size == 0 {
            return Err(Error::Empty);
        }
        let most = limits.one.min(limits.all);
        if size > most {
            return Err(Error::TooLarge { bytes: size, most });
        }
        let address = Address::of(bytes);
        let mime = sniff(bytes, said);
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.now();
        // Before anything is looked at: what is there already must not go to make room.
        let known = self.index.hold(address, now);
        let path = self.path(&address);
        let is_whole = known.is_some() && fs::read(&path).is_ok_and(|there| there == bytes);
        if !is_whole {
            let room = if known.is_some() { 0 } else { size };
            let (out, fits) = self.index.make_room(room, limits.all, limits.keep, now);
            self.delete(&out);
            fits?;
            write(&self.folder, &path, bytes)?;
            self.index.insert(address, size, now);
        }
        touch(&path, now);
        let hold = match known {
            Some(hold) => hold,
            None => self.index.hold(address, now).ok_or(Error::Missing)?,
        };
        Ok(Kept { address, mime, bytes: size, hold })
    }

    fn get(&self, address: Address) -> Result<Medium, Error> {
        let now = self.now();
        let _hold = self.index.hold(address, now).ok_or(Error::Missing)?;
        let path = self.path(&address);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.index.remove(&address);
                return Err(Error::Missing);
            }
            Err(error) => return Err(error.into()),
        };
        if Address::of(&bytes) != address {
            tracing::warn!(%address, "the file of a medium is damaged, and is removed");
            let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
            self.index.remove(&address);
            self.delete(&[address]);
            return Err(Error::Damaged);
        }
        touch(&path, now);
        Ok(Medium { address, mime: sniff(&bytes, ""), bytes: bytes.into() })
    }

    fn remove(&self, address: &Address) -> Result<bool, Error> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        match fs::remove_file(self.path(address)) {
            Ok(()) => {
                self.index.remove(address);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(self.index.remove(address)),
            Err(error) => Err(error.into()),
        }
    }

    fn list(&self) -> Vec<Listed> {
        let all = self.index.all().into_iter();
        all.filter_map(|(address, entry)| {
            let mut head = Vec::new();
            File::open(self.path(&address)).ok()?.take(HEAD).read_to_end(&mut head).ok()?;
            // The end of the head may be in the middle of a character.
            let whole = std::str::from_utf8(&head).err().map_or(head.len(), |error| match error.error_len() {
                None => error.valid_up_to(),
                Some(_) => head.len(),
            });
            Some(Listed {
                address: address.to_string(),
                mime: sniff(&head[..whole], ""),
                bytes: entry.bytes,
                used_at: entry.used_at,
                in_use: entry.holders > 0,
            })
        })
        .collect()
    }

    fn tidy(&self) {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let limits = Limits::read(&self.parts.settings);
        let (out, _) = self.index.make_room(0, limits.all, limits.keep, self.now());
        if !out.is_empty() {
            tracing::info!(media = out.len(), "media that nobody has used for long are removed");
        }
        self.delete(&out);
    }

    fn delete(&self, addresses: &[Address]) {
        for address in addresses {
            match fs::remove_file(self.path(address)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::warn!(%address, %error, "the file of a medium can't be removed");
                }
                _ => {}
            }
        }
    }
}

fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Writes a file that is whole or not there, whatever happens meanwhile.
fn write(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.parent().unwrap_or(folder);
    make_folder(beside)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let unfinished = folder.join(format!("{UNFINISHED}{name}"));
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&unfinished, path)?;
        File::open(beside)?.sync_all()
    })();
    if written.is_err() {
        // A full disk should not keep half of it.
        let _ = fs::remove_file(&unfinished);
    }
    written
}

/// Notes in the file when it was used; the next start reads it there. That it can't be noted is no reason to do without
/// the medium.
fn touch(path: &Path, now: Timestamp) {
    let noted = File::options().append(true).open(path);
    let noted = noted.and_then(|file| file.set_modified(UNIX_EPOCH + Duration::from_millis(now)));
    if let Err(error) = noted {
        tracing::debug!(%error, "when a medium was used could not be noted");
    }
}

/// Takes up what lies in the folder.
fn scan(folder: &Path, index: &Index) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(UNFINISHED) {
            fs::remove_file(entry.path())?;
        } else if entry.file_type()?.is_dir() {
            for file in fs::read_dir(entry.path())? {
                let file = file?;
                let Ok(address) = format!("{name}{}", file.file_name().to_string_lossy()).parse() else { continue };
                let about = file.metadata()?;
                if about.is_file() {
                    index.insert(address, about.len(), milliseconds(about.modified()?));
                }
            }
        }
    }
    Ok(())
}

fn milliseconds(time: SystemTime) -> Timestamp {
    u64::try_from(time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}
