//! Where packages are looked for, and what became of each.

use std::fs;
use std::path::Path;

use homeagent_types::ports::{PluginFolder, PluginFolders, PluginStatus};

use super::Inner;
use crate::package::Origin;

impl Inner {
    /// Looks at the folder of installed packages as it is now.
    pub(super) fn folders(&self) -> PluginFolders {
        let plugins = self.list();
        let folder = self.plugins.display().to_string();
        let entries = match fs::read_dir(&self.plugins) {
            Ok(entries) => entries,
            // It is made with the first package.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return PluginFolders { folder, problem: None, entries: Vec::new() };
            }
            Err(error) => {
                let problem = Some(format!("it can't be read: {error}; check that it belongs to you"));
                return PluginFolders { folder, problem, entries: Vec::new() };
            }
        };
        let mut paths: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
        paths.sort();
        let entries = paths.iter().map(|path| entry(path, &plugins)).collect();
        PluginFolders { folder, problem: None, entries }
    }
}

fn entry(path: &Path, plugins: &[PluginStatus]) -> PluginFolder {
    let shown = path.display().to_string();
    let told = |plugin: Option<String>, state: &str, reason: Option<String>| PluginFolder {
        path: shown.clone(),
        plugin,
        state: state.to_owned(),
        reason,
    };
    if !path.is_dir() {
        return told(None, "passed-over", Some("it is not a folder".to_owned()));
    }
    if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')) {
        return told(None, "passed-over", Some("its name begins with a dot".to_owned()));
    }
    let manifest = match Origin::Installed(path.to_owned()).manifest() {
        Ok(manifest) => manifest,
        Err(error) => return told(None, "refused", Some(error.to_string())),
    };
    let name = Some(manifest.name.clone());
    // Under another name where a folder that can't be read was listed beside a plugin of that name.
    if let Some(plugin) = plugins.iter().find(|plugin| plugin.folder.as_deref() == Some(shown.as_str())) {
        return told(name, &plugin.state, plugin.reason.clone());
    }
    let reason = match plugins.iter().find(|plugin| plugin.name == manifest.name).map(|plugin| &plugin.folder) {
        Some(Some(first)) => {
            let reason = format!("the plugin {} is that of {first}; remove one of the two", manifest.name);
            return told(name, "passed-over", Some(reason));
        }
        Some(None) => {
            format!("the bundled {0} runs; waiter plugin reload {0} puts this one in its place", manifest.name)
        }
        None => format!("waiter plugin load {} loads it", manifest.name),
    };
    told(name, "not-loaded", Some(reason))
}
