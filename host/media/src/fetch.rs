//! A medium that lies somewhere else.

use std::sync::Arc;

use homeagent_network::http::{self, HeaderMap, Method, Request, Rules};
use homeagent_network::{Error as NetworkError, Reach, Url};
use homeagent_types::CallError;

use crate::{Error, Kept, Store};

/// Only what is anybody's: what people send must not make the daemon look around at home.
struct PublicOnly;

impl Rules for PublicOnly {
    fn reach(&self, _: &Method, _: &Url) -> Result<Reach, CallError> {
        Ok(Reach::Public)
    }

    fn equip(&self, _: &mut Url, _: &mut HeaderMap) -> Result<(), CallError> {
        Ok(())
    }

    fn follow(&self, _: &mut Url) -> Result<(), CallError> {
        Ok(())
    }
}

impl Store {
    /// Fetches what is at a public address, and keeps it. `said`: what it is said to be.
    ///
    /// # Errors
    ///
    /// Why it could not be fetched, or is not kept.
    pub async fn fetch(&self, url: &str, said: &str) -> Result<Kept, Error> {
        let refused = |reason: String| Error::Fetch { reason, is_public: false };
        let network = self.network().ok_or_else(|| refused("there is no network".to_owned()))?;
        let url = http::target(url).map_err(refused)?;
        let limits = self.limits();
        let request = Request { method: Method::GET, url, headers: HeaderMap::new(), body: bytes::Bytes::new() };
        let most = usize::try_from(limits.one).unwrap_or(usize::MAX);
        let bounds = http::Limits { response_bytes: most, timeout: limits.fetch };
        let hold: homeagent_network::Hold = Arc::new(());
        let answer = network.send(request, &PublicOnly, bounds, &hold).await.map_err(|error| {
            // Of others that failed, nobody knows whether all of the way led to the public.
            let is_public = matches!(error, NetworkError::TooLarge { .. });
            Error::Fetch { reason: error.to_string(), is_public }
        })?;
        if !(200..300).contains(&answer.status) {
            return Err(refused(format!("{} answered with the status {}", http::place(&answer.url), answer.status)));
        }
        self.put(answer.body, said).await
    }
}
