//! Vectors in a bit a dimension: what is likely near, found at a glance.

/// The signs of a vector's components around `centre`, 64 to a word.
pub(super) fn signs(data: &[i8], centre: &[i8]) -> Vec<u64> {
    let bits = data.chunks(64).zip(centre.chunks(64));
    bits.map(|(data, centre)| {
        let pairs = data.iter().zip(centre).enumerate();
        pairs.fold(0, |word, (at, (component, middle))| word | (u64::from(component > middle) << at))
    })
    .collect()
}
