//! Pictures on their way from a file to the vendor, and back.

use serde_json::json;

use crate::daemon::with_vendor;
use crate::vendor::Reply;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

/// The picture in Base64.
const BASE64: &str = "iVBORw0KGgoAAAANSUhEUg==";

#[tokio::test]
async fn a_picture_that_waiter_sends_along_reaches_the_vendor_and_can_be_saved_again() {
    let (daemon, vendor) = with_vendor().await;
    vendor.script([Reply::text("a cat"), Reply::text("long")]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cat.png").display().to_string();
    std::fs::write(&file, PNG).expect("it is written");
    assert_eq!(daemon.waiter(&["send", "--attach", &file, "what is it?"]).await.ok(), "a cat");
    daemon.reply("and its tail?").await;
    let asked = vendor.asked(2).await;
    let image = json!({ "type": "image_url", "image_url": { "url": format!("data:image/png;base64,{BASE64}") } });
    let shown = |place: usize| asked[place].messages().iter().any(|said| said["content"].to_string().contains(BASE64));
    let parts = asked[0].messages().iter().find_map(|said| said["content"].as_array()).expect("a message of parts");
    assert!(parts.contains(&image), "{parts:?}");
    assert!(parts[0]["text"].as_str().is_some_and(|text| text.contains("[attached: image/png cat.png, media:")));
    assert!(!shown(1), "it is not shown for ever");
    let listed = daemon.waiter_json(&["media", "list"]).await;
    let address = listed[0]["address"].as_str().expect("it is kept");
    let saved = folder.path().join("saved.png");
    daemon.waiter(&["media", "get", &address[..16], "--output", &saved.display().to_string()]).await.ok();
    assert_eq!(std::fs::read(&saved).expect("it is saved"), PNG);
    daemon.waiter(&["media", "remove", address]).await.ok();
    assert_eq!(daemon.waiter_json(&["media", "list"]).await, json!([]));
}

#[tokio::test]
async fn a_picture_as_large_as_a_telephone_makes_them_gets_through() {
    let (daemon, vendor) = with_vendor().await;
    vendor.script([Reply::text("a garden")]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("garden.png");
    let mut picture = PNG.to_vec();
    picture.resize(12 << 20, 7);
    std::fs::write(&file, &picture).expect("it is written");
    let sent = daemon.waiter(&["send", "--attach", &file.display().to_string()]).await;
    assert_eq!(sent.ok(), "a garden");
    let asked = vendor.asked(1).await;
    let urls = asked[0].messages().iter().filter_map(|said| said["content"][1]["image_url"]["url"].as_str());
    let lengths: Vec<usize> = urls.map(|url| url.trim_start_matches("data:image/png;base64,").len()).collect();
    assert_eq!(lengths, [picture.len().div_ceil(3) * 4]);
}
