//! How the daemon reaches others on behalf of its plugins.
//!
//! [`address`] says which addresses are anybody's, [`Place`] is how a package lists where it wants to go, [`Network`]
//! resolves a name once, looks at every address, and connects to exactly those; [`http`] sends requests that way. What a
//! plugin was granted is not known here: it is asked of [`http::Rules`] with each hop.

pub mod address;
mod dial;
mod error;
pub mod http;
mod place;
mod surroundings;
pub mod tls;
pub mod websocket;

pub use dial::{Hold, Network, Reach, Stream};
pub use error::Error;
pub use place::{Place, PlaceError, Scheme};
pub use surroundings::{Surroundings, System};
pub use url::{Host, Url};
