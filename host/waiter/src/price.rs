//! Prices, as the command line has them.

use serde_json::{Map, Value, json};

use crate::args::NewPrice;

/// The days of the week, the first of them Monday.
pub(crate) const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// The rates that a price or a band can have.
const RATES: [&str; 4] = ["input", "cached", "written", "output"];

/// A price as the daemon takes it; from `today` on, where no day is said.
pub(crate) fn document(new: &NewPrice, today: &str) -> Value {
    let mut rates = Map::new();
    for (name, rate) in
        [("input", Some(&new.input)), ("cached", new.cached.as_ref()), ("written", new.written.as_ref())]
    {
        rates.extend(rate.map(|rate| (name.to_owned(), Value::from(rate.as_str()))));
    }
    rates.insert("output".to_owned(), Value::from(new.output.as_str()));
    json!({
        "model": new.model,
        "source": new.source,
        "valid_from": new.from.as_deref().unwrap_or(today),
        "time_zone": new.time_zone,
        "currency": new.currency,
        "rates": rates,
        "bands": new.bands,
    })
}

/// A band: `18:00-09:00 mon-fri above=200000 input=1 output=4`, in any order; the rates have to be there.
pub(crate) fn band(text: &str) -> Result<Value, String> {
    let (mut band, mut rates) = (Map::new(), Map::new());
    for word in text.split_whitespace() {
        match word.split_once('=') {
            Some(("above", tokens)) => {
                let tokens: u64 = tokens.parse().map_err(|_| format!("{word}: not a number of tokens"))?;
                band.insert("above".to_owned(), tokens.into());
            }
            Some((name, rate)) if RATES.contains(&name) => {
                rates.insert(name.to_owned(), rate.into());
            }
            Some((name, _)) => return Err(format!("{name}: there are above, {}", RATES.join(", "))),
            None if word.contains(':') => {
                let (since, until) = word.split_once('-').ok_or("hours are written as 18:00-09:00")?;
                band.insert("since".to_owned(), since.into());
                band.insert("until".to_owned(), until.into());
            }
            None => {
                band.insert("weekdays".to_owned(), weekdays(word)?);
            }
        }
    }
    if !rates.contains_key("input") || !rates.contains_key("output") {
        return Err("a band says what it costs: input=... output=...".to_owned());
    }
    band.insert("rates".to_owned(), rates.into());
    Ok(band.into())
}

/// `mon-fri`, `sat,sun`, or both together.
fn weekdays(text: &str) -> Result<Value, String> {
    let day = |name: &str| {
        let place = WEEKDAYS.iter().position(|day| *day == name);
        place.ok_or_else(|| format!("{name}: days of the week are {}", WEEKDAYS.join(", ")))
    };
    let mut days = Vec::new();
    for part in text.split(',') {
        match part.split_once('-') {
            Some((first, last)) => {
                let (first, last) = (day(first)?, day(last)?);
                // Over the week's end, as in fri-mon.
                let length = (last + 7 - first) % 7;
                days.extend((0..=length).map(|more| (first + more) % 7 + 1));
            }
            None => days.push(day(part)? + 1),
        }
    }
    Ok(days.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_are_read_as_they_are_written() {
        let read = band("18:00-09:00 mon-wed,sun above=200000 output=4 input=1 cached=0.02");
        let expected = json!({
            "since": "18:00", "until": "09:00", "weekdays": [1, 2, 3, 7], "above": 200_000,
            "rates": { "input": "1", "cached": "0.02", "output": "4" },
        });
        assert_eq!(read, Ok(expected));
        assert_eq!(band("fri-mon input=1 output=2").map(|band| band["weekdays"].clone()), Ok(json!([5, 6, 7, 1])));
        for wrong in ["", "18:00-09:00", "input=1", "18:00 input=1 output=1", "someday input=1 output=1", "in=1"] {
            assert!(band(wrong).is_err(), "{wrong:?}");
        }
    }
}
