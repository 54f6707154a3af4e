//! What is asked of the memory.

use std::path::PathBuf;

use clap::Subcommand;

/// About the memory.
#[derive(Debug, Subcommand)]
pub enum Memory {
    /// Show how much there is, and how far it is with what was said lately
    Status,
    /// Find what was said and written, best first
    Search {
        /// A question, or any text that what is looked for is about
        #[arg(required = true)]
        text: Vec<String>,
        /// How many at most
        #[arg(long, default_value_t = 10)]
        limit: u32,
        /// Also what others told in private, which the agent never tells you
        #[arg(long)]
        all: bool,
    },
    /// Show a passage and what was said around it
    Show {
        /// The passage, as `search` shows it
        id: String,
        /// How many before it and after it
        #[arg(long, default_value_t = 3)]
        around: u32,
        /// Also what others told in private, which the agent never tells you
        #[arg(long)]
        all: bool,
    },
    /// Show what is known of somebody or something, or which names are known
    Graph {
        /// What it is called
        name: Option<String>,
        /// Also what others told in private, which the agent never tells you
        #[arg(long)]
        all: bool,
    },
    /// Say what of the memory the model of a turn was shown, and why
    Explain {
        /// The turn, as `waiter runs list` shows it
        run: String,
        /// Also the words that others told in private, which the agent never tells you
        #[arg(long)]
        all: bool,
    },
    /// Forget for good: in the journal, the memory and their files; without --yes it only says what would go
    Forget(crate::forget::Forget),
    /// Make every index anew: from the journal, the documents and the graph; recall goes on meanwhile
    Reindex,
    /// Write what the memory knows beside the journal into a file, to take it elsewhere
    Export {
        /// The file, JSON lines
        file: PathBuf,
        /// Put it in the place of a file that is there
        #[arg(long)]
        replace: bool,
    },
    /// Take in what another memory has exported
    Import {
        /// The file
        file: PathBuf,
    },
}
