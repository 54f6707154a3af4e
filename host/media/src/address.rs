//! The name of a medium: the digest of its bytes.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

/// Digits of the short form, by which a medium is mentioned where people and models read.
const SHORT: usize = 16;

/// The digits of the whole form.
const WHOLE: usize = 64;

/// The SHA-256 of a medium's bytes. It is written in hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address([u8; 32]);

/// A text that is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an address of a medium has {SHORT} to {WHOLE} hexadecimal digits")]
pub struct NoAddress;

impl Address {
    /// That of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// As many digits as nobody guesses; [`crate::Store::find`] takes them for the whole.
    #[must_use]
    pub fn short(&self) -> String {
        let mut text = self.to_string();
        text.truncate(SHORT);
        text
    }
}

/// The beginning of an address, long enough to be one.
pub(crate) fn beginning(text: &str) -> Result<String, NoAddress> {
    let text = text.trim();
    let text = text.strip_prefix("media:").unwrap_or(text);
    let fits = (SHORT..=WHOLE).contains(&text.len()) && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    if fits { Ok(text.to_ascii_lowercase()) } else { Err(NoAddress) }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Address {
    type Err = NoAddress;

    fn from_str(text: &str) -> Result<Self, NoAddress> {
        let text = beginning(text)?;
        if text.len() != WHOLE {
            return Err(NoAddress);
        }
        let mut bytes = [0; 32];
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digits = std::str::from_utf8(digits).map_err(|_| NoAddress)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| NoAddress)?;
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_is_written() {
        let address = Address::of(b"hello");
        assert_eq!(address.to_string(), "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
        assert_eq!(address.to_string().parse(), Ok(address));
        assert_eq!(address.to_string().to_uppercase().parse(), Ok(address));
        assert_eq!(format!("media:{address}").parse(), Ok(address));
        assert_eq!(address.short(), "2cf24dba5fb0a30e");
        for none in ["", "2cf2", "../../../../../../etc/passwd", &"g".repeat(64), &"a".repeat(65), &"é".repeat(32)] {
            assert_eq!(none.parse::<Address>(), Err(NoAddress), "{none}");
            assert_eq!(beginning(none), Err(NoAddress), "{none}");
        }
    }
}
