//! What makes vectors on the thread it is given, and what all makers of vectors share.

use super::EmbedError;

/// One maker of vectors. It belongs to one thread, and takes the time it takes.
pub(super) trait Session: Send {
    /// A vector for each text, in their order. The texts are as the model is to see them, of similar length.
    fn encode(&mut self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError>;
}

/// Brings a vector to the length 1; one of zeros stays as it is.
pub(super) fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    if length > f64::from(f32::MIN_POSITIVE) {
        for value in vector {
            *value = (f64::from(*value) / length) as f32;
        }
    }
}

/// Refuses vectors that are no numbers or not as long as they should be.
pub(super) fn check(vectors: &[Vec<f32>], texts: usize, dimensions: usize) -> Result<(), EmbedError> {
    if vectors.len() != texts {
        return Err(EmbedError(format!("{} vectors came for {texts} texts.", vectors.len())));
    }
    for vector in vectors {
        if vector.len() != dimensions {
            return Err(EmbedError(format!("A vector of {} dimensions came instead of {dimensions}.", vector.len())));
        }
        if !vector.iter().all(|value| value.is_finite()) {
            return Err(EmbedError("A vector came that is no number in some place.".to_owned()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_gets_the_length_one_and_nothing_stays_nothing() {
        let mut vector = vec![3.0, 4.0];
        normalise(&mut vector);
        assert_eq!(vector, [0.6, 0.8]);
        let mut nothing = vec![0.0; 3];
        normalise(&mut nothing);
        assert_eq!(nothing, [0.0; 3]);
    }

    #[test]
    fn what_is_no_vector_of_the_model_is_refused() {
        assert!(check(&[vec![0.5, 0.5]], 1, 2).is_ok());
        assert!(check(&[vec![0.5, f32::NAN]], 1, 2).is_err());
        assert!(check(&[vec![0.5]], 1, 2).is_err());
        assert!(check(&[], 1, 2).is_err());
    }
}
