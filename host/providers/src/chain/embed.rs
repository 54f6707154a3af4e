//! Vectors by the sources of the embedding line.

use homeagent_types::lines::{VectorRequest, Vectors};
use homeagent_types::model::{
    EmbeddingPurpose, EmbeddingRequest, Embeddings, Failure, FailureClass, SourceLine, Usage,
};
use homeagent_types::ports::ModelsFailure;
use homeagent_types::{Cause, tokens};
use tokio::time::Instant;
use tracing::Instrument as _;

use super::attempt::{Route, failure};
use super::course::Course;
use super::holding::Limited;
use super::{Providers, request};
use crate::cost::{Held, LimitInTheWay};

/// How many texts go in one request, where neither the source nor its adapter says: some vendors take no more.
const BATCH: usize = 10;
/// The name in an adapter's description by which it says how many texts its vendor takes in one request.
const BATCH_OF_ADAPTER: &str = "embedding-batch";
/// The most texts of one request where the source does not say, whatever its adapter says.
const LARGEST_BATCH: usize = 100;
/// The most bytes of the texts of one request, unless one text alone has more.
const BATCH_BYTES: usize = 256 << 10;

impl Providers {
    /// Has one source make vectors of all texts; where it fails, the next one begins afresh.
    pub(super) async fn embed_line(&self, asked: VectorRequest<'_>) -> Result<Vectors, ModelsFailure> {
        let mut course = Course::new(self, SourceLine::Embedding).only(asked.model);
        let mut limited = Limited::default();
        loop {
            let (route, _pass) = match course.next().await {
                Ok(next) => next,
                Err(failure) => return Err(limited.explain(failure)),
            };
            let began = Instant::now();
            let span = tracing::info_span!("embedding", source = route.record.name, texts = asked.texts.len());
            let made = self.embed_by(&route, asked.texts, asked.purpose, Some(asked.cause));
            match made.instrument(span).await {
                Ok(vectors) => {
                    self.standings.succeeded(&route.record);
                    return Ok(vectors);
                }
                Err(Unmade::Failed(failure)) => course.failed(&route, failure, began.elapsed()),
                Err(Unmade::Limited(limit)) => course.leave_out(&route, limited.note(&route, limit)),
            }
        }
    }

    /// Has a source make a vector of one word, for nobody.
    pub(super) async fn embed_one(&self, route: &Route) -> Result<Vectors, Unmade> {
        self.embed_by(route, &["OK".to_owned()], EmbeddingPurpose::Document, None).await
    }

    async fn embed_by(
        &self,
        route: &Route,
        texts: &[String],
        purpose: EmbeddingPurpose,
        cause: Option<&Cause>,
    ) -> Result<Vectors, Unmade> {
        let option = |name: &str| route.record.options.get(name)?.trim().parse::<u32>().ok().filter(|count| *count > 0);
        let most = option("batch").map_or_else(|| batch_of(route), |count| usize::try_from(count).unwrap_or(BATCH));
        let mut made = Vectors {
            source: route.record.name.clone(),
            model: route.record.model.clone(),
            dimensions: 0,
            vectors: Vec::with_capacity(texts.len()),
            usage: None,
        };
        for texts in batches(texts, most) {
            let request = EmbeddingRequest {
                model: route.record.model.clone(),
                texts: texts.to_vec(),
                purpose,
                dimensions: option("dimensions"),
                options: request::options(route),
            };
            let input = texts.iter().map(|text| tokens::of_text(text)).sum();
            let held = self.hold_tokens(route, SourceLine::Embedding, cause, (input, 0)).await;
            let held = held.map_err(Unmade::Limited)?;
            let tally = held.as_ref().map(Held::tally);
            let asks = || {
                if let Some(tally) = &tally {
                    tally.asks();
                }
            };
            let embedded = self.caller().embed(route, &request, asks).await;
            if let Some(held) = held {
                held.settle(embedded.as_ref().ok().and_then(|made| made.usage), embedded.as_ref().err());
            }
            add(&mut made, texts.len(), embedded.map_err(Unmade::Failed)?).map_err(Unmade::Failed)?;
        }
        Ok(made)
    }
}

/// Why a source has made no vectors.
pub(super) enum Unmade {
    Failed(Failure),
    /// It was not asked.
    Limited(LimitInTheWay),
}

/// How many texts an adapter's vendor takes in one request.
fn batch_of(route: &Route) -> usize {
    let adapter = &route.descriptor;
    // What an adapter says goes for its own vendor; others that speak the same protocol take less.
    let is_own = adapter.default_base_url.as_deref() == Some(route.record.base_url.trim_end_matches('/'));
    let said = adapter.meta.iter().find(|(name, _)| name == BATCH_OF_ADAPTER);
    let said =
        said.filter(|_| is_own).and_then(|(_, count)| count.trim().parse::<usize>().ok()).filter(|count| *count > 0);
    said.map_or(BATCH, |count| count.min(LARGEST_BATCH))
}

/// Takes over what came of a batch, if it is as many vectors as there were texts, all of one length.
fn add(made: &mut Vectors, texts: usize, embeddings: Embeddings) -> Result<(), Failure> {
    let wrong = |message: String| Err(failure(FailureClass::Protocol, message));
    let Embeddings { vectors, usage } = embeddings;
    if vectors.len() != texts {
        return wrong(format!("it made {} vectors of {texts} texts", vectors.len()));
    }
    for vector in vectors {
        if made.vectors.is_empty() {
            made.dimensions = vector.len();
        }
        if vector.is_empty() || vector.len() != made.dimensions {
            return wrong(format!("its vectors are not of one length: {} and {}", made.dimensions, vector.len()));
        }
        if vector.iter().any(|number| !number.is_finite()) {
            return wrong("it made a vector with a number that is none".to_owned());
        }
        made.vectors.push(vector);
    }
    if let Some(usage) = usage {
        *made.usage.get_or_insert_with(Usage::default) += usage;
    }
    Ok(())
}

/// The texts in order, cut so that no part has more than `most`, nor too many bytes.
fn batches(texts: &[String], most: usize) -> impl Iterator<Item = &[String]> {
    let mut rest = texts;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |text: &&String| {
            bytes += text.len();
            bytes <= BATCH_BYTES
        };
        let count = rest.iter().take(most).take_while(fits).count().max(1);
        let (batch, others) = rest.split_at_checked(count)?;
        rest = others;
        Some(batch)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_keep_the_order_and_the_limits() {
        let texts: Vec<String> = (0..25).map(|number| number.to_string()).collect();
        let cut: Vec<usize> = batches(&texts, 10).map(<[String]>::len).collect();
        assert_eq!(cut, [10, 10, 5]);
        assert_eq!(batches(&texts, 10).flatten().cloned().collect::<Vec<_>>(), texts);
        assert_eq!(batches(&[], 10).count(), 0);
        let long = ["a".repeat(BATCH_BYTES), "b".to_owned(), "c".repeat(BATCH_BYTES + 1), "d".to_owned()];
        assert_eq!(batches(&long, 10).map(<[String]>::len).collect::<Vec<_>>(), [1, 1, 1, 1]);
    }
}
