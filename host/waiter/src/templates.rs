//! `waiter plugin new`: a project for a plugin or an adapter, from templates that are part of this program.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use crate::failure::Failure;

/// A language that there is a template for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// A component; needs rustup
    Rust,
    /// A script: nothing to build
    Lua,
    /// A script: nothing to build; runs where the package interpreter-js is installed
    Js,
    /// A component; needs python3 and PyPI
    Python,
    /// A component; needs clang, lld, wasi-libc, wit-bindgen and rustup
    C,
}

/// A file of a template: its name in the project, and its text. `NAME` in the text is the plugin's name, `LIBRARY` the
/// same as cargo writes it in file names, and `SDK` the folder of the SDK.
type File = (&'static str, &'static str);

/// The text of a file below `templates`.
macro_rules! text {
    ($file:literal) => {
        include_str!(concat!("../templates/", $file))
    };
}

const RUST: &[File] = &[
    ("plugin.toml", text!("rust/plugin.toml")),
    ("Cargo.toml", text!("rust/Cargo.toml.template")),
    ("rust-toolchain.toml", include_str!("../../../rust-toolchain.toml")),
    ("src/lib.rs", text!("rust/src/lib.rs")),
    ("build.sh", text!("rust/build.sh")),
    ("README.md", text!("rust/README.md")),
    (".gitignore", text!("rust/gitignore")),
];

const LUA: &[File] = &[
    ("plugin.toml", text!("lua/plugin.toml")),
    ("main.lua", text!("lua/main.lua")),
    ("README.md", text!("lua/README.md")),
];

const JS: &[File] =
    &[("plugin.toml", text!("js/plugin.toml")), ("main.js", text!("js/main.js")), ("README.md", text!("js/README.md"))];

const PYTHON: &[File] = &[
    ("plugin.toml", text!("python/plugin.toml")),
    ("main.py", text!("python/main.py")),
    ("build.sh", text!("python/build.sh")),
    ("README.md", text!("python/README.md")),
    (".gitignore", text!("python/gitignore")),
];

const C: &[File] = &[
    ("plugin.toml", text!("c/plugin.toml")),
    ("plugin.c", text!("c/plugin.c")),
    ("build.sh", text!("c/build.sh")),
    ("README.md", text!("c/README.md")),
    (".gitignore", text!("c/gitignore")),
];

const ADAPTER_RUST: &[File] = &[
    ("plugin.toml", text!("adapter-rust/plugin.toml")),
    ("Cargo.toml", text!("adapter-rust/Cargo.toml.template")),
    ("rust-toolchain.toml", include_str!("../../../rust-toolchain.toml")),
    ("src/lib.rs", text!("adapter-rust/src/lib.rs")),
    ("build.sh", text!("rust/build.sh")),
    ("README.md", text!("adapter-rust/README.md")),
    (".gitignore", text!("rust/gitignore")),
];

const ADAPTER_LUA: &[File] = &[
    ("plugin.toml", text!("adapter-lua/plugin.toml")),
    ("main.lua", text!("adapter-lua/main.lua")),
    ("README.md", text!("adapter-lua/README.md")),
];

const ADAPTER_JS: &[File] = &[
    ("plugin.toml", text!("adapter-js/plugin.toml")),
    ("main.js", text!("adapter-js/main.js")),
    ("README.md", text!("adapter-js/README.md")),
];

/// What a project is to become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Project {
    /// A plugin with a tool.
    Plugin,
    /// An LLM adapter.
    Adapter,
}

impl Project {
    /// What it is called in a sentence.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Project::Plugin => "a plugin",
            Project::Adapter => "an adapter",
        }
    }
}

impl Language {
    /// The template; there is one for plugins in every language, and for adapters in some.
    fn files(self, project: Project) -> Option<&'static [File]> {
        Some(match (project, self) {
            (Project::Plugin, Language::Rust) => RUST,
            (Project::Plugin, Language::Lua) => LUA,
            (Project::Plugin, Language::Js) => JS,
            (Project::Plugin, Language::Python) => PYTHON,
            (Project::Plugin, Language::C) => C,
            (Project::Adapter, Language::Rust) => ADAPTER_RUST,
            (Project::Adapter, Language::Lua) => ADAPTER_LUA,
            (Project::Adapter, Language::Js) => ADAPTER_JS,
            (Project::Adapter, Language::Python | Language::C) => return None,
        })
    }

    /// The folder of the source tree that projects in this language refer to.
    fn sdk(self) -> Option<&'static str> {
        match self {
            Language::Rust | Language::Python | Language::C => Some("guest-sdk"),
            Language::Lua | Language::Js => None,
        }
    }

    /// What makes the project a plugin, when something has to.
    pub(crate) fn command(self) -> Option<&'static str> {
        match self {
            Language::Rust | Language::Python | Language::C => Some("./build.sh"),
            Language::Lua | Language::Js => None,
        }
    }
}

/// Makes the project in the folder `name` below `parent`. `source` is the source tree of HomeAgent, where it is not found
/// above `parent` or above this program.
pub(crate) fn create(
    parent: &Path,
    name: &str,
    project: Project,
    language: Language,
    source: Option<&Path>,
) -> Result<PathBuf, Failure> {
    check_name(name)?;
    let files = language.files(project).ok_or_else(|| {
        Failure::Usage(
            "there are templates for adapters in rust, lua and js; choose one of them with --lang".to_owned(),
        )
    })?;
    let sdk = language.sdk().map(|folder| find_sdk(parent, folder, source)).transpose()?.unwrap_or_default();
    let folder = parent.join(name);
    let failed = |path: &Path, error: io::Error| Failure::Failed(format!("{} can't be made: {error}", path.display()));
    // Not `create_dir_all`: what is there already stays as it is.
    fs::create_dir(&folder).map_err(|error| failed(&folder, error))?;
    for (file, text) in files {
        let path = folder.join(file);
        let text = text.replace("NAME", name).replace("LIBRARY", &name.replace('-', "_")).replace("SDK", &sdk);
        let inside = path.parent().unwrap_or(&folder);
        fs::create_dir_all(inside).map_err(|error| failed(inside, error))?;
        fs::write(&path, text).map_err(|error| failed(&path, error))?;
        if path.extension().is_some_and(|extension| extension == "sh") {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(|error| failed(&path, error))?;
        }
    }
    Ok(folder)
}

/// The names that a plugin can have, and that are a tool's and a package's as well.
fn check_name(name: &str) -> Result<(), Failure> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    if begins && name.len() <= 32 && name.chars().all(fits) {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "{name:?} can't be a plugin's name: it begins with a letter and has at most 32 of the letters a-z, digits, - and _"
    )))
}

fn find_sdk(parent: &Path, folder: &str, source: Option<&Path>) -> Result<String, Failure> {
    let program = std::env::current_exe().ok();
    let parent = fs::canonicalize(parent).ok();
    let above = [parent.as_deref(), program.as_deref()].into_iter().flatten().flat_map(Path::ancestors);
    let places: Vec<&Path> = source.map_or_else(|| above.collect(), |source| vec![source]);
    let found = places.iter().map(|place| place.join(folder)).find(|sdk| sdk.join("README.md").is_file());
    let found = found.and_then(|sdk| fs::canonicalize(sdk).ok());
    found.map(|sdk| sdk.display().to_string()).ok_or_else(|| {
        Failure::Failed(format!(
            "the folder {folder} of HomeAgent's source is not found; say with --source where the source is"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_never_written_over() {
        let parent = tempfile::tempdir().expect("a folder");
        fs::create_dir(parent.path().join("mine")).expect("a folder");
        let refused = create(parent.path(), "mine", Project::Plugin, Language::Lua, None).expect_err("it is there");
        assert!(refused.to_string().contains("mine"), "{refused}");
        assert!(fs::read_dir(parent.path().join("mine")).expect("a folder").next().is_none());
    }

    #[test]
    fn names_that_no_plugin_can_have_are_refused() {
        let parent = tempfile::tempdir().expect("a folder");
        for name in ["", "Mine", "../mine", "1st", "a b", &"x".repeat(40)] {
            create(parent.path(), name, Project::Plugin, Language::Lua, None).expect_err("it can't be a name");
        }
        assert!(fs::read_dir(parent.path()).expect("a folder").next().is_none());
    }

    #[test]
    fn a_project_says_its_name_everywhere_and_nothing_else() {
        let parent = tempfile::tempdir().expect("a folder");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let projects = [Project::Plugin, Project::Adapter].into_iter();
        let all =
            projects.flat_map(|project| Language::value_variants().iter().map(move |language| (project, *language)));
        for (project, language) in all {
            let Some(files) = language.files(project) else { continue };
            let name = format!("my-{project:?}-{language:?}").to_lowercase();
            let folder = create(parent.path(), &name, project, language, Some(&source)).expect("a project");
            for (file, _) in files {
                let text = fs::read_to_string(folder.join(file)).expect("the file is there");
                assert!(!["NAME", "LIBRARY", "\"SDK"].iter().any(|word| text.contains(word)), "{file}: {text}");
            }
            assert!(fs::read_to_string(folder.join("plugin.toml")).expect("a manifest").contains(&name));
        }
    }

    #[test]
    fn a_language_without_a_template_for_adapters_is_refused_with_those_that_have_one() {
        let parent = tempfile::tempdir().expect("a folder");
        let refused = create(parent.path(), "mine", Project::Adapter, Language::C, None).expect_err("there is none");
        assert!(refused.to_string().contains("lua"), "{refused}");
        assert!(fs::read_dir(parent.path()).expect("a folder").next().is_none());
    }
}
