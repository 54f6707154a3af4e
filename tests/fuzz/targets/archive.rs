//! An archive is refused, or is exactly what packing its files makes.
#![no_main]

use homeagent_package::{File, MANIFEST, pack, unpack};
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: {
    // So that the fuzzer begins with one that is good.
    if let Ok(place) = std::env::var("HOMEAGENT_FUZZ_SEED") {
        let file = |name: &str, text: &str| File { name: name.to_owned(), bytes: text.as_bytes().to_vec() };
        let archive = pack(&[file(MANIFEST, "[plugin]\n"), file("main.lua", "return 1")]).expect("it can be packed");
        std::fs::write(place, archive).expect("the folder takes files");
    }
}, |bytes: &[u8]| {
    let Ok(files) = unpack(bytes) else { return };
    assert!(files.iter().any(|file| file.name == MANIFEST));
    for file in &files {
        assert!(!file.name.contains(['/', '\\', '\0']) && !file.name.starts_with('.'));
    }
    assert_eq!(pack(&files).expect("what was read can be written"), bytes);
});
