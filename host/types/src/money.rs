//! Sums of money, exact: whole billionths of a currency's unit. Currencies are never added to one another.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::ToSchema;

/// How many of them a unit has.
const UNIT: u64 = 1_000_000_000;
/// Digits behind the point.
const DIGITS: usize = 9;
/// What stands for tokens where an amount has no currency.
const TOKENS: &str = "tokens";

/// So many billionths of the unit of some currency. As a text it is a decimal number, such as `0.0042`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, ToSchema)]
#[schema(value_type = String, example = "0.0042")]
pub struct Nano(pub u64);

impl Nano {
    /// Both together; the most there can be where that is more.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self(self.0.saturating_add(more.0))
    }

    /// What is left without `less`.
    #[must_use]
    pub fn minus(self, less: Self) -> Self {
        Self(self.0.saturating_sub(less.0))
    }
}

/// A text is no sum of money.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not a number with at most nine digits behind the point, such as 0.28")]
pub struct NotMoney;

impl FromStr for Nano {
    type Err = NotMoney;

    fn from_str(text: &str) -> Result<Self, NotMoney> {
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(part) || part.len() > DIGITS {
            return Err(NotMoney);
        }
        let whole: u64 = whole.parse().map_err(|_| NotMoney)?;
        let part: u64 = format!("{part:0<DIGITS$}").parse().map_err(|_| NotMoney)?;
        let sum = whole.checked_mul(UNIT).and_then(|whole| whole.checked_add(part)).ok_or(NotMoney)?;
        // What is kept in a database has a sign.
        i64::try_from(sum).map(|_| Self(sum)).map_err(|_| NotMoney)
    }
}

impl fmt::Display for Nano {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = format!("{:09}", self.0 % UNIT);
        let shown = part.trim_end_matches('0').len().max(2);
        f.pad(&format!("{}.{}", self.0 / UNIT, part.get(..shown).unwrap_or(&part)))
    }
}

impl Serialize for Nano {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Nano {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Whether this names a currency: three capital letters, as in ISO 4217.
#[must_use]
pub fn is_currency(text: &str) -> bool {
    text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// Money or tokens, such as `5 USD` or `2000000 tokens`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Amount {
    /// So much of a currency.
    Money(Nano, String),
    /// So many tokens.
    Tokens(u64),
}

impl Amount {
    /// How many billionths, or tokens.
    #[must_use]
    pub fn count(&self) -> u64 {
        match self {
            Self::Money(nano, _) => nano.0,
            Self::Tokens(count) => *count,
        }
    }

    /// The same currency, or tokens, in another number of billionths or tokens.
    #[must_use]
    pub fn with_count(&self, count: u64) -> Self {
        match self {
            Self::Money(_, currency) => Self::Money(Nano(count), currency.clone()),
            Self::Tokens(_) => Self::Tokens(count),
        }
    }
}

impl FromStr for Amount {
    type Err = NotMoney;

    fn from_str(text: &str) -> Result<Self, NotMoney> {
        let (number, unit) = text.trim().split_once(' ').ok_or(NotMoney)?;
        match unit.trim() {
            TOKENS => number.replace('_', "").parse().map(Self::Tokens).map_err(|_| NotMoney),
            currency if is_currency(currency) => Ok(Self::Money(number.parse()?, currency.to_owned())),
            _ => Err(NotMoney),
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Money(nano, currency) => write!(f, "{nano} {currency}"),
            Self::Tokens(count) => write!(f, "{count} {TOKENS}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_read_and_written_without_losing_a_digit() {
        for (text, nano, shown) in [
            ("0", 0, "0.00"),
            ("5", 5_000_000_000, "5.00"),
            ("0.28", 280_000_000, "0.28"),
            ("0.003625", 3_625_000, "0.003625"),
            ("0.000000001", 1, "0.000000001"),
            ("9223372036.854775807", 9_223_372_036_854_775_807, "9223372036.854775807"),
        ] {
            assert_eq!(text.parse(), Ok(Nano(nano)), "{text}");
            assert_eq!(Nano(nano).to_string(), shown);
        }
        for text in ["", ".", "1.", ".5", "-1", "+1", "1e3", "0.0000000001", "9223372036.854775808", "1 2", "１"] {
            assert_eq!(text.parse::<Nano>(), Err(NotMoney), "{text:?}");
        }
    }

    #[test]
    fn amounts_are_of_a_currency_or_of_tokens() {
        assert_eq!("5 USD".parse(), Ok(Amount::Money(Nano(5_000_000_000), "USD".into())));
        assert_eq!("2_000_000 tokens".parse(), Ok(Amount::Tokens(2_000_000)));
        for text in ["5", "USD", "5USD", "5 usd", "5 US", "1.5 tokens", "-1 USD"] {
            assert_eq!(text.parse::<Amount>(), Err(NotMoney), "{text:?}");
        }
        assert_eq!("35 CNY".parse::<Amount>().map(|amount| amount.to_string()), Ok("35.00 CNY".to_owned()));
    }
}
