//! The terminal's own behaviour: what it does with keys.

use std::io::{self, IsTerminal as _, stdin, stdout};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// Whether somebody sits at both ends.
pub(crate) fn is_terminal() -> bool {
    stdin().is_terminal() && stdout().is_terminal()
}

/// Whether colours are wanted.
pub(crate) fn wants_colours() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    stdout().is_terminal() && !refused && !dumb
}

/// While this lives, the terminal does not show what is typed. Ctrl-C works as ever.
pub(crate) struct Hush {
    before: Termios,
}

impl Hush {
    /// What is typed can be read when Enter is pressed.
    pub(crate) fn lines() -> Option<Self> {
        Self::without(LocalModes::ECHO)
    }

    /// What is typed can be read at once, and stays for whoever reads it.
    pub(crate) fn keys() -> Option<Self> {
        Self::without(LocalModes::ECHO | LocalModes::ICANON)
    }

    fn without(modes: LocalModes) -> Option<Self> {
        let before = tcgetattr(stdin()).ok()?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(modes);
        tcsetattr(stdin(), OptionalActions::Now, &quiet).ok()?;
        Some(Self { before })
    }
}

impl Drop for Hush {
    fn drop(&mut self) {
        // A terminal that has gone has nothing to be put back.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.before);
    }
}

/// Waits until a key is pressed, at most `milliseconds`. It is not read.
pub(crate) fn key_pressed(milliseconds: i64) -> io::Result<bool> {
    let input = stdin();
    let mut waiting = [PollFd::new(&input, PollFlags::IN)];
    let limit = Timespec { tv_sec: milliseconds / 1000, tv_nsec: milliseconds % 1000 * 1_000_000 };
    match poll(&mut waiting, Some(&limit)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
