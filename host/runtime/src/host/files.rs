//! `files`: the folders that were granted, and the plugin's own.

use std::sync::Arc;

use homeagent_types::CallError;
use wasmtime::component::Accessor;

use super::Call;
use crate::bindings::{files, types};
use crate::files::{GuestPath, Kind, Limits, Root, SCRATCH};
use crate::instance::{HostData, InstanceState};
use crate::wants::Want as _;
use crate::wants::files::{FilesWant, FolderWant};

/// A call into one of the plugin's folders.
struct FolderCall {
    call: Call,
    folder: String,
    /// Nothing for the plugin's own.
    want: Option<FolderWant>,
    /// What is done, in words.
    attempt: String,
}

impl FolderCall {
    fn new<T>(accessor: &Accessor<T, HostData>, doing: &str, folder: String, path: &str) -> Result<Self, CallError> {
        let shown: String = path.escape_debug().take(200).collect();
        let attempt = format!("{doing} {folder}/{shown}");
        let mut want = None;
        let call = Call::new(accessor, |state| {
            let mut granted: FilesWant = state.granted(&attempt)?;
            want = granted.folders.remove(&folder);
            if want.is_none() && folder != SCRATCH {
                let asked: Option<FilesWant> = state.slot.grants.asked();
                if asked.is_some_and(|asked| asked.folders.contains_key(&folder)) {
                    return Err(state.slot.denial(FilesWant::CAPABILITY, &*attempt));
                }
                let known: Vec<_> = granted.folders.into_keys().chain([SCRATCH.to_owned()]).collect();
                let known = known.join(", ");
                return Err(CallError::NotFound(format!("the plugin has no folder {folder:?}; there are {known}")));
            }
            Ok(())
        })?;
        Ok(Self { call, folder, want, attempt })
    }

    /// Does it where it may wait for the disk. What was refused because of where it leads, or of how much it would be, the
    /// owner is told.
    async fn run<R: Send + 'static>(
        self,
        bytes: usize,
        work: impl FnOnce(Root, Limits) -> Result<R, CallError> + Send + 'static,
    ) -> Result<R, CallError> {
        let Self { call, folder, want, attempt } = self;
        let Call { slot, services } = call;
        let mib = |key, fallback| services.number(key, fallback) << 20;
        let limits = Limits {
            file: mib("core.plugin.file_mib", 1024),
            scratch: mib("core.plugin.data_mib", 64),
            reserve: mib("core.plugin.disk_reserve_mib", 256),
        };
        let (home, plugin) = (services.local.home.clone(), slot.grants.keeps_under());
        let work = move || {
            let root = match want {
                Some(want) => Root::granted(&home, &folder, &want)?,
                None => Root::own(&home, &plugin)?,
            };
            work(root, limits)
        };
        let done = slot.disk.run(&services.local.host, bytes, work).await;
        done.map_err(|error| match error {
            CallError::Invalid(_) | CallError::Conflict(_) | CallError::NotStored(_) => slot.refused(&attempt, error),
            error => error,
        })
    }

    /// Puts content into a file, in one of the ways there are.
    async fn put(
        self,
        path: String,
        content: Vec<u8>,
        put: fn(&Root, &GuestPath, &[u8], Limits) -> Result<(), CallError>,
    ) -> Result<(), CallError> {
        let (slot, attempt) = (Arc::clone(&self.call.slot), self.attempt.clone());
        let bytes = path.len() + content.len();
        let work = move |root: Root, limits| {
            slot.warn_of_secrets(&attempt, &content);
            put(&root, &GuestPath::parse(&path)?, &content, limits)
        };
        self.run(bytes, work).await
    }
}

impl<T: Send + 'static> files::HostWithStore<T> for HostData {
    async fn read(
        accessor: &Accessor<T, Self>,
        folder: String,
        path: String,
        offset: u64,
        length: u64,
    ) -> Result<Vec<u8>, types::Error> {
        let call = FolderCall::new(accessor, "reading", folder, &path)?;
        Ok(call.run(path.len(), move |root, _| root.read(&GuestPath::parse(&path)?, offset, length)).await?)
    }

    async fn write(
        accessor: &Accessor<T, Self>,
        folder: String,
        path: String,
        content: Vec<u8>,
    ) -> Result<(), types::Error> {
        Ok(FolderCall::new(accessor, "writing", folder, &path)?.put(path, content, Root::write).await?)
    }

    async fn append(
        accessor: &Accessor<T, Self>,
        folder: String,
        path: String,
        content: Vec<u8>,
    ) -> Result<(), types::Error> {
        Ok(FolderCall::new(accessor, "writing", folder, &path)?.put(path, content, Root::append).await?)
    }

    async fn list(
        accessor: &Accessor<T, Self>,
        folder: String,
        path: String,
        after: Option<String>,
    ) -> Result<Vec<files::Entry>, types::Error> {
        let call = FolderCall::new(accessor, "listing", folder, &path)?;
        let bytes = path.len() + after.as_ref().map_or(0, String::len);
        let listed = call.run(bytes, move |root, _| root.list(&GuestPath::parse(&path)?, after.as_deref())).await?;
        Ok(listed.into_iter().map(|(name, kind)| files::Entry { name, kind: kind.into() }).collect())
    }

    async fn stat(accessor: &Accessor<T, Self>, folder: String, path: String) -> Result<files::About, types::Error> {
        let call = FolderCall::new(accessor, "looking at", folder, &path)?;
        let about = call.run(path.len(), move |root, _| root.stat(&GuestPath::parse(&path)?)).await?;
        Ok(files::About { kind: about.kind.into(), size: about.size, modified: about.modified, meta: Vec::new() })
    }

    async fn make_folder(accessor: &Accessor<T, Self>, folder: String, path: String) -> Result<(), types::Error> {
        let call = FolderCall::new(accessor, "making the folder", folder, &path)?;
        Ok(call.run(path.len(), move |root, limits| root.make_folder(&GuestPath::parse(&path)?, limits)).await?)
    }

    async fn remove(accessor: &Accessor<T, Self>, folder: String, path: String) -> Result<(), types::Error> {
        let call = FolderCall::new(accessor, "removing", folder, &path)?;
        Ok(call.run(path.len(), move |root, _| root.remove(&GuestPath::parse(&path)?)).await?)
    }

    async fn rename(
        accessor: &Accessor<T, Self>,
        folder: String,
        from: String,
        to: String,
    ) -> Result<(), types::Error> {
        let call = FolderCall::new(accessor, "moving", folder, &from)?;
        let bytes = from.len() + to.len();
        let work = move |root: Root, _| root.rename(&GuestPath::parse(&from)?, &GuestPath::parse(&to)?);
        Ok(call.run(bytes, work).await?)
    }
}

impl files::Host for &mut InstanceState {
    fn folders(&mut self) -> Result<Vec<files::Folder>, types::Error> {
        let granted: FilesWant = self.granted("listing its folders")?;
        let own = files::Folder { name: SCRATCH.to_owned(), writable: true };
        let folders = granted.folders.into_iter();
        let folders = folders.map(|(name, want)| files::Folder { name, writable: want.write });
        Ok(folders.chain([own]).collect())
    }
}

impl From<Kind> for files::Kind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::File => Self::File,
            Kind::Folder => Self::Folder,
            Kind::Link => Self::Link,
            Kind::Other => Self::Other,
        }
    }
}
