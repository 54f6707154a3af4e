//! The time of day, as it is said.

use homeagent_sdk::Timestamp;
use jiff::civil::Date;

use super::lexer::{Part, Token};
use crate::schedule::Here;

/// An hour, with what goes with it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Hour {
    time: Option<(u32, u32)>,
    part: Option<Part>,
    pm: bool,
    /// Written so that it can only be of 24 hours.
    padded: bool,
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
            // midnight tonight
            (Token::Part(part @ (Part::Midnight | Part::Night)), _)
                if matches!(self.part, Some(Part::Midnight | Part::Night)) && self.part != Some(part) =>
            {
                self.part = Some(Part::Midnight);
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
            (Token::Clock(hour, minute, padded), _) => {
                self.padded = padded;
                ((hour, minute), 0)
            }
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
        use Part::{Afternoon, DeadOfNight, Early, Evening, Midnight, Morning, Night, Noon};
        let (hour, minute) = match (self.time, self.part) {
            (Some(time), _) => time,
            (None, Some(Noon)) => (12, 0),
            (None, Some(Midnight)) => return Ok((0, 0, true)),
            (None, _) => return Err("at which time of day".to_owned()),
        };
        let nonsense = || Err(format!("{hour}:{minute:02} is no time of that part of the day"));
        if hour > 24 || minute > 59 || (hour == 24 && minute > 0) {
            return nonsense();
        }
        let (hour, next) = match (self.part, hour) {
            (None | Some(Afternoon), 1..=12) | (Some(Evening), 1..=11) | (Some(Night), 5..=11) if self.pm => {
                (hour % 12 + 12, false)
            }
            _ if self.pm => return nonsense(),
            (None, 1..=5) if !self.padded => {
                return Err(format!("{hour}:{minute:02} in the morning or in the afternoon"));
            }
            (None | Some(Night | DeadOfNight | Midnight), 24) => (0, true),
            (None, _) => (hour, false),
            (Some(Early), 12) => (0, false),
            (Some(Early | Morning), 0..=11)
            | (Some(Noon), 11 | 12)
            | (Some(Afternoon), 12)
            | (Some(Afternoon), 13..=19) => (hour, false),
            // 中午一点 is in the afternoon.
            (Some(Noon), 1..=3) | (Some(Afternoon), 1..=11) | (Some(Evening | Night), 5..=11) => (hour + 12, false),
            (Some(DeadOfNight), 8..=11) => (hour + 12, false),
            (Some(Evening | Night), 17..=23) | (Some(DeadOfNight), 20..=23) => (hour, false),
            // The night goes on behind midnight.
            (Some(Night | DeadOfNight | Midnight), 12) => (0, true),
            (Some(Night), 0..=4) | (Some(DeadOfNight), 0..=5) | (Some(Midnight), 0) => (hour, true),
            _ => return nonsense(),
        };
        Ok((hour, minute, next))
    }

    /// Whether it may as well be twelve hours later.
    pub(super) fn is_of_twelve(&self) -> bool {
        self.part.is_none() && !self.pm && !self.padded && self.time.is_some_and(|(hour, _)| (1..=12).contains(&hour))
    }

    /// Whether it lies behind midnight, and it can't be told of which day it is where a day is named.
    pub(super) fn is_between_days(&self) -> bool {
        let is_vague = matches!(self.part, Some(Part::DeadOfNight | Part::Midnight));
        self.time().is_ok_and(|(hour, _, next)| next && (hour > 0 || is_vague))
    }

    /// This time on a date.
    pub(super) fn on(&self, date: Date, here: &Here) -> Result<Timestamp, String> {
        let (hour, minute, next) = self.time()?;
        let broken = "there is no such time";
        let date = if next { date.tomorrow().map_err(|_| broken.to_owned())? } else { date };
        let number = |number: u32| i8::try_from(number).unwrap_or(i8::MAX);
        let local = date.at(number(hour), number(minute), 0, 0);
        here.moment(local).ok_or_else(|| broken.to_owned())
    }
}
