//! Links to a medium: good for one address, until a moment, for whoever has them.

use std::fs::OpenOptions;
use std::io::{self, Read as _, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use hmac::{Hmac, Mac};
use homeagent_types::Timestamp;
use sha2::Sha256;

use crate::Address;

const KEY_FILE: &str = "link-key";
const KEY_BYTES: usize = 32;

/// For whom a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// Somebody at this machine.
    Here,
    /// A program in the house, such as a server of models.
    Program,
    /// Anybody else.
    Others,
}

/// Makes links and knows its own again.
pub(crate) struct Links {
    key: [u8; KEY_BYTES],
    /// Where the daemon's own file route is reached from this machine, once it serves.
    here: Mutex<Option<SocketAddr>>,
}

impl Links {
    /// Reads the key, making one where there is none: links outlive the daemon's process.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let path = folder.join(KEY_FILE);
        let mut options = OpenOptions::new();
        let mut file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        let mut key = [0; KEY_BYTES];
        if file.metadata()?.len() == KEY_BYTES as u64 {
            file.read_exact(&mut key)?;
        } else {
            getrandom::fill(&mut key).map_err(io::Error::other)?;
            file.set_len(0)?;
            file.write_all(&key)?;
            file.sync_all()?;
        }
        Ok(Self { key, here: Mutex::default() })
    }

    pub(crate) fn serve_at(&self, address: SocketAddr) {
        *self.here.lock().unwrap_or_else(PoisonError::into_inner) = Some(address);
    }

    /// Where this machine's own programs find the file route.
    pub(crate) fn here(&self) -> Option<String> {
        let mut address = (*self.here.lock().unwrap_or_else(PoisonError::into_inner))?;
        if address.ip().is_unspecified() {
            let own: std::net::IpAddr = match address {
                SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
                SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
            };
            address.set_ip(own);
        }
        Some(format!("http://{address}"))
    }

    /// Path and query of a link that is good until `until`, in milliseconds since 1970.
    pub(crate) fn path(&self, address: &Address, until: Timestamp) -> String {
        format!("/media/{address}?until={until}&mac={}", hexadecimal(&self.mac(address, until).finalize().into_bytes()))
    }

    /// Whether a link is one of ours, and still good at `now`.
    pub(crate) fn is_good(&self, address: &Address, until: Timestamp, mac: &str, now: Timestamp) -> bool {
        let given: Option<Vec<u8>> = (mac.len() == 64 && mac.is_ascii())
            .then(|| (0..64).step_by(2).map(|at| u8::from_str_radix(&mac[at..at + 2], 16).ok()).collect())
            .flatten();
        // Compared in a time that tells nothing.
        now <= until && given.is_some_and(|given| self.mac(address, until).verify_slice(&given).is_ok())
    }

    fn mac(&self, address: &Address, until: Timestamp) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("a key of any length will do");
        mac.update(format!("media {address} {until}").as_bytes());
        mac
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_good_for_one_address_until_its_moment_also_after_a_restart() {
        let folder = tempfile::tempdir().expect("a folder");
        let links = Links::open(folder.path()).expect("a key");
        let address = Address::of(b"a picture");
        let path = links.path(&address, 1_000);
        let mac = path.rsplit_once("mac=").expect("it has one").1.to_owned();
        let again = Links::open(folder.path()).expect("the same key");
        assert!(again.is_good(&address, 1_000, &mac, 1_000));
        assert!(!again.is_good(&address, 1_000, &mac, 1_001), "it is over");
        assert!(!again.is_good(&address, 2_000, &mac, 1_000), "another end");
        assert!(!again.is_good(&Address::of(b"another"), 1_000, &mac, 1_000), "another medium");
        for forged in ["", &mac[1..], &"0".repeat(64), &"é".repeat(32), &mac.to_uppercase().replace('A', "G")] {
            assert!(!again.is_good(&address, 1_000, forged, 1_000) || forged.eq_ignore_ascii_case(&mac), "{forged}");
        }
        let elsewhere = tempfile::tempdir().expect("a folder");
        assert!(!Links::open(elsewhere.path()).expect("a key").is_good(&address, 1_000, &mac, 1_000));
    }
}
