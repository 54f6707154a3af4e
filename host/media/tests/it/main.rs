//! The store of media.

mod fetching;
mod home;
mod keeping;
mod quota;
