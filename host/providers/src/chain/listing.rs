//! What models a source's vendor offers.

use homeagent_settings::SourceRecord;
use homeagent_types::CallError;
use homeagent_types::model::{Failure, FailureClass, HttpResponse, ModelInfo};

use super::attempt::{Caller, Route, broken, failure};
use super::{Providers, request, sentence};
use crate::transport::Endpoint;

/// The largest list that is read, in bytes.
const LARGEST: usize = 8 << 20;
/// The most models of a list, and the longest name of one, in bytes.
const MOST_MODELS: usize = 5000;
const LONGEST_NAME: usize = 200;

/// Why there is no list of models.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ListingError {
    /// There is no such source. The sentence says which there are.
    #[error("{0}")]
    Unknown(String),
    /// The source's adapter knows no list, or can't ask for it with the source's options.
    #[error("the source `{name}` lists no models: {reason}")]
    NotListed {
        /// The source.
        name: String,
        /// Why, in the adapter's words.
        reason: String,
    },
    /// The vendor did not answer with a list.
    #[error("{sentence}")]
    Failed {
        /// What happened, for people.
        sentence: String,
        /// The same, as a class.
        class: FailureClass,
    },
}

impl Providers {
    /// Asks the vendor of a source which models it has, with the source's key, however the source stands and whether or
    /// not it is switched on. They come in the order of their names. How the source stands does not change by it: a
    /// vendor may list models to a key that may ask none, and the other way round.
    ///
    /// # Errors
    ///
    /// Why there is no list.
    pub async fn models(&self, name: &str) -> Result<Vec<ModelInfo>, ListingError> {
        let Some(record) = self.sources.get(name) else {
            let known: Vec<String> = self.sources.list().iter().map(|record| record.name.clone()).collect();
            return Err(ListingError::Unknown(sentence::unknown(name, &known)));
        };
        let route = self.route(&record).map_err(|failure| failed(&record, failure))?;
        if route.descriptor.offline {
            let reason = "it answers by itself and has no vendor".to_owned();
            return Err(ListingError::NotListed { name: record.name, reason });
        }
        // Somebody waits for it, and a server that sends a byte now and then is never silent.
        let timeouts = request::timeouts(&self.settings);
        let patience = timeouts.first_byte + timeouts.silence;
        let caller = self.caller();
        let Ok(listed) = tokio::time::timeout(patience, caller.models(&route)).await else {
            let message = format!("it did not finish its list of models within {} seconds", patience.as_secs());
            return Err(failed(&record, failure(FailureClass::Timeout, message)));
        };
        let mut models = match listed {
            Ok(models) => models,
            Err(Listing::None(reason)) => {
                let reason = caller.speakable(&reason);
                return Err(ListingError::NotListed { name: record.name, reason });
            }
            Err(Listing::Failed(mut failure)) => {
                failure.message = caller.speakable(&failure.message);
                return Err(failed(&record, failure));
            }
        };
        models.retain(|model| usable_name(&model.id) && self.secrets.redact(&model.id) == model.id.as_str());
        models.sort_by(|one, other| one.id.cmp(&other.id));
        models.truncate(MOST_MODELS);
        for title in models.iter_mut().filter_map(|model| model.display_name.as_mut()) {
            *title = caller.speakable(title);
        }
        Ok(models)
    }
}

/// Why a call brought no list.
enum Listing {
    /// The adapter makes no request for one.
    None(String),
    Failed(Failure),
}

impl From<Failure> for Listing {
    fn from(failure: Failure) -> Self {
        Listing::Failed(failure)
    }
}

impl Caller<'_> {
    async fn models(&self, route: &Route) -> Result<Vec<ModelInfo>, Listing> {
        let adapter = &route.record.adapter;
        let mut session = self.adapters.open(adapter).await.map_err(|error| broken(adapter, &error))?;
        let asked = session.build_models_request(&request::options(route)).await;
        let outgoing = asked.map_err(|error| match error {
            CallError::Invalid(reason) => Listing::None(reason),
            error => broken(adapter, &error).into(),
        })?;
        let endpoint =
            Endpoint { base_url: &route.record.base_url, placement: &route.descriptor.key, key: route.key.as_ref() };
        let reply = self.transport.send(&endpoint, outgoing, self.timeouts).await?;
        if !(200..300).contains(&reply.status) {
            return Err(self.refusal(adapter, session.as_mut(), reply).await.into());
        }
        let body = reply.body.whole(LARGEST).await?;
        let response = HttpResponse { status: reply.status, headers: reply.headers, body };
        let models = session.parse_models(response).await.map_err(|error| broken(adapter, &error))?;
        Ok(models?)
    }
}

fn failed(record: &SourceRecord, failure: Failure) -> ListingError {
    let class = failure.class;
    let sentence = sentence::all_failed(vec![(record.name.clone(), failure)], None, None).sentence;
    ListingError::Failed { sentence, class }
}

/// Whether a source can have a model of this name.
pub(crate) fn usable_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= LONGEST_NAME && !name.chars().any(|c| c.is_whitespace() || c.is_control())
}
