//! The memory measured on whole corpora: talk of homes, with what is asked of it or true of it written beside it.

#[path = "../../examples/chinese/baselines.rs"]
mod baselines;
mod chinese;
#[path = "../../examples/chinese/corpus.rs"]
mod corpus;
#[path = "../../examples/chinese/measure.rs"]
mod measure;
mod month;
#[path = "../../examples/chinese/recalled.rs"]
mod recalled;
