//! The memory measured on whole corpora: talk of homes, with what is true of it written beside it.

mod month;
