//! How the daemon speaks TLS as a client.

use std::sync::Arc;

use rustls::crypto::ring;
pub use rustls::{ClientConfig, Error};
use rustls_platform_verifier::BuilderVerifierExt as _;

/// A configuration that trusts the certificates which the system trusts.
///
/// # Errors
/// When those can't be read.
pub fn client() -> Result<ClientConfig, Error> {
    // The provider is named here, so that it does not matter whether the process has a default one.
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    Ok(builder.with_safe_default_protocol_versions()?.with_platform_verifier()?.with_no_client_auth())
}
