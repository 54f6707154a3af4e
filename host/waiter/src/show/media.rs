//! Media.

use jiff::tz::TimeZone;
use serde::Deserialize;

use super::moment;
use crate::client::read;
use crate::failure::Failure;
use crate::table::Table;

/// As many digits of an address as say which it is.
const SHORT: usize = 16;

#[derive(Deserialize)]
struct Medium {
    address: String,
    mime: String,
    bytes: u64,
    used_at: i64,
    in_use: bool,
}

/// All media that are kept.
pub(crate) fn list(answer: &str) -> Result<String, Failure> {
    let media: Vec<Medium> = read(answer)?;
    let mut table = Table::new(&["ADDRESS", "TYPE", "SIZE", "USED"]);
    for medium in &media {
        let address: String = medium.address.chars().take(SHORT).collect();
        let used = match medium.in_use {
            true => "now".to_owned(),
            false => moment(medium.used_at, &TimeZone::system(), "%Y-%m-%d %H:%M"),
        };
        table.row(&[&address, &medium.mime, &size(medium.bytes), &used]);
    }
    let mut text = table.or("nothing is kept");
    if !media.is_empty() {
        text.push_str(&format!("{} together\n", size(media.iter().map(|medium| medium.bytes).sum())));
    }
    Ok(text)
}

/// A size for people.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", bytes.div_ceil(1 << 10)),
        _ => format!("{} MiB", bytes.div_ceil(1 << 20)),
    }
}
