//! Why the runtime itself, or a package, could not be started.

use std::io;
use std::path::PathBuf;

/// The runtime could not start.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// The engine refused its configuration.
    #[error("the WebAssembly engine does not start: {0}")]
    Engine(#[source] wasmtime::Error),
    /// A thread could not be made.
    #[error("a thread can't be started: {0}")]
    Thread(#[source] io::Error),
    /// A folder or file of the runtime can't be used.
    #[error("{path} can't be used: {source}; check that it belongs to you and that the disk has room", path = path.display())]
    Folder {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// A package can't be run. Each is a sentence for the owner.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// A copy can't be written.
    #[error("{path} can't be written: {source}", path = path.display())]
    Unwritable {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The manifest can't be read.
    #[error("{path} can't be read: {source}", path = path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The manifest is not what it should be.
    #[error("plugin.toml of {plugin} is not valid: {reason}")]
    Manifest {
        /// The package, or the folder it lies in.
        plugin: String,
        /// What is wrong and where.
        reason: String,
    },
    /// The archive can't be read as one.
    #[error("{path} is no package: {reason}", path = path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The package is not as its publisher signed it.
    #[error("the signed package {plugin} is refused: {reason}")]
    Signature {
        /// The package.
        plugin: String,
        /// What is not as it was signed.
        reason: homeagent_package::SignatureError,
    },
    /// The file is no WebAssembly component.
    #[error("{plugin} is not a WebAssembly component: {reason}; build it with --target wasm32-wasip2")]
    NotAComponent {
        /// The package.
        plugin: String,
        /// What it is instead.
        reason: String,
    },
    /// The component was built against another contract.
    #[error(
        "{plugin} was built for {found}, and this homed speaks {expected}; rebuild it with the homeagent-sdk of this version"
    )]
    OtherContract {
        /// The package.
        plugin: String,
        /// What the component's stamp says.
        found: String,
        /// What this host speaks.
        expected: String,
    },
    /// The component can't be compiled or linked.
    #[error("{plugin} can't be loaded: {reason}")]
    Load {
        /// The package.
        plugin: String,
        /// What the engine said.
        reason: String,
    },
    /// What the plugin says of itself is not acceptable.
    #[error("{plugin} can't be loaded: {reason}")]
    Descriptor {
        /// The package.
        plugin: String,
        /// What is wrong.
        reason: String,
    },
    /// What runs in the package's slot can't be replaced now.
    #[error("{reason}")]
    Busy {
        /// Why, and what to do.
        reason: String,
    },
    /// The instance did not start.
    #[error("{plugin} did not start: {reason}")]
    Start {
        /// The package.
        plugin: String,
        /// What it said.
        reason: String,
    },
}
