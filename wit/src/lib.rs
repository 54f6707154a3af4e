//! The contract between `homed` and its components.
//!
//! The WIT packages stand beside this crate; `VERSIONING.md` says how they may change. The SDK stamps a component with
//! the digest of the package it was built against ([`stamp`]), and the host refuses another one before it compiles the
//! component.

include!(concat!(env!("OUT_DIR"), "/digests.rs"));

/// The version of both packages.
pub const VERSION: &str = "0.1.0";

/// The custom section that holds a component's [`stamp`].
pub const SECTION: &str = "homeagent:contract";

/// The kind of component, which is the name of the WIT package it was built against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `homeagent:plugin`: tools, stages, events, channels.
    Plugin,
    /// `homeagent:adapter`: a vendor's LLM protocol.
    Adapter,
}

impl Kind {
    /// The package's name without its namespace.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Plugin => "plugin",
            Kind::Adapter => "adapter",
        }
    }

    /// The digest of the package as this build knows it.
    pub const fn digest(self) -> &'static str {
        match self {
            Kind::Plugin => PLUGIN_DIGEST,
            Kind::Adapter => ADAPTER_DIGEST,
        }
    }
}

/// The length in bytes of a [`stamp`].
pub const STAMP_LENGTH: usize = 64;

/// What the SDK writes into [`SECTION`]: `<package>@<version> <digest>`, padded with spaces.
pub const fn stamp(kind: Kind) -> [u8; STAMP_LENGTH] {
    let mut bytes = [b' '; STAMP_LENGTH];
    let mut at = 0;
    at = put(&mut bytes, at, kind.name().as_bytes());
    at = put(&mut bytes, at, b"@");
    at = put(&mut bytes, at, VERSION.as_bytes());
    at = put(&mut bytes, at, b" ");
    put(&mut bytes, at, kind.digest().as_bytes());
    bytes
}

const fn put(bytes: &mut [u8; STAMP_LENGTH], at: usize, part: &[u8]) -> usize {
    let mut i = 0;
    while i < part.len() {
        bytes[at + i] = part[i];
        i += 1;
    }
    at + part.len()
}

/// A [`stamp`] read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The package's name without its namespace.
    pub package: String,
    /// The version of the package.
    pub version: String,
    /// The digest of the package.
    pub digest: String,
}

impl Stamp {
    /// Reads the content of [`SECTION`]; `None` when it is not a stamp.
    pub fn parse(section: &[u8]) -> Option<Self> {
        let text = str::from_utf8(section).ok()?.trim_end();
        let (name, digest) = text.split_once(' ')?;
        let (package, version) = name.split_once('@')?;
        Some(Self { package: package.to_owned(), version: version.to_owned(), digest: digest.to_owned() })
    }

    /// Reads all stamps of a [`SECTION`]: a component of two kinds has one of each, one behind the other.
    pub fn parse_all(section: &[u8]) -> Vec<Self> {
        section.chunks(STAMP_LENGTH).filter_map(Self::parse).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_reads_back_as_it_was_written() {
        for kind in [Kind::Plugin, Kind::Adapter] {
            let read = Stamp::parse(&stamp(kind)).expect("a stamp parses");
            assert_eq!((read.package.as_str(), read.version.as_str()), (kind.name(), VERSION));
            assert_eq!(read.digest, kind.digest());
        }
    }

    #[test]
    fn stamps_of_two_kinds_stand_one_behind_the_other() {
        let section = [stamp(Kind::Plugin), stamp(Kind::Adapter)].concat();
        let packages: Vec<_> = Stamp::parse_all(&section).into_iter().map(|stamp| stamp.package).collect();
        assert_eq!(packages, ["plugin", "adapter"]);
    }

    #[test]
    fn what_is_not_a_stamp_is_refused() {
        for bytes in [&b""[..], b"plugin", b"plugin 12", b"\xff\xfe@ 1"] {
            assert_eq!(Stamp::parse(bytes), None);
        }
    }
}
