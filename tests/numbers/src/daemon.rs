//! A real `homed` in a home of its own.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use hyper::Method;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::Failure;
use crate::client::Client;

/// The daemon that was built with this program.
pub(crate) fn beside() -> Result<PathBuf, Failure> {
    let homed = std::env::current_exe()?.with_file_name("homed");
    if homed.is_file() {
        return Ok(homed);
    }
    Err(format!("{} is not there; build it with: cargo build --release --workspace", homed.display()).into())
}

/// A data folder, and the daemon that is started in it.
pub(crate) struct Home {
    folder: TempDir,
    homed: PathBuf,
}

impl Home {
    pub(crate) fn fresh(homed: &Path) -> Result<Self, Failure> {
        Ok(Self { folder: tempfile::tempdir()?, homed: homed.to_owned() })
    }

    /// Starts the daemon; how long it took until it said that it is ready.
    pub(crate) async fn start(&self) -> Result<(Daemon, Duration), Failure> {
        let mut command = Command::new(&self.homed);
        command.args(["run", "--listen", "127.0.0.1:0", "--home"]).arg(self.folder.path());
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.ends_with("_API_KEY") || name.ends_with("_BASE_URL")) {
                command.env_remove(name);
            }
        }
        // A server of models on this machine would be found and measured in the vendor's place: here nobody listens.
        command.env("OLLAMA_HOST", "127.0.0.1:1").env("LLAMA_ARG_HOST", "127.0.0.1").env("LLAMA_ARG_PORT", "1");
        command.env_remove("HOMEAGENT_LOG");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let began = Instant::now();
        let mut child = command.spawn()?;
        let stdout = child.stdout.take().ok_or("its stdout is not there")?;
        let line = BufReader::new(stdout).lines().next_line().await?.unwrap_or_default();
        let took = began.elapsed();
        let host = line.strip_prefix("homed ready http://").ok_or_else(|| format!("homed said: {line:?}"))?.to_owned();
        let token = std::fs::read_to_string(self.folder.path().join("api-token"))?.trim().to_owned();
        Ok((Daemon { child, host, token }, took))
    }
}

/// A running daemon.
pub(crate) struct Daemon {
    child: Child,
    host: String,
    token: String,
}

impl Daemon {
    pub(crate) async fn client(&self) -> Result<Client, Failure> {
        Client::connect(&self.host, &self.token).await
    }

    /// Has it ask this vendor.
    pub(crate) async fn use_source(&self, base_url: &str) -> Result<(), Failure> {
        let source = json!({ "adapter": "openai", "base_url": base_url, "model": "m", "key": "sk-numbers" });
        self.client().await?.send(Method::PUT, "sources/beside", &source).await.map(drop)
    }

    pub(crate) fn memory(&self) -> Result<Memory, Failure> {
        let pid = self.child.id().ok_or("the daemon has ended")?;
        let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
        let figure = |name: &str| {
            let line = rollup.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_suffix(" kB"));
            line.and_then(|figure| figure.trim().parse::<u64>().ok()).map(|kib| kib * 1024)
        };
        let (Some(resident), Some(proportional)) = (figure("Rss:"), figure("Pss:")) else {
            return Err("the system does not tell how much memory it has".into());
        };
        Ok(Memory { resident, proportional })
    }

    /// Ends it in order.
    pub(crate) async fn stop(mut self) -> Result<(), Failure> {
        let pid = self.child.id().and_then(|pid| Pid::from_raw(pid.cast_signed())).ok_or("the daemon has ended")?;
        kill_process(pid, Signal::TERM)?;
        self.child.wait().await?;
        Ok(())
    }
}

/// What a process holds, in bytes.
pub(crate) struct Memory {
    resident: u64,
    /// Pages shared with others counted in part.
    proportional: u64,
}

impl Memory {
    pub(crate) fn megabytes(bytes: u64) -> f64 {
        // No figure here comes near what a double can't hold exactly.
        #[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
        let bytes = bytes as f64;
        bytes / 1e6
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (resident, proportional) = (Self::megabytes(self.resident), Self::megabytes(self.proportional));
        write!(f, "{resident:.1} MB (PSS {proportional:.1} MB)")
    }
}
