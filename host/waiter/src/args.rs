//! The command line.

mod knowledge;
mod memory;

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};

pub use knowledge::Knowledge;
pub use memory::Memory;

pub use crate::templates::Language;

/// Talks to `homed`. Without a command it is a chat.
#[derive(Debug, Parser)]
#[command(name = "waiter", version)]
pub struct Args {
    /// The data folder of the daemon [default: $HOMEAGENT_HOME, else homeagent in the XDG data folder]
    #[arg(long, global = true, value_name = "DIR")]
    pub home: Option<PathBuf>,
    /// Print exactly one JSON document on stdout
    #[arg(long, global = true)]
    pub json: bool,
    /// Chat in a conversation of this name
    #[arg(long, value_name = "NAME")]
    pub conversation: Option<String>,
    /// What to do
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Say something and print the reply
    Send {
        /// What to say; `-` reads it from stdin
        #[arg(required_unless_present = "attach")]
        text: Vec<String>,
        /// The conversation in which to say it
        #[arg(long, value_name = "NAME")]
        conversation: Option<String>,
        /// A file that goes along; may be given several times
        #[arg(long, value_name = "FILE")]
        attach: Vec<PathBuf>,
    },
    /// Stop a turn, or all that run
    Stop {
        /// The turn
        run: Option<String>,
    },
    /// Show how the daemon is
    Status,
    /// Show what models cost
    #[command(args_conflicts_with_subcommands = true)]
    Cost {
        /// What and when
        #[command(flatten)]
        wanted: WantedCosts,
        /// What else to do
        #[command(subcommand)]
        command: Option<Cost>,
    },
    /// Stop and start the agent inside the daemon
    Agent {
        /// What to do
        #[command(subcommand)]
        command: Agent,
    },
    /// List the tools, or call one
    Tools {
        /// What to do [default: list]
        #[command(subcommand)]
        command: Option<Tools>,
    },
    /// Look after the timers
    Timers {
        /// What to do [default: list]
        #[command(subcommand)]
        command: Option<Timers>,
    },
    /// Look into what the agent remembers
    Memory {
        /// What to do [default: status]
        #[command(subcommand)]
        command: Option<Memory>,
    },
    /// Look after the plugins
    Plugin {
        /// What to do [default: list]
        #[command(subcommand)]
        command: Option<Plugin>,
    },
    /// Look after the models that make vectors of texts, by which the memory finds what means the same
    #[command(alias = "model")]
    Models {
        /// What to do [default: list]
        #[command(subcommand)]
        command: Option<Models>,
    },
    /// Look after the sources: the models that answer
    #[command(alias = "sources")]
    Source {
        /// What to do [default: list]
        #[command(subcommand)]
        command: Option<Source>,
    },
    /// Try an adapter without a vendor
    Adapter {
        /// What to do
        #[command(subcommand)]
        command: Adapter,
    },
    /// Try a channel without anybody on its other side
    Channel {
        /// What to do
        #[command(subcommand)]
        command: Channel,
    },
    /// Show and change settings
    Settings {
        /// What to do [default: list]
        #[command(subcommand)]
        command: Option<Settings>,
    },
    /// Say which accounts are yours, and whose of the house others are
    Owner {
        /// What to do [default: list]
        #[command(subcommand)]
        command: Option<Owner>,
    },
    /// Look after what is kept of pictures, sounds, films and files
    Media {
        /// What to do [default: list]
        #[command(subcommand)]
        command: Option<Media>,
    },
    /// Look after the knowledge base: texts of the household that the agent looks things up in
    Knowledge {
        /// What to do [default: list]
        #[command(subcommand)]
        command: Option<Knowledge>,
    },
    /// Answer what waits for your word: tools that may not run without it
    Questions {
        /// What to do [default: list]
        #[command(subcommand)]
        command: Option<Questions>,
    },
    /// Show what happened
    Runs {
        /// What to do [default: list]
        #[command(subcommand)]
        command: Option<Runs>,
    },
}

/// About the agent.
#[derive(Debug, Subcommand)]
pub enum Agent {
    /// End the agent: running turns have their time, waiting messages are told, plugins end; the daemon stays
    Stop,
    /// Start the agent again
    Start,
}

/// Which costs are shown.
#[derive(Debug, ClapArgs)]
pub struct WantedCosts {
    /// What they are shown by
    #[arg(long, default_value = "day", value_parser = [
        "day", "month", "model", "source", "line", "plugin", "principal", "role", "conversation", "run",
    ])]
    pub by: String,
    /// The first day: a date such as 2026-12-01, `today`, or so many days ago such as 7d
    #[arg(long, value_name = "DAY")]
    pub since: Option<String>,
    /// The last day
    #[arg(long, value_name = "DAY")]
    pub until: Option<String>,
    /// Only this turn
    #[arg(long)]
    pub run: Option<String>,
}

/// About costs.
#[derive(Debug, Subcommand)]
pub enum Cost {
    /// Look after the prices
    Price {
        /// What to do [default: list]
        #[command(subcommand)]
        command: Option<Price>,
    },
}

/// About prices.
#[derive(Debug, Subcommand)]
pub enum Price {
    /// List what the sources cost now, and the prices that you set
    List {
        /// Those that come with the daemon, too
        #[arg(long)]
        all: bool,
    },
    /// Set a price, in the place of the one for the same model, source and day
    Set(NewPrice),
    /// Take a price that you set away
    Remove {
        /// The model, as the price has it
        model: String,
        /// The source, where the price has one
        #[arg(long)]
        source: Option<String>,
        /// Only the price from this day on; else all
        #[arg(long, value_name = "DAY")]
        from: Option<String>,
    },
}

/// A price to set. All rates are for a million tokens.
#[derive(Debug, ClapArgs)]
pub struct NewPrice {
    /// The model; a `*` at its end stands for any rest
    pub model: String,
    /// The currency, such as USD
    #[arg(long)]
    pub currency: String,
    /// For the prompt
    #[arg(long, value_name = "RATE")]
    pub input: String,
    /// For what the vendor had cached of it [default: as the input]
    #[arg(long, value_name = "RATE")]
    pub cached: Option<String>,
    /// For what the vendor puts into its cache [default: as the input]
    #[arg(long, value_name = "RATE")]
    pub written: Option<String>,
    /// For the answer
    #[arg(long, value_name = "RATE")]
    pub output: String,
    /// Only at this source
    #[arg(long)]
    pub source: Option<String>,
    /// The first day [default: today]
    #[arg(long, value_name = "DAY")]
    pub from: Option<String>,
    /// The time zone of its day and hours, such as Asia/Shanghai [default: yours]
    #[arg(long, value_name = "ZONE")]
    pub time_zone: Option<String>,
    /// Other rates at some hours or for long prompts, such as "18:00-09:00 mon-fri input=1 output=4" or "above=200000
    /// input=4 output=18"; may be given more than once, and the last that applies holds
    #[arg(long = "band", value_name = "BAND", value_parser = crate::price::band)]
    pub bands: Vec<serde_json::Value>,
}

/// About tools.
#[derive(Debug, Subcommand)]
pub enum Tools {
    /// List all tools
    List,
    /// Call a tool and print what it returns
    Call {
        /// The tool
        name: String,
        /// Its arguments, a JSON object; `-` reads them from stdin
        #[arg(default_value = "{}")]
        arguments: String,
    },
}

/// About media.
#[derive(Debug, Subcommand)]
pub enum Media {
    /// List what is kept
    List,
    /// Have a file kept, and print its address
    Add {
        /// The file
        file: PathBuf,
    },
    /// Save one into a file
    Get {
        /// Its address, or the first 16 digits or more
        address: String,
        /// The file to write, which must not be there yet [default: named by the address, here]
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Remove one, wherever it is mentioned
    Remove {
        /// Its address, or the first 16 digits or more
        address: String,
    },
}

/// About timers.
#[derive(Debug, Subcommand)]
pub enum Timers {
    /// List the timers, with the times they are due next
    List {
        /// How many at most
        #[arg(long, default_value_t = 100)]
        limit: u32,
        /// Go on behind this one
        #[arg(long, value_name = "NAME")]
        after: Option<String>,
    },
    /// Take a timer away
    Cancel(NamedTimer),
    /// Have a timer wait until it is resumed
    Pause(NamedTimer),
    /// Have a paused timer go on
    Resume(NamedTimer),
}

/// Which timer is meant.
#[derive(Debug, ClapArgs)]
pub struct NamedTimer {
    /// The timer
    pub name: String,
    /// The account whose timer it is, where that is a member's
    #[arg(long, value_name = "ACCOUNT")]
    pub of: Option<String>,
}

/// About plugins.
#[derive(Debug, Subcommand)]
pub enum Plugin {
    /// List all plugins, and what lies in the folder of packages
    List,
    /// Make a project for a plugin or an adapter of your own, in a folder of its name
    New {
        /// What to call the plugin
        name: String,
        /// The language to write it in
        #[arg(long, value_enum)]
        lang: Language,
        /// Make an adapter for a vendor of models instead; in rust, lua or js
        #[arg(long)]
        adapter: bool,
        /// The source tree of HomeAgent [default: the one around this folder or this program]
        #[arg(long, value_name = "DIR")]
        source: Option<PathBuf>,
    },
    /// Put a plugin's files into one, a tar archive
    Pack {
        /// The folder that is the plugin
        #[arg(default_value = ".")]
        folder: PathBuf,
        /// The file to write [default: NAME-VERSION.tar, here]
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Sign it with your key
        #[arg(long)]
        sign: bool,
        /// The key [default: signing.key in the configuration folder]
        #[arg(long, value_name = "FILE", requires = "sign")]
        key: Option<PathBuf>,
    },
    /// Look after the key with which you sign packages
    Key {
        /// What to do
        #[command(subcommand)]
        command: Key,
    },
    /// Tell where packages are looked for, and what became of each that lies there
    Folders,
    /// Copy a package into the data folder and load it
    Install {
        /// The folder with its plugin.toml and its component, or the file that `pack` made of it
        package: PathBuf,
    },
    /// End an installed plugin, and delete its package, its grants and what it kept: keys, timers, its own folder
    Remove {
        /// The plugin
        name: String,
    },
    /// Read a plugin's package anew and put its code in the place of what runs
    Reload {
        /// The plugin
        name: String,
        /// How long calls that are under way may take to end before the reload is given up [default: 2]
        #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(..=600))]
        wait: Option<u32>,
        /// When they take longer, let their callers go
        #[arg(long)]
        force: bool,
    },
    /// Start a plugin that is not loaded
    Load {
        /// The plugin
        name: String,
    },
    /// Stop a plugin
    Unload {
        /// The plugin
        name: String,
    },
    /// Allow a plugin a capability
    Grant {
        /// The plugin
        name: String,
        /// The capability, such as `http`
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        capability: Option<String>,
        /// Everything that it asks for now
        #[arg(long)]
        all: bool,
    },
    /// Take a capability from a plugin
    Revoke {
        /// The plugin
        name: String,
        /// The capability
        capability: String,
    },
}

/// About the key of an author.
#[derive(Debug, Subcommand)]
pub enum Key {
    /// Make a key
    New {
        /// The file to write [default: signing.key in the configuration folder]
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
    },
    /// Show by what the key is known
    Show {
        /// The file [default: signing.key in the configuration folder]
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
    },
}

/// About models that make vectors.
#[derive(Debug, Subcommand)]
pub enum Models {
    /// List all there are, the best first, and those that can be installed
    List,
    /// Install a model
    Install {
        /// Its folder, a file of word vectors, or the name of one that can be fetched from the Internet
        #[arg(value_name = "DIR-OR-NAME")]
        from: PathBuf,
    },
    /// Have vectors made by a model from now on
    Use {
        /// The model; none for the best there is
        name: Option<String>,
    },
    /// Make vectors of a text or two, and show how near they are
    Test {
        /// The text, taken as a question
        text: String,
        /// Another one, taken as what might answer it
        other: Option<String>,
    },
}

/// About sources.
#[derive(Debug, Subcommand)]
pub enum Source {
    /// List all sources in the order in which they are tried
    List,
    /// Look for what could be a source: keys in the daemon's environment, servers of models on its machine
    Offers,
    /// Make a source of what was found
    Accept {
        /// The offer
        name: String,
        /// The model to ask for, in place of the one that is offered
        #[arg(long)]
        model: Option<String>,
    },
    /// Add a source, or replace the one of its name
    Add(NewSource),
    /// Remove a source and its key
    Remove {
        /// The source
        name: String,
    },
    /// Have a source tried first
    Use {
        /// The source
        name: String,
    },
    /// List the models that a source's vendor offers
    Models {
        /// The source
        name: String,
    },
    /// Change a source, from the next call of the model on
    Set {
        /// The source
        name: String,
        /// What is to be another: model=M, line=L, enabled=yes|no, temperature=T, max_tokens=N, thinking=on|off,
        /// stream=on|off, concurrent=N, per_minute=N, batch=N, dimensions=N, and option.NAME=VALUE for what its
        /// adapter reads; nothing after the = takes an option away
        #[arg(value_name = "WHAT=VALUE", required = true, value_parser = pair)]
        changes: Vec<(String, String)>,
    },
    /// Ask a source for a word
    Test {
        /// The source
        name: String,
    },
}

/// A source to add. What is not said comes from the adapter.
#[derive(Debug, ClapArgs)]
pub struct NewSource {
    /// What to call it
    pub name: String,
    /// The adapter that speaks its protocol, such as `openai`
    #[arg(long)]
    pub adapter: String,
    /// Where its API begins
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// The model to ask for
    #[arg(long)]
    pub model: Option<String>,
    /// What it is asked for
    #[arg(long, value_parser = ["main", "auxiliary", "embedding"])]
    pub line: Option<String>,
    /// The environment variable that holds the key
    #[arg(long, value_name = "VAR", conflicts_with = "key_stdin")]
    pub key_env: Option<String>,
    /// Read the key from stdin
    #[arg(long)]
    pub key_stdin: bool,
    /// A further option for the adapter; may be given more than once
    #[arg(long = "option", value_name = "KEY=VALUE", value_parser = pair)]
    pub options: Vec<(String, String)>,
}

/// About adapters.
#[derive(Debug, Subcommand)]
pub enum Adapter {
    /// Feed a recorded answer through an adapter and print the assembled message as JSON
    Try {
        /// The adapter
        adapter: String,
        /// The recorded answer
        file: PathBuf,
        /// Feed so many bytes at a time
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        chunk: Option<u32>,
    },
}

/// About channels.
#[derive(Debug, Subcommand)]
pub enum Channel {
    /// Play recorded frames to a channel and print the inputs it makes of them as JSON; nothing reaches the agent
    Try {
        /// The channel's plugin, or a folder with its package
        channel: String,
        /// A JSON document: a frame, a list of frames, a case with `frame` (and `want`), or a list of cases
        file: PathBuf,
    },
}

/// About settings.
#[derive(Debug, Subcommand)]
pub enum Settings {
    /// List all settings, or those whose keys begin alike
    List {
        /// How the keys begin, such as `core.agent`
        prefix: Option<String>,
    },
    /// Print the value of a setting
    Get {
        /// The setting
        key: String,
    },
    /// Change a setting
    Set {
        /// The setting
        key: String,
        /// The value; `-` reads it from stdin, so that a secret is in no history
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Go back to a setting's default
    Unset {
        /// The setting
        key: String,
    },
    /// Write the settings as a TOML document, without secrets
    Export {
        /// The file; without one the document is printed
        file: Option<PathBuf>,
        /// Also those that have their defaults, with comments on all
        #[arg(long)]
        all: bool,
    },
    /// Read settings from a TOML document: all of it, or nothing where something in it is wrong
    Import {
        /// The file; `-` reads stdin
        file: PathBuf,
        /// Only tell what would change
        #[arg(long)]
        dry_run: bool,
    },
}

/// About who is who.
#[derive(Debug, Subcommand)]
pub enum Owner {
    /// Make an account of a channel yours: prints a code to send to the agent from it
    Pair {
        /// Do not wait for the code to be sent
        #[arg(long)]
        no_wait: bool,
    },
    /// List the accounts that have a role
    List,
    /// Give an account a role
    Bind {
        /// The channel, such as `qq`
        channel: String,
        /// The account there
        user: String,
        /// What it is to be
        #[arg(value_parser = ["owner", "member", "guest"])]
        role: String,
    },
    /// Take an account's role away: it is a guest then
    Unbind {
        /// The channel, such as `qq`
        channel: String,
        /// The account there
        user: String,
    },
}

/// About questions.
#[derive(Debug, Subcommand)]
pub enum Questions {
    /// List the questions that wait
    List,
    /// Let the tool run
    Allow {
        /// The question's number
        id: u64,
    },
    /// Do not let the tool run
    Deny {
        /// The question's number
        id: u64,
    },
}

/// About runs.
#[derive(Debug, Subcommand)]
pub enum Runs {
    /// List the last turns, newest first
    List {
        /// How many
        #[arg(long, default_value_t = 20)]
        limit: u32,
        /// Only those before this one
        #[arg(long, value_name = "RUN")]
        before: Option<String>,
    },
    /// Show a turn and everything that happened in it
    Show {
        /// The turn
        id: String,
    },
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("it has to be KEY=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Args::command().debug_assert();
    }

    #[test]
    fn flags_for_all_may_stand_anywhere() {
        let args = Args::try_parse_from(["waiter", "send", "hello", "--json", "--home", "/x"]);
        let args = args.expect("parses");
        assert!(args.json);
        assert_eq!(args.home, Some("/x".into()));
        let args = Args::try_parse_from(["waiter", "settings", "set", "core.x", "-5"]);
        assert!(matches!(
            args.expect("parses").command,
            Some(Command::Settings { command: Some(Settings::Set { value, .. }) }) if value == "-5"
        ));
        let bad = Args::try_parse_from(["waiter", "source", "add", "x", "--adapter", "a", "--option", "b"]);
        assert!(bad.is_err());
    }
}
