//! What is to be forgotten, as it is said on the command line.

use clap::{ArgGroup, Args};
use homeagent_types::memory::{MemoryForget, MemoryWhat};
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

use crate::failure::Failure;

/// What is to be forgotten, and whether it really is.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true).args(["text", "document", "from", "entity", "person"]))]
pub struct Forget {
    /// A text, in capitals or not, wherever it stands
    #[arg(long)]
    text: Option<String>,
    /// A document, by its id
    #[arg(long)]
    document: Option<String>,
    /// What was said from this time on: 2026-05-03, 2026-05-03T18:30, or with a zone
    #[arg(long, requires = "to")]
    from: Option<String>,
    /// ... up to this time; a day is meant up to its end
    #[arg(long, requires = "from")]
    to: Option<String>,
    /// Only in this conversation
    #[arg(long, requires = "from")]
    conversation: Option<String>,
    /// Somebody or something by name, or by number: all its names, wherever they stand
    #[arg(long)]
    entity: Option<String>,
    /// All that a person's account, such as qq:10001, said and was told in private
    #[arg(long)]
    person: Option<String>,
    /// Also the values that plugins keep and in which the words stand
    #[arg(long)]
    plugins: bool,
    /// Only say what would go
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Forget; it can't be taken back
    #[arg(long)]
    yes: bool,
}

impl Forget {
    /// The body of the request.
    pub(crate) fn wish(self, zone: &TimeZone) -> Result<String, Failure> {
        let of_time = self.from.as_deref().zip(self.to.as_deref());
        let time = of_time.map(|(from, to)| {
            Ok::<_, Failure>(MemoryWhat::Time {
                from_ms: moment(from, zone, false)?,
                to_ms: moment(to, zone, true)?,
                conversation: self.conversation.clone(),
            })
        });
        let named = [
            self.text.map(MemoryWhat::Text),
            self.document.map(MemoryWhat::Document),
            self.entity.map(MemoryWhat::Entity),
            self.person.map(MemoryWhat::Person),
        ];
        let what = named.into_iter().flatten().next().map_or_else(|| time.transpose(), |what| Ok(Some(what)))?;
        let what = what.ok_or_else(|| Failure::Usage("say what is to be forgotten".to_owned()))?;
        let wish = MemoryForget { what, dry_run: !self.yes, plugins: self.plugins };
        serde_json::to_string(&wish).map_err(|error| Failure::Failed(error.to_string()))
    }
}

/// A time in milliseconds since 1970; of a day its beginning or its end.
fn moment(text: &str, zone: &TimeZone, end: bool) -> Result<i64, Failure> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at.as_millisecond());
    }
    let wrong = || Failure::Usage(format!("\"{text}\" is no time; write 2026-05-03 or 2026-05-03T18:30"));
    let in_zone =
        |at: DateTime| at.to_zoned(zone.clone()).map(|at| at.timestamp().as_millisecond()).map_err(|_| wrong());
    if !text.contains(':') {
        let day: Date = text.parse().map_err(|_| wrong())?;
        return match end {
            false => in_zone(day.at(0, 0, 0, 0)),
            true => in_zone(day.checked_add(1.day()).map_err(|_| wrong())?.at(0, 0, 0, 0)).map(|next| next - 1),
        };
    }
    in_zone(text.parse().map_err(|_| wrong())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_meant_from_its_beginning_to_its_end() {
        let zone = TimeZone::fixed(jiff::tz::offset(8));
        let moment = |text, end| moment(text, &zone, end).ok();
        assert_eq!(moment("1970-01-02", false), Some(16 * 3_600_000));
        assert_eq!(moment("1970-01-02", true), Some(40 * 3_600_000 - 1));
        assert_eq!(moment("1970-01-02T08:00", true), Some(24 * 3_600_000));
        assert_eq!(moment("1970-01-02T00:00:00Z", true), Some(24 * 3_600_000));
        assert_eq!(moment("yesterday", true), None);
    }
}
