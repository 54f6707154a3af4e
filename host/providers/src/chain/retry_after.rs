//! When a vendor says to come back.

/// Milliseconds from now, by `retry-after-ms` or `retry-after` (seconds, or a date).
pub(super) fn retry_after_ms(headers: &[(String, String)]) -> Option<u64> {
    let value = |name: &str| headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.trim());
    if let Some(ms) = value("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return millis(ms);
    }
    let text = value("retry-after")?;
    if let Ok(seconds) = text.parse::<f64>() {
        return millis(seconds * 1000.0);
    }
    let then = date(text)?;
    // By the vendor's own clock where it tells the time: this machine's may be wrong.
    let now = value("date").and_then(date).unwrap_or_else(jiff::Timestamp::now);
    u64::try_from(then.as_millisecond() - now.as_millisecond()).ok()
}

fn date(text: &str) -> Option<jiff::Timestamp> {
    jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()
}

fn millis(ms: f64) -> Option<u64> {
    // The conversion stops at the type's limits.
    (ms.is_finite() && ms >= 0.0).then_some(ms.ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::retry_after_ms;

    fn of(name: &str, value: &str) -> Option<u64> {
        retry_after_ms(&[("content-type".to_owned(), "x".to_owned()), (name.to_owned(), value.to_owned())])
    }

    #[test]
    fn seconds_milliseconds_and_dates_are_understood() {
        assert_eq!(of("retry-after", "20"), Some(20_000));
        assert_eq!(of("retry-after", " 0.5 "), Some(500));
        assert_eq!(of("retry-after-ms", "1500"), Some(1500));
        assert!(of("retry-after", "Wed, 21 Oct 2099 07:28:00 GMT").is_some_and(|ms| ms > 1_000_000));
        for nonsense in ["", "soon", "-1", "NaN", "Wed, 21 Oct 2015 07:28:00 GMT"] {
            assert_eq!(of("retry-after", nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn a_date_counts_from_the_vendors_own_clock() {
        let headers = [("date", "Wed, 21 Oct 2015 07:28:00 GMT"), ("retry-after", "Wed, 21 Oct 2015 07:28:30 GMT")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(retry_after_ms(&headers), Some(30_000));
    }
}
