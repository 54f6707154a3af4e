//! The one function of `js-sys` that luars calls, on WASI's clock.

/// JavaScript's clock.
#[derive(Debug)]
pub struct Date;

impl Date {
    /// Milliseconds since 1970.
    #[must_use]
    pub fn now() -> f64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.unwrap_or_default().as_secs_f64() * 1000.0
    }
}
