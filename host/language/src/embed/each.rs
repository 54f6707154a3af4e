//! Vectors of many texts, of which none keeps the others from theirs.

use super::{EmbedError, Embedder, Purpose};

/// What any model can be asked for. It tells a text that is refused from a model that is away.
const NEUTRAL: &str = "hello";

/// A vector for each text, in their order, or why there is none. Where the model refuses them together, each is asked for by
/// itself.
///
/// # Errors
///
/// The model can be asked for nothing now.
pub async fn embed_each(
    embedder: &dyn Embedder,
    purpose: Purpose,
    texts: Vec<String>,
) -> Result<Vec<Result<Vec<f32>, EmbedError>>, EmbedError> {
    let error = match ask(embedder, purpose, texts.clone()).await {
        Ok(vectors) => return Ok(vectors.into_iter().map(Ok).collect()),
        Err(error) => error,
    };
    if texts.len() == 1 {
        ask(embedder, purpose, vec![NEUTRAL.to_owned()]).await.map_err(|_| error.clone())?;
        return Ok(vec![Err(error)]);
    }
    let mut each = Vec::with_capacity(texts.len());
    for text in texts {
        let made = ask(embedder, purpose, vec![text]).await;
        each.push(made.and_then(|mut one| one.pop().ok_or_else(|| error.clone())));
    }
    // Where all fail it is not the texts.
    if each.iter().any(Result::is_ok) { Ok(each) } else { Err(error) }
}

async fn ask(embedder: &dyn Embedder, purpose: Purpose, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
    let (wanted, width) = (texts.len(), embedder.identity().dimensions);
    if wanted == 0 {
        return Ok(Vec::new());
    }
    let vectors = embedder.embed(purpose, texts).await?;
    if vectors.len() != wanted || vectors.iter().any(|vector| vector.len() != width) {
        let sentence =
            format!("the model gave other vectors than the {wanted} of {width} dimensions that it was asked for");
        return Err(EmbedError(sentence));
    }
    Ok(vectors)
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;

    use super::*;
    use crate::embed::ModelIdentity;

    /// Refuses whatever has "bad" in it, and everything while it is away.
    struct Picky {
        identity: ModelIdentity,
        away: bool,
    }

    fn picky(away: bool) -> Picky {
        let text = String::new;
        let identity = ModelIdentity {
            name: text(),
            kind: text(),
            digest: text(),
            dimensions: 1,
            pooling: text(),
            query_prefix: text(),
            passage_prefix: text(),
            normalised: false,
        };
        Picky { identity, away }
    }

    #[async_trait]
    impl Embedder for Picky {
        fn identity(&self) -> &ModelIdentity {
            &self.identity
        }

        async fn embed(&self, _purpose: Purpose, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
            if self.away || texts.iter().any(|text| text.contains("bad")) {
                return Err(EmbedError("refused".into()));
            }
            Ok(texts.iter().map(|text| vec![text.len() as f32]).collect())
        }
    }

    async fn made(embedder: &Picky, texts: &[&str]) -> Option<Vec<Option<f32>>> {
        let texts = texts.iter().map(|text| (*text).to_owned()).collect();
        let each = embed_each(embedder, Purpose::Passage, texts).await.ok()?;
        Some(each.into_iter().map(|made| made.ok().and_then(|vector| vector.first().copied())).collect())
    }

    #[tokio::test]
    async fn a_text_that_is_refused_keeps_no_other_from_its_vector() {
        let model = picky(false);
        assert_eq!(made(&model, &["a", "bad", "ccc"]).await, Some(vec![Some(1.0), None, Some(3.0)]));
        assert_eq!(made(&model, &["bad"]).await, Some(vec![None]));
        assert_eq!(made(&model, &[]).await, Some(vec![]));
        assert_eq!(made(&model, &["bad", "bad"]).await, None, "it may not be the texts");
        let away = picky(true);
        assert!(made(&away, &["a"]).await.is_none() && made(&away, &["a", "b"]).await.is_none());
    }
}
