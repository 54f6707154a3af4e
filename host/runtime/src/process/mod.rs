//! Programs of this machine, as plugins may run them.

mod leftover;
mod limits;
mod program;
mod run;

pub(crate) use self::leftover::{Mark, end_those_of};
pub(crate) use self::limits::ProcessLimits;
pub(crate) use self::program::check as check_program;
pub(crate) use self::run::{Ending, Order, Outcome};
