//! Computes the digest of each WIT package, over its declarations alone: comments and spacing do not change a contract.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use sha2::{Digest, Sha256};

fn main() {
    let mut code = String::new();
    for package in ["plugin", "adapter"] {
        println!("cargo::rerun-if-changed={package}");
        let digest = digest(Path::new(package));
        let name = package.to_uppercase();
        writeln!(
            code,
            "/// The first 32 hexadecimal digits of the SHA-256 of the package `homeagent:{package}`.\n\
             pub const {name}_DIGEST: &str = \"{digest}\";"
        )
        .expect("writing to a string does not fail");
    }
    let out = Path::new(&env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join("digests.rs");
    fs::write(out, code).expect("the build folder takes files");
}

fn digest(folder: &Path) -> String {
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("the WIT folder stands beside this script")
        .map(|entry| entry.expect("the WIT folder can be listed").path())
        .collect();
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        let text = fs::read_to_string(file).expect("WIT files are UTF-8");
        for line in text.lines() {
            let declaration = line.split("//").next().unwrap_or_default();
            for word in declaration.split_whitespace() {
                hash.update(word);
                hash.update(b" ");
            }
        }
    }
    hash.finalize().iter().take(16).fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string does not fail");
        text
    })
}
