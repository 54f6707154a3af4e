//! Reading numbers as they were written, and writing results as people read them.

use std::borrow::Cow;
use std::str::FromStr;

use bigdecimal::BigDecimal;
use homeagent_sdk::Error;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The most digits of a number that is given, and the greatest size of its exponent.
const MOST_GIVEN: usize = 1_000;

/// The most characters of a result.
const MOST_SHOWN: u64 = 10_000;

/// The host checks arguments against the schema before they come here, and reads a JSON number as a float for that: one
/// beyond a float's range never arrives, whereas text does.
const AS_TEXT: &str = "A number. Write one of more than 300 digits or beyond 1e300 as text, such as \"1e400\".";

/// A number as it stands in the JSON text, not yet read: reading it into a float would lose digits.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct Written(Box<RawValue>);

impl JsonSchema for Written {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Number".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["number", "string"], "description": AS_TEXT })
    }
}

impl Written {
    /// Reads the number; `argument` is what an error calls it.
    pub(crate) fn read(&self, argument: &str) -> Result<BigDecimal, Error> {
        let json = self.0.get();
        let text = if json.starts_with('"') { serde_json::from_str(json)? } else { json.to_owned() };
        read(text.trim()).map_err(|reason| Error::invalid(format!("argument `{argument}`: {} {reason}", brief(json))))
    }
}

fn read(text: &str) -> Result<BigDecimal, String> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let unsigned = mantissa.strip_prefix(['+', '-']).unwrap_or(mantissa);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
    if !(digits(whole) && digits(fraction) && digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))) {
        let hint = if text.contains(',') { "; leave out commas between digits" } else { "" };
        return Err(format!("is not a number{hint}"));
    }
    if unsigned.bytes().filter(u8::is_ascii_digit).count() > MOST_GIVEN {
        return Err(format!("has more than {MOST_GIVEN} digits"));
    }
    if !exponent.parse::<i64>().is_ok_and(|exponent| exponent.unsigned_abs() <= MOST_GIVEN as u64) {
        return Err(format!("has an exponent beyond {MOST_GIVEN}"));
    }
    BigDecimal::from_str(text).map_err(|error| format!("is not a number: {error}"))
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Refuses a number that would be too long to write out.
pub(crate) fn check_length(number: &BigDecimal) -> Result<(), Error> {
    let scale = number.fractional_digit_count();
    let length =
        if scale < 0 { number.digits() + scale.unsigned_abs() } else { number.digits().max(scale.unsigned_abs()) };
    if length > MOST_SHOWN {
        return Err(Error::invalid(format!("the result has {length} digits; {MOST_SHOWN} are the most")));
    }
    Ok(())
}

/// The number written out, without an exponent and without zeros that say nothing.
pub(crate) fn shown(number: &BigDecimal) -> Result<String, Error> {
    let number = number.normalized();
    check_length(&number)?;
    Ok(number.to_plain_string())
}

/// What was given, cut where it is long.
fn brief(json: &str) -> String {
    let start: String = json.chars().take(40).collect();
    if start.len() < json.len() { format!("{start}…") } else { start }
}
