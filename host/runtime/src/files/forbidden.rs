//! Where no plugin's path leads, whatever was granted.

use std::fs::Metadata as StdMetadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use cap_std::fs::{Metadata, MetadataExt as _};
use homeagent_types::CallError;

/// Files that are the system's insides.
pub(crate) const SYSTEM: [&str; 3] = ["/proc", "/sys", "/dev"];

/// A folder, by whatever name it is reached.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

/// The folders that are shut.
pub(super) struct Forbidden {
    /// The daemon's own, without links in its path.
    home: PathBuf,
    home_identity: Identity,
    /// The folders of [`SYSTEM`].
    system: Vec<Identity>,
    /// File systems of their own among them, which may be mounted elsewhere, too.
    devices: Vec<u64>,
}

impl Forbidden {
    pub(super) fn new(home: &Path) -> Result<Self, CallError> {
        let lost = |error: std::io::Error| CallError::Other(format!("the daemon's folder can't be looked at: {error}"));
        let home = std::fs::canonicalize(home).map_err(lost)?;
        let home_identity = identity(&std::fs::metadata(&home).map_err(lost)?);
        let top = std::fs::metadata("/").map_err(lost)?.dev();
        let system: Vec<_> = SYSTEM.iter().filter_map(|path| std::fs::metadata(path).ok()).collect();
        let devices = system.iter().map(StdMetadata::dev).filter(|device| *device != top).collect();
        Ok(Self { home, home_identity, system: system.iter().map(identity).collect(), devices })
    }

    /// Fails for a folder that is shut.
    pub(super) fn check(&self, about: &Metadata) -> Result<(), CallError> {
        let found = Identity { device: about.dev(), inode: about.ino() };
        if found == self.home_identity {
            return Err(CallError::Conflict("that leads into the daemon's own folder, which no plugin may use".into()));
        }
        if self.system.contains(&found) || self.devices.contains(&found.device) {
            let folders = SYSTEM.join(", ");
            return Err(CallError::Conflict(format!("that leads into one of {folders}, which no plugin may use")));
        }
        Ok(())
    }

    /// Whether the daemon's folder lies in this one.
    pub(super) fn is_above_home(&self, about: &Metadata) -> bool {
        let above = self.home.ancestors().filter_map(|folder| std::fs::metadata(folder).ok());
        above.map(|folder| identity(&folder)).any(|it| it == Identity { device: about.dev(), inode: about.ino() })
    }
}

fn identity(about: &StdMetadata) -> Identity {
    Identity { device: about.dev(), inode: about.ino() }
}
