//! Why a client did not do what it was asked, in words.

use homeagent_sdk::Error;

use crate::event::Refusal;

/// A request that came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The client refused, or could not.
    Refused { action: String, refusal: Refusal },
    /// No answer came in time; nobody knows whether it was done.
    TimedOut { action: String, seconds: u64 },
    /// The connection ended before the answer; nobody knows whether it was done.
    Lost { action: String },
    /// There is no connection to ask over; nothing was done.
    NotConnected { words: String },
    /// Some of several messages went out, and then it failed.
    Partly { sent: usize, of: usize, rest: Box<Failure> },
}

impl Failure {
    /// Whether it is certain that nothing was done.
    pub(crate) fn is_certain(&self) -> bool {
        match self {
            // QQ did not confirm in time, and delivers many such messages all the same.
            Self::Refused { refusal, .. } => refusal.retcode != 1200 && !is_time_out(&refusal.words),
            Self::NotConnected { .. } => true,
            Self::TimedOut { .. } | Self::Lost { .. } | Self::Partly { .. } => false,
        }
    }

    /// The same of several messages: so many went out before it failed, and so many were to follow.
    pub(crate) fn within(self, before: usize, after: usize) -> Self {
        match self {
            Self::Partly { sent, of, rest } => Self::Partly { sent: before + sent, of: before + of + after, rest },
            rest if before == 0 => rest,
            rest => Self::Partly { sent: before, of: before + 1 + after, rest: Box::new(rest) },
        }
    }

    /// A sentence that says what happened and what can be done.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Refused { action, refusal } => refused(action, refusal),
            Self::TimedOut { action, seconds } => format!(
                "QQ's client did not answer `{action}` within {seconds} s, so nobody knows whether it was done; look \
                 before doing it again"
            ),
            Self::Lost { action } => format!(
                "the connection to QQ's client was lost before it answered `{action}`, so nobody knows whether it was \
                 done"
            ),
            Self::NotConnected { words } => words.clone(),
            Self::Partly { sent, of, rest } => {
                format!("{sent} of {of} messages were sent, then it failed: {}", rest.message())
            }
        }
    }

    /// The error that says it to the host.
    pub(crate) fn error(&self) -> Error {
        match self {
            Self::NotConnected { words } => Error::not_found(words.clone()),
            other => Error::other(other.message()),
        }
    }
}

fn is_time_out(words: &str) -> bool {
    let words = words.to_ascii_lowercase();
    ["timeout", "timed out", "超时"].iter().any(|word| words.contains(word))
}

fn refused(action: &str, refusal: &Refusal) -> String {
    let meaning = match refusal.retcode {
        100 | 1400 => "the client calls its parameters wrong",
        102 | 103 => "QQ refused it: the account may lack the right, be muted, or not be a friend or member there",
        104 => "the client's login has expired; log in again there",
        201 => "the client is not ready yet",
        1200 if is_time_out(&refusal.words) => "QQ did not confirm it in time; it may have been done all the same",
        1200 => {
            "QQ did not take it: too long, blocked by QQ, the account muted, or not a friend or member there; it may \
             have been done all the same"
        }
        1401 | 1403 => "the client does not accept our token",
        1404 => "this client does not know that action",
        _ => "the client could not do it",
    };
    let words = if refusal.words.is_empty() { String::new() } else { format!(" (it says: {})", refusal.words) };
    format!("`{action}` failed with code {}: {meaning}{words}", refusal.retcode)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(retcode: i64, words: &str) -> Failure {
        Failure::Refused { action: "send_msg".to_owned(), refusal: Refusal { retcode, words: words.to_owned() } }
    }

    #[test]
    fn codes_are_said_in_words() {
        let said = failure(1404, "no such api").message();
        assert_eq!(
            said,
            "`send_msg` failed with code 1404: this client does not know that action (it says: no such api)"
        );
        assert!(failure(1200, "EventChecker Failed").message().contains("too long"));
        assert!(failure(1200, "Timeout: NTEvent").message().contains("may have been done"));
        assert!(failure(34, "").message().contains("could not do it"));
    }

    #[test]
    fn how_much_of_several_messages_was_sent_is_counted() {
        let lost = || Failure::Lost { action: "x".to_owned() };
        let partly = |sent, of| Failure::Partly { sent, of, rest: Box::new(lost()) };
        assert_eq!(lost().within(0, 3), lost());
        assert_eq!(lost().within(1, 3), partly(1, 5));
        assert_eq!(partly(1, 2).within(2, 3), partly(3, 7));
    }

    #[test]
    fn what_may_have_been_done_is_not_certain() {
        assert!(failure(1404, "").is_certain() && failure(102, "").is_certain());
        assert!(!failure(1200, "").is_certain() && !failure(-1, "请求超时").is_certain());
        assert!(!Failure::Lost { action: "x".to_owned() }.is_certain());
    }
}
