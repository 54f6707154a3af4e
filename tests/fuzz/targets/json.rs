//! What passes the check of JSON that goes on as text is read by everyone after it. Numbers beyond what a reader holds are
//! the reader's matter: no digit of theirs is lost on the way.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|text: &str| {
    if homeagent_types::check_json(text).is_err() {
        return;
    }
    match serde_json::from_str::<Value>(text) {
        Ok(_) => {}
        Err(error) => assert!(error.to_string().starts_with("number out of range"), "{error}"),
    }
});
