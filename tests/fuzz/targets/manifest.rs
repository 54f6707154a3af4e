//! Any text is a manifest or is refused with a sentence.
#![no_main]

use homeagent_runtime::{CAPABILITIES, Manifest};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| match Manifest::parse("fuzzed", text) {
    Ok(manifest) => {
        assert!((1..=64).contains(&manifest.name.len()));
        assert!(manifest.wants.keys().all(|capability| CAPABILITIES.contains(&capability.as_str())));
    }
    Err(refused) => assert!(!refused.to_string().is_empty()),
});
