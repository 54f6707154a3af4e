//! Running the program.

use std::process::Stdio;

use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};

use crate::house::House;

pub struct Outcome {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    /// What it printed and how it ended, with the folder's name taken out.
    pub fn shown(&self, house: &House) -> String {
        let home = house.home.path().display().to_string();
        let stderr = if self.stderr.is_empty() { String::new() } else { format!("--- stderr\n{}", self.stderr) };
        format!("{}{stderr}--- exit code {}", self.stdout, self.code).replace(&home, "HOME")
    }

    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        assert!(self.stdout.ends_with('\n') && self.stdout.trim().lines().count() == 1, "{}", self.stdout);
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }
}

pub fn start(home: &std::path::Path, args: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_waiter"));
    command.arg("--home").arg(home).args(args).env("TZ", "UTC").env_remove("HOMEAGENT_HOME");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command.spawn().unwrap()
}

pub async fn end(child: Child) -> Outcome {
    let output = child.wait_with_output().await.unwrap();
    Outcome {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs it to its end with this stdin.
pub async fn run_with(house: &House, args: &[&str], stdin: &str) -> Outcome {
    let mut child = start(house.home.path(), args);
    let mut input = child.stdin.take().unwrap();
    // A program that does not read may have gone already.
    let _ = input.write_all(stdin.as_bytes()).await;
    drop(input);
    end(child).await
}

pub async fn run(house: &House, args: &[&str]) -> Outcome {
    run_with(house, args, "").await
}
