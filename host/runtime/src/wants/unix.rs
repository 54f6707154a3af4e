//! Unix sockets: those of a plugin's own in `[wants.listen]`, and those of others in `[wants.connect]`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use serde::Deserialize;

/// The longest name of a socket's file, in bytes.
const LONGEST_NAME: usize = 48;
/// The longest path, in bytes.
const LONGEST_PATH: usize = 1024;

/// A socket that the daemon makes for a plugin.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UnixSocket {
    /// The file's name, in the plugin's own folder.
    pub(crate) file: String,
    /// How bytes become frames.
    pub(crate) framing: Framing,
}

/// How bytes become frames, as in the contract's `connect`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Framing {
    Pieces,
    Lines,
}

/// Fails on names that can't be, or that two have.
pub(super) fn check_files(sockets: &BTreeMap<String, UnixSocket>) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for (listener, UnixSocket { file, .. }) in sockets {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        if file.is_empty() || file.len() > LONGEST_NAME || file.starts_with('.') || !file.bytes().all(plain) {
            return Err(format!(
                "unix.{listener}: file = {file:?} has to be made of letters, digits, -, . and _, {LONGEST_NAME} at most, \
                 and not to begin with a dot"
            ));
        }
        if !seen.insert(file) {
            return Err(format!("unix.{listener}: the file {file} has another listener already"));
        }
    }
    Ok(())
}

/// Fails on a path that leads elsewhere than it says, or nowhere.
pub(crate) fn check_path(path: &str) -> Result<(), String> {
    let is_plain = Path::new(path).components().all(|it| matches!(it, Component::RootDir | Component::Normal(_)));
    // The system's view of components leaves out what stands for nothing, so the text has to be looked at, too.
    let is_whole = path.starts_with('/') && path.split('/').skip(1).all(|part| !part.is_empty() && part != ".");
    if is_plain && is_whole && path.len() <= LONGEST_PATH && !path.contains(char::is_control) {
        return Ok(());
    }
    Err(format!("{path:?} is not the whole path of a socket, such as /run/player/socket, {LONGEST_PATH} bytes at most"))
}
