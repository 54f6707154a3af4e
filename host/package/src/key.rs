//! Keys of publishers: Ed25519, by the library that the daemon's TLS rests on, so that there is one to keep up with. It
//! takes each signature in one form only.

use std::fmt;

use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use sha2::{Digest as _, Sha256};
use zeroize::{Zeroize as _, Zeroizing};

use crate::hexadecimal;

const SEED: usize = 32;
/// How a file with a signing key begins.
const HEAD: &str = "homeagent signing key: ";
/// How many bytes of the SHA-256 of a key are shown.
const SHOWN: usize = 16;

/// By what a publisher is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PublicKey([u8; 32]);

/// By what a publisher signs.
pub struct SigningKey {
    pair: Ed25519KeyPair,
    seed: Zeroizing<[u8; SEED]>,
}

/// A text that is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it holds no signing key of waiter plugin key new")]
pub struct BadKey;

impl PublicKey {
    /// The key that a text of 64 hexadecimal digits stands for.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        hexadecimal::bytes(text).map(Self)
    }

    /// What people compare: the first 32 hexadecimal digits of the key's SHA-256, in groups of four.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let shown = hexadecimal(&Sha256::digest(self.0)[..SHOWN]);
        let mut groups = String::new();
        for (at, digit) in shown.chars().enumerate() {
            if at > 0 && at % 4 == 0 {
                groups.push('-');
            }
            groups.push(digit);
        }
        groups
    }

    /// Whether this key's owner signed the message.
    pub(crate) fn signed(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.0).verify(message, signature).is_ok()
    }
}

/// All of it, in hexadecimal digits.
impl fmt::Display for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hexadecimal(&self.0))
    }
}

impl SigningKey {
    /// A key that nobody else has.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub fn generate() -> Result<Self, getrandom::Error> {
        let mut seed = Zeroizing::new([0; SEED]);
        getrandom::fill(&mut *seed)?;
        Ok(Self::from_seed(seed))
    }

    fn from_seed(seed: Zeroizing<[u8; SEED]>) -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(&*seed).expect("every seed of this length is one");
        Self { pair, seed }
    }

    /// Reads the text of [`SigningKey::to_text`].
    ///
    /// # Errors
    /// When it is another text.
    pub fn from_text(text: &str) -> Result<Self, BadKey> {
        let digits = text.strip_prefix(HEAD).and_then(|text| text.strip_suffix('\n')).ok_or(BadKey)?;
        hexadecimal::bytes(digits).map(|seed| Self::from_seed(Zeroizing::new(seed))).ok_or(BadKey)
    }

    /// The key as it is kept in a file.
    #[must_use]
    pub fn to_text(&self) -> Zeroizing<String> {
        let mut digits = hexadecimal(&*self.seed);
        let text = format!("{HEAD}{digits}\n");
        digits.zeroize();
        Zeroizing::new(text)
    }

    /// By what this publisher is known.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        let bytes = self.pair.public_key().as_ref();
        PublicKey(bytes.try_into().expect("a public key has 32 bytes"))
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.pair.sign(message).as_ref().to_vec()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SigningKey({})", self.public())
    }
}
