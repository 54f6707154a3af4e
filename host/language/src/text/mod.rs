//! How text is cut: into words, the terms an index is fed with, and sentences. Chinese and English; anything else by
//! Unicode's rules.

mod clean;
mod fold;
mod sentences;
mod similarity;
mod stop;
mod terms;
pub mod time;
mod words;

pub use clean::clean_template_text;
pub use fold::fold;
pub use sentences::sentences;
pub use similarity::bigram_jaccard;
pub use stop::is_stop_word;
pub use terms::{LEXICON, index_terms, query_terms};
pub(crate) use words::tagged_words;
pub use words::words;
