//! Scripts: packages whose code is text. An interpreter, which is a component compiled once, becomes the plugin that a
//! script describes by being linked with it; from then on it is a plugin like any other.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use homeagent_contract::Kind;
use homeagent_types::ports::PluginStatus;
use sha2::{Digest, Sha256};
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Linker};

use crate::PackageError;
use crate::bindings::script::homeagent::plugin::script::{File, Program};
use crate::cache::CodeCache;
use crate::engine::ComponentEngine;
use crate::inspect;
use crate::instance::InstanceState;
use crate::manifest::Manifest;
use crate::package::{self, Content, Origin, Package, PackageInfo, read_bounded};

/// All files of a script together, in bytes.
const LARGEST_SCRIPT: u64 = 1 << 20;
const MOST_FILES: usize = 256;
/// The interface by which an interpreter reads its script.
const INTERFACE: &str = "homeagent:plugin/script@0.1.0";
/// What the names of all interfaces of plugins begin with.
const PLUGIN: &str = "homeagent:plugin/";

/// The files of a script.
pub(crate) struct Script {
    /// What the file names end in, without the point.
    ending: String,
    /// By name; the first is the one to run.
    files: Vec<(String, String)>,
}

impl Script {
    /// Reads `main` and all files beside it that have the same ending.
    pub(crate) fn read(plugin: &str, folder: &Path, main: &str) -> Result<Self, PackageError> {
        let ending = main.rsplit_once('.').map_or("", |(_, ending)| ending).to_owned();
        let mut names = vec![main.to_owned()];
        names.extend(beside(folder, main, &ending));
        let refuse = |reason: String| PackageError::Load { plugin: plugin.to_owned(), reason };
        if names.len() > MOST_FILES {
            return Err(refuse(format!("there are more than {MOST_FILES} .{ending} files beside {main}")));
        }
        let mut left = LARGEST_SCRIPT;
        let mut files = Vec::with_capacity(names.len());
        for name in names {
            let bytes = read_bounded(&folder.join(&name), left)?;
            left = left
                .checked_sub(bytes.len() as u64)
                .ok_or_else(|| refuse(format!("its .{ending} files have more than {LARGEST_SCRIPT} bytes together")))?;
            let text =
                String::from_utf8(bytes).map_err(|_| refuse(format!("{name} is not UTF-8; save it as UTF-8")))?;
            files.push((name, text));
        }
        Ok(Self { ending, files })
    }

    /// The files, by name and text.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(name, text)| (name.as_str(), text.as_str()))
    }

    pub(crate) fn digest(&self) -> Vec<u8> {
        let mut hash = Sha256::new();
        for part in self.files.iter().flat_map(|(name, text)| [name, text]) {
            // Its length first, so that no two scripts run together to the same bytes.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hash.finalize().to_vec()
    }

    /// A linker that gives an interpreter this script.
    pub(crate) fn link(
        &self,
        manifest: &Manifest,
        linker: &Linker<InstanceState>,
    ) -> wasmtime::Result<Linker<InstanceState>> {
        let files = self.files.iter().map(|(name, text)| File { name: name.clone(), text: text.clone() });
        let program =
            Program { plugin: manifest.name.clone(), version: manifest.version.clone(), files: files.collect() };
        let program = Arc::new(program);
        let mut linker = linker.clone();
        linker.instance(INTERFACE)?.func_wrap("read", move |_, (): ()| Ok((Program::clone(&program),)))?;
        Ok(linker)
    }

    /// A linker that gives an interpreter this script and nothing else that it could reach: what the interpreter imports
    /// for plugins is there and traps.
    pub(crate) fn link_adapter(
        &self,
        manifest: &Manifest,
        linker: &Linker<InstanceState>,
        interpreter: &Component,
    ) -> wasmtime::Result<Linker<InstanceState>> {
        let mut linker = self.link(manifest, linker)?;
        let engine = linker.engine().clone();
        // Not the linker's own stand-ins for all that is missing: WASI is there, and may be so under another version.
        for (interface, import) in interpreter.component_type().imports(&engine) {
            let ComponentItem::ComponentInstance(import) = import.ty else { continue };
            if interface == INTERFACE || !interface.starts_with(PLUGIN) {
                continue;
            }
            let mut traps = linker.instance(interface)?;
            for (name, function) in import.exports(&engine) {
                let ComponentItem::ComponentFunc(function) = function.ty else { continue };
                let reason = format!("an adapter has no {interface} {name}");
                if function.async_() {
                    traps.func_new_concurrent(name, move |_, _, _, _| {
                        let reason = reason.clone();
                        Box::pin(async move { Err(wasmtime::Error::msg(reason)) })
                    })?;
                } else {
                    traps.func_new(name, move |_, _, _, _| Err(wasmtime::Error::msg(reason.clone())))?;
                }
            }
        }
        Ok(linker)
    }

    /// Nothing runs scripts of this ending.
    pub(crate) fn no_interpreter(&self, plugin: &str) -> PackageError {
        let ending = &self.ending;
        let reason = format!(
            "no interpreter of .{ending} files is loaded; install one, a package with interprets = \"{ending}\""
        );
        PackageError::Load { plugin: plugin.to_owned(), reason }
    }
}

/// The other files of the folder with this ending, sorted. Hidden ones are an editor's own.
fn beside(folder: &Path, main: &str, ending: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.path().is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name != main && !name.starts_with('.'))
        .filter(|name| name.rsplit_once('.').is_some_and(|(_, its)| its == ending))
        .collect();
    names.sort();
    names
}

/// A component that runs scripts.
pub(crate) struct Interpreter {
    origin: Origin,
    /// As it was when it was loaded.
    package: PackageInfo,
    /// Why no adapter can be a script of its, where none can.
    no_adapters: Option<String>,
    /// Compiled when the first script needs it; all scripts share the code.
    compiled: OnceLock<Component>,
}

/// The interpreters that are loaded, by the ending of their scripts. Plugins that run keep the one they have.
#[derive(Default)]
pub(crate) struct InterpreterShelf(RwLock<BTreeMap<String, Arc<Interpreter>>>);

impl InterpreterShelf {
    /// Puts a package in the place of the interpreter of its scripts. Two packages can't have the same ones.
    pub(crate) fn load(&self, origin: Origin, package: Package) -> Result<(), PackageError> {
        let name = package.manifest.name.clone();
        let ending = package.manifest.interprets.clone().unwrap_or_default();
        let mut loaded = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(other) = loaded.get(&ending).filter(|other| other.package.manifest.name != name) {
            let other = &other.package.manifest.name;
            let reason = format!("the interpreter {other} has the .{ending} files; unload it first");
            return Err(PackageError::Load { plugin: name, reason });
        }
        loaded.retain(|_, other| other.package.manifest.name != name);
        let no_adapters = match &package.content {
            Content::Component(bytes) => inspect::check(&name, bytes, Kind::Adapter).err(),
            Content::Script(_) => None,
        };
        let no_adapters = no_adapters.map(|error| error.to_string());
        let interpreter = Interpreter { origin, package: package.into_info(), no_adapters, compiled: OnceLock::new() };
        loaded.insert(ending, Arc::new(interpreter));
        tracing::info!(interpreter = %name, "loaded");
        Ok(())
    }

    pub(crate) fn find(&self, script: &Script) -> Option<Arc<Interpreter>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&script.ending).cloned()
    }

    pub(crate) fn holds(&self, name: &str) -> bool {
        self.status().iter().any(|status| status.name == name)
    }

    /// What is kept of an interpreter that is loaded.
    pub(crate) fn package(&self, name: &str) -> Option<PackageInfo> {
        let loaded = self.0.read().unwrap_or_else(PoisonError::into_inner);
        loaded.values().find(|it| it.package.manifest.name == name).map(|it| it.package.clone())
    }

    /// Takes an interpreter away; what its status is from then on, or nothing if there was none.
    pub(crate) fn unload(&self, name: &str) -> Option<PluginStatus> {
        let status = self.status().into_iter().find(|status| status.name == name)?;
        self.0.write().unwrap_or_else(PoisonError::into_inner).retain(|_, it| it.package.manifest.name != name);
        Some(PluginStatus { state: "unloaded".to_owned(), ..status })
    }

    pub(crate) fn status(&self) -> Vec<PluginStatus> {
        let loaded = self.0.read().unwrap_or_else(PoisonError::into_inner);
        loaded.iter().map(|(ending, interpreter)| interpreter.status(ending)).collect()
    }
}

impl Interpreter {
    /// The compiled code. Slow the first time.
    pub(crate) fn compiled(&self, engine: &ComponentEngine, cache: &CodeCache) -> Result<&Component, PackageError> {
        match self.compiled.get() {
            Some(component) => Ok(component),
            None => {
                let (_, component) = package::compile_only(engine, cache, self.origin.read()?)?;
                // Whoever compiled it meanwhile has the same.
                Ok(self.compiled.get_or_init(|| component))
            }
        }
    }

    /// Fails where its scripts can be plugins alone.
    pub(crate) fn runs_adapters(&self, adapter: &str) -> Result<(), PackageError> {
        let Some(reason) = &self.no_adapters else { return Ok(()) };
        let reason = format!("the interpreter of its script can't run adapters: {reason}");
        Err(PackageError::Load { plugin: adapter.to_owned(), reason })
    }

    fn status(&self, ending: &str) -> PluginStatus {
        PluginStatus {
            name: self.package.manifest.name.clone(),
            version: self.package.manifest.version.clone(),
            summary: match self.no_adapters {
                Some(_) => format!("Runs plugins that are .{ending} files."),
                None => format!("Runs plugins and adapters that are .{ending} files."),
            },
            folder: self.package.place(),
            origin: if self.package.bundled { "bundled" } else { "installed" }.to_owned(),
            state: "live".to_owned(),
            reason: None,
            digest: self.package.digest.clone(),
            publisher: self.package.publisher.map(|key| key.fingerprint()),
            restarts: 0,
            calls: 0,
            waiting: 0,
            last_error: None,
            uptime_ms: 0,
            granted: Vec::new(),
            missing: Vec::new(),
            capabilities: Vec::new(),
            tools: Vec::new(),
            addresses: Vec::new(),
            sockets: Vec::new(),
        }
    }
}
