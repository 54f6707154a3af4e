//! The graph, as whoever tells it something and asks it finds it.

mod audience;
mod closing;
mod deleting;
mod growing;
mod names;
mod recalling;
mod tools;
mod undoing;
mod world;
