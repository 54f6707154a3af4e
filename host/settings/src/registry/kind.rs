//! What values a setting takes: the check, and the parsing of what a person typed.

use std::time::Duration;

use homeagent_types::money::Amount;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;
use utoipa::ToSchema;

/// The type of a setting's value and its limits (both ends are allowed).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
#[non_exhaustive]
#[schema(as = SettingKind)]
pub enum Kind {
    /// `true` or `false`.
    Bool,
    /// A whole number.
    Integer {
        /// The smallest allowed.
        #[serde(default = "smallest")]
        min: i64,
        /// The largest allowed.
        #[serde(default = "largest")]
        max: i64,
    },
    /// A finite number.
    Number {
        /// The smallest allowed.
        #[serde(default = "lowest")]
        min: f64,
        /// The largest allowed.
        #[serde(default = "highest")]
        max: f64,
    },
    /// Any text.
    Text,
    /// A span of time, stored as a whole number of `in`.
    Duration {
        /// What the stored number counts.
        #[serde(rename = "in")]
        unit: DurationUnit,
        /// The smallest allowed.
        #[serde(default)]
        min: u64,
        /// The largest allowed.
        #[serde(default = "longest")]
        max: u64,
    },
    /// One of these words.
    Choice {
        /// The words.
        choices: Vec<String>,
    },
    /// A list of texts.
    List,
    /// A list of rules `NAME=WORD`, with one of these words each. A `*` at the end of a name stands for any rest.
    Rules {
        /// The words.
        choices: Vec<String>,
    },
    /// A list of amounts, each of a currency or of tokens, `5 USD`.
    Amounts,
    /// The name of a time zone, `Asia/Shanghai`, or nothing.
    TimeZone,
    /// A host and a port, `127.0.0.1:8686`.
    Address,
    /// Where a server's API begins, `https://host/path`, or nothing.
    Url,
    /// A secret, kept encrypted under the setting's key. The setting's value is `null` while there is none, else the
    /// secret's name, and never the secret itself.
    Secret,
}

/// What the number of a duration counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum DurationUnit {
    /// Thousandths of a second.
    Milliseconds,
    /// Seconds.
    Seconds,
}

impl DurationUnit {
    /// The unit's name as it is shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
        }
    }

    fn milliseconds(self) -> u64 {
        match self {
            Self::Milliseconds => 1,
            Self::Seconds => 1000,
        }
    }

    pub(super) fn span(self, count: u64) -> Duration {
        match self {
            Self::Milliseconds => Duration::from_millis(count),
            Self::Seconds => Duration::from_secs(count),
        }
    }
}

fn smallest() -> i64 {
    i64::MIN
}

fn largest() -> i64 {
    i64::MAX
}

fn lowest() -> f64 {
    f64::MIN
}

fn highest() -> f64 {
    f64::MAX
}

fn longest() -> u64 {
    // A hundred years in milliseconds: adding it to a clock never overflows.
    100 * 366 * 24 * 3600 * 1000
}

impl Kind {
    /// [`Kind::Rules`] with these words.
    #[must_use]
    pub fn rules(words: &[&str]) -> Self {
        Self::Rules { choices: words.iter().map(|word| (*word).to_owned()).collect() }
    }

    /// A [`Kind::Choice`] of these words.
    #[must_use]
    pub fn choice(words: &[&str]) -> Self {
        Self::Choice { choices: words.iter().map(|word| (*word).to_owned()).collect() }
    }

    /// The kind's name, as it is written in a manifest.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Integer { .. } => "integer",
            Self::Number { .. } => "number",
            Self::Text => "text",
            Self::Duration { .. } => "duration",
            Self::Choice { .. } => "choice",
            Self::List => "list",
            Self::Rules { .. } => "rules",
            Self::Amounts => "amounts",
            Self::TimeZone => "timezone",
            Self::Address => "address",
            Self::Url => "url",
            Self::Secret => "secret",
        }
    }

    /// Whether `value` may be stored. A secret's own text passes for [`Kind::Secret`].
    #[must_use]
    pub fn accepts(&self, value: &Value) -> bool {
        match self {
            Self::Bool => value.is_boolean(),
            Self::Integer { min, max } => value.as_i64().is_some_and(|number| (*min..=*max).contains(&number)),
            Self::Number { min, max } => {
                value.as_f64().is_some_and(|number| number.is_finite() && (*min..=*max).contains(&number))
            }
            Self::Text => value.is_string(),
            Self::Duration { min, max, .. } => {
                value.as_u64().is_some_and(|count| (*min..=*max.min(&longest())).contains(&count))
            }
            Self::Choice { choices } => value.as_str().is_some_and(|word| choices.iter().any(|choice| choice == word)),
            Self::List => value.as_array().is_some_and(|items| items.iter().all(Value::is_string)),
            Self::Rules { choices } => {
                let is_rule = |item: &Value| item.as_str().is_some_and(|rule| is_rule(rule, choices));
                value.as_array().is_some_and(|items| items.iter().all(is_rule))
            }
            Self::Amounts => value.as_array().is_some_and(|items| items.iter().all(is_amount)),
            Self::TimeZone => value.as_str().is_some_and(|name| name.is_empty() || TimeZone::get(name).is_ok()),
            Self::Address => value.as_str().is_some_and(is_address),
            Self::Url => value.as_str().is_some_and(|text| text.is_empty() || is_base_url(text)),
            Self::Secret => value.as_str().is_some_and(|text| !text.is_empty()),
        }
    }

    /// What is allowed, in words that end a sentence.
    #[must_use]
    pub fn allowed(&self) -> String {
        match self {
            Self::Bool => "true or false".to_owned(),
            Self::Integer { min: i64::MIN, max: i64::MAX } => "a whole number".to_owned(),
            Self::Integer { min, max: i64::MAX } => format!("a whole number from {min} up"),
            Self::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Self::Number { min: f64::MIN, max: f64::MAX } => "a number".to_owned(),
            Self::Number { min, max } => format!("a number from {min} to {max}"),
            Self::Text => "a text".to_owned(),
            Self::Duration { unit, min, max } => {
                let unit = unit.as_str();
                format!("a time from {min} {unit} to {max} {unit}, such as {min} or \"10s\"")
            }
            Self::Choice { choices } => format!("one of {}", choices.join(", ")),
            Self::List => "a list of texts".to_owned(),
            Self::Rules { choices } => {
                let (words, word) = (choices.join(", "), choices.first().map_or("", String::as_str));
                format!(
                    "a list of rules NAME=WORD, where WORD is one of {words}, such as some_name={word}, other_*={word}"
                )
            }
            Self::Amounts => "a list of amounts, each a number and a currency or `tokens`, such as 5 USD, 35 CNY, \
                 2000000 tokens"
                .to_owned(),
            Self::TimeZone => "nothing, or a time zone by its name, such as Asia/Shanghai".to_owned(),
            Self::Address => "a host and a port, such as 127.0.0.1:8686".to_owned(),
            Self::Url => "nothing, or http:// or https:// with a host and no password or query, such as \
                 http://127.0.0.1:4318"
                .to_owned(),
            Self::Secret => "a text that is not empty".to_owned(),
        }
    }

    /// Reads what a person typed. `None` where it can't be this kind; limits are left to [`Kind::accepts`].
    ///
    /// Durations take `1500ms`, `10s`, `5min`, `2h`, `1d` or a bare count of their unit; whole numbers take `KiB`,
    /// `MiB` and `GiB`; switches take `on` and `off`; lists are separated by commas or given as JSON.
    #[must_use]
    pub fn parse(&self, text: &str) -> Option<Value> {
        let trimmed = text.trim();
        match self {
            Self::Bool => match trimmed.to_ascii_lowercase().as_str() {
                "true" | "on" | "yes" | "1" => Some(Value::Bool(true)),
                "false" | "off" | "no" | "0" => Some(Value::Bool(false)),
                _ => None,
            },
            Self::Integer { .. } => integer(trimmed).map(Value::from),
            Self::Number { .. } => trimmed.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from),
            Self::Duration { unit, .. } => span(trimmed, *unit).map(Value::from),
            Self::Choice { .. } | Self::TimeZone | Self::Address | Self::Url => Some(Value::from(trimmed)),
            Self::Text | Self::Secret => Some(Value::from(text)),
            Self::List | Self::Rules { .. } | Self::Amounts if trimmed.starts_with('[') => {
                serde_json::from_str(trimmed).ok()
            }
            Self::List | Self::Rules { .. } | Self::Amounts => {
                let items = trimmed.split([',', '，']).map(str::trim).filter(|item| !item.is_empty());
                Some(items.map(Value::from).collect())
            }
        }
    }
}

fn is_amount(item: &Value) -> bool {
    item.as_str().is_some_and(|amount| amount.parse::<Amount>().is_ok())
}

fn is_rule(rule: &str, choices: &[String]) -> bool {
    let Some((name, word)) = rule.rsplit_once('=') else { return false };
    let name = name.trim();
    let plain = name.strip_suffix('*').unwrap_or(name);
    let spaced = plain.chars().any(|c| c.is_whitespace() || c.is_control() || matches!(c, '*' | '='));
    !name.is_empty() && !spaced && choices.iter().any(|choice| choice == word.trim())
}

/// Splits `10 MiB` into the number and the unit behind it.
fn amount(text: &str) -> Option<(i64, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '_' | '-' | '+'))).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    Some((digits.replace('_', "").parse().ok()?, unit.trim()))
}

fn integer(text: &str) -> Option<i64> {
    let (number, unit) = amount(text)?;
    let factor = match unit {
        "" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(factor)
}

fn span(text: &str, unit: DurationUnit) -> Option<u64> {
    let (number, suffix) = amount(text)?;
    let milliseconds: u64 = match suffix {
        "" => unit.milliseconds(),
        "ms" => 1,
        "s" => 1000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    let total = u64::try_from(number).ok()?.checked_mul(milliseconds)?;
    (total % unit.milliseconds() == 0).then(|| total / unit.milliseconds())
}

/// Host names are not resolved here: only the shape is checked.
fn is_address(text: &str) -> bool {
    if text.parse::<std::net::SocketAddr>().is_ok() {
        return true;
    }
    let Some((host, port)) = text.rsplit_once(':') else {
        return false;
    };
    let label = |label: &str| !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    // A host of digits and dots only is a mistyped IP address, not a name.
    let named = host.chars().any(|c| c.is_ascii_alphabetic());
    named && host.split('.').all(label) && port.parse::<u16>().is_ok()
}

/// Whether a server's API can begin at this address: it is `http` or `https`, names a host, and holds neither a password
/// nor a query.
#[must_use]
pub fn is_base_url(text: &str) -> bool {
    let Ok(url) = Url::parse(text) else { return false };
    let web = matches!(url.scheme(), "http" | "https") && url.has_host();
    let bare =
        url.username().is_empty() && url.password().is_none() && url.query().is_none() && url.fragment().is_none();
    let plain = !text.chars().any(|c| c.is_whitespace() || c.is_control());
    web && bare && plain
}
