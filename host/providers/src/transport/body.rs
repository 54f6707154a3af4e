//! Reading the body of an answer, with its time-outs and caps.

use homeagent_types::model::{Failure, FailureClass};
use tokio::time::{Instant, timeout_at};

use super::{Timeouts, failure, no_first_byte, root_cause};

/// A body that is read piece by piece. Dropping it closes the connection unless it was read to its end.
#[derive(Debug)]
pub struct Body {
    response: reqwest::Response,
    host: String,
    /// When the next piece has to be there.
    deadline: Instant,
    timeouts: Timeouts,
    begun: bool,
}

impl Body {
    pub(super) fn new(response: reqwest::Response, host: String, deadline: Instant, timeouts: Timeouts) -> Self {
        Body { response, host, deadline, timeouts, begun: false }
    }

    /// The next piece as it came from the network; `None` at the end. Cancel-safe.
    ///
    /// # Errors
    ///
    /// Silence, and a connection that breaks.
    pub async fn next(&mut self) -> Result<Option<impl AsRef<[u8]> + use<>>, Failure> {
        match timeout_at(self.deadline, self.response.chunk()).await {
            Ok(Ok(piece)) => {
                self.begun = true;
                self.deadline = Instant::now() + self.timeouts.silence;
                Ok(piece)
            }
            Ok(Err(error)) => {
                let error = error.without_url();
                let message = format!("{} broke the connection: {}", self.host, root_cause(&error));
                Err(failure(FailureClass::StreamEndedEarly, message))
            }
            Err(_) if self.begun => {
                let seconds = self.timeouts.silence.as_secs_f64();
                let message = format!("{} said nothing for {seconds} seconds in the middle of its answer", self.host);
                Err(failure(FailureClass::Timeout, message))
            }
            Err(_) => Err(no_first_byte(&self.host, self.timeouts)),
        }
    }

    /// The whole body, if it has at most `cap` bytes.
    ///
    /// # Errors
    ///
    /// As for [`Body::next`], and a `protocol` failure for a larger one.
    pub async fn whole(mut self, cap: usize) -> Result<Vec<u8>, Failure> {
        let mut whole = Vec::new();
        while let Some(piece) = self.next().await? {
            let piece = piece.as_ref();
            if whole.len() + piece.len() > cap {
                let message = format!("{} sent an answer of more than {cap} bytes", self.host);
                return Err(failure(FailureClass::Protocol, message));
            }
            whole.extend_from_slice(piece);
        }
        Ok(whole)
    }

    /// The first `cap` bytes of the body, or as many as came before it ended, broke, or took as long as a silence may.
    pub async fn beginning(mut self, cap: usize) -> Vec<u8> {
        let mut beginning = Vec::new();
        let until = Instant::now() + self.timeouts.silence;
        while beginning.len() < cap {
            match timeout_at(until, self.next()).await {
                Ok(Ok(Some(piece))) => beginning.extend_from_slice(piece.as_ref()),
                Ok(Ok(None) | Err(_)) | Err(_) => break,
            }
        }
        beginning.truncate(cap);
        beginning
    }
}
