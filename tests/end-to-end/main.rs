//! The whole daemon from outside: the real `homed` in a fresh home, a vendor that speaks the real protocol over a real
//! socket, and the clients people use.

mod adapters;
mod agent_life;
mod bad_input;
mod channels;
mod chat;
mod collector;
mod compiling;
mod crash;
mod daemon;
mod damaged;
mod discovery;
mod events;
mod exposition;
mod interrupts;
mod local;
mod media;
mod metrics;
mod observability;
mod otel;
mod paths;
mod plugins;
mod projects;
mod qq;
mod refusals;
mod rights;
mod routes;
mod scripts;
mod secrets;
mod signals;
mod stages;
mod timers;
mod tools;
mod turns;
mod vendor;
