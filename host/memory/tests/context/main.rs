//! Contexts and documents as the agent and its tools use them, over a real journal.

mod home;
mod life;
mod meaning;
mod search;
mod sequences;
mod tools;
