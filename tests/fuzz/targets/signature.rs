//! A signature is refused, or is the one that was made: the fuzzer has no key.
#![no_main]

use homeagent_package::{File, MANIFEST, SigningKey, sign, verify};
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: {
    // So that the fuzzer begins with one that is good.
    if let Ok(place) = std::env::var("HOMEAGENT_FUZZ_SEED") {
        std::fs::write(place, sign(&files(), &key())).expect("the folder takes files");
    }
}, |bytes: &[u8]| {
    let good = sign(&files(), &key());
    match verify(&files(), bytes) {
        Ok(publisher) => assert!(bytes == good && publisher == key().public()),
        Err(_) => assert!(bytes != good),
    }
});

fn key() -> SigningKey {
    SigningKey::from_text(&format!("homeagent signing key: {}\n", "1".repeat(64))).expect("it is a key")
}

fn files() -> Vec<File> {
    let file = |name: &str, text: &str| File { name: name.to_owned(), bytes: text.as_bytes().to_vec() };
    vec![file(MANIFEST, "[plugin]\n"), file("main.lua", "return 1")]
}
