//! What is piped into `waiter`.

use std::process::Stdio;

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::{assert_answers, assert_reads};
use crate::daemon::{waiter, with_vendor};

const MIB: usize = 1024 * 1024;

#[tokio::test]
async fn of_100_mb_on_stdin_no_more_is_read_than_the_daemon_takes_and_nothing_is_sent() {
    let (daemon, vendor) = with_vendor().await;
    let commands: [&[&str]; 4] =
        [&["send", "-"], &["tools", "call", "add", "-"], &["settings", "import", "-"], &["settings", "set", "k", "-"]];
    for args in commands {
        let mut command = Command::new(waiter());
        command.arg("--home").arg(&daemon.folder).args(args).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("waiter can be started");
        let mut stdin = child.stdin.take().expect("it is piped");
        let block = vec![b'a'; MIB];
        let mut taken = 0;
        while taken < 100 && stdin.write_all(&block).await.is_ok() {
            taken += 1;
        }
        drop(stdin);
        let output = child.wait_with_output().await.expect("it ends");
        let row = args.join(" ");
        // It keeps no more than one byte above the limit; a pipe holds some more.
        assert!(taken <= 2, "{row}: {taken} MiB were taken");
        assert_eq!(output.status.code(), Some(1), "{row}");
        let words = String::from_utf8_lossy(&output.stderr);
        assert_reads(&row, &words, &["more than the 1048576 bytes", "core.gateway.body_bytes", "nothing was sent"]);
    }
    assert!(vendor.asked_so_far().is_empty(), "no model was asked");
    assert_answers("100 MB on stdin", &daemon, &vendor).await;
}
