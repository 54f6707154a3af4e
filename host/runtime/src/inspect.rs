//! Reads a file before it is compiled: is it a component, and of which contract?

use homeagent_contract::{Kind, SECTION, Stamp, VERSION};
use wasmparser::{Encoding, Parser, Payload};

use crate::PackageError;

/// Checks that `bytes` is a component of `kind`, stamped with the contract this host speaks. It may be of another kind,
/// too.
pub(crate) fn check(plugin: &str, bytes: &[u8], kind: Kind) -> Result<(), PackageError> {
    let mut stamps =
        read_stamps(bytes).map_err(|reason| PackageError::NotAComponent { plugin: plugin.to_owned(), reason })?;
    // That of the kind first, where there is one.
    stamps.sort_by_key(|stamp| stamp.package != kind.name());
    let expected = format!("{}@{VERSION} ({})", kind.name(), kind.digest());
    let found = match stamps.into_iter().next() {
        Some(stamp) if stamp.package != kind.name() => {
            let reason = format!(
                "it is of the kind {}, and plugin.toml says {}; put the right kind there",
                stamp.package,
                kind.name()
            );
            return Err(PackageError::Manifest { plugin: plugin.to_owned(), reason });
        }
        None => "no HomeAgent contract at all".to_owned(),
        Some(stamp) if stamp.digest == kind.digest() => return Ok(()),
        Some(stamp) => format!("the contract {}@{} ({})", stamp.package, stamp.version, stamp.digest),
    };
    Err(PackageError::OtherContract { plugin: plugin.to_owned(), found, expected })
}

fn read_stamps(bytes: &[u8]) -> Result<Vec<Stamp>, String> {
    if !bytes.starts_with(b"\0asm") {
        return Err("the file does not begin as WebAssembly does".into());
    }
    let mut outermost = true;
    let mut stamps = Vec::new();
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(|error| format!("the file is damaged: {error}"))? {
            Payload::Version { encoding, .. } if outermost => {
                if encoding == Encoding::Module {
                    return Err("it is a core module".into());
                }
                outermost = false;
            }
            Payload::CustomSection(section) if section.name() == SECTION => {
                stamps.extend(Stamp::parse_all(section.data()));
            }
            _ => {}
        }
    }
    Ok(stamps)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A component with one custom section of the given name and content.
    fn component(name: &str, content: &[u8]) -> Vec<u8> {
        let mut section = vec![u8::try_from(name.len()).expect("a short name")];
        section.extend_from_slice(name.as_bytes());
        section.extend_from_slice(content);
        let mut bytes = b"\0asm\x0d\0\x01\0\0".to_vec();
        bytes.push(u8::try_from(section.len()).expect("a short section"));
        bytes.extend(section);
        bytes
    }

    #[test]
    fn a_component_of_this_contract_passes() {
        let bytes = component(SECTION, &homeagent_contract::stamp(Kind::Plugin));
        check("x", &bytes, Kind::Plugin).expect("the stamp is right");
    }

    #[test]
    fn a_component_of_both_kinds_passes_as_either() {
        let mut bytes = component(SECTION, &homeagent_contract::stamp(Kind::Plugin));
        bytes.extend_from_slice(
            &component(SECTION, &homeagent_contract::stamp(Kind::Adapter))[b"\0asm\x0d\0\x01\0".len()..],
        );
        for kind in [Kind::Plugin, Kind::Adapter] {
            check("x", &bytes, kind).expect("the stamp is there");
        }
    }

    #[test]
    fn every_other_file_is_refused_with_what_to_do() {
        let module = b"\0asm\x01\0\0\0";
        let damaged = b"\0asm\x0d\0\x01\0\x07\xff\xff";
        let files: [(&[u8], &str); 6] = [
            (b"hello", "not a WebAssembly component"),
            (b"", "not a WebAssembly component"),
            (module, "it is a core module; build it with --target wasm32-wasip2"),
            (damaged, "damaged"),
            (&component("name", b""), "no HomeAgent contract at all"),
            (&component(SECTION, b"plugin@9.9.9 00ff "), "plugin@9.9.9 (00ff), and this homed speaks plugin@0.1.0"),
        ];
        for (bytes, words) in files {
            let error = check("x", bytes, Kind::Plugin).expect_err("it is no plugin").to_string();
            assert!(error.contains(words), "{error} does not say {words}");
        }
        let adapter = component(SECTION, &homeagent_contract::stamp(Kind::Adapter));
        let error = check("x", &adapter, Kind::Plugin).expect_err("it is an adapter").to_string();
        assert!(error.contains("kind adapter"), "{error}");
    }
}
