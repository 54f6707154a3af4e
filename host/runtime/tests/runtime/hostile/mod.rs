//! Guests that mean harm: what each is told, what the owner reads of it, and that nobody else notices.

mod connect;
mod http;
mod secrets;
