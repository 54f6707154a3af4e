//! What the distiller makes of what was said.

mod archive;
mod judging;
mod world;
