//! Files in the folders that `[wants.files]` names, and in the plugin's own folder [`DATA`]. Needs the grant `files`.
//!
//! A path is names with `/` between, and begins in one of these folders.

use crate::Error;
use crate::bindings::plugin::homeagent::plugin::files as host;

pub use host::{About, Entry, Folder, Kind};

/// The plugin's own folder. It is always there, and is deleted with the plugin.
pub const DATA: &str = "data";

/// The folders that were granted.
pub fn folders() -> Result<Vec<Folder>, Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::folders()
}

/// At most `length` bytes from `offset` on, and at most 4 MiB; fewer at the end of the file.
pub async fn read(folder: &str, path: &str, offset: u64, length: u64) -> Result<Vec<u8>, Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::read(folder.to_owned(), path.to_owned(), offset, length).await
}

/// Puts a file of at most 4 MiB there, in the place of one that is there: whoever reads it finds one of the two, whole.
pub async fn write(folder: &str, path: &str, content: impl Into<Vec<u8>>) -> Result<(), Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::write(folder.to_owned(), path.to_owned(), content.into()).await
}

/// Adds at most 4 MiB to the end of a file, which is made where there is none.
pub async fn append(folder: &str, path: &str, content: impl Into<Vec<u8>>) -> Result<(), Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::append(folder.to_owned(), path.to_owned(), content.into()).await
}

/// What is in a folder, by name, at most 1,000 entries: those behind `after`, where that is given.
pub async fn list(folder: &str, path: &str, after: Option<&str>) -> Result<Vec<Entry>, Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::list(folder.to_owned(), path.to_owned(), after.map(str::to_owned)).await
}

/// What is known of a file or folder.
pub async fn stat(folder: &str, path: &str) -> Result<About, Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::stat(folder.to_owned(), path.to_owned()).await
}

/// Makes a folder in one that is there. One that is there already is no error.
pub async fn make_folder(folder: &str, path: &str) -> Result<(), Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::make_folder(folder.to_owned(), path.to_owned()).await
}

/// Removes a file, a link, or an empty folder.
pub async fn remove(folder: &str, path: &str) -> Result<(), Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::remove(folder.to_owned(), path.to_owned()).await
}

/// Moves within a folder; a file that is there already is replaced.
pub async fn rename(folder: &str, from: &str, to: &str) -> Result<(), Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::rename(folder.to_owned(), from.to_owned(), to.to_owned()).await
}
