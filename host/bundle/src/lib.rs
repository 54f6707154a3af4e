//! The components that come with homed, built from source by this crate's build script and embedded.

/// A bundled package.
#[derive(Clone, Copy, Debug)]
pub struct Package {
    /// The folder's name, which is the plugin's.
    pub name: &'static str,
    /// The text of its `plugin.toml`.
    pub manifest: &'static str,
    /// The component.
    pub component: &'static [u8],
    /// Its SHA-256, in hexadecimal digits.
    pub digest: &'static str,
}

const PACKAGES: &[(&str, &str, &[u8], &str)] = include!(concat!(env!("OUT_DIR"), "/components.rs"));

/// All bundled packages.
pub fn packages() -> impl Iterator<Item = Package> {
    PACKAGES.iter().map(|(name, manifest, component, digest)| Package { name, manifest, component, digest })
}
