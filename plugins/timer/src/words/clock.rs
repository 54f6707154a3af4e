//! The time of day, as it is said.

use homeagent_sdk::Timestamp;
use jiff::civil::Date;

use super::lexer::{Part, Token};
use crate::schedule::{Here, timestamp};

/// An hour, with what goes with it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Hour {
    time: Option<(u32, u32)>,
    part: Option<Part>,
    pm: bool,
}

impl Hour {
    pub(super) fn is_said(&self) -> bool {
        self.time.is_some() || self.part.is_some()
    }

    /// Takes a token about the time of day, and as many of those behind it as this returns.
    pub(super) fn take(&mut self, token: Token, rest: &[Token]) -> Result<usize, String> {
        let (time, taken) = match (token, rest) {
            (Token::Part(part), _) if self.part.is_none() => {
                self.part = Some(part);
                return Ok(0);
            }
            (Token::Pm, _) if self.time.is_some() => {
                self.pm = true;
                return Ok(0);
            }
            (Token::At, [Token::Number(hour), ..])
                if !matches!(rest.get(1), Some(Token::Point | Token::Unit(_) | Token::Month(_))) =>
            {
                ((*hour, 0), 1)
            }
            (Token::At, _) => return Ok(0),
            (Token::Clock(hour, minute), _) => ((hour, minute), 0),
            (Token::Number(hour), [Token::Point, Token::Half, ..]) => ((hour, 30), 2),
            (Token::Number(hour), [Token::Point, Token::Number(quarters), Token::Quarter, ..]) => {
                ((hour, quarters * 15), 3)
            }
            (Token::Number(hour), [Token::Point, Token::Number(minute), Token::Fen, ..]) => ((hour, *minute), 3),
            (Token::Number(hour), [Token::Point, Token::Number(minute), ..]) => ((hour, *minute), 2),
            (Token::Number(hour), [Token::Point, ..]) => ((hour, 0), 1),
            (Token::Number(hour), [Token::Pm | Token::Part(_), ..]) => ((hour, 0), 0),
            // 9 behind the part of a day: `tonight 8`.
            (Token::Number(hour), []) if self.part.is_some() => ((hour, 0), 0),
            _ => return Err("the words do not fit together".to_owned()),
        };
        match self.time.replace(time) {
            None => Ok(taken),
            Some(_) => Err("a time of day is said twice".to_owned()),
        }
    }

    /// Hour, minute, and whether that is on the day after.
    pub(super) fn time(&self) -> Result<(u32, u32, bool), String> {
        let (hour, minute) = match (self.time, self.part) {
            (Some(time), _) => time,
            (None, Some(Part::Noon)) => (12, 0),
            (None, Some(Part::Midnight)) => return Ok((0, 0, true)),
            (None, _) => return Err("at which time of day".to_owned()),
        };
        if hour > 24 || minute > 59 || (hour == 24 && minute > 0) || (self.pm && !(1..=12).contains(&hour)) {
            return Err(format!("{hour}:{minute:02} is no time of day"));
        }
        let half = |least: u32| if (least..12).contains(&hour) { hour + 12 } else { hour };
        let (hour, next) = match self.part {
            _ if self.pm => (if hour == 12 { 12 } else { hour + 12 }, false),
            Some(Part::Early) if hour == 12 => (0, false),
            Some(Part::Afternoon) => (half(1), false),
            // 中午一点 is in the afternoon, 中午十一点 is not.
            Some(Part::Noon) => (if hour < 6 { hour + 12 } else { hour }, false),
            // The night goes on behind midnight.
            Some(Part::Evening) if hour == 12 => (0, true),
            Some(Part::Evening) if hour < 5 => (hour, true),
            Some(Part::Evening) => (half(5), false),
            Some(Part::Midnight) if hour == 12 => (0, true),
            _ => (hour, false),
        };
        Ok(if hour == 24 { (0, minute, true) } else { (hour, minute, next) })
    }

    /// This time on a date; one that the clock leaves out is as much later.
    pub(super) fn on(&self, date: Date, here: &Here) -> Result<Timestamp, String> {
        let (hour, minute, next) = self.time()?;
        let broken = "there is no such time";
        let date = if next { date.tomorrow().map_err(|_| broken.to_owned())? } else { date };
        let number = |number: u32| i8::try_from(number).unwrap_or(i8::MAX);
        let local = date.at(number(hour), number(minute), 0, 0);
        local.to_zoned(here.zone.clone()).map(|zoned| timestamp(&zoned)).map_err(|_| broken.to_owned())
    }
}
