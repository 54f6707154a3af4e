//! Connections that scripts make.

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;

use crate::daemon::{with_vendor_and, within};

#[tokio::test]
async fn a_script_talks_over_a_connection_of_its_own_which_outlives_its_code() {
    let (daemon, _vendor) = with_vendor_and(&[]).await;
    let broker = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let place = format!("tcp://{}", broker.local_addr().expect("it is bound"));
    let folder = daemon.folder.join("parrot");
    std::fs::create_dir(&folder).expect("the home takes folders");
    let manifest = format!(
        "[plugin]\nname = \"parrot\"\nversion = \"1.0.0\"\nscript = \"main.lua\"\n\n\
         [wants.connect]\nhosts = [\"tls://broker.example:8883\"]\n[wants.private-network]\naddresses = [\"{place}\"]\n"
    );
    let main = r#"
        local homeagent = require("homeagent")
        homeagent.on_open(function(about)
            homeagent.send(about.connection, about.listener .. " resumed " .. tostring(about.resumed))
        end)
        homeagent.on_frames(function(connection, frames)
            for _, line in ipairs(frames) do
                if line == "bye" then homeagent.close(connection) else homeagent.send(connection, line .. "!") end
            end
        end)
        homeagent.activated(function()
            local ok, failure = pcall(homeagent.connect, { name = "broker", url = "PLACE", reconnect = true })
            if not ok then homeagent.log.info("not yet: " .. failure.kind) end
        end)
    "#;
    std::fs::write(folder.join("plugin.toml"), manifest).expect("the folder takes files");
    std::fs::write(folder.join("main.lua"), main.replace("PLACE", &place)).expect("the folder takes files");
    daemon.waiter(&["plugin", "install", &folder.display().to_string()]).await.ok();
    daemon.waiter(&["plugin", "grant", "parrot", "--all"]).await.ok();
    daemon.waiter(&["plugin", "reload", "parrot"]).await.ok();

    let (stream, _) = within("the script to connect", broker.accept()).await.expect("a connection");
    let (from, mut to) = stream.into_split();
    let mut lines = BufReader::new(from).lines();
    let mut next = async || within("a line", lines.next_line()).await.expect("it is open");
    assert_eq!(next().await.as_deref(), Some("broker resumed false"));
    to.write_all("hello\r\n雨\n".as_bytes()).await.expect("it is open");
    assert_eq!((next().await.as_deref(), next().await.as_deref()), (Some("hello!"), Some("雨!")));
    daemon.waiter(&["plugin", "reload", "parrot"]).await.ok();
    assert_eq!(next().await.as_deref(), Some("broker resumed true"));
    to.write_all(b"bye\n").await.expect("it is open");
    assert_eq!(next().await, None, "the script has closed it");
}
