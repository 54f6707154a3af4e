//! Cutting bytes into lines that end in LF, CR or CRLF.

use super::EventTooLarge;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Which bytes end a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// CR, LF, and CRLF.
    CrAndLf,
    /// LF, and CRLF: a CR elsewhere belongs to the line.
    Lf,
}

/// Puts lines together.
#[derive(Debug)]
pub(super) struct Lines {
    ends: Ends,
    limit: usize,
    /// The beginning of a line whose end has not come.
    open: Vec<u8>,
    /// The last byte was a CR that ended a line: an LF that follows belongs to it.
    after_cr: bool,
    /// The first line has not ended: it may begin with a byte order mark.
    first: bool,
}

impl Lines {
    pub(super) fn new(ends: Ends, limit: usize) -> Self {
        Lines { ends, limit, open: Vec::new(), after_cr: false, first: true }
    }

    /// Hands each line that ends within `bytes` to `take`, without its end.
    pub(super) fn push(
        &mut self,
        mut bytes: &[u8],
        mut take: impl FnMut(&[u8]) -> Result<(), EventTooLarge>,
    ) -> Result<(), EventTooLarge> {
        while !bytes.is_empty() {
            if self.after_cr {
                self.after_cr = false;
                if let Some(rest) = bytes.strip_prefix(b"\n") {
                    bytes = rest;
                    continue;
                }
            }
            let end = bytes.iter().position(|&byte| byte == b'\n' || (byte == b'\r' && self.ends == Ends::CrAndLf));
            let Some(end) = end else {
                self.check(bytes.len())?;
                self.open.extend_from_slice(bytes);
                return Ok(());
            };
            self.check(end)?;
            self.after_cr = bytes[end] == b'\r';
            if self.open.is_empty() {
                take(without_mark(&bytes[..end], &mut self.first))?;
            } else {
                self.open.extend_from_slice(&bytes[..end]);
                take(without_mark(&self.open, &mut self.first))?;
                self.open.clear();
            }
            bytes = &bytes[end + 1..];
        }
        Ok(())
    }

    /// The line whose end never came.
    pub(super) fn rest(&mut self) -> &[u8] {
        without_mark(&self.open, &mut self.first)
    }

    fn check(&self, more: usize) -> Result<(), EventTooLarge> {
        if self.open.len() + more > self.limit { Err(EventTooLarge { limit: self.limit }) } else { Ok(()) }
    }
}

fn without_mark<'a>(line: &'a [u8], first: &mut bool) -> &'a [u8] {
    if std::mem::take(first) { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) } else { line }
}
