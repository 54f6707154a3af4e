//! What can go wrong.

use std::io;
use std::sync::Arc;

use homeagent_settings::DatabaseError;
use homeagent_types::CallError;

use crate::Circle;

/// Why something of the knowledge base could not be done. Each is a sentence that says what can be.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is no name of a base.
    #[error("\"{name}\" can't be the name of a knowledge base: {reason}")]
    BadName {
        /// The text.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// There is no base of this name that whoever asks may see.
    #[error("there is no knowledge base \"{name}\"")]
    Unknown {
        /// The name.
        name: String,
    },
    /// A base has that name, or one that differs in case alone.
    #[error("there is a knowledge base \"{name}\" already")]
    Exists {
        /// The name of the one that is there.
        name: String,
    },
    /// The file is another than the one that the change was made for.
    #[error("the knowledge base \"{name}\" was changed meanwhile; read it again, and change what is there now")]
    Changed {
        /// The base.
        name: String,
    },
    /// The text is longer than a base may be.
    #[error("{bytes} bytes are more than the {most} that a knowledge base may have (core.knowledge.file_mib)")]
    TooLarge {
        /// How many there are.
        bytes: u64,
        /// How many may be.
        most: u64,
    },
    /// There are as many bases as there may be.
    #[error("there are {most} knowledge bases already; put it into one of those, or remove one")]
    TooMany {
        /// How many may be.
        most: usize,
    },
    /// There is nothing to keep.
    #[error("there is no text in it")]
    Empty,
    /// No heading of the base is called so.
    #[error("the knowledge base \"{name}\" has no heading \"{heading}\"{near}")]
    NoHeading {
        /// The base.
        name: String,
        /// The heading that was asked for.
        heading: String,
        /// Which there are.
        near: String,
    },
    /// Several headings of the base are called so.
    #[error(
        "\"{heading}\" stands at the lines {lines} of \"{name}\"; write the headings above it too, as in \"A > B\""
    )]
    Ambiguous {
        /// The base.
        name: String,
        /// The heading that was asked for.
        heading: String,
        /// Where they stand.
        lines: String,
    },
    /// A file is for fewer than the base that it was to become a part of.
    #[error(
        "the file is for {file} alone, and the knowledge base \"{name}\" for {base}; import it into a base of its own, or \
         take the line `audience:` out of the file"
    )]
    Narrower {
        /// The base.
        name: String,
        /// For whom the file says that it is.
        file: Circle,
        /// For whom the base is.
        base: Circle,
    },
    /// What was handed over is nothing that can be read.
    #[error("{0}")]
    Unreadable(String),
    /// The disk.
    #[error("{doing} failed: {source}")]
    Disk {
        /// What was being done.
        doing: String,
        /// What the operating system said.
        source: Arc<io::Error>,
    },
    /// The index.
    #[error(transparent)]
    Index(#[from] DatabaseError),
    /// It is being closed.
    #[error("the knowledge base is being closed")]
    Closed,
}

impl Error {
    /// An error of the disk.
    pub(crate) fn disk(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Disk { doing, source: Arc::new(source) }
    }
}

impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        let sentence = error.to_string();
        match error {
            Error::BadName { .. } | Error::TooLarge { .. } | Error::Empty | Error::Unreadable(_) => {
                Self::Invalid(sentence)
            }
            Error::Unknown { .. } | Error::NoHeading { .. } => Self::NotFound(sentence),
            Error::Exists { .. }
            | Error::Changed { .. }
            | Error::TooMany { .. }
            | Error::Ambiguous { .. }
            | Error::Narrower { .. } => Self::Conflict(sentence),
            Error::Disk { .. } => Self::NotStored(sentence),
            Error::Index(
                DatabaseError::DiskFull { .. } | DatabaseError::Disk { .. } | DatabaseError::ReadOnly { .. },
            ) => Self::NotStored(sentence),
            Error::Closed => Self::NotLive,
            Error::Index(_) => Self::Other(sentence),
        }
    }
}
