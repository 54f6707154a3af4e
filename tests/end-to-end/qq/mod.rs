//! QQ: the real daemon with a OneBot client on the other side of the channel.

mod connections;
mod kills;
mod media;
mod run;
mod sending;
mod swaps;
mod talking;
mod tools;

use homeagent_onebot_client::{Client, Options, Sent};

use crate::daemon::{Daemon, with_vendor, within};
use crate::vendor::Vendor;

const ACCOUNT: u64 = 10_001_000;
const SOMEBODY: u64 = 20_002_000;
const GROUP: u64 = 30_003_000;

/// A daemon whose QQ messages are answered at once.
async fn with_qq() -> (Daemon, Vendor) {
    let (daemon, vendor) = with_vendor().await;
    daemon.waiter(&["settings", "set", "core.agent.merge_ms", "0"]).await.ok();
    (daemon, vendor)
}

/// Where clients connect to.
fn url(daemon: &Daemon) -> String {
    format!("{}/onebot/v11/ws", daemon.base.replacen("http://", "ws://", 1))
}

/// The usual client, connected.
async fn client(daemon: &Daemon) -> Client {
    let client = Client::reverse(&url(daemon), Options::new(ACCOUNT));
    within("the client to connect", client.until(|client| client.open() == 1)).await;
    client
}

async fn set(daemon: &Daemon, key: &str, value: &str) {
    daemon.waiter(&["settings", "set", &format!("plugin.qq.{key}"), value]).await.ok();
}

/// Waits until so many messages were sent, and returns them.
async fn sent(client: &Client, count: usize) -> Vec<Sent> {
    within(&format!("{count} messages on QQ"), client.until(|client| client.sent().len() >= count)).await;
    client.sent()
}
