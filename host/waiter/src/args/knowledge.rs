//! What is asked of the knowledge base.

use std::path::PathBuf;

use clap::Subcommand;

/// About the knowledge base.
#[derive(Debug, Subcommand)]
pub enum Knowledge {
    /// List the bases, and how far they are indexed
    List,
    /// Show a base and its headings, or the text below one
    Show {
        /// The base
        name: String,
        /// The heading whose text is shown, such as "Heating" or "House > Heating"
        #[arg(long, value_name = "HEADING")]
        section: Option<String>,
    },
    /// Find passages, best first
    Search {
        /// What is looked for
        #[arg(required = true)]
        text: Vec<String>,
        /// Only in this base
        #[arg(long, value_name = "NAME")]
        base: Option<String>,
        /// What others would be told
        #[arg(long, value_parser = ["owner", "members", "everyone"])]
        audience: Option<String>,
        /// How many at most
        #[arg(long, default_value_t = 5)]
        limit: u32,
    },
    /// Make bases of files: Markdown, text or HTML
    Import {
        /// The file, or a folder of files: each becomes a base of its own, or a section of the one that is named
        path: PathBuf,
        /// What the base is called [default: as the file]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// Put it in the place of a base of its name
        #[arg(long)]
        replace: bool,
    },
    /// Remove a base with its text
    Remove {
        /// The base
        name: String,
    },
    /// Cut and index a base, or all, from the beginning
    Reindex {
        /// The base
        name: Option<String>,
    },
}
