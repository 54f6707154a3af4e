//! Builds components of this workspace from a build script.
//!
//! The components are compiled by a cargo of their own, always in the profile `component`, into a folder of their own
//! beside the outer build's, which all outer profiles share. The outer build's variables are taken away from it: they
//! speak of another target.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use sha2::{Digest as _, Sha256};

/// Variables of the outer build that would change the inner one.
const OUTER: [&str; 9] = [
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET",
    "CARGO_BUILD_RUSTFLAGS",
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC",
    "RUSTDOCFLAGS",
];

/// Compiles the components in these folders (relative to the workspace), each with the name of its package, and writes `components.rs` into the script's output folder:
/// `&[("<folder name>", include_str!(<plugin.toml>), include_bytes!(<component>), "<the component's SHA-256>"), ...]`.
///
/// # Panics
/// When the build fails; cargo shows the panic's text as the reason.
pub fn build(workspace: &Path, components: &[(PathBuf, String)]) {
    let (folders, packages): (Vec<_>, Vec<_>) = components.iter().cloned().unzip();
    rerun_on_sources(workspace, &folders);
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    // OUT_DIR is <target>/<profile>/build/<package>-<hash>/out.
    let target = out.ancestors().nth(4).expect("OUT_DIR lies in a target folder").join("components");
    compile(workspace, &packages, &target);
    let built = target.join("wasm32-wasip2/component");
    let mut code = String::from("&[\n");
    for (folder, package) in folders.iter().zip(&packages) {
        // Copied, so that a later build of the components does not change what this one embeds.
        let manifest = out.join(format!("{package}.toml"));
        fs::copy(workspace.join(folder).join("plugin.toml"), &manifest)
            .expect("a component has a plugin.toml beside it");
        let component = out.join(format!("{package}.wasm"));
        let file = built.join(format!("{}.wasm", package.replace('-', "_")));
        fs::copy(&file, &component).unwrap_or_else(|error| panic!("{} was not built: {error}", file.display()));
        code.push_str(&format!(
            "    ({:?}, include_str!({:?}), include_bytes!({:?}), {:?}),\n",
            name(folder),
            manifest.display().to_string(),
            component.display().to_string(),
            digest(&component)
        ));
    }
    code.push_str("]\n");
    fs::write(out.join("components.rs"), code).expect("the output folder takes files");
}

/// The SHA-256 of a file, in hexadecimal digits.
fn digest(file: &Path) -> String {
    let bytes = fs::read(file).expect("the output folder can be read");
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn name(folder: &Path) -> &str {
    folder.file_name().and_then(|name| name.to_str()).expect("a component's folder has a plain name")
}

fn rerun_on_sources(workspace: &Path, folders: &[PathBuf]) {
    let shared = [
        "Cargo.toml",
        "Cargo.lock",
        "rust-toolchain.toml",
        "wit/Cargo.toml",
        "wit/build.rs",
        "wit/plugin",
        "wit/adapter",
        "wit/src",
        "guest-sdk/Cargo.toml",
        "guest-sdk/build.rs",
        "guest-sdk/src",
        "guest-sdk/adapters",
    ];
    for path in shared.iter().map(Path::new).chain(folders.iter().map(PathBuf::as_path)) {
        println!("cargo::rerun-if-changed={}", workspace.join(path).display());
    }
}

fn compile(workspace: &Path, packages: &[String], target: &Path) {
    let cargo = env::var_os("CARGO").expect("cargo sets CARGO");
    let mut command = Command::new(cargo);
    command.current_dir(workspace).args(["build", "--locked", "--profile", "component"]);
    command.args(["--target", "wasm32-wasip2", "--target-dir"]).arg(target);
    for package in packages {
        command.args(["--package", package]);
    }
    for variable in OUTER {
        command.env_remove(variable);
    }
    let profile =
        env::vars_os().map(|(name, _)| name).filter(|name| name.to_string_lossy().starts_with("CARGO_PROFILE_"));
    for variable in profile.collect::<Vec<_>>() {
        command.env_remove(variable);
    }
    let status = command.status().unwrap_or_else(|error| panic!("cargo can't be run for the components: {error}"));
    assert!(
        status.success(),
        "the components could not be built (see above); if the target wasm32-wasip2 is missing, run: \
         rustup target add wasm32-wasip2"
    );
}
