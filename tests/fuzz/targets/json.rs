//! What passes the check of JSON that goes on as text is JSON to everyone after it.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = homeagent_types::check_json(text);
});
