//! Starting, and what may be in the way.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;

use hyper::Method;

use crate::house::{House, try_start};

#[tokio::test]
async fn files_are_closed_to_others() {
    let house = House::open().await;
    for file in ["homed.sock", "api-token"] {
        let mode = std::fs::metadata(house.home.path().join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
}

#[tokio::test]
async fn the_socket_of_a_dead_daemon_is_replaced() {
    let home = tempfile::tempdir().unwrap();
    drop(UnixListener::bind(home.path().join("homed.sock")).unwrap());
    assert!(home.path().join("homed.sock").exists());
    try_start(&home, "127.0.0.1:0").await.unwrap();
}

#[tokio::test]
async fn the_socket_of_a_daemon_that_lives_is_left_alone() {
    let house = House::open().await;
    let error = try_start(&house.home, "127.0.0.1:0").await.unwrap_err();
    assert!(error.to_string().contains("another homed serves"), "{error}");
    house.local(Method::GET, "/api/v1/ping", "").await.ok();

    // Also one that knows nothing of our lock.
    let home = tempfile::tempdir().unwrap();
    let _listener = UnixListener::bind(home.path().join("homed.sock")).unwrap();
    let error = try_start(&home, "127.0.0.1:0").await.unwrap_err();
    assert!(error.to_string().contains("another homed serves"), "{error}");
}

#[tokio::test]
async fn what_is_in_the_way_is_said() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("homed.sock"), "notes").unwrap();
    let error = try_start(&home, "127.0.0.1:0").await.unwrap_err();
    assert!(error.to_string().contains("is in the way: it is not a socket"), "{error}");

    let home = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let error = try_start(&home, &address).await.unwrap_err().to_string();
    assert!(error.contains(&format!("another program listens on {address}")), "{error}");
    assert!(!home.path().join("homed.sock").exists());

    let error = try_start(&home, "203.0.113.1:1").await.unwrap_err().to_string();
    assert!(error.contains("choose an address of this machine"), "{error}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_data_folder_may_have_a_long_path() {
    let home = tempfile::Builder::new().prefix(&"长".repeat(50)).tempdir().unwrap();
    try_start(&home, "127.0.0.1:0").await.unwrap();
}
