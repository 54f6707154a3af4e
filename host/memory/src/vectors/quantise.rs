//! Vectors as 8-bit integers with one scale each: a quarter of the room, and the order of the nearest all but the same.

/// A vector in 8 bits: component `i` is `data[i] * scale`.
pub(super) struct Quantised {
    pub(super) scale: f32,
    pub(super) data: Vec<i8>,
}

/// The vector at length 1, so that a dot product is the cosine. What is not a number counts as 0.
pub(super) fn quantise(vector: &[f32]) -> Quantised {
    let finite = |x: f32| if x.is_finite() { x } else { 0.0 };
    let length = vector.iter().map(|x| finite(*x) * finite(*x)).sum::<f32>().sqrt();
    let largest = vector.iter().map(|x| finite(*x).abs()).fold(0.0, f32::max);
    if length == 0.0 || !length.is_finite() {
        return Quantised { scale: 0.0, data: vec![0; vector.len()] };
    }
    let step = largest / 127.0;
    let data = vector.iter().map(|x| (finite(*x) / step).round().clamp(-127.0, 127.0) as i8).collect();
    Quantised { scale: step / length, data }
}

/// The dot product. In chunks and through 16 bits, so that the compiler makes it one multiply-and-add of many at a time.
pub(super) fn dot(a: &[i8], b: &[i8]) -> i32 {
    let (mut left, mut right) = (a.chunks_exact(32), b.chunks_exact(32));
    let mut sum = 0;
    for (a, b) in left.by_ref().zip(right.by_ref()) {
        sum += a.iter().zip(b).map(|(a, b)| i32::from(i16::from(*a) * i16::from(*b))).sum::<i32>();
    }
    sum + left.remainder().iter().zip(right.remainder()).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum::<i32>()
}

/// The signs of a vector's components around `centre`, 64 to a word.
pub(super) fn signs(data: &[i8], centre: &[i8]) -> Vec<u64> {
    let bits = data.chunks(64).zip(centre.chunks(64));
    bits.map(|(data, centre)| {
        let pairs = data.iter().zip(centre).enumerate();
        pairs.fold(0, |word, (at, (component, middle))| word | (u64::from(component > middle) << at))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_cosine_survives(a in prop::collection::vec(-1.0f32..1.0, 70), b in prop::collection::vec(-1.0f32..1.0, 70)) {
            let exact = a.iter().zip(&b).map(|(a, b)| a * b).sum::<f32>()
                / (a.iter().map(|x| x * x).sum::<f32>().sqrt() * b.iter().map(|x| x * x).sum::<f32>().sqrt());
            let (a, b) = (quantise(&a), quantise(&b));
            let near = dot(&a.data, &b.data) as f32 * a.scale * b.scale;
            prop_assert!((near - exact).abs() < 0.02, "{near} for {exact}");
        }
    }
}
