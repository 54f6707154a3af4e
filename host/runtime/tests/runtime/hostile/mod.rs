//! Plugins that mean harm: what each brings on itself, what is said about it, and that its neighbours notice nothing.

mod bombs;
mod floods;
mod identity;
mod loops;
pub(crate) mod street;
