//! `secrets`: signing with what the plugin never sees.

use hmac::{Hmac, Mac};
use homeagent_settings::Secret;
use homeagent_types::{CallError, Denial};
use sha1::Sha1;
use sha2::{Sha256, Sha512};

use super::outbound;
use crate::bindings::{secrets, types};
use crate::instance::InstanceState;
use crate::wants::{SecretsWant, Want as _};

/// The most that is signed at once, in bytes.
const LARGEST: usize = 1 << 20;

impl secrets::Host for &mut InstanceState {
    fn sign(&mut self, name: String, algorithm: secrets::Algorithm, data: Vec<u8>) -> Result<Vec<u8>, types::Error> {
        let want = self.granted::<SecretsWant>("signing")?;
        let signed = sign(self, &want, &name, &algorithm, &data);
        if let Err(error) = &signed {
            self.slot.tell_owner(&format!("nothing was signed: {error}"));
        }
        Ok(signed?)
    }
}

fn sign(
    state: &InstanceState,
    want: &SecretsWant,
    name: &str,
    algorithm: &secrets::Algorithm,
    data: &[u8],
) -> Result<Vec<u8>, CallError> {
    if !outbound::known(want, name)?.signs() {
        return Err(CallError::Denied(Denial {
            capability: SecretsWant::CAPABILITY.to_owned(),
            attempt: format!("signing with the secret {name}"),
            remedy: format!("[wants.secrets.{name}] of its plugin.toml has to say sign = true"),
        }));
    }
    if data.len() > LARGEST {
        return Err(CallError::Invalid(format!("the data has {} bytes; {LARGEST} are the most", data.len())));
    }
    let secret = outbound::secret(&state.slot, &state.services, name)?;
    match algorithm {
        secrets::Algorithm::HmacSha256 => code::<Hmac<Sha256>>(&secret, data),
        secrets::Algorithm::HmacSha512 => code::<Hmac<Sha512>>(&secret, data),
        secrets::Algorithm::HmacSha1 => code::<Hmac<Sha1>>(&secret, data),
        secrets::Algorithm::Other(_) => {
            Err(CallError::Invalid("there are hmac-sha256, hmac-sha512 and hmac-sha1 to sign with".to_owned()))
        }
    }
}

fn code<M: Mac + hmac::digest::KeyInit>(secret: &Secret, data: &[u8]) -> Result<Vec<u8>, CallError> {
    let code = <M as hmac::digest::KeyInit>::new_from_slice(secret.expose().as_bytes());
    let mut code = code.map_err(|error| CallError::Other(error.to_string()))?;
    Mac::update(&mut code, data);
    Ok(code.finalize().into_bytes().to_vec())
}
