//! What the host knows of language: how text is cut into words and sentences, how it becomes vectors, and what it says
//! in triples. It knows no storage.

pub mod embed;
pub mod facts;
pub mod parse;
pub mod synonyms;
pub mod text;
pub mod triples;
