//! A hash that is the same on every machine and in every release: what is kept on the disk depends on it.

/// FNV-1a of 64 bits, mixed once more, so that its lowest bits are as good as its highest.
pub(super) fn stable_hash(bytes: &[u8]) -> u64 {
    let fnv = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    let mixed = (fnv ^ (fnv >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_hashed_once_is_hashed_the_same_for_ever() {
        let hashes = ["", "a", "猫"].map(|text| format!("{:016x}", stable_hash(text.as_bytes())));
        insta::assert_snapshot!(hashes.join(" "));
    }
}
