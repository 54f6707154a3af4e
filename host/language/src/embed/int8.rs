//! Vectors in a byte a dimension: a quarter of the room, and a scan that a processor does many of at once. What it costs
//! is some tenths of a percent of a cosine.

/// A vector in whole numbers: `values[i] * scale` is nearly what dimension `i` was.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantised {
    /// What a step is worth.
    pub scale: f32,
    /// The steps, from -127 to 127.
    pub values: Vec<i8>,
}

/// Quantises a vector, symmetrically about 0 and by its own largest dimension. What is no number counts as 0.
#[must_use]
pub fn quantise(vector: &[f32]) -> Quantised {
    let largest = vector.iter().filter(|value| value.is_finite()).fold(0.0_f32, |most, value| most.max(value.abs()));
    if largest == 0.0 {
        return Quantised { scale: 0.0, values: vec![0; vector.len()] };
    }
    let scale = largest / 127.0;
    #[allow(
        clippy::cast_possible_truncation,
        reason = "a number from -127 to 127, and a cast that stays within its type"
    )]
    let values = vector.iter().map(|value| (value / scale).round() as i8).collect();
    Quantised { scale, values }
}

/// Quantises the direction of a vector: as [`quantise`] does with the vector of length 1, so that [`dot`] times both
/// scales is the cosine.
#[must_use]
pub fn quantise_direction(vector: &[f32]) -> Quantised {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if !length.is_normal() {
        return quantise(&vec![0.0; vector.len()]);
    }
    let direction: Vec<f32> = vector.iter().map(|value| value / length).collect();
    quantise(&direction)
}

/// The sum of the products of two vectors, as far as the shorter of them goes. Written so that the compiler turns it into
/// instructions for many values at once. Up to 130,000 dimensions fit.
#[must_use]
pub fn dot(a: &[i8], b: &[i8]) -> i32 {
    const LANES: usize = 32;
    let shorter = a.len().min(b.len());
    let (a, b) = (a.get(..shorter).unwrap_or_default(), b.get(..shorter).unwrap_or_default());
    let (blocks_a, blocks_b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = products(blocks_a.remainder(), blocks_b.remainder());
    blocks_a.zip(blocks_b).map(|(a, b)| products(a, b)).sum::<i32>() + rest
}

fn products(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(a, b)| i32::from(i16::from(*a) * i16::from(*b))).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn cosines_stay_what_they_were(pairs in proptest::collection::vec((-1.0_f32..1.0, -1.0_f32..1.0), 16..400)) {
            let (a, b): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
            let length = |vector: &[f32]| vector.iter().map(|value| value * value).sum::<f32>().sqrt();
            prop_assume!(length(&a) > 0.1 && length(&b) > 0.1);
            let product: f32 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
            let exact = product / length(&a) / length(&b);
            let (a, b) = (quantise_direction(&a), quantise_direction(&b));
            #[allow(clippy::cast_precision_loss, reason = "below 2^23")]
            let found = dot(&a.values, &b.values) as f32 * a.scale * b.scale;
            prop_assert!((exact - found).abs() < 0.02, "{} is not {}", found, exact);
        }

        #[test]
        fn a_product_is_the_sum_of_products(a in proptest::collection::vec(any::<i8>(), 0..100),
                                            b in proptest::collection::vec(any::<i8>(), 0..100)) {
            let slow: i32 = a.iter().zip(&b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
            prop_assert_eq!(dot(&a, &b), slow);
        }
    }

    #[test]
    fn a_vector_of_nothing_has_no_direction() {
        assert_eq!(quantise_direction(&[0.0, 0.0]), Quantised { scale: 0.0, values: vec![0, 0] });
        assert_eq!(quantise(&[f32::NAN, 1.0]).values, [0, 127]);
    }
}
