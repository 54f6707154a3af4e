//! How much is kept, and for how long.

use std::time::Duration;

use homeagent_settings::Settings;

const MIB: u64 = 1 << 20;
const HOUR: Duration = Duration::from_secs(3600);

/// How much is kept, and for how long. Read anew each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest medium, in bytes.
    pub one: u64,
    /// All of them together, in bytes.
    pub all: u64,
    /// How long a medium stays that nobody uses.
    pub keep: Duration,
    /// How long fetching one may take.
    pub fetch: Duration,
    /// How long a link leads to a medium.
    pub link: Duration,
}

impl Limits {
    /// As they are set.
    #[must_use]
    pub fn read(settings: &Settings) -> Self {
        let whole =
            |key: &str, usual: u64| settings.integer(key).ok().and_then(|it| u64::try_from(it).ok()).unwrap_or(usual);
        Self {
            one: whole("core.media.file_mib", 20) * MIB,
            all: whole("core.media.total_mib", 1024) * MIB,
            keep: HOUR * times(whole("core.media.keep_days", 30) * 24),
            fetch: settings.duration("core.media.fetch_seconds").unwrap_or(Duration::from_secs(20)),
            link: HOUR * times(whole("core.media.link_hours", 24)),
        }
    }
}

fn times(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
